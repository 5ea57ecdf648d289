import { columnsOf, type Database, either, type GroupWrite } from "../../ground/database/mod.ts";
import type { Told } from "../../wire/dialects/mod.ts";
import { feed, locksOf } from "./feed.ts";
import { displayed } from "../../ground/platform/mod.ts";
import type { Given } from "./rules/intake.ts";
import { CHARGED, SETTLE as RULE } from "./rules/settle.ts";
import { SETTLING } from "./rules/settle_set.ts";
import { wholeCredits } from "./whole_credits.ts";

/** How a request ended. */
export type Ending = "complete" | "refused" | "upstream_failed" | "client_left";

/** The prices of a charge: credits per million tokens, and the credits that it costs at least. */
export interface ChargePrices {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly minimum: number;
}

/** One request that was sent upstream, as it is remembered. */
export interface AttemptRecord {
  readonly upstream: string;
  readonly model: string;
  /** Name of the key that it was sent with, where the upstream has several. */
  readonly key?: string | undefined;
  /** What came of it, in words: `replied`, `status 503`, `timed out`. */
  readonly outcome: string;
  readonly durationMs: number;
}

/** Why a request failed. */
export interface FailureRecord {
  /** Code of the error, such as `upstream_unavailable`. */
  readonly reason: string;
  /** The message that the client got, or would have got. */
  readonly message: string;
}

/**
 * One request, as it is remembered: who, what, how much, how long, and why it failed. Never what was said, but for what
 * an error message quotes of it.
 */
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
  /** Names of request fields that could not be carried, comma-separated. */
  readonly ignored: string;
  readonly settledAtMs: number;
  /** Undefined for a complete response. */
  readonly failure?: FailureRecord | undefined;
  /** The attempts; undefined if each got a reply. */
  readonly attemptList?: readonly AttemptRecord[] | undefined;
  /** What it was admitted on, if that was a loan. */
  readonly lent?: LentCredits | undefined;
  /** What it costs besides its tokens: part of the price. */
  readonly extraCredits?: number | undefined;
  /** Tokens as counted by the gateway, and as reported, believed or not. */
  readonly counted?: TokenPair | undefined;
  readonly reported?: Partial<TokenPair> | undefined;
  /** Whose key the reply came with; undefined for the gateway's. */
  readonly ownKey?: KeyOwner | undefined;
  /** What the reply says of how it was made, and what the extra credits are of. */
  readonly details?: ChargeDetails | undefined;
  /** Values by name; undefined for none. */
  readonly tags?: Readonly<Record<string, string>> | undefined;
}

/** Who a key of an upstream belongs to that is not the gateway's: an account, a team, or who sent it with the request. */
export const KEY_OWNERS = ["account", "team", "request"] as const;
/** One of them. */
export type KeyOwner = typeof KEY_OWNERS[number];

/** What stands on the record beside a charge. */
export interface ChargeDetails extends Told {
  /** The provider's own ID of the request. */
  readonly id?: string | undefined;
  /** The published prices that the charge was made with; undefined where the settings say them. */
  readonly row?: string | undefined;
  /** Counts and prices by what they are of: tokens per million, calls and requests per thousand. */
  readonly extras?: Readonly<Record<string, readonly [count: number, price: number]>> | undefined;
  /** Whether it was charged once more, since the database had lost the charge after acknowledging it. */
  readonly late?: boolean | undefined;
}

