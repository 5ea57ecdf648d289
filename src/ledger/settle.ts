import type { Database, GroupWrite } from "../database/mod.ts";
import { feed } from "./feed.ts";
import type { Given } from "./rules/intake.ts";
import { CHARGED, SETTLEMENTS } from "./rules/settle.ts";

/** How a request ended. */
export type Ending = "complete" | "refused" | "upstream_failed" | "client_left";

/** The prices of a charge: credits per million tokens, and the credits that it costs at least. */
export interface ChargePrices {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly minimum: number;
}

/** One request, as it is remembered: who, what, how much, how long. Never what was said. */
export interface UsageRecord {
  readonly requestId: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly dialect: string;
  readonly route: string;
  /** The upstream that answered or was asked last. */
  readonly upstream: string | null;
  readonly upstreamModel: string | null;
  readonly attempts: number;
  /** HTTP status of the answer. */
  readonly status: number;
  readonly ending: Ending;
  readonly streamed: boolean;
  /** Who counted the tokens; null when nothing is charged. */
  readonly usageSource: "upstream" | "counted" | null;
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  readonly startedAtMs: number;
  /** From the request's arrival to the first output. */
  readonly firstTokenMs: number | null;
  readonly durationMs: number;
  /** What it costs, in whole credits. */
  readonly priceCredits: number;
  /** What the price was computed with; null when nothing is charged. */
  readonly prices: ChargePrices | null;
  /** When its windows counted it; null when they did not. */
  readonly admittedAtMs: number | null;
  /** Names of request fields that could not be carried, with commas in between. */
  readonly ignored: string;
  readonly settledAtMs: number;
}

/** What settling took. */
export interface Settled {
  /** Credits that were taken: the price, unless less was left. */
  readonly charged: number;
  /** The balance after it. */
  readonly balance: number;
}

/** As the table allows. */
const MAX_IGNORED = 2_000;

const SETTLE: GroupWrite<Given<typeof SETTLEMENTS>, Settled> = {
  name: "settlement",
  key: "request_id",
  repeatable: true,
  statements: feed(SETTLEMENTS),
  outcomes: CHARGED,
  read(row) {
    if (row === undefined) throw new TypeError("a request was not settled");
    return { charged: Number(row.charged_credits), balance: Number(row.balance_credits) };
  },
};

/**
 * Ends a request: releases its hold, takes its price, writes its record, adds it to its hour. Once
 * per request id; settling again answers what the first time took. Resolves when it is durable.
 */
export function settle(database: Database, record: UsageRecord): Promise<Settled> {
  return database.write(SETTLE, {
    request_id: record.requestId,
    account_id: record.accountId,
    key_id: record.keyId,
    dialect: record.dialect,
    route: record.route,
    upstream: record.upstream,
    upstream_model: record.upstreamModel,
    attempts: record.attempts,
    status: record.status,
    ending: record.ending,
    streamed: record.streamed ? 1 : 0,
    usage_source: record.usageSource,
    input_tokens: record.inputTokens,
    cached_tokens: record.cachedTokens,
    output_tokens: record.outputTokens,
    reasoning_tokens: record.reasoningTokens,
    started_at_ms: record.startedAtMs,
    first_token_ms: record.firstTokenMs,
    duration_ms: record.durationMs,
    price_credits: record.priceCredits,
    ignored: record.ignored.slice(0, MAX_IGNORED),
    input_price: record.prices?.input ?? null,
    cached_price: record.prices?.cached ?? null,
    output_price: record.prices?.output ?? null,
    minimum_credits: record.prices?.minimum ?? null,
    admitted_at_ms: record.admittedAtMs,
    settled_at_ms: record.settledAtMs,
  });
}
