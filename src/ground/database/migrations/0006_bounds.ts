/**
 * Bounds that nothing gets around: request windows of a whole account beside those of each key, a key's
 * budget as a hard limit of its charges, and one request at a time for an account with uncollected charges.
 */

/** More than anybody has. */
const UNLIMITED = "9007199254740991";

/** The database's clock, in milliseconds. */
const DATABASE_CLOCK = "cast(unixepoch('subsec') * 1000 as integer)";

const SPANS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };
/** The prefixes of an account's columns, and of a key's. */
const OWNERS = { "": "key", "account_": "account" } as const;

/** An expression for each window, those of the key first. */
function perWindow(
  expression: (window: { prefix: string; owner: string; span: string; spanMs: number }) => string,
): string[] {
  return Object.entries(OWNERS).flatMap(([prefix, owner]) =>
    Object.entries(SPANS).map(([span, spanMs]) => expression({ prefix, owner, span, spanMs }))
  );
}

const COUNTS = perWindow(({ prefix, owner, span, spanMs }) =>
  `coalesce((select used from ${prefix}windows where ${owner}_id = new.${owner}_id
          and span_ms = ${spanMs} and at_ms = new.at_ms / ${spanMs} * ${spanMs}), 0)
          as ${prefix}${span}_used`
);

const COUNT_REQUEST = Object.entries(OWNERS).map(([prefix, owner]) =>
  `insert into ${prefix}windows (${owner}_id, span_ms, at_ms, used)
    select new.${owner}_id, span_ms, new.at_ms / span_ms * span_ms, 1
    from decisions, (select 60000 as span_ms union all select 3600000 union all select 86400000)
    where request_id = new.request_id and verdict = 'admitted'
    on conflict (${owner}_id, span_ms, at_ms) do update set used = used + 1;`
);

