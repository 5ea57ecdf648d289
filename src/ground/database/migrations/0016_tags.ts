/**
 * Tags of requests; roll-ups by tag and by why requests failed; and roll-ups by UTC day, so that a report of a month
 * reads a twentieth of the rows.
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
const COLUMNS = SUMS.map((sum) => `${sum} integer not null check (${sum} >= 0)`).join(",\n    ");
const ADDED = SUMS.map((sum) => `sum(${sum}) as ${sum}`).join(", ");

/** As in rules of this schema. */
const SAVED =
  `coalesce(min(cached_tokens * max(input_price - cached_price, 0), 1000000000000000), 0)`;

export const TAGS = [
  // An object of names and values; null for none.
  `alter table usage_records add column tags text
    check (json_valid(tags) and length(tags) <= 4000)`,
  `alter table settling add column tags`,

  // By day first: reports of all accounts read one piece of it.
  `create table usage_days (
    day_at_ms integer not null check (day_at_ms % 86400000 = 0),
    account_id text not null,
    key_id text not null,
    route text not null,
    ${COLUMNS},
    primary key (day_at_ms, account_id, key_id, route)
  ) strict, without rowid`,
  `insert into usage_days (day_at_ms, account_id, key_id, route, ${SUMS.join(", ")})
    select hour_at_ms / 86400000 * 86400000, account_id, key_id, route, ${ADDED}
    from usage_hours group by 1, 2, 3, 4`,

  // Each tag of a request, in its hour and in its day. Why a request failed is kept as a tag named ':reason', a name that
  // no client can send.
  `create table usage_tags (
    name text not null,
    span_ms integer not null check (span_ms in (3600000, 86400000)),
    at_ms integer not null check (at_ms % span_ms = 0),
    account_id text not null,
    key_id text not null,
    route text not null,
    value text not null,
    ${COLUMNS},
    primary key (name, span_ms, at_ms, account_id, key_id, route, value)
  ) strict, without rowid`,
  // Values that an account's roll-ups of a day tell apart; of the name ':names' the tags that they have.
  `create table tag_values (
    account_id text not null,
    day_at_ms integer not null check (day_at_ms % 86400000 = 0),
    name text not null,
    value text not null,
    primary key (account_id, day_at_ms, name, value)
  ) strict, without rowid`,

  `insert into usage_tags (name, span_ms, at_ms, account_id, key_id, route, value, ${
    SUMS.join(", ")
  })
    select ':reason', 3600000, started_at_ms / 3600000 * 3600000, account_id, key_id, route,
      coalesce(reason, 'unknown'), count(*), count(*), sum(input_tokens), sum(cached_tokens),
      sum(output_tokens), sum(duration_ms), sum(charged_credits), sum(${SAVED})
    from usage_records where ending <> 'complete' group by 3, 4, 5, 6, 7`,
  // Failed requests whose records were pruned: nothing else is known of them.
  `insert into usage_tags (name, span_ms, at_ms, account_id, key_id, route, value, ${
    SUMS.join(", ")
  })
    select ':reason', 3600000, hour_at_ms, account_id, key_id, route, 'unknown', missing, missing,
      0, 0, 0, 0, 0, 0
    from (
      select hour_at_ms, account_id, key_id, route, errors - coalesce((
        select sum(requests) from usage_tags
        where name = ':reason' and span_ms = 3600000 and at_ms = hour_at_ms
          and usage_tags.account_id = usage_hours.account_id
          and usage_tags.key_id = usage_hours.key_id and usage_tags.route = usage_hours.route
      ), 0) as missing
      from usage_hours where errors > 0
    ) where missing > 0
    on conflict do update set requests = requests + excluded.requests,
      errors = errors + excluded.errors`,
  `insert into usage_tags (name, span_ms, at_ms, account_id, key_id, route, value, ${
    SUMS.join(", ")
  })
    select name, 86400000, at_ms / 86400000 * 86400000, account_id, key_id, route, value, ${ADDED}
    from usage_tags where span_ms = 3600000 group by 1, 3, 4, 5, 6, 7`,
];
