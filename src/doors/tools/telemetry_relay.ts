import { FairShare } from "../../ground/fair_share/mod.ts";
import type { CoarseTimers } from "../../ground/platform/mod.ts";
import { BodyTooLong, readBounded } from "../../ground/web/mod.ts";
import { invalid, Refusal } from "../../ground/refusal.ts";
import { RateLimit } from "../../ground/rate_limits/mod.ts";
import type { Log } from "../../ground/telemetry/mod.ts";
import { MINUTE_MS } from "../../ground/time.ts";
import { exchange } from "../../ground/ways_out/mod.ts";
import type { Caller } from "../../people/accounts/mod.ts";
import { proxyOf, type Settings, type SignInSettings } from "../../settings/config/mod.ts";
import { nameInJson, nameInProtobuf, OtlpError, type ResourceAttributes } from "./otlp_resource.ts";
import { type Signal, SIGNALS } from "./signals.ts";

const BODY = { maxBytes: 2 * 1_048_576, maxMs: 30_000 };
/** What one key may send within a minute. */
const KEY_BYTES = 16 * 1_048_576;
const KEY_REQUESTS = 240;
/** Bodies that come at the same time, of one account and of all: they are in memory. */
const COMING = { capacity: 64, perAccount: 8 };
/** Requests to the collector at the same time; of more, the telemetry is dropped. */
const MAX_RELAYED = 16;
const TIMEOUT_MS = 10_000;
const JSON_TYPE = "application/json";

type Collector = NonNullable<SignInSettings["telemetry"]>;

/** Dependencies of {@linkcode TelemetryRelay}. */
export interface TelemetryRelayParts {
  readonly settings: Pick<Settings, "proxies">;
  /** The collector; without one, what tools send is read and dropped. */
  readonly collector: Collector | undefined;
  readonly now: () => number;
  readonly timers: CoarseTimers;
  readonly log: Log;
  /** Aborted when the gateway closes. */
  readonly closing: AbortSignal;
  /**
   * Unpacks a body that its headers call compressed: the account is written into it.
   *
   * @param tooLarge Makes what is thrown if it is larger than that.
   */
  readonly unpack: (
    bytes: Uint8Array<ArrayBuffer>,
    headers: Headers,
    max: { readonly bytes: number; readonly tooLarge: () => Error },
  ) => Promise<Uint8Array<ArrayBuffer>>;
}

/** Takes the telemetry of tools, and sends it on to a collector with the account whose token it came with. */
export class TelemetryRelay {
  readonly #parts: TelemetryRelayParts;
  readonly #bytes: RateLimit;
  readonly #requests: RateLimit;
  readonly #coming: FairShare;
  #inFlight = 0;
  #warnedAtMs = -Infinity;

  constructor(parts: TelemetryRelayParts) {
    this.#parts = parts;
    const perMinute = { windowMs: MINUTE_MS, now: parts.now };
    this.#bytes = new RateLimit({ ...perMinute, limit: KEY_BYTES });
    this.#requests = new RateLimit({ ...perMinute, limit: KEY_REQUESTS });
    const { timers } = parts;
    this.#coming = new FairShare({ resource: "telemetry requests", ...COMING, waitMs: 0, timers });
  }

