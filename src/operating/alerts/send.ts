import type { Dispatcher, Pool } from "undici";
import PoolWithoutTypes from "undici/lib/dispatcher/pool.js";
import type { ReceiverSettings } from "../../settings/config/mod.ts";
import {
  checkAddress,
  connectAddress,
  ImageFault,
  type Resolve,
} from "../../requests/images/mod.ts";
import { following, networkErrorWords, until, VERSION } from "../../ground/platform/mod.ts";
import type { SentAlert } from "./alert.ts";
import type { DeliveryOutcome } from "./outbox.ts";
import { slackBody, webhookBody } from "./payload.ts";
import { signatureOf } from "./signature.ts";

const PoolConstructor: typeof Pool = PoolWithoutTypes;

/** Below it, a reply is still to come. */
const FIRST_FINAL_STATUS = 200;

/** What a delivery needs besides its receiver. */
export interface SendOptions {
  readonly allowPrivateHosts: readonly string[];
  readonly timeoutMs: number;
  readonly resolve: Resolve;
  readonly nowMs: number;
  /** Tells attempts of one delivery from others. */
  readonly deliveryId: string;
  /** Aborted when the gateway stops. */
  readonly signal: AbortSignal;
}

/**
 * Posts alerts to a receiver once. Never rejects.
 *
 * Each delivery has a connection of its own, to an address that was checked, and follows no redirect; the platform's `fetch`
 * would repeat a POST by itself when a pooled connection dies.
 *
 * @returns The receiver's status, and why the delivery failed if it did. No error names an address.
 */
export async function sendAlerts(
  receiver: ReceiverSettings,
  alerts: readonly SentAlert[],
  options: SendOptions,
): Promise<DeliveryOutcome> {
  const { timeoutMs } = options;
  const late = AbortSignal.timeout(timeoutMs);
  using either = following(late, options.signal);
  const { signal } = either;
  try {
    const status = await until(deliver(receiver, alerts, { ...options, signal }), signal);
    if (status >= 200 && status <= 299) return { status, error: null };
    const isRedirect = status >= 300 && status <= 399;
    const error = isRedirect ? `status ${status}: redirects are not followed` : `status ${status}`;
    return { status, error };
  } catch (error) {
    return { status: null, error: late.aborted ? `no reply within ${timeoutMs} ms` : why(error) };
  }
}

/**
 * Checks whether a receiver can be reached: its address is allowed, its name resolves, and it takes connections. Sends
 * nothing.
 *
 * @returns Why it cannot; `undefined` if it can.
 */
export async function checkReceiver(
  { url }: Pick<ReceiverSettings, "url">,
  { allowPrivateHosts, timeoutMs, resolve }: Pick<
    SendOptions,
    "allowPrivateHosts" | "timeoutMs" | "resolve"
  >,
): Promise<string | undefined> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const target = checkAddress(url, { allowPrivateHosts, ports: [] });
    const hostname = await connectAddress(target, { resolve, timeoutMs, signal });
    const { protocol, port } = target.url;
    const connecting = Deno.connect({
      hostname,
      port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port),
    });
    connecting.then((connection) => connection.close(), () => {});
    await until(connecting, signal);
    return undefined;
  } catch (error) {
    return signal.aborted ? `no connection within ${timeoutMs} ms` : why(error);
  }
}

async function deliver(
  { url, kind, secret }: ReceiverSettings,
  alerts: readonly SentAlert[],
  { allowPrivateHosts, timeoutMs, resolve, nowMs, deliveryId, signal }: SendOptions,
): Promise<number> {
  const target = checkAddress(url, { allowPrivateHosts, ports: [] });
  const address = await connectAddress(target, { resolve, timeoutMs, signal });
  const { protocol, hostname, port, host, pathname, search } = target.url;
  const literal = address.includes(":") ? `[${address}]` : address;
  const pool = new PoolConstructor(`${protocol}//${literal}${port === "" ? "" : `:${port}`}`, {
    connect: {
      timeout: timeoutMs,
      ...(protocol === "https:" && target.address === undefined ? { servername: hostname } : {}),
    },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  });
  try {
    const body = kind === "slack" ? slackBody(alerts) : webhookBody(alerts);
    const headers = {
      host,
      "content-type": "application/json",
      "user-agent": `Sluice/${VERSION}`,
      "sluice-delivery": deliveryId,
      ...(secret === undefined
        ? {}
        : { "sluice-signature": signatureOf(body, { secret: secret.reveal(), atMs: nowMs }) }),
    };
    const path = `${pathname}${search}`;
    return await until(statusOf(pool, { method: "POST", path, headers, body }), signal);
  } finally {
    pool.destroy().catch(() => {});
  }
}

/** Sends a request. Resolves with the status of its reply, whose rest nobody reads. */
function statusOf(pool: Pool, request: Dispatcher.DispatchOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    pool.dispatch(request, {
      onRequestStart() {}, // by which undici knows what kind of handler it is
      onResponseStart(_controller, status) {
        if (status >= FIRST_FINAL_STATUS) resolve(status);
      },
      onResponseEnd: () => reject(new Error("no reply")),
      onResponseError: (_controller, error) => reject(error),
    });
  });
}

/** A sentence without the address, which may be a secret. */
function why(error: unknown): string {
  if (error instanceof ImageFault && error.kind === "address") return error.message;
  const cause = error instanceof ImageFault && error.cause !== undefined ? error.cause : error;
  if (typeof cause === "string") return cause;
  return networkErrorWords(cause) ?? "no usable response";
}
