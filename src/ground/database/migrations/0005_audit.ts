/**
 * What the audit needs to derive every row again: the prices and times of a charge, each lot as it was
 * granted, and the sums of pruned records per hour.
 */

/** More than anybody has. */
const UNLIMITED = "9007199254740991";

/** The database's clock, in milliseconds. */
const DATABASE_CLOCK = "cast(unixepoch('subsec') * 1000 as integer)";

const HOUR_SUMS = [
  "requests",
  "errors",
  "input_tokens",
  "cached_tokens",
  "output_tokens",
  "duration_ms",
  "credits",
];

/** What is summed up of pruned records. */
const PRUNED_SUMS = [...HOUR_SUMS, "uncollected_requests", "uncollected_credits"];

/** The first record's start: what was pruned began before it, or shortly after. */
const OLDEST = "(select started_at_ms from usage_records order by request_id limit 1)";
const DAY_MS = 86_400_000;

export const AUDIT = [
  // The prices that a charge was made with (null when nothing was charged, and in older records), when the
  // request was admitted, which its windows count, and when it was settled, which its entries say.
  ...["input_price", "cached_price", "output_price", "minimum_credits", "admitted_at_ms"].map(
    (column) => `alter table usage_records add column ${column} integer`,
  ),
  `alter table usage_records add column settled_at_ms integer`,

  // Charged records up to this one may lack their prices: they were made before prices were stored, or by
  // an older gateway that shares the database.
  `create table price_storage (unpriced_through text not null) strict`,
  `insert into price_storage (unpriced_through)
    select coalesce(max(request_id), '') from usage_records where usage_source is not null`,
  `create trigger usage_records_insert_without_prices after insert on usage_records
    when new.usage_source is not null and new.input_price is null begin
    update price_storage set unpriced_through = max(unpriced_through, new.request_id);
  end`,

  `drop view settlements`,
  `create view settlements as select * from usage_records where false`,
  // As before, with the new columns.
  `create trigger settlements_settle instead of insert on settlements
    when not exists (select 1 from usage_records where request_id = new.request_id)
      and not exists (select 1 from entries where cause_id = new.request_id) begin
    delete from holds where request_id = new.request_id;
    insert into entries (account_id, cause_id, lot_id, kind, credits, at_ms)
    select new.account_id, new.request_id, id, 'charge', -taken, new.settled_at_ms
    from (
      select id, min(
        remaining,
        (select min(new.price_credits, balance - held) from balances
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
      minimum_credits, admitted_at_ms, settled_at_ms)
    select new.request_id, new.account_id, new.key_id, new.dialect, new.route, new.upstream,
      new.upstream_model, new.attempts, new.status, new.ending, new.streamed, new.usage_source,
      new.input_tokens, new.cached_tokens, new.output_tokens, new.reasoning_tokens,
      new.started_at_ms, new.first_token_ms, new.duration_ms, new.price_credits,
      coalesce((select -sum(credits) from entries where cause_id = new.request_id), 0),
      (select balance from balances where account_id = new.account_id), coalesce(new.ignored, ''),
      new.input_price, new.cached_price, new.output_price, new.minimum_credits,
      new.admitted_at_ms, new.settled_at_ms;
  end`,

  // Each lot as it was granted, so that a change of the lot shows.
  `create table grants (
    lot_id text primary key,
    account_id text not null,
    source text not null,
    note text not null,
    credits integer not null,
    created_at_ms integer not null,
    expires_at_ms integer not null
  ) strict, without rowid`,
  `insert into grants
    select id, account_id, source, note, granted, created_at_ms, expires_at_ms from lots`,
  `create trigger lots_insert_is_kept after insert on lots begin
    insert into grants values (new.id, new.account_id, new.source, new.note, new.granted,
      new.created_at_ms, new.expires_at_ms);
  end`,
  ...["update", "delete"].map((event) =>
    `create trigger grants_${event}_is_refused before ${event} on grants begin
      select raise(abort, 'grants are only ever added');
    end`
  ),

  // What pruned records added to each row of usage_hours, so that
  // usage_hours = sums of the records + pruned_hours.
  `create table pruned_hours (
    account_id text not null,
    hour_at_ms integer not null,
    key_id text not null,
    route text not null,
    ${
    PRUNED_SUMS.map((column) => `${column} integer not null check (${column} >= 0)`)
      .join(",\n    ")
  },
    primary key (account_id, hour_at_ms, key_id, route)
  ) strict, without rowid`,
  // Records are pruned from the front, so only the hours around the oldest record are looked at.
  `insert into pruned_hours
    select hours.account_id, hours.hour_at_ms, hours.key_id, hours.route,
      ${HOUR_SUMS.map((column) => `hours.${column} - coalesce(kept.${column}, 0)`).join(", ")}, 0, 0
    from usage_hours as hours left join (
      select account_id, started_at_ms / 3600000 * 3600000 as hour_at_ms, key_id, route,
        count(*) as requests, sum(ending <> 'complete') as errors,
        sum(input_tokens) as input_tokens, sum(cached_tokens) as cached_tokens,
        sum(output_tokens) as output_tokens, sum(duration_ms) as duration_ms,
        sum(charged_credits) as credits
      from usage_records
      where request_id < printf('req_%012x', ${OLDEST} + 2 * ${DAY_MS})
      group by 1, 2, 3, 4
    ) as kept using (account_id, hour_at_ms, key_id, route)
    where (select records from pruned_records) > 0
      and hours.hour_at_ms < coalesce(${OLDEST} + ${DAY_MS}, ${UNLIMITED})
      and hours.requests > coalesce(kept.requests, 0)`,
  // The newest record that was pruned, and what was uncollected before sums were kept per hour.
  `alter table pruned_records add column through text not null default ''`,
  `alter table pruned_records add column earlier_uncollected_requests integer not null default 0`,
  `alter table pruned_records add column earlier_uncollected_credits integer not null default 0`,
  `update pruned_records set
    through = coalesce(
      (select max(request_id) from usage_records),
      (select max(cause_id) from entries where cause_id between 'req_' and 'req_~'),
      ''
    ),
    earlier_uncollected_requests = uncollected_requests,
    earlier_uncollected_credits = uncollected_credits
    where records > 0`,
  // Only the oldest record is pruned. A record that is deleted from between others is not counted, so that
  // the audit misses it.
  `drop trigger usage_records_delete_is_counted`,
  `create trigger usage_records_delete_is_counted after delete on usage_records
    when not exists (select 1 from usage_records where request_id < old.request_id) begin
    update pruned_records set
      records = records + 1,
      uncollected_requests = uncollected_requests + (old.charged_credits < old.price_credits),
      uncollected_credits = uncollected_credits + old.price_credits - old.charged_credits,
      through = max(through, old.request_id);
    insert into pruned_hours
    values (old.account_id, old.started_at_ms / 3600000 * 3600000, old.key_id, old.route, 1,
      old.ending <> 'complete', old.input_tokens, old.cached_tokens, old.output_tokens,
      old.duration_ms, old.charged_credits, old.charged_credits < old.price_credits,
      old.price_credits - old.charged_credits)
    on conflict (account_id, hour_at_ms, key_id, route) do update set
      ${
    PRUNED_SUMS.map((column) => `${column} = ${column} + excluded.${column}`).join(",\n      ")
  };
  end`,

  // As before, but that a hold that is made again says when its request was admitted.
  `drop view growths`,
  `create view growths as select null as request_id, null as account_id, null as key_id,
    null as gateway_id, null as wanted, null as at_ms, null as lease_ms, null as admitted_at_ms
    where false`,
  `create trigger growths_extend_hold instead of insert on growths
    when not exists (select 1 from usage_records where request_id = new.request_id) begin
    insert into expiries (account_id, at_ms, cause_id)
    select new.account_id, new.at_ms,
      'expiry_' || new.request_id || '_' || lower(hex(randomblob(4)))
    where exists (
      select 1 from lots
      where account_id = new.account_id and remaining > 0 and expires_at_ms <= new.at_ms
    );
    insert into holds
    select new.request_id, new.account_id, new.key_id, new.gateway_id, credits,
      coalesce(new.admitted_at_ms, new.at_ms), ${DATABASE_CLOCK} + new.lease_ms
    from (
      select min(
        new.wanted,
        balance - held,
        coalesce(
          (select credits - spent - held from budgets where key_id = new.key_id), ${UNLIMITED}
        )
      ) as credits
      from balances where account_id = new.account_id
    )
    where credits > 0
    on conflict (request_id) do update set credits = max(holds.credits, min(
      new.wanted,
      holds.credits
        + (select balance - held from balances where account_id = new.account_id),
      coalesce(
        (select holds.credits + credits - spent - held from budgets where key_id = new.key_id),
        ${UNLIMITED}
      )
    ));
  end`,

  // Windows are pruned by the longest first: while a day stands, so do its hours and minutes.
  `create table pruned_windows (before_ms integer not null) strict`,
  `insert into pruned_windows (before_ms) values (0)`,
];
