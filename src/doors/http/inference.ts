import { type Caller, checkScope } from "../../people/accounts/mod.ts";
import type { JsonBody, LargeBodies } from "../../wire/large_bodies/mod.ts";
import type { Settings } from "../../settings/config/mod.ts";
import {
  type DialectName,
  type Front,
  isObject,
  meterInTurns,
  parseDetached,
  text,
} from "../../wire/dialects/mod.ts";
import { MAX_INPUT_TOKENS, MAX_INPUTS } from "../../wire/embeddings/mod.ts";
import type { RateLimit } from "../../ground/rate_limits/mod.ts";
import { Refusal } from "../../ground/refusal.ts";
import {
  embed,
  type EmbedRequest,
  relay,
  type RelayParts,
  type RelayReply,
} from "../../requests/relay/mod.ts";
import type { Tracing } from "../../ground/telemetry/mod.ts";
import type { Arrivals } from "./arrivals.ts";
import { type BodyLimits, type BodyOwner, FREE_BYTES, readJson } from "./body.ts";
import type { Callers } from "./callers.ts";
import type { Connections } from "./connections.ts";
import type { MemoryGuard } from "./memory_guard.ts";
import { ConnectionWatcher } from "./disconnect_watcher.ts";
import { checkQuota, UNBILLED_BYTES } from "./quota.ts";
import { PartialInput } from "./partial_input.ts";
import { type Places, takePlace } from "./places.ts";
import type { RequestState } from "./request_state.ts";
import { EVENT_STREAM, statusHeaders } from "./responses.ts";

/** What requests with a key and a body may take. */
export interface InferenceOptions {
  readonly settings: Pick<Settings, "limits">;
  /** Memory and worker of large bodies. */
  readonly large: LargeBodies;
  /** Places for requests in progress, shared between accounts, and those of each key. */
  readonly openRequests: Places;
  /** count_tokens requests of each key, per minute. */
  readonly counts: RateLimit;
  /** Bytes of rejected bodies and count_tokens requests of each key, per minute. */
  readonly unbilledBytes: RateLimit;
  readonly connections: Connections;
  readonly memory: Pick<MemoryGuard, "check">;
  readonly arrivals: Pick<Arrivals, "progressed" | "narrow" | "endSoon" | "watch">;
  readonly tracing: Tracing;
}

/** Takes note of more bytes of a request. */
type Received = (bytes: number) => void;

/** Requests to models: their key, their place, their body, then `relay/` or the count. */
export class Inference {
  readonly #parts: RelayParts;
  readonly #callers: Callers;
  readonly #options: InferenceOptions;
  readonly #bodyLimits: BodyLimits;
  readonly #partial: PartialInput;
  #open = 0;
  #onIdle: (() => void) | undefined;

