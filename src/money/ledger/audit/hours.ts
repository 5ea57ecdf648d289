import { ROLL_UPS } from "../roll_ups.ts";
import type { Check } from "./check.ts";
import { ADDED, isSumOf, SUMMED, SUMS } from "./sums.ts";
import { sumOf, wholeTable, withoutIndex } from "../../../ground/sql/mod.ts";

const KEY = ROLL_UPS.usage_hours.join(", ");

/** Columns of the one row that counts pruned records. */
const COUNTED = [
  "records",
  "uncollected_requests",
  "uncollected_credits",
  "earlier_uncollected_requests",
  "earlier_uncollected_credits",
];

/** Hourly roll-ups, from request records and from the sums of those that were pruned. */
export const HOURS: readonly Check[] = [
  // A roll-up is the sum of its records, those that were pruned included.
  isSumOf("usage_hours", {
    noun: "hour",
    kind: "hour",
    name: "roll-ups",
    given: `kept as materialized (
          select account_id, started_at_ms / 3600000 * 3600000 as hour_at_ms, key_id, route, ${SUMMED}
          from ${wholeTable("usage_records")}
          -- the hour first, as the records are nearly in its order; no index is to be used that
          -- would read them in no order
          group by hour_at_ms, key_id, route, ${withoutIndex("account_id")}
        ),`,
    sums: `select ${KEY}, ${ADDED}
          from (
            select ${KEY}, ${SUMS} from kept union all select ${KEY}, ${SUMS} from pruned_hours
          ) as found group by 1, 2, 3, 4`,
  }),
  // The roll-up of a day is the sum of its hours.
  isSumOf("usage_days", {
    noun: "day",
    kind: "day",
    name: "roll-ups by day",
    sums: `select hour_at_ms / 86400000 * 86400000 as day_at_ms, account_id, key_id, route, ${ADDED}
          from usage_hours group by 1, 2, 3, 4`,
  }),
  // So is that of all accounts.
  isSumOf("usage_totals", {
    noun: "hour",
    kind: "total",
    name: "roll-ups of all accounts",
    sums: `select hour_at_ms, route, ${ADDED} from usage_hours group by 1, 2`,
  }),
  // So are totals of days, of those days and nouns of which there are any.
  isSumOf("usage_day_totals", {
    noun: "day",
    kind: "day_total",
    name: "totals of days",
    given: "held as materialized (select distinct day_at_ms, noun from usage_day_totals),",
    sums: `select day_at_ms, 'account' as noun, account_id as value, ${ADDED} from usage_days
          where (day_at_ms, 'account') in (select day_at_ms, noun from held) group by 1, 3
          union all
          select day_at_ms, 'model', route, ${ADDED} from usage_days
          where (day_at_ms, 'model') in (select day_at_ms, noun from held) group by 1, 3
          union all
          select at_ms, 'tag:' || name, value, ${ADDED} from usage_tags
          where span_ms = 86400000 and (at_ms, 'tag:' || name) in (select day_at_ms, noun from held)
          group by 1, 2, 3`,
  }),
  // The key of a roll-up, and so of each of its records, is its account's.
  {
    noun: "hour",
    name: "keys of roll-ups",
    id: "hours.account_id || ' ' || key_id",
    pairs: {
      key_owner: ["hours.account_id", "keys.account_id"],
      hour_account: ["hours.account_id", "accounts.id"],
    },
    from: `(select distinct account_id, key_id from usage_hours) as hours
      left join keys on keys.id = key_id left join accounts on accounts.id = hours.account_id`,
  },
  // Every request was counted: its record is there or was pruned.
  {
    noun: "pruned",
    name: "pruned records",
    id: "'pruned_records'",
    pairs: {
      pruned_rows: ["n", "1"],
      pruned_records: ["records", `(select coalesce(${sumOf("requests")}, 0) from pruned_hours)`],
      kept_records: [
        "records",
        `(select coalesce(${sumOf("requests")}, 0) from balances)
          - (select count(*) from usage_records)`,
      ],
      pruned_uncollected_requests: [
        "uncollected_requests",
        `earlier_uncollected_requests
          + (select coalesce(${sumOf("uncollected_requests")}, 0) from pruned_hours)`,
      ],
      pruned_uncollected_credits: [
        "uncollected_credits",
        `earlier_uncollected_credits
          + (select coalesce(${sumOf("uncollected_credits")}, 0) from pruned_hours)`,
      ],
    },
    from: `(select count(*) as n, ${
      COUNTED.map((column) => `max(${column}) as ${column}`).join(", ")
    } from pruned_records) as counted`,
  },
];
