import { savedMillionths } from "../rules/sql/roll_ups.ts";
import { type Check, differences } from "./check.ts";

/** The sums of a roll-up, made from records. */
export const SUMS = {
  requests: "count(*)",
  errors: "sum(ending <> 'complete')",
  input_tokens: "sum(input_tokens)",
  cached_tokens: "sum(cached_tokens)",
  output_tokens: "sum(output_tokens)",
  duration_ms: "sum(duration_ms)",
  credits: "sum(charged_credits)",
  saved_millionths: `sum(${savedMillionths("")})`,
} as const;
export const COLUMNS = Object.keys(SUMS);

const KEY = ["account_id", "hour_at_ms", "key_id", "route"];
const TOTAL = ["day_at_ms", "noun", "value"];
const ADDED = COLUMNS.map((name) => `sum(${name}) as ${name}`).join(", ");
const same = (left: string, right: string) =>
  KEY.map((column) => `${left}.${column} = ${right}.${column}`).join(" and ");

/** Hourly roll-ups, from request records and from the sums of those that were pruned. */
export const HOURS: readonly Check[] = [
  // A roll-up is the sum of its records, those that were pruned included.
  {
    noun: "hour",
    name: "roll-ups",
    sql: differences({
      before: `with kept as materialized (
          select account_id, started_at_ms / 3600000 * 3600000 as hour_at_ms, key_id, route,
            ${Object.entries(SUMS).map(([name, sum]) => `${sum} as ${name}`).join(", ")}
          from usage_records not indexed
          -- the hour first, as the records are nearly in its order; the + keeps an index out of it that
          -- would read them in no order
          group by hour_at_ms, key_id, route, +account_id
        ), summed as materialized (
          select ${KEY.join(", ")}, ${ADDED}
          from (
            select ${KEY.join(", ")}, ${COLUMNS.join(", ")} from kept
            union all select ${KEY.join(", ")}, ${COLUMNS.join(", ")} from pruned_hours
          ) group by 1, 2, 3, 4
        )`,
      id: KEY.map((column) => `coalesce(usage_hours.${column}, summed.${column})`)
        .join(" || ' ' || "),
      pairs: Object.fromEntries(
        COLUMNS.map((name) => [`hour_${name}`, [`usage_hours.${name}`, `summed.${name}`]] as const),
      ),
      from: `summed full join usage_hours on ${same("summed", "usage_hours")}`,
    }),
  },
  // The roll-up of a day is the sum of its hours.
  {
    noun: "day",
    name: "roll-ups by day",
    sql: differences({
      before: `with summed as materialized (
          select hour_at_ms / 86400000 * 86400000 as day_at_ms, account_id, key_id, route,
            ${ADDED}
          from usage_hours group by 1, 2, 3, 4
        )`,
      id: ["day_at_ms", "account_id", "key_id", "route"]
        .map((column) => `coalesce(usage_days.${column}, summed.${column})`).join(" || ' ' || "),
      pairs: Object.fromEntries(
        COLUMNS.map((name) => [`day_${name}`, [`usage_days.${name}`, `summed.${name}`]] as const),
      ),
      from: `summed full join usage_days on usage_days.day_at_ms = summed.day_at_ms
        and usage_days.account_id = summed.account_id and usage_days.key_id = summed.key_id
        and usage_days.route = summed.route`,
    }),
  },
  // So is that of all accounts.
  {
    noun: "hour",
    name: "roll-ups of all accounts",
    sql: differences({
      before: `with summed as materialized (
          select hour_at_ms, route, ${ADDED}
          from usage_hours group by 1, 2
        )`,
      id: `coalesce(usage_totals.hour_at_ms, summed.hour_at_ms) || ' '
        || coalesce(usage_totals.route, summed.route)`,
      pairs: Object.fromEntries(
        COLUMNS.map((name) =>
          [`total_${name}`, [`usage_totals.${name}`, `summed.${name}`]] as const
        ),
      ),
      from: `summed full join usage_totals on usage_totals.hour_at_ms = summed.hour_at_ms
        and usage_totals.route = summed.route`,
    }),
  },
  // So are totals of days, of those days and nouns of which there are any.
  {
    noun: "day",
    name: "totals of days",
    sql: differences({
      before: `with held as materialized (
          select distinct day_at_ms, noun from usage_day_totals
        ), summed as materialized (
          select day_at_ms, 'account' as noun, account_id as value, ${ADDED} from usage_days
          where (day_at_ms, 'account') in (select day_at_ms, noun from held) group by 1, 3
          union all
          select day_at_ms, 'model', route, ${ADDED} from usage_days
          where (day_at_ms, 'model') in (select day_at_ms, noun from held) group by 1, 3
          union all
          select at_ms, 'tag:' || name, value, ${ADDED} from usage_tags
          where span_ms = 86400000 and (at_ms, 'tag:' || name) in (select day_at_ms, noun from held)
          group by 1, 2, 3
        )`,
      id: TOTAL.map((column) => `coalesce(totals.${column}, summed.${column})`)
        .join(" || ' ' || "),
      pairs: Object.fromEntries(
        COLUMNS.map((name) => [`day_total_${name}`, [`totals.${name}`, `summed.${name}`]] as const),
      ),
      from: `summed full join usage_day_totals as totals
        on ${TOTAL.map((column) => `totals.${column} = summed.${column}`).join(" and ")}`,
    }),
  },
  // The key of a roll-up, and so of each of its records, is its account's.
  {
    noun: "hour",
    name: "keys of roll-ups",
    sql: differences({
      id: "hours.account_id || ' ' || key_id",
      pairs: {
        key_owner: ["hours.account_id", "keys.account_id"],
        hour_account: ["hours.account_id", "accounts.id"],
      },
      from: `(select distinct account_id, key_id from usage_hours) as hours
        left join keys on keys.id = key_id left join accounts on accounts.id = hours.account_id`,
    }),
  },
  // Every request was counted: its record is there or was pruned.
  {
    noun: "pruned",
    name: "pruned records",
    sql: differences({
      id: "'pruned_records'",
      pairs: {
        pruned_rows: ["n", "1"],
        pruned_records: ["records", "(select coalesce(sum(requests), 0) from pruned_hours)"],
        kept_records: [
          "records",
          `(select coalesce(sum(requests), 0) from balances)
            - (select count(*) from usage_records)`,
        ],
        pruned_uncollected_requests: [
          "uncollected_requests",
          `earlier_uncollected_requests
            + (select coalesce(sum(uncollected_requests), 0) from pruned_hours)`,
        ],
        pruned_uncollected_credits: [
          "uncollected_credits",
          `earlier_uncollected_credits
            + (select coalesce(sum(uncollected_credits), 0) from pruned_hours)`,
        ],
      },
      from: "(select count(*) as n, * from pruned_records)",
    }),
  },
];