  constructor(parts: RelayParts, callers: Callers, options: InferenceOptions) {
    this.#parts = parts;
    this.#callers = callers;
    this.#options = options;
    this.#partial = new PartialInput({
      arrivals: options.arrivals,
      memory: options.large.memory,
    });
    this.#bodyLimits = { ...options.settings.limits, timers: parts.timers, large: options.large };
  }

  /** Resolves when no request is in progress, those whose key is looked up included. */
  idle(): Promise<void> {
    if (this.#open === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle = resolve);
  }

  /**
   * Answers a request by an upstream.
   *
   * @param options Whether the model is to reply, else the request is only checked; and whether it is a turn of a WebSocket.
   */
  relay(
    request: Request,
    state: RequestState,
    dialect: DialectName,
    { generates = true, isTurn = false }: {
      readonly generates?: boolean;
      readonly isTurn?: boolean;
    } = {},
  ): Promise<Response> {
    const { path } = state;
    return this.#exchange(request, state, (incoming, received) => {
      const { caller: { accountId, keyId }, body } = incoming;
      const { unbilledBytes, large } = this.#options;
      if (!generates) unbilledBytes.add(keyId, body.bytes);
      state.model = isObject(body.json) ? text(body.json.model) : undefined;
      const makeRoom = async (bytes: number) => {
        received(bytes);
        if (!generates) unbilledBytes.add(keyId, bytes);
        if (bytes <= FREE_BYTES) return;
        body.detached.hold(await large.memory.take(accountId, bytes));
        await large.turn(accountId);
      };
      return relay(this.#parts, { ...incoming, dialect, generates, makeRoom, path });
    }, { isTurn });
  }

  /** Answers a request for embeddings by an upstream. */
  embed(request: Request, state: RequestState): Promise<Response> {
    // arrays of tokens have that many values more than any other body, and each of them is small
    const bodyValues = this.#bodyLimits.bodyValues + MAX_INPUT_TOKENS + MAX_INPUTS;
    return this.#exchange(request, state, (incoming) => embed(this.#parts, incoming), {
      limits: { ...this.#bodyLimits, bodyValues },
    });
  }

  async #exchange(
    request: Request,
    state: RequestState,
    run: (incoming: EmbedRequest, received: Received) => Promise<RelayReply>,
    { limits = this.#bodyLimits, isTurn = false }: {
      readonly limits?: BodyLimits;
      readonly isTurn?: boolean;
    },
  ): Promise<Response> {
    const startedTick = performance.now();
    this.#options.memory.check();
    const { requestId, clientRequestId, path } = state;
    const trace = isTurn
      ? this.#options.tracing.named(`turn ${path}`, { isTurn })
      : this.#options.tracing.named(`POST ${path}`);
    trace.set({ "http.route": path, "sluice.request_id": requestId });
    const reading = trace.begin("read");
    const { caller, over: leave } = await this.#enter(request, state).catch((error) => {
      trace.end();
      throw error;
    });
    const over = isTurn ? () => (leave(), trace.end()) : leave;
    const reply = await this.#read(
      request,
      isTurn ? undefined : state.peer,
      caller,
      (body, received) => {
        reading.end();
        const incoming: EmbedRequest = {
          caller,
          body,
          requestId,
          clientRequestId,
          header: state.header,
          trace,
          leaving: new ConnectionWatcher(request, {
            timers: this.#parts.timers,
            connections: this.#options.connections,
            peer: state.peer,
          }),
          startedTick,
          onStatus: (accountStatus) => state.accountStatus = accountStatus,
          over,
        };
        return run(incoming, received);
      },
      limits,
    ).catch((error) => {
      over();
      throw error;
    });
    return this.#respond(state, reply);
  }

  /** Counts a request's input; nothing is sent upstream, nothing is charged. */
  async count(
    request: Request,
    state: RequestState,
    { parse }: NonNullable<Front["counting"]>,
  ): Promise<Response> {
    const { counts, unbilledBytes } = this.#options;
    const { caller, over } = await this.#enter(request, state, ({ keyId }) => {
      checkQuota(counts, keyId, "count_tokens requests");
      counts.add(keyId);
    });
    const counted = await this.#read(request, state.peer, caller, async (body) => {
      const parsed = parseDetached(body, (json) => parse(json, state.header));
      this.#parts.catalog().resolve(parsed.model, "generation");
      unbilledBytes.add(caller.keyId, body.bytes);
      const { tokens } = await meterInTurns(parsed.body, parsed.images);
      return { input_tokens: tokens };
    }).finally(over);
    return Response.json(counted, { headers: await this.#callers.headers(state) });
  }

  /**
   * Identifies the caller and takes a place for its request.
   *
   * @param check Throws if the caller may not make this request now.
   * @returns The caller, and what gives the place back; later calls of it do nothing.
   * @throws {Refusal} `key_invalid`; `permission_denied` for a key of other scopes; `gateway_unavailable` when the gateway, the account or the key has no place left.
   */
  async #enter(
    request: Request,
    state: RequestState,
    check: (caller: Caller) => void = () => {},
  ): Promise<{ caller: Caller; over: () => void }> {
    this.#open++;
    try {
      const caller = await this.#callers.identify(request, state);
      checkScope(caller, "inference");
      check(caller);
      const { openRequests, connections } = this.#options;
      const { peer } = state;
      const released = () => this.#close();
      return { caller, over: takePlace(caller, openRequests, { peer, connections, released }) };
    } catch (error) {
      this.#close();
      throw error;
    }
  }

  #close(): void {
    if (--this.#open === 0) this.#onIdle?.();
  }

  /** Reads a body. Bytes of bodies that are rejected, and of those that are only counted, count in the key's quota. */
  async #read<T>(
    request: Request,
    peer: Deno.Addr | undefined,
    { accountId, keyId }: Caller,
    use: (body: JsonBody, received: Received) => T | Promise<T>,
    limits = this.#bodyLimits,
  ): Promise<T> {
    let bytes = 0;
    const received: Received = (more) => bytes += more;
    checkQuota(this.#options.unbilledBytes, keyId, UNBILLED_BYTES);
    const watch: BodyOwner["watch"] = (maxBytes, refused) =>
      this.#partial.body(peer, { account: accountId, maxBytes, refused });
    const owner = { account: accountId, received, watch };
    try {
      const body = await readJson(request, limits, owner);
      try {
        return await use(body, received);
      } finally {
        body.detached.release();
      }
    } catch (error) {
      if (!(error instanceof Refusal) || error.status < 500) {
        this.#options.unbilledBytes.add(keyId, bytes);
      }
      throw error;
    }
  }

  /**
   * Headers are added one by one: the platform's constructor would copy and register many of them, which takes twice as
   * long (Deno 2.9).
   */
  #respond(
    state: RequestState,
    { settled, ...reply }: RelayReply,
  ): Response | Promise<Response> {
    const { headers, accountStatus } = state;
    const isWhole = typeof reply.body === "string";
    const { balance, windows, budget } = accountStatus!;
    const onStatus = {
      balance: settled?.balance ?? Math.max(0, balance - (settled?.charged ?? 0)),
      windows,
      // what others spent meanwhile is not known
      budget: budget && { ...budget, spent: budget.spent + (settled?.charged ?? 0) },
    };
    const response = new Response(reply.body, { headers: isWhole ? JSON_REPLY : EVENT_STREAM });
    try {
      addHeaders(response, headers);
      addHeaders(response, statusHeaders(state, onStatus, this.#parts.now()));
      if (settled) addHeaders(response, { "x-sluice-credits": String(settled.charged) });
      addHeaders(response, reply.headers);
      return response;
    } catch (error) {
      if (isWhole) throw error;
      // nobody will read the stream, which settles itself as it ends
      return response.body!.cancel().then(() => Promise.reject(error));
    }
  }
}

/** Adds headers that a response does not have yet. */
function addHeaders({ headers }: Response, more: Readonly<Record<string, string>>): void {
  for (const name in more) headers.append(name, more[name]!);
}

const JSON_REPLY = { "content-type": "application/json" };
