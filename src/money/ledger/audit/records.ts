import type { Check } from "./check.ts";
import {
  greatest,
  iif,
  isWhole,
  least,
  sumOf,
  wholeTable,
  wide,
  withoutIndex,
} from "../../../ground/sql/mod.ts";

/** Millionths of credits. */
const MILLIONTHS = `((${wide("input_tokens")} - cached_tokens) * input_price
  + ${wide("cached_tokens")} * cached_price + ${wide("output_tokens")} * output_price)`;

/** What the tokens cost at the prices of the charge; a sum beyond 2^63 is only compared to nine digits. */
const COST = `case
  when ${isWhole(MILLIONTHS)}
    then ${greatest("minimum_credits", `(cast(${MILLIONTHS} as bigint) + 999999) / 1000000`)}
  when abs(${MILLIONTHS} / 1e6 - price_credits) <= price_credits / 1e9 then price_credits
  else cast(${MILLIONTHS} / 1e6 as bigint) end`;

/** Request records, from their entries and prices. */
export const RECORDS: readonly Check[] = [
  // A record says what its entries took, of its account and at its time; its price is that of its tokens.
  {
    noun: "record",
    name: "records",
    byRecords: true,
    before: "with storage as (select max(unpriced_through) as unpriced_through from price_storage)",
    id: "request_id",
    pairs: {
      record: ["charged_credits", `coalesce(-${sumOf("credits")}, 0)`],
      record_account: [
        "usage_records.account_id",
        "coalesce(max(entries.account_id), usage_records.account_id)",
      ],
      entry_account: [
        "usage_records.account_id",
        "coalesce(min(entries.account_id), usage_records.account_id)",
      ],
      settled: ["coalesce(settled_at_ms, max(at_ms))", "coalesce(max(at_ms), settled_at_ms)"],
      settled_once: [
        "coalesce(settled_at_ms, min(at_ms))",
        "coalesce(min(at_ms), settled_at_ms)",
      ],
      charge_kind: ["'charge'", "coalesce(max(kind), 'charge')"],
      price: [
        "price_credits",
        `case when usage_source is null then 0
          when input_price is null then price_credits else ${COST} + extra_credits end`,
      ],
      // what was not taken is owed, or was not allowed by a budget
      owed: ["owed_credits", "price_credits - charged_credits - over_budget_credits"],
      // either all prices and the time or none, and all when something was charged
      prices: [
        [
          "input_price is not null",
          "cached_price is not null",
          "output_price is not null",
          "minimum_credits is not null",
          "input_price is not null and settled_at_ms is not null",
        ].map((condition) => iif(condition, "1", "0")).join(" + "),
        `case when usage_source is null or (input_price is null
          and request_id <= (select unpriced_through from storage)) then 0 else 5 end`,
      ],
    },
    from: `usage_records left join entries on cause_id = request_id
      where request_id > ?1 and request_id <= ?2`,
    groupBy: "request_id",
  },
  // Charges without a record are those of pruned records, as many credits per account as their hours say.
  {
    noun: "entry",
    name: "charges without a record",
    before: `with orphans as materialized (
        select account_id, -${sumOf("credits")} as credits, max(cause_id) as newest
        from ${wholeTable("entries")}
        where kind = 'charge'
          and not exists (select 1 from usage_records where request_id = cause_id)
        group by ${withoutIndex("account_id")} -- an index by account would read entries in no order
      ), pruned as materialized (
        select account_id, ${sumOf("credits")} as credits from pruned_hours group by 1
      )`,
    id: iif("newest > (select max(through) from pruned_records)", "newest", "account_id"),
    pairs: {
      no_record: ["coalesce(orphaned, 0)", "coalesce(pruned, 0)"],
      not_pruned: [
        "coalesce(newest, '')",
        least("coalesce(newest, '')", "(select coalesce(max(through), '') from pruned_records)"),
      ],
    },
    from: `(
      select account_id, max(orphaned) as orphaned, max(newest) as newest, max(pruned) as pruned
      from (
        select account_id, credits as orphaned, newest, null as pruned from orphans
        union all select account_id, null, null, credits from pruned
      ) as both_sides group by 1
    ) as charges`,
  },
  // The newest record without prices says from when on all have them.
  {
    noun: "record",
    name: "stored prices",
    id: "'price_storage'",
    pairs: {
      unpriced: [
        "unpriced_through",
        `case when unpriced_through = '' or unpriced_through <= (select max(through) from pruned_records)
          or exists (select 1 from usage_records where request_id = unpriced_through
            and usage_source is not null and input_price is null) then unpriced_through end`,
      ],
      price_storage_rows: ["n", "1"],
    },
    from: `(select count(*) as n, coalesce(max(unpriced_through), '') as unpriced_through
      from price_storage) as stored`,
  },
];
