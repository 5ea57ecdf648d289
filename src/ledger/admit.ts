import { type Database, type GroupWrite, type Json } from "../database/mod.ts";
import { insertItems } from "./columns.ts";

/** A request that wants to run. */
export interface HoldRequest {
  readonly requestId: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly gatewayId: string;
  /** Credits without which it is refused. */
  readonly least: number;
  /** Credits that it would hold if there were enough. */
  readonly wanted: number;
  readonly nowMs: number;
  /** How long the hold is kept unless it is renewed. */
  readonly leaseMs: number;
  readonly tierListId: string;
}

export type Span = "minute" | "hour" | "day";

/** A request window of a key, or of an account over all its keys. */
export interface WindowState {
  readonly of: "key" | "account";
  readonly span: Span;
  readonly limit: number;
  /** Requests admitted in it before this one. */
  readonly used: number;
}

/** How it was decided. */
export interface Decision {
  readonly verdict: "admitted" | "rate" | "uncollected" | "budget" | "credits";
  /** Credits held; meaningful when admitted. */
  readonly credits: number;
  /** The balance at that moment, what is held included. */
  readonly balance: number;
  /** The key's, then the account's. None when the balance is 0, which no tier allows anything. */
  readonly windows: readonly WindowState[];
}

const SPANS: readonly Span[] = ["minute", "hour", "day"];

type Item = readonly [string, ...Json[]];

const ADMIT: GroupWrite<Item, Decision> = {
  name: "admission",
  forgettable: true, // a request that was only admitted has had no answer
  statements: [
    insertItems("admissions", [
      "request_id",
      "account_id",
      "key_id",
      "gateway_id",
      "least",
      "wanted",
      "at_ms",
      "lease_ms",
      "tier_list",
    ]),
  ],
  outcomes: `
    select json_group_array(json_array(request_id, verdict, credits, balance, minute_limit,
      minute_used, hour_limit, hour_used, day_limit, day_used, account_minute_limit,
      account_minute_used, account_hour_limit, account_hour_used, account_day_limit,
      account_day_used))
    from json_each(?1) join decisions on request_id = value ->> 0`,
  cleanUp: "delete from decisions",
  read,
};

/** Counts the request in its windows and holds its credits, or says why not: in one commit. */
export function admit(database: Database, ask: HoldRequest): Promise<Decision> {
  return database.write(ADMIT, [
    ask.requestId,
    ask.accountId,
    ask.keyId,
    ask.gatewayId,
    ask.least,
    ask.wanted,
    ask.nowMs,
    ask.leaseMs,
    ask.tierListId,
  ]);
}

function read(row: readonly Json[] | undefined): Decision {
  if (row === undefined) throw new TypeError("an admission was not decided");
  const [, verdict, credits, balance, ...counts] = row;
  const windows = (of: WindowState["of"], from: number): WindowState[] =>
    SPANS.map((span, at) => ({
      of,
      span,
      limit: Number(counts[from + 2 * at]),
      used: Number(counts[from + 2 * at + 1]),
    }));
  return {
    verdict: verdict as Decision["verdict"],
    credits: Number(credits),
    balance: Number(balance),
    windows: counts[0] === 0 && counts[2] === 0 && counts[4] === 0
      ? []
      : [...windows("key", 0), ...windows("account", 2 * SPANS.length)],
  };
}
