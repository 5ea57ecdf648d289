import type { Admission, AdmittedRequest, Hold } from "../admission/mod.ts";
import {
  heldRoute,
  type PricedBy,
  pricedByOwnKey,
  reservedFor,
  routeFor,
} from "../../settings/catalog/mod.ts";
import type { AccountStatus, Settled } from "../../money/ledger/mod.ts";
import { Refusal } from "../../ground/refusal.ts";
import { ExchangeFailed, TransportFault } from "../upstreams/mod.ts";
import type { InFlightRequests } from "./in_flight_requests.ts";
import { DISCONNECTED_BEFORE, errorOf, failedEnd } from "./failed_end.ts";
import type { ShareOfOwnKeys } from "./own_keys.ts";
import type { End } from "./end.ts";
import {
  type SentRequest,
  Settlement,
  type SettlementOptions,
  type SettlementParts,
} from "./settlement.ts";

/** What a lifecycle needs from outside. */
export interface LifecycleParts extends SettlementParts {
  readonly admission: Admission;
  readonly inFlight: InFlightRequests;
}

/** Tells when the client disconnects. */
export interface DisconnectWatcher {
  /**
   * Watches until the response has begun.
   *
   * @param disconnected Called when the client disconnects.
   * @returns Ends the watch.
   */
  watch(disconnected: () => void): () => void;
  /** Whether the client has closed its connection, or its half of it: the system knows before the platform tells. */
  hasLeft(): boolean;
}

/** A request as received. */
export interface IncomingRequest extends
  Pick<
    SettlementOptions,
    "requestId" | "clientRequestId" | "caller" | "trace" | "startedTick"
  > {
  readonly leaving: DisconnectWatcher;
  /** Called with the account's status when it is known, whether the request is admitted or not. */
  readonly onStatus: (accountStatus: AccountStatus) => void;
  /** Called when an admitted or rejected request has ended, its settlement included. */
  readonly over: () => void;
}

/** What a request wants to be admitted for. */
export interface AdmissionTerms
  extends Pick<SettlementOptions, "route" | "dialect" | "streamed" | "used" | "tags"> {
  /** Input as the hold is to cover it. */
  readonly inputTokens: number;
  /** Maximum output tokens of one choice, as far as the route goes. */
  readonly permittedOutput: number;
  readonly choices: number;
  /** Input that may come on top of what is counted, at most: of what only its upstream gets to know. */
  readonly openInput?: number | undefined;
  /** How many of its plans are sent with keys of the caller's own. */
  readonly ownKeys: ShareOfOwnKeys;
}

/**
 * One request from its admission to its settlement: in flight, in its windows, holding credits. It knows nothing of
 * dialects and of what is exchanged with upstreams.
 *
 * It settles exactly once (P2): as `settle` says, or as failed.
 */
export class Lifecycle {
  /** ID of the caller's account. */
  readonly accountId: string;
  readonly hold: Hold;
  /** Maximum output tokens of one choice, as far as the balance goes too. */
  readonly permittedOutput: number;
  /** Whether it holds credits for replies to keys of the caller's own only. */
  readonly isOwnOnly: boolean;
  /** Aborted when the gateway cannot wait for requests any longer. */
  readonly cutOff: AbortSignal;
  readonly #left: AbortController;
  readonly #leaving: DisconnectWatcher;
  readonly #settlement: Settlement;
  readonly #end: () => void;
  #unwatch: (() => void) | undefined;
  #isOver = false;

  private constructor(
    { accountId, left, settlement, hold, permittedOutput, isOwnOnly, cutOff, end, leaving }:
      & Pick<Lifecycle, "accountId" | "hold" | "permittedOutput" | "isOwnOnly" | "cutOff">
      & {
        readonly left: AbortController;
        readonly settlement: Settlement;
        readonly end: () => void;
        readonly leaving: DisconnectWatcher;
      },
  ) {
    this.accountId = accountId;
    this.#left = left;
    this.#settlement = settlement;
    this.#end = end;
    this.#leaving = leaving;
    this.#unwatch = leaving.watch(() => left.abort());
    this.hold = hold;
    this.permittedOutput = permittedOutput;
    this.isOwnOnly = isOwnOnly;
    this.cutOff = cutOff;
  }

