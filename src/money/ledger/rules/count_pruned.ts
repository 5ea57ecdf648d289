import { greatest, iif, type Rule } from "../../../ground/database/mod.ts";
import { QUARTER_MS } from "./sql/budgets.ts";
import { savedMillionths } from "./sql/roll_ups.ts";
import { addExcluded } from "./sql/shared.ts";
import { ROLL_UPS } from "../roll_ups.ts";

/** What is summed up of pruned records, hour by hour. */
const SUMS = {
  requests: "1",
  errors: iif("old.ending <> 'complete'", "1", "0"),
  input_tokens: "old.input_tokens",
  cached_tokens: "old.cached_tokens",
  output_tokens: "old.output_tokens",
  duration_ms: "old.duration_ms",
  credits: "old.charged_credits",
  uncollected_requests: iif("old.charged_credits < old.price_credits", "1", "0"),
  uncollected_credits: "old.price_credits - old.charged_credits",
  saved_millionths: savedMillionths("old."),
} as const;
const COLUMNS = Object.keys(SUMS);
const KEY = ROLL_UPS.pruned_hours.join(", ");

/**
 * A record that is pruned is counted, and added to the sums of its hour, so that the roll-ups can still be
 * explained; its charge to the quarter of an hour in which it was admitted, for the periods of budgets. Records are pruned from the oldest on: one that is deleted from between others is not counted,
 * so that the audit misses it.
 */
export const COUNT_PRUNED: Rule = {
  name: "count_pruned",
  objects: [{
    trigger: "usage_records_delete_is_counted",
    event: "after delete",
    on: "usage_records",
    when: "not exists (select 1 from usage_records where request_id < old.request_id)",
    statements: [
      `update pruned_records set
      records = records + 1,
      uncollected_requests = uncollected_requests + ${SUMS.uncollected_requests},
      uncollected_credits = uncollected_credits + ${SUMS.uncollected_credits},
      through = ${greatest("through", "old.request_id")}`,
      `insert into pruned_hours (${KEY}, ${COLUMNS.join(", ")})
    values (old.account_id, old.started_at_ms / 3600000 * 3600000, old.key_id, old.route,
      ${Object.values(SUMS).join(", ")})
    on conflict (${KEY}) do update set
      ${addExcluded("pruned_hours", COLUMNS)}`,
      `insert into pruned_charges (key_id, hour_at_ms, quarter_at_ms, credits)
    select old.key_id, old.started_at_ms / 3600000 * 3600000,
      coalesce(old.admitted_at_ms, old.started_at_ms) / ${QUARTER_MS} * ${QUARTER_MS},
      old.charged_credits
    where old.charged_credits > 0
    on conflict (key_id, hour_at_ms, quarter_at_ms) do update set
      ${addExcluded("pruned_charges", ["credits"])}`,
    ],
  }],
};
