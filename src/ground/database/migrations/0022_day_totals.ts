/**
 * Totals of days that are over, of all accounts: of a season, roll-ups of each key are too many for one page. A request that is
 * added to a day takes the day's totals away (rule `add_up`, `settle_set`).
 */

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

export const DAY_TOTALS = [
  // By 'account', 'model', or 'tag:' and the tag's name; the value is the account, the model or the tag's value.
  `create table usage_day_totals (
    day_at_ms integer not null check (day_at_ms % 86400000 = 0),
    noun text not null check (noun in ('account', 'model') or noun like 'tag:_%'),
    value text not null,
    ${SUMS.map((sum) => `${sum} integer not null check (${sum} >= 0)`).join(",\n    ")},
    primary key (day_at_ms, noun, value)
  ) strict, without rowid`,
];