/** Tokens of a request. */
export interface TokenPair {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** Credits of a loan that a request was admitted on. */
export interface LentCredits {
  readonly loanId: string;
  readonly credits: number;
}

/** What settling took. */
export interface Settled {
  /** Credits that were taken: the price, unless less was left. */
  readonly charged: number;
  /** The balance after it; undefined if only the database knows it. */
  readonly balance: number | undefined;
}

/** As the table allows. */
const MAX_IGNORED = 2_000;
const MAX_MESSAGE_CHARS = 700;
/** Attempts that are listed, and characters of each name in them. */
const MAX_LISTED = 20;
const MAX_NAME_CHARS = 128;

/** Ends requests, each once. */
export const SETTLE: GroupWrite<Given<typeof SETTLING>, Settled> = {
  name: "settlement",
  key: "request_id",
  repeatable: true,
  columns: columnsOf(SETTLING),
  statements: [
    either({
      sqlite: feed(SETTLING, { onRepeated: "ignore" }),
      postgres: "insert into settlement_sets (given) values (?1) returning given",
    }),
    either({ sqlite: "insert into settlement_sets (given) select count(?1)", postgres: "" }),
  ],
  locks: locksOf(SETTLING, RULE),
  locksItself: true,
  outcomes: either({ sqlite: CHARGED, postgres: "" }),
  outcomesLater: CHARGED,
  late: (item) => ({
    ...item,
    // its admission may be lost as well: if it holds nothing it is counted in its windows now, as one from a loan is
    lent: item.lent ?? 0,
    details: JSON.stringify({ ...JSON.parse(String(item.details ?? "{}")), late: true }),
  }),
  read(row) {
    if (row === undefined) throw new TypeError("a request was not settled");
    return {
      charged: wholeCredits(row.charged_credits, "a charge"),
      balance: wholeCredits(row.balance_credits ?? 0, "a balance"),
    };
  },
};

/**
 * Ends a request: releases its hold, takes its price, writes its record, adds it to its hour. Once
 * per request id (P2); settling again answers what the first time took. Resolves when it is durable (P6).
 *
 * @throws {TypeError} If its price is not in whole credits.
 */
export async function settle(database: Database, record: UsageRecord): Promise<Settled> {
  const item = itemOf(record);
  const { lent, priceCredits } = record;
  // what its loan covers is charged whole, whenever the database gets to know it
  if (lent !== undefined && priceCredits <= lent.credits && database.writeBehind !== undefined) {
    const settled = await database.writeBehind(SETTLE, item);
    return settled ?? { charged: priceCredits, balance: undefined };
  }
  return await database.write(SETTLE, item);
}

function itemOf(record: UsageRecord): Given<typeof SETTLING> {
  return {
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
    price_credits: wholeCredits(record.priceCredits, "a price"),
    ignored: record.ignored.slice(0, MAX_IGNORED),
    input_price: record.prices?.input ?? null,
    cached_price: record.prices?.cached ?? null,
    output_price: record.prices?.output ?? null,
    minimum_credits: record.prices?.minimum ?? null,
    admitted_at_ms: record.admittedAtMs,
    settled_at_ms: record.settledAtMs,
    reason: record.failure?.reason,
    message: record.failure && bounded(record.failure.message, MAX_MESSAGE_CHARS),
    attempt_list: record.attemptList && listOf(record.attemptList),
    loan_id: record.lent?.loanId,
    lent: record.lent && wholeCredits(record.lent.credits, "lent credits"),
    tags: record.tags && tagsOf(record.tags),
    extra_credits: record.extraCredits,
    counted_input: record.counted?.inputTokens,
    counted_output: record.counted?.outputTokens,
    reported_input: record.reported?.inputTokens,
    reported_output: record.reported?.outputTokens,
    own_key: record.ownKey,
    details: record.details && detailsOf(record.details),
  };
}

/** As JSON, of which SQLite makes texts: half a surrogate pair would end the process that reads it. */
function tagsOf(tags: Readonly<Record<string, string>>): string {
  const all = Object.entries(tags).map(([name, value]) =>
    [name.toWellFormed(), value.toWellFormed()] as const
  );
  return JSON.stringify(Object.fromEntries(all));
}

/** As JSON without unknown values; undefined for nothing. */
function detailsOf(details: ChargeDetails): string | undefined {
  const known: Record<string, unknown> = {};
  for (const name in details) {
    const value = details[name as keyof ChargeDetails];
    if (value === undefined) continue;
    known[name] = typeof value === "string" ? bounded(value, MAX_NAME_CHARS) : value;
  }
  const text = JSON.stringify(known);
  return text === "{}" ? undefined : text;
}

/** The attempts as JSON; of many, the last, which decided what became of the request. */
function listOf(attempts: readonly AttemptRecord[]): string {
  return JSON.stringify(
    attempts.slice(-MAX_LISTED).map(({ upstream, model, key, outcome, durationMs }) => ({
      upstream: bounded(upstream, MAX_NAME_CHARS),
      model: bounded(model, MAX_NAME_CHARS),
      ...(key === undefined ? {} : { key: bounded(key, MAX_NAME_CHARS) }),
      outcome: bounded(outcome, MAX_NAME_CHARS),
      ms: durationMs,
    })),
  );
}

/**
 * A text of an upstream for a terminal or a page. SQLite counts characters, not UTF-16 units, so that it is never longer
 * than a check allows.
 */
function bounded(text: string, maxChars: number): string {
  const plain = displayed(text.slice(0, maxChars));
  const isCut = text.length > maxChars || plain.length > maxChars;
  return (isCut ? `${plain.slice(0, maxChars - 1)}…` : plain).toWellFormed();
}
