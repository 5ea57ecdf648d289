import type { Database, GroupWrite, Json } from "../database/mod.ts";
import { insertItems } from "./columns.ts";

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

type Item = readonly [string, ...Json[]];

/** As the table allows. */
const MAX_IGNORED = 2_000;

const SETTLE: GroupWrite<Item, Settled> = {
  name: "settlement",
  repeatable: true,
  statements: [
    insertItems("settlements", [
      "request_id",
      "account_id",
      "key_id",
      "dialect",
      "route",
      "upstream",
      "upstream_model",
      "attempts",
      "status",
      "ending",
      "streamed",
      "usage_source",
      "input_tokens",
      "cached_tokens",
      "output_tokens",
      "reasoning_tokens",
      "started_at_ms",
      "first_token_ms",
      "duration_ms",
      "price_credits",
      "ignored",
      "input_price",
      "cached_price",
      "output_price",
      "minimum_credits",
      "admitted_at_ms",
      "settled_at_ms",
    ]),
  ],
  outcomes: `select json_group_array(json_array(request_id, charged_credits, balance_credits))
    from json_each(?1) join usage_records on request_id = value ->> 0`,
  read(row) {
    if (row === undefined) throw new TypeError("a request was not settled");
    return { charged: Number(row[1]), balance: Number(row[2]) };
  },
};

/**
 * Ends a request: releases its hold, takes its price, writes its record, adds it to its hour. Once
 * per request id; settling again answers what the first time took. Resolves when it is durable.
 */
export function settle(database: Database, record: UsageRecord): Promise<Settled> {
  return database.write(SETTLE, [
    record.requestId,
    record.accountId,
    record.keyId,
    record.dialect,
    record.route,
    record.upstream,
    record.upstreamModel,
    record.attempts,
    record.status,
    record.ending,
    record.streamed ? 1 : 0,
    record.usageSource,
    record.inputTokens,
    record.cachedTokens,
    record.outputTokens,
    record.reasoningTokens,
    record.startedAtMs,
    record.firstTokenMs,
    record.durationMs,
    record.priceCredits,
    record.ignored.slice(0, MAX_IGNORED),
    record.prices?.input ?? null,
    record.prices?.cached ?? null,
    record.prices?.output ?? null,
    record.prices?.minimum ?? null,
    record.admittedAtMs,
    record.settledAtMs,
  ]);
}
