import * as z from "zod";
import { type Database, type Reading, readTogether } from "../../ground/database/mod.ts";
import {
  elementsOf,
  jsonArrayOfRows,
  jsonObject,
  sumOf,
  THEN_JOIN,
  withoutIndex,
} from "../../ground/sql/mod.ts";

const SPENT = ["requests", "input_tokens", "output_tokens", "credits"];

const totals = z.array(z.object({
  account: z.string(),
  key: z.string(),
  requests: z.int(),
  input_tokens: z.int(),
  output_tokens: z.int(),
  credits: z.int(),
}));

/** What keys have used since they were made. */
export type KeyTotals = z.infer<typeof totals>;

/**
 * Adds up what keys have used since they were made, of those that were used.
 *
 * @param keyId Only this key. Default: all.
 */
export function keyTotalsReading(
  accountIds: readonly string[],
  keyId: string | null = null,
): Reading<KeyTotals> {
  // an account's days are looked up one by one: its hours are twenty times as many
  return {
    sql: `select ${
      jsonArrayOfRows(
        jsonObject(
          `account_id as account, key_id as key, ${SPENT.join(", ")}`,
        ),
      )
    } from (
        with recursive days(at_ms) as (
          select min(day_at_ms) from usage_days
          union all
          select at_ms + 86400000 from days where at_ms < (select max(day_at_ms) from usage_days)
        )
        select account_id, key_id, ${SPENT.map((name) => `${sumOf(name)} as ${name}`)}
        from days cross join ${elementsOf("?", "payers")} ${THEN_JOIN} usage_days
          on day_at_ms = at_ms and account_id = payers.value
        where ${withoutIndex("key_id")} = coalesce(?, key_id) group by 1, 2
      ) as found`,
    args: [JSON.stringify([...new Set(accountIds)]), keyId],
    read: (json) => totals.parse(json),
  };
}

/** Reads what keys have spent since they were made, of each account that pays for some once. */
export class SpentByKey {
  readonly #database: Database;
  readonly #read = new Set<string>();
  readonly #credits = new Map<string, number>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** @returns Credits by key ID, of these accounts and those before, without keys that have not been used. */
  async of(accountIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const unread = [...new Set(accountIds).difference(this.#read)];
    if (unread.length > 0) {
      const { totals } = await readTogether(this.#database, { totals: keyTotalsReading(unread) });
      for (const id of unread) this.#read.add(id);
      for (const { key, credits } of totals) this.#credits.set(key, credits);
    }
    return this.#credits;
  }
}