  /**
   * Registers the request as in flight, counts it in its windows and holds its credits.
   *
   * @throws {Refusal} `rate_exceeded`, `budget_spent` or `credits_short`.
   */
  static async open(
    parts: LifecycleParts,
    incoming: IncomingRequest,
    terms: AdmissionTerms,
  ): Promise<Lifecycle> {
    const { requestId, caller, trace, startedTick, leaving } = incoming;
    const { route, dialect, streamed, used, tags } = terms;
    const left = new AbortController();
    const startedAtMs = parts.now();
    // from here on a shutdown waits for it
    const unregister = parts.inFlight.begin({
      requestId,
      accountId: caller.accountId,
      email: caller.email,
      route: route.id,
      dialect,
      streamed,
      startedAtMs,
    }, () => left.abort(new TransportFault("left", "the gateway is stopping")));
    const { over } = incoming; // an open stream keeps this, and must not keep the request's body
    const end = () => {
      unregister();
      over();
    };
    const stage = trace.begin("admission");
    try {
      let isOwnOnly = terms.ownKeys === "all";
      let admitted: AdmittedRequest;
      try {
        admitted = await admit(parts, incoming, terms, { isOwnOnly });
      } catch (error) {
        if (terms.ownKeys !== "some" || !isShort(error)) throw error;
        isOwnOnly = true; // the credits may cover what replies to the caller's own keys cost
        admitted = await admit(parts, incoming, terms, { isOwnOnly });
      }
      stage.end();
      const { cutOff } = parts.inFlight;
      const { hold } = admitted;
      const settlement = new Settlement(parts, {
        trace,
        requestId,
        clientRequestId: incoming.clientRequestId,
        caller,
        dialect,
        route,
        used,
        streamed,
        hold,
        startedAtMs,
        startedTick,
        cutOff,
        tags,
      });
      const { accountId } = caller;
      return new Lifecycle({
        ...admitted,
        accountId,
        left,
        settlement,
        isOwnOnly,
        cutOff,
        end,
        leaving,
      });
    } catch (error) {
      stage.end({}, error);
      end();
      throw error;
    }
  }

  /** Aborted when the client disconnects, or the gateway cannot wait any longer. */
  get signal(): AbortSignal {
    return this.#left.signal;
  }

  /** Notes what was sent upstream, for the record. */
  sent(sent: SentRequest): void {
    this.#settlement.sent = sent;
  }

  /** Notes the time of the first output. */
  outputBegan(): void {
    this.#settlement.outputBegan();
  }

  /** The response has begun: from here on a disconnect shows as its stream being cancelled. */
  responseBegan(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
  }

  /** Whether the client has left, noticed or not. Costs a look at all connections: for what is rare. */
  hasLeft(): boolean {
    return this.#leaving.hasLeft();
  }

  /** Cancels what upstreams still do for the request. */
  abort(): void {
    this.#left.abort();
  }

  /** Charges and records the end; resolves when that is durable. Only the first end counts. */
  settle(end: End): Promise<Settled> {
    return this.#settlement.settle(end);
  }

  /**
   * Settles a request whose response has not begun as failed, and ends it.
   *
   * @returns what to throw for it.
   */
  async fail(error: unknown): Promise<unknown> {
    if (error instanceof ExchangeFailed) {
      const { last: target, attempts, outcomes } = error;
      this.sent({ target, attempts, outcomes, changed: [] });
    }
    const isCutOff = this.cutOff.aborted;
    const isDisconnected = this.signal.aborted && !isCutOff;
    const known = isCutOff
      ? stoppingRefusal()
      : error instanceof ExchangeFailed
      ? error.refusal
      : error;
    const told = errorOf(known);
    const end: End = isDisconnected
      ? { ending: "client_left", status: told.status, failure: DISCONNECTED_BEFORE }
      : failedEnd(told, !(error instanceof ExchangeFailed) || error.attempts > 0);
    await this.settle(end).catch(() => {}); // it is in the log
    this.end();
    if (!isDisconnected || known instanceof Refusal) return known;
    return new Refusal("gateway_unavailable", "The client disconnected before the response.");
  }

  /** The request is over; a shutdown still waits for a settlement that is being tried again. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#unwatch?.();
    const { behind } = this.#settlement;
    if (behind === undefined) this.#end();
    else void behind.then(this.#end);
  }
}

/** By itself: an open stream keeps a function of `open`, and with it whatever another one there refers to. */
function admit(
  { admission }: Pick<LifecycleParts, "admission">,
  { requestId, caller, onStatus }: IncomingRequest,
  terms: AdmissionTerms,
  { isOwnOnly }: { readonly isOwnOnly: boolean },
): Promise<AdmittedRequest> {
  const { inputTokens, permittedOutput, choices, openInput = 0 } = terms;
  // by the prices of a larger input where there are such: an upstream may count more
  const atMost = Math.ceil(inputTokens * 1.25) + (openInput === Infinity ? 0 : openInput);
  const { route, used }: PricedBy = isOwnOnly
    ? pricedByOwnKey(terms, atMost)
    : { ...terms, route: routeFor(terms.route, atMost) };
  return admission.admit({
    requestId,
    caller,
    route: heldRoute(route, used),
    stream: terms.streamed,
    inputTokens,
    permittedOutput,
    choices,
    reserved: reservedFor(route, used, { inputTokens: openInput, choices }),
    isWhole: !isOwnOnly && terms.ownKeys === "some",
  }, onStatus);
}

/** Whether a request was rejected since it would cost more than is left. */
function isShort(error: unknown): boolean {
  return error instanceof Refusal &&
    (error.reason === "credits_short" || error.reason === "budget_spent");
}

/** The error of a request that the gateway cannot wait for any longer. */
export function stoppingRefusal(): Refusal {
  return new Refusal("gateway_unavailable", "The gateway is stopping. Please try again.");
}