export const BOUNDS = [
  `drop trigger admissions_decide`,

  // Requests of an account over all its keys.
  `create table account_windows (
    account_id text not null,
    span_ms integer not null,
    at_ms integer not null,
    used integer not null check (used > 0),
    primary key (account_id, span_ms, at_ms)
  ) strict, without rowid`,
  `insert into account_windows
    select account_id, span_ms, at_ms, sum(used) from windows join keys on keys.id = key_id
    group by 1, 2, 3`,

  // Null in lists of gateways that only know limits per key: five times those.
  ...Object.keys(SPANS).map((span) =>
    `alter table tiers add column account_${span} integer check (account_${span} >= 0)`
  ),

  // Empty whenever no transaction is open.
  `drop table decisions`,
  `create table decisions (
    request_id text primary key,
    verdict text not null check
      (verdict in ('admitted', 'rate', 'uncollected', 'budget', 'credits')),
    credits integer not null,
    balance integer not null,
    ${
    perWindow(({ prefix, span }) =>
      `${prefix}${span}_limit integer not null,
    ${prefix}${span}_used integer not null`
    ).join(",\n    ")
  }
  ) strict, without rowid`,

  // The part of a price that the balance did not cover. What only the key's budget did not allow is not owed.
  `alter table usage_records add column owed_credits integer not null default 0
    check (owed_credits between 0 and price_credits)`,
  `update usage_records set owed_credits = price_credits - charged_credits
    where charged_credits < price_credits`,
  `create index usage_records_owed on usage_records (account_id, settled_at_ms)
    where owed_credits > 0`,

  // As before, with the account's windows; and while a request is in flight, an account with uncollected
  // charges since its newest lot is refused another one.
  `create trigger admissions_decide instead of insert on admissions
    when not exists (select 1 from usage_records where request_id = new.request_id) begin
    insert into expiries (account_id, at_ms, cause_id)
    select new.account_id, new.at_ms, 'expiry_' || new.request_id
    where exists (
      select 1 from lots
      where account_id = new.account_id and remaining > 0 and expires_at_ms <= new.at_ms
    );
    insert into decisions
    select new.request_id,
      case
        when minute is null then 'credits'
        when ${
    perWindow(({ prefix, span }) => `${prefix}${span}_used >= ${prefix}${span}`)
      .join("\n          or ")
  } then 'rate'
        when held > 0 and exists (
          select 1 from usage_records
          where account_id = new.account_id and owed_credits > 0
            and settled_at_ms >=
              (select max(created_at_ms) from lots where account_id = new.account_id)
        ) then 'uncollected'
        when budget < new.least then 'budget'
        when free < new.least then 'credits'
        else 'admitted'
      end,
      min(new.wanted, free, budget), balance,
      ${
    perWindow(({ prefix, span }) => `coalesce(${prefix}${span}, 0), ${prefix}${span}_used`)
      .join(",\n      ")
  }
    from (
      select balance, held, balance - held as free, minute, hour, day,
        ${
    Object.keys(SPANS).map((span) =>
      `coalesce(account_${span}, min(5 * ${span}, ${UNLIMITED})) as account_${span}`
    ).join(",\n        ")
  },
        coalesce(
          (select credits - spent - held from budgets where key_id = new.key_id),
          ${UNLIMITED}
        ) as budget,
        ${COUNTS.join(",\n        ")}
      from balances left join tiers on list_id = new.tier_list and above = (
        select max(above) from tiers where list_id = new.tier_list and above < balance
      )
      where account_id = new.account_id
    );
    ${COUNT_REQUEST.join("\n    ")}
    insert into holds
    select new.request_id, new.account_id, new.key_id, new.gateway_id, credits, new.at_ms,
      ${DATABASE_CLOCK} + new.lease_ms
    from decisions where request_id = new.request_id and verdict = 'admitted';
  end`,

  // As before, but that a charge takes no more than the key's budget has left.
  `drop trigger settlements_settle`,
  `create trigger settlements_settle instead of insert on settlements
    when not exists (select 1 from usage_records where request_id = new.request_id)
      and not exists (select 1 from entries where cause_id = new.request_id) begin
    delete from holds where request_id = new.request_id;
    insert into entries (account_id, cause_id, lot_id, kind, credits, at_ms)
    select new.account_id, new.request_id, id, 'charge', -taken, new.settled_at_ms
    from (
      select id, min(
        remaining,
        (select min(
            new.price_credits,
            balance - held,
            coalesce(
              (select credits - spent - held from budgets where key_id = new.key_id), ${UNLIMITED}
            )
          ) from balances
          where account_id = new.account_id) + remaining
          - sum(remaining) over (order by expires_at_ms, created_at_ms, id)
      ) as taken
      from lots where account_id = new.account_id and remaining > 0
    )
    where taken > 0;
    insert into usage_records (request_id, account_id, key_id, dialect, route, upstream,
      upstream_model, attempts, status, ending, streamed, usage_source, input_tokens, cached_tokens,
      output_tokens, reasoning_tokens, started_at_ms, first_token_ms, duration_ms, price_credits,
      charged_credits, balance_credits, ignored, input_price, cached_price, output_price,
      minimum_credits, admitted_at_ms, settled_at_ms, owed_credits)
    select new.request_id, new.account_id, new.key_id, new.dialect, new.route, new.upstream,
      new.upstream_model, new.attempts, new.status, new.ending, new.streamed, new.usage_source,
      new.input_tokens, new.cached_tokens, new.output_tokens, new.reasoning_tokens,
      new.started_at_ms, new.first_token_ms, new.duration_ms, new.price_credits,
      charged, balance, coalesce(new.ignored, ''),
      new.input_price, new.cached_price, new.output_price, new.minimum_credits,
      new.admitted_at_ms, new.settled_at_ms,
      max(0, new.price_credits - charged - (balance - held))
    from (
      select balance, held, coalesce(
        (select -sum(credits) from entries where cause_id = new.request_id), 0
      ) as charged
      from balances where account_id = new.account_id
    );
  end`,
];
