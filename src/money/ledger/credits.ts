import * as z from "zod";
import { jsonText, rowOf, shownText } from "../../ground/row.ts";
import {
  type Condition,
  type Database,
  type Reading,
  readTogether,
  sumOf,
} from "../../ground/database/mod.ts";
import { decide } from "./feed.ts";
import { EXPIRIES } from "./rules/expire.ts";
import { IN_ORDER } from "./rules/sql/lots.ts";
import { randomText } from "../../ground/platform/mod.ts";
import { NEVER } from "../../ground/time.ts";
import { jsonArrayOfRows, jsonObject, jsonOf, textsOf } from "../../ground/sql/mod.ts";

const lotSource = z.enum([
  "signup",
  "owner",
  "invite_signup",
  "invite_payment",
  "package",
  "grant",
]);

/** Why credits were granted. */
export type LotSource = z.infer<typeof lotSource>;

const lotRow = rowOf({
  id: z.string(),
  source: lotSource,
  note: shownText,
  /** What it pays for: IDs of routes and prefixes ending in `*`; null for all models. */
  models: jsonText(z.array(z.string())).nullable(),
  granted: z.int().nonnegative(),
  remaining: z.int().nonnegative(),
  created_at_ms: z.int(),
  /** Null for never. */
  expires_at_ms: z.int().transform((ms) => ms === NEVER ? null : ms),
});

/** Credits that were granted together. */
export type Lot = z.output<typeof lotRow>;

const balanceRow = rowOf({
  /** What is left, what in-flight requests hold included. */
  balance: z.int().nonnegative(),
  /** What in-flight requests hold. Credits that are lent to gateways are available. */
  held: z.int().nonnegative(),
  /** All that was ever charged. */
  consumed: z.int().nonnegative(),
  requests: z.int(),
  input_tokens: z.int(),
  output_tokens: z.int(),
  /** Lots with something left, in the order in which they are spent. */
  lots: z.array(lotRow),
});

/** An account's credits. */
export type Credits = z.output<typeof balanceRow>;

const EXPIRED = `select 1 as found from lots
  where account_id = ? and remaining > 0 and expires_at_ms <= ? limit 1`;

/** An account's credits now; what has expired is taken out first. */
export async function creditsOf(
  database: Database,
  accountId: string,
  nowMs: number,
): Promise<Credits> {
  await expireLotsOf(database, accountId, nowMs);
  return (await readTogether(database, { credits: creditsReading(accountId) })).credits;
}

/** Takes what has expired out of an account's balance. */
export async function expireLotsOf(
  database: Database,
  accountId: string,
  nowMs: number,
): Promise<void> {
  if (await database.one(EXPIRED, [accountId, nowMs]) === undefined) return;
  await database.batch([
    decide(EXPIRIES, { account_id: accountId, at_ms: nowMs, cause_id: expiryId() }),
  ]);
}

/** What requests hold of a balance, apart from what gateways were lent. */
const HELD = `held - coalesce((
    select ${sumOf("credits")} from loans where account_id = balances.account_id
  ), 0)`;
const LOTS = jsonArrayOfRows(
  jsonObject("id, source, note, models, granted, remaining, created_at_ms, expires_at_ms"),
);

/** An account's credits as they stand. */
export function creditsReading(accountId: string): Reading<Credits> {
  return {
    sql: `select ${
      jsonObject({
        balance: "balance",
        held: HELD,
        consumed: "consumed",
        requests: "requests",
        input_tokens: "input_tokens",
        output_tokens: "output_tokens",
        lots: jsonOf(`(
          select ${LOTS}
          from (
            select * from lots where account_id = balances.account_id and remaining > 0
            ${IN_ORDER}
          ) as found
        )`),
      })
    }
      from balances where account_id = ?`,
    args: [accountId],
    read: (json) => balanceRow.parse(json),
  };
}

/** What shows that an account's figures have changed. */
export interface Pulse {
  readonly balance: number;
  readonly held: number;
  /** Requests ever recorded. */
  readonly requests: number;
}

const pulses = z.array(
  z.object({ account_id: z.string(), balance: z.int(), held: z.int(), requests: z.int() }),
);

/** Balances of accounts, by account ID. */
export function balancesReading(
  accountIds: readonly string[],
): Reading<ReadonlyMap<string, Pulse>> {
  return {
    sql: `select ${
      jsonArrayOfRows(
        jsonObject({
          account_id: "account_id",
          balance: "balance",
          held: HELD,
          requests: "requests",
        }),
      )
    }
      from balances where account_id in ${textsOf()}`,
    args: [JSON.stringify(accountIds)],
    read: (json) => new Map(pulses.parse(json).map(({ account_id: id, ...pulse }) => [id, pulse])),
  };
}

/** Credits that in-flight requests of a key hold, apart from those that were admitted from lent credits. */
export function heldByKeyReading(keyId: string): Reading<number> {
  return {
    sql: `select coalesce(${sumOf("credits")}, 0) from holds where key_id = ?`,
    args: [keyId],
    read: (json) => z.int().parse(json),
  };
}

/** What each of these accounts has, ever spent and asked, by account id. */
export async function balancesOf(
  database: Database,
  accountIds: readonly string[],
): Promise<ReadonlyMap<string, { balance: number; consumed: number; requests: number }>> {
  const rows = await database.all(
    `select account_id, balance, consumed, requests from balances
      where account_id in ${textsOf()}`,
    [JSON.stringify(accountIds)],
  );
  return new Map(rows.map((row) => [String(row.account_id), {
    balance: Number(row.balance),
    consumed: Number(row.consumed),
    requests: Number(row.requests),
  }]));
}

/** Whether the balance of an account is below a number of credits. */
export function hasLessThan(accountId: string, credits: number): Condition {
  return {
    sql: "exists (select 1 from balances where account_id = ? and balance < ?)",
    args: [accountId, credits],
  };
}

/** Takes what has expired out of every balance. */
export async function expireLots(database: Database, nowMs: number): Promise<void> {
  await database.batch([{
    sql: `insert into expiries (account_id, at_ms, cause_id)
      select distinct account_id, cast(? as bigint), ? from lots
      where remaining > 0 and expires_at_ms < ${NEVER} and expires_at_ms <= ? order by account_id`,
    args: [nowMs, expiryId(), nowMs],
  }]);
}

function expiryId(): string {
  return `expiry_${randomText(16)}`;
}
