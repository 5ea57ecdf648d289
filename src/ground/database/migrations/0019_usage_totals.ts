/** Roll-ups of all accounts: by hour, or by days of another time zone, those of each key are too many for one report. */

const SUMS = [
  "requests",
  "errors",
  "input_tokens",
  "cached_tokens",
  "output_tokens",
  "duration_ms",
  "credits",
  "saved_millionths",
];

export const USAGE_TOTALS = [
  `create table usage_totals (
    hour_at_ms integer not null check (hour_at_ms % 3600000 = 0),
    route text not null,
    ${SUMS.map((sum) => `${sum} integer not null check (${sum} >= 0)`).join(",\n    ")},
    primary key (hour_at_ms, route)
  ) strict, without rowid`,
  `insert into usage_totals (hour_at_ms, route, ${SUMS.join(", ")})
    select hour_at_ms, route, ${SUMS.map((sum) => `sum(${sum})`).join(", ")}
    from usage_hours group by 1, 2`,
];
