import type { Caller } from "../../people/accounts/mod.ts";
import type { Hold } from "../admission/mod.ts";
import { chargeOf, pricedByOwnKey, type Route, type Target } from "../../settings/catalog/mod.ts";
import { type Database, DatabaseError } from "../../ground/database/mod.ts";
import {
  type AttemptRecord,
  type Ending,
  type KeyOwner,
  settle,
  type Settled,
  type UsageRecord,
} from "../../money/ledger/mod.ts";
import type { UsedExtras } from "../../wire/extras/mod.ts";
import { delay } from "../../ground/std/mod.ts";
import type { Log, Metrics, Trace } from "../../ground/telemetry/mod.ts";
import type { End } from "./end.ts";
import { errorOf, failedEnd } from "./failed_end.ts";
import type { RequestTags } from "./request_tags.ts";

/** What a settlement needs from outside. */
export interface SettlementParts {
  readonly database: Database;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly now: () => number;
}

/** What is known of a request before it ends. */
export interface SettlementOptions {
  readonly trace: Trace;
  readonly requestId: string;
  /** The client's own id of the request, for the log. */
  readonly clientRequestId: string | undefined;
  readonly caller: Caller;
  readonly dialect: string;
  readonly route: Route;
  /** What it asks for besides text. */
  readonly used: UsedExtras;
  readonly streamed: boolean;
  readonly hold: Hold;
  readonly startedAtMs: number;
  /** `performance.now()` at the request's arrival. */
  readonly startedTick: number;
  /** Aborted when the gateway cannot wait any longer. */
  readonly cutOff: AbortSignal;
  readonly tags: RequestTags | undefined;
}

/** What was sent upstream for a request. */
export interface SentRequest {
  /** The target that replied, or the last one that failed; undefined when nothing was sent. */
  readonly target: Target | undefined;
  /** Requests that were sent. */
  readonly attempts: number;
  /** Each of them; undefined if all got a reply. */
  readonly outcomes: readonly AttemptRecord[] | undefined;
  /** The client's fields that were adjusted, with their values, and those that the target which replied was not sent. */
  readonly changed: readonly string[];
  /** The provider's own ID of the request that was replied to. */
  readonly upstreamRequestId?: string | undefined;
  /** Whose keys all of its replies came with; undefined if the gateway's had a part in it. */
  readonly ownKey?: KeyOwner | undefined;
}

/** First wait between two attempts at a settlement while the database is unavailable; it doubles up to the longest. */
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 2_000;
/** How long attempts are made while a client waits for the end of its response. */
const CALLERS_PATIENCE_MS = 15_000;
/** The same when no client waits. */
const PATIENCE_MS = 60_000;

/** What came of an attempt whose response failed after it had begun. */
const BROKE_OFF = "replied, then broke off";

/** The end of one request: charged and recorded once, whichever of several possible ends comes first (P2). */
export class Settlement {
  readonly #parts: SettlementParts;
  readonly #options: SettlementOptions;
  #settled: Promise<Settled> | undefined;
  #firstTokenMs: number | null = null;
  /** A settlement that is still being tried after the response; undefined when there is none. */
  behind: Promise<unknown> | undefined;
  /** What was sent upstream. */
  sent: SentRequest = { target: undefined, attempts: 0, outcomes: undefined, changed: [] };

  constructor(parts: SettlementParts, options: SettlementOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  /** Notes the time of the first output. */
  outputBegan(): void {
    this.#firstTokenMs ??= this.#elapsed();
  }

  /**
   * Charges and records the end; resolves when that is durable. Later calls resolve with the first
   * one and change nothing.
   */
  settle(end: End): Promise<Settled> {
    this.#settled ??= this.#settle(end);
    return this.#settled;
  }

  async #settle(end: End): Promise<Settled> {
    const { hold, route, requestId, trace } = this.#options;
    const { metrics, log } = this.#parts;
    const { ending, status, usage, usageSource, patient = false } = end;
    const stage = trace.begin("settlement");
    const record = this.#record(end);
    const balance = hold.charge(record.priceCredits);
    let settled: Settled | undefined;
    try {
      settled = await this.#commit(record, patienceFor(ending, patient));
      return { ...settled, balance: settled.balance ?? balance };
    } catch (error) {
      if (!patient) this.behind = this.#settleBehind(record, error).catch(() => {}); // it is in the log
      throw error;
    } finally {
      hold.end(settled && { ...settled, priceCredits: record.priceCredits });
      stage.end({ "sluice.credits": settled?.charged ?? 0, "sluice.ending": ending });
      const { dialect, streamed, durationMs, inputTokens, cachedTokens, outputTokens } = record;
      metrics.request({
        dialect,
        route: route.id,
        status,
        ending,
        streamed,
        durationMs: this.#elapsed(),
        firstTokenMs: this.#firstTokenMs,
        inputTokens,
        cachedTokens,
        outputTokens,
        priceCredits: settled === undefined ? 0 : record.priceCredits,
        chargedCredits: settled?.charged ?? 0,
      });
      log.info("request", {
        id: requestId,
        client_id: this.#options.clientRequestId,
        account: record.accountId,
        key: record.keyId,
        dialect,
        route: route.id,
        upstream: record.upstream ?? undefined,
        attempts: record.attempts,
        status,
        ending,
        streamed,
        input: usage?.inputTokens,
        output: usage?.outputTokens,
        usage: usageSource,
        credits: settled?.charged,
        first_ms: this.#firstTokenMs ?? undefined,
        ms: durationMs,
      });
    }
  }

