import {
  columnsOf,
  type Database,
  either,
  type GroupWrite,
  type JsonObject,
} from "../../ground/database/mod.ts";
import { type Budget, readBudget } from "./budgets.ts";
import { feed, locksOf } from "./feed.ts";
import { ADMISSIONS, ADMIT as RULE, WINDOWS } from "./rules/admit.ts";
import { DECISIONS } from "./rules/admit_set.ts";
import type { Span } from "./rules/sql/windows.ts";
import type { Given } from "./rules/intake.ts";
import { wholeCredits } from "./whole_credits.ts";

export type { Span };

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
  /** The price of the most that its upstream would be asked for; what it wants to hold if left out. */
  readonly most?: number | undefined;
  /** Credits, part of `wanted`, for input that only its upstream can count. */
  readonly reserved?: number | undefined;
  readonly nowMs: number;
  /** How long the hold is kept unless it is renewed. */
  readonly leaseMs: number;
  readonly tierListId: string;
  /** ID of the route, as credits may be bound to some. Left out, only those that are not bound pay. */
  readonly route?: string | undefined;
  /** Whether what is lent may be recalled, rather than counting as held. */
  readonly mayRecall?: boolean;
}

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
  readonly verdict:
    | "admitted"
    | "period"
    | "recall"
    | "rate"
    | "uncollected"
    | "budget"
    | "credits"
    | "unreserved";
  /** Credits held; meaningful when admitted. */
  readonly credits: number;
  /** Credits for which its upstream may be asked; meaningful when admitted. */
  readonly asked: number;
  /**
   * How long credits that it needs may be spent by a gateway which does not return them, in milliseconds: 0 if that is gone, so that
   * they stay lent until it is started again or somebody writes them off. Undefined if they are not lent.
   */
  readonly lentMs: number | undefined;
  /** The balance at that moment, what is held included. */
  readonly balance: number;
  /** Credits of the balance that pay for other models only. */
  readonly bound: number;
  /** The key's, then the account's. None when the balance is 0, which no tier allows anything. */
  readonly windows: readonly WindowState[];
  /** Of the budgets that apply to the key, the one with the least left. */
  readonly budget: Budget | undefined;
}

/** Decides on requests that want to run. */
export const ADMIT: GroupWrite<Given<typeof ADMISSIONS>, Decision> = {
  name: "admission",
  key: "request_id",
  forgettable: true, // a request that was only admitted has had no response
  columns: columnsOf(ADMISSIONS),
  statements: [
    either({
      sqlite: feed(ADMISSIONS),
      postgres: "insert into admission_sets (given) values (?1) returning given",
    }),
  ],
  locks: locksOf(ADMISSIONS, RULE),
  locksItself: true,
  outcomes: either({ sqlite: DECISIONS, postgres: "" }),
  cleanUp: either({ sqlite: "delete from decisions", postgres: "" }),
  read,
};

/** Counts the request in its windows and holds its credits, or says why not: in one commit. */
export async function admit(database: Database, ask: HoldRequest): Promise<Decision> {
  return await database.write(ADMIT, {
    request_id: ask.requestId,
    account_id: ask.accountId,
    key_id: ask.keyId,
    gateway_id: ask.gatewayId,
    least: wholeCredits(ask.least, "the credits it needs"),
    wanted: wholeCredits(ask.wanted, "the credits it wants"),
    at_ms: ask.nowMs,
    lease_ms: ask.leaseMs,
    tier_list: ask.tierListId,
    may_recall: ask.mayRecall ? 1 : null,
    most: ask.most,
    reserved: ask.reserved,
    route: ask.route,
  });
}

function read(row: JsonObject | undefined): Decision {
  if (row === undefined) throw new TypeError("an admission was not decided");
  const { limits, used } = row as { limits: readonly number[]; used: readonly number[] };
  const windows = WINDOWS.map(({ of, span }, at) => ({
    of,
    span,
    limit: limits[at]!,
    used: used[at]!,
  }));
  const verdict = row.verdict as Decision["verdict"];
  // of a request that is rejected they may be below 0
  const credits = verdict === "admitted"
    ? wholeCredits(row.credits, "a hold")
    : Number(row.credits);
  return {
    verdict,
    credits,
    asked: Number(row.asked),
    lentMs: row.lent_ms === null ? undefined : Number(row.lent_ms),
    balance: wholeCredits(row.balance, "a balance"),
    bound: Number(row.bound),
    windows: windows.every(({ limit }) => limit === 0) ? [] : windows,
    budget: row.budget === null ? undefined : readBudget(row.budget, Number(row.at_ms)),
  };
}
