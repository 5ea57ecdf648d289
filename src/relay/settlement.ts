import type { Caller } from "../accounts/mod.ts";
import type { Hold } from "../admission/mod.ts";
import { priceOf, type Route, type Target } from "../catalog/mod.ts";
import type { Database } from "../database/mod.ts";
import type { Usage } from "../dialects/mod.ts";
import { type Ending, settle, type Settled, type UsageRecord } from "../ledger/mod.ts";
import type { Log, Metrics, Trace } from "../telemetry/mod.ts";

/** What is known of a request before it ends. */
export interface SettlementOptions {
  readonly database: Database;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly trace: Trace;
  readonly now: () => number;
  readonly requestId: string;
  readonly clientRequestId: string | undefined;
  readonly caller: Caller;
  readonly dialect: "chat" | "messages";
  readonly route: Route;
  readonly streamed: boolean;
  readonly hold: Hold;
  readonly startedAtMs: number;
  /** `performance.now()` at the request's arrival. */
  readonly startedTick: number;
}

/** How a request ended. */
export interface End {
  readonly ending: Ending;
  readonly status: number;
  /** What to charge by; undefined for nothing. */
  readonly usage?: Usage | undefined;
  readonly usageSource?: "upstream" | "counted" | undefined;
  /** Nobody waits for it: a database that cannot be used just now is asked again. */
  readonly patient?: boolean;
}

/** Between two attempts at a settlement that nobody waits for. */
const WAITS_MS = [500, 1_000, 2_000, 4_000, 8_000, 15_000, 30_000];

/** The end of one request: charged and recorded once, whichever of its several ends comes first. */
export class Settlement {
  readonly #options: SettlementOptions;
  #settled: Promise<Settled> | undefined;
  #firstTokenMs: number | null = null;
  /** Names of the caller's fields that could not be carried. */
  ignored: readonly string[] = [];
  /** Who was asked last, and how often anyone was. */
  asked: { target: Target | undefined; attempts: number } = { target: undefined, attempts: 0 };

  constructor(options: SettlementOptions) {
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

  async #settle({ ending, status, usage, usageSource, patient = false }: End): Promise<Settled> {
    const { log, now, requestId, caller, dialect, route, streamed, hold, startedAtMs } =
      this.#options;
    const { metrics, trace } = this.#options;
    const { target, attempts } = this.asked;
    const durationMs = this.#elapsed();
    const priceCredits = usage === undefined ? 0 : priceOf(route, usage);
    const stage = trace.begin("settlement");
    let settled: Settled | undefined;
    try {
      const record: UsageRecord = {
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
        durationMs,
        priceCredits,
        ignored: this.ignored.join(", "),
        settledAtMs: now(),
      };
      settled = await this.#commit(record, patient ? WAITS_MS : []);
      return settled;
    } finally {
      hold.end();
      stage.end({ "sluice.credits": settled?.charged ?? 0, "sluice.ending": ending });
      metrics.request({
        dialect,
        route: route.id,
        status,
        ending,
        streamed,
        durationMs: this.#elapsed(),
        firstTokenMs: this.#firstTokenMs,
        inputTokens: usage?.inputTokens ?? 0,
        cachedTokens: usage?.cachedTokens ?? 0,
        outputTokens: usage?.outputTokens ?? 0,
        priceCredits: settled === undefined ? 0 : priceCredits,
        chargedCredits: settled?.charged ?? 0,
      });
      log.info("request", {
        id: requestId,
        client_id: this.#options.clientRequestId,
        account: caller.accountId,
        key: caller.keyId,
        dialect,
        route: route.id,
        upstream: target?.upstream,
        attempts,
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

  /** Settling again is harmless: a request is charged once. */
  async #commit(record: UsageRecord, [waitMs, ...waits]: readonly number[]): Promise<Settled> {
    const { database, log, requestId } = this.#options;
    try {
      return await settle(database, record);
    } catch (error) {
      const fields = { id: requestId, priceCredits: record.priceCredits, error: String(error) };
      if (waitMs === undefined) {
        log.error("a request was not settled", fields);
        throw error;
      }
      log.warn("a request is not settled yet", fields);
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      return await this.#commit(record, waits);
    }
  }

  #elapsed(): number {
    return Math.round(performance.now() - this.#options.startedTick);
  }
}