  /**
   * The client gets an error, so the request must cost nothing: a settlement that is still on its way to the
   * database finds this one there.
   */
  #settleBehind(record: UsageRecord, error: unknown): Promise<Settled> {
    return this.#commit(
      record.ending === "complete" ? this.#record(failedEnd(errorOf(error))) : record,
      PATIENCE_MS,
    );
  }

  #record(end: End): UsageRecord {
    const { ending, status, usage, usageSource, failure, counted, reported } = end;
    const { requestId, caller, dialect, route, streamed, startedAtMs, hold, tags } = this.#options;
    const { target, attempts, changed, ownKey, upstreamRequestId: id } = this.sent;
    const charge = usage === undefined ? undefined : chargeOf(
      ownKey === undefined ? this.#options : pricedByOwnKey(
        this.#options,
        Math.ceil(usage.inputTokens / Math.max(1, end.requests ?? 1)),
      ),
      { ...usage, ...end },
    );
    return {
      requestId,
      accountId: caller.accountId,
      keyId: caller.keyId,
      dialect,
      route: route.id,
      upstream: target?.upstream ?? null,
      upstreamModel: target?.model ?? null,
      attempts,
      status,
      ending,
      streamed,
      usageSource: usageSource ?? null,
      inputTokens: usage?.inputTokens ?? 0,
      cachedTokens: usage?.cachedTokens ?? 0,
      outputTokens: usage?.outputTokens ?? 0,
      reasoningTokens: usage?.reasoningTokens ?? 0,
      startedAtMs,
      firstTokenMs: this.#firstTokenMs,
      durationMs: this.#elapsed(),
      priceCredits: charge?.priceCredits ?? 0,
      prices: charge === undefined
        ? null
        : { ...charge.priced.prices, minimum: charge.priced.minimum },
      extraCredits: charge?.extraCredits ?? 0,
      details: {
        ...end.told,
        id,
        row: charge?.priced.row?.name,
        ...(charge !== undefined && hasAny(charge.extras) && { extras: charge.extras }),
      },
      ownKey,
      counted,
      reported,
      admittedAtMs: hold.admittedAtMs,
      lent: hold.lent,
      tags,
      ignored: changed.join(", "),
      settledAtMs: this.#parts.now(),
      failure,
      attemptList: ending === "upstream_failed" ? this.#failedAttempts() : this.sent.outcomes,
    };
  }

  /** The attempts of a failed request; one that had replied broke off later. */
  #failedAttempts(): readonly AttemptRecord[] | undefined {
    const { target, attempts, outcomes } = this.sent;
    const last = outcomes?.at(-1);
    if (last !== undefined) {
      return last.outcome === "replied"
        ? outcomes!.with(-1, { ...last, outcome: BROKE_OFF })
        : outcomes;
    }
    if (target === undefined || attempts !== 1) return undefined;
    const { upstream, model } = target;
    const durationMs = this.#firstTokenMs ?? this.#elapsed();
    return [{ upstream, model, key: undefined, outcome: BROKE_OFF, durationMs }];
  }

  /** Settling again is harmless: a request is charged once. */
  async #commit(record: UsageRecord, patienceMs: number): Promise<Settled> {
    const { database, log } = this.#parts;
    const { requestId, cutOff } = this.#options;
    const untilTick = performance.now() + patienceMs;
    let waitMs = FIRST_WAIT_MS;
    let mayBeDone = false;
    while (true) {
      try {
        return await settle(database, record);
      } catch (error) {
        const fields = { id: requestId, priceCredits: record.priceCredits, error: String(error) };
        const leftMs = untilTick - performance.now();
        mayBeDone ||= error instanceof DatabaseError && error.outcomeUnknown;
        // a charge that may be there is not given up at a failure that would otherwise end the attempts
        const mayPass = error instanceof DatabaseError &&
          (patienceMs === PATIENCE_MS || mayBeDone ? !error.isFinal : error.isPassing);
        if (!mayPass || leftMs <= 0 || cutOff.aborted) {
          log.error("a request was not settled", fields);
          throw error;
        }
        if (waitMs === FIRST_WAIT_MS) log.warn("a request is not settled yet", fields);
        await delay(Math.min(waitMs, leftMs), { persistent: false });
        waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
      }
    }
  }

  #elapsed(): number {
    return Math.round(performance.now() - this.#options.startedTick);
  }
}

function hasAny(values: object): boolean {
  for (const _ in values) return true;
  return false;
}

/** A failed request is answered at once: its end is recorded afterwards. */
function patienceFor(ending: Ending, patient: boolean): number {
  if (patient) return PATIENCE_MS;
  return ending === "complete" ? CALLERS_PATIENCE_MS : 0;
}
