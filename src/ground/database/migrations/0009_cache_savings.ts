/**
 * Roll-ups know what cached input saved: its tokens times the difference of the two input prices, by the prices of each
 * charge. In millionths of credits, so that sums are exact.
 */

/** Bounded, so that no price that an operator may set makes a settlement fail. */
const SAVED =
  `coalesce(min(cached_tokens * max(input_price - cached_price, 0), 1000000000000000), 0)`;

export const CACHE_SAVINGS = [
  ...["usage_hours", "pruned_hours"].map((table) =>
    `alter table ${table} add column saved_millionths integer not null default 0
      check (saved_millionths >= 0)`
  ),
  // Of pruned records, and of those without prices, it is not known.
  `update usage_hours set saved_millionths = saved from (
    select account_id, started_at_ms / 3600000 * 3600000 as hour_at_ms, key_id, route,
      sum(${SAVED}) as saved
    from usage_records where cached_tokens > 0 group by 1, 2, 3, 4
  ) as summed
  where usage_hours.account_id = summed.account_id and usage_hours.hour_at_ms = summed.hour_at_ms
    and usage_hours.key_id = summed.key_id and usage_hours.route = summed.route`,
];
