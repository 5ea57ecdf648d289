const SPANS = ["minute", "hour", "day"];
const WINDOWS = ["", "account_"].flatMap((prefix) => SPANS.map((span) => `${prefix}${span}`));

/** What in-flight requests lack of the credits that they may cost: only one of an account may lack any. */
export const OPEN_INPUT = [
  `alter table holds add column lacks integer not null default 0 check (lacks >= 0)`,

  // Empty whenever no transaction is open; as before, with one more verdict.
  `drop table decisions`,
  `create table decisions (
    request_id text primary key,
    at_ms integer not null,
    verdict text not null check (verdict in
      ('admitted', 'period', 'recall', 'rate', 'uncollected', 'budget', 'credits', 'unreserved')),
    credits integer not null,
    asked integer,
    lacks integer not null default 0,
    lent_ms integer,
    balance integer not null,
    budget_id text,
    ${
    WINDOWS.map((name) => `${name}_limit integer not null,\n    ${name}_used integer not null`)
      .join(",\n    ")
  }
  ) strict, without rowid`,
];