  /**
   * Takes a request of OTLP. It is answered before the collector has it.
   *
   * @throws {Refusal} `rate_exceeded` for a key that sends too much, `gateway_unavailable` if too many come at once; `request_invalid`
   *   for what is too long, or not of OTLP.
   */
  async take(
    request: Request,
    signal: Signal,
    caller: Pick<Caller, "accountId" | "email" | "keyId" | "tool">,
    headers: Readonly<Record<string, string>>,
  ): Promise<Response> {
    const { accountId, keyId } = caller;
    this.#check(keyId);
    this.#requests.add(keyId);
    const sent = await this.#read(request, accountId);
    this.#bytes.add(keyId, sent.byteLength);
    const isJson = request.headers.get("content-type")?.startsWith(JSON_TYPE) ?? false;
    const { collector } = this.#parts;
    if (collector !== undefined) {
      const max = { bytes: BODY.maxBytes, tooLarge };
      const bytes = await this.#parts.unpack(new Uint8Array(sent), request.headers, max);
      // what is unpacked costs as much as what is sent so
      this.#bytes.add(keyId, Math.max(0, bytes.byteLength - sent.byteLength));
      this.#relay(collector, signal, { bytes, isJson }, {
        "user.id": accountId,
        "user.email": caller.email,
        "sluice.key_id": keyId,
        ...(caller.tool === null ? {} : { "sluice.tool": caller.tool }),
      });
    }
    return new Response(isJson ? "{}" : null, {
      headers: { ...headers, "content-type": isJson ? JSON_TYPE : "application/x-protobuf" },
    });
  }

  #check(keyId: string): void {
    const retryAfterMs = Math.max(this.#bytes.waitMs(keyId), this.#requests.waitMs(keyId));
    if (retryAfterMs === 0) return;
    const message = "Too much telemetry from this API key: send less often.";
    throw new Refusal("rate_exceeded", message, { retryAfterMs });
  }

  async #read(request: Request, accountId: string): Promise<Uint8Array> {
    using _share = this.#coming.takeNow(accountId, 1);
    try {
      return await readBounded(request, BODY);
    } catch (error) {
      throw error instanceof BodyTooLong
        ? tooLarge()
        : invalid(undefined, "The telemetry was not received in full.");
    }
  }

  #relay(
    collector: Collector,
    signal: Signal,
    { bytes, isJson }: { readonly bytes: Uint8Array; readonly isJson: boolean },
    attributes: ResourceAttributes,
  ): void {
    const { settings: { proxies }, closing } = this.#parts;
    const body = named(signal, { bytes, isJson }, attributes);
    if (this.#inFlight >= MAX_RELAYED) return this.#warn("too much at once");
    const url = new URL(`${collector.url}${signal}`);
    const headers = Object.entries(collector.headers).map((
      [name, value],
    ) => [name, value.reveal()]);
    this.#inFlight++;
    exchange({
      url,
      method: "POST",
      headers: {
        ...Object.fromEntries(headers),
        "content-type": isJson ? JSON_TYPE : "application/x-protobuf",
      },
      body,
      proxy: proxyOf(url, { proxies }),
      timeoutMs: TIMEOUT_MS,
      maxBytes: 0,
      signal: AbortSignal.any([closing, AbortSignal.timeout(TIMEOUT_MS)]),
    }).then(({ status }) => {
      if (status >= 400) this.#warn(`status ${status}`);
    }, (error) => {
      if (!closing.aborted) this.#warn(error instanceof Error ? error.name : String(error));
    }).finally(() => this.#inFlight--);
  }

  /** At most once a minute: tools send often. */
  #warn(why: string): void {
    const { now, log } = this.#parts;
    if (now() - this.#warnedAtMs < MINUTE_MS) return;
    this.#warnedAtMs = now();
    log.warn("telemetry of tools was not relayed", { why });
  }
}

function tooLarge(): Refusal {
  const message = `Telemetry too large: the limit is ${BODY.maxBytes} bytes.`;
  return Object.assign(invalid(undefined, message), { isTooLarge: true });
}

function named(
  signal: Signal,
  { bytes, isJson }: { readonly bytes: Uint8Array; readonly isJson: boolean },
  attributes: ResourceAttributes,
): string | Uint8Array {
  try {
    return isJson
      ? nameInJson(new TextDecoder().decode(bytes), SIGNALS[signal], attributes)
      : nameInProtobuf(bytes, attributes);
  } catch (error) {
    if (!(error instanceof OtlpError)) throw error;
    throw invalid(undefined, `The telemetry is not of OTLP: ${error.message}.`);
  }
}
