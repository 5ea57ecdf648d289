/**
 * Credits: lots, entries, holds, windows.
 *
 * Entries are the truth and are only ever added. An entry's trigger moves its lot and its account's
 * balance, a hold's triggers move what is held, so that no statement can change the one without the
 * other: balance = sum of entries = sum of what the lots have left, 0 ≤ held ≤ balance.
 *
 * Deciding is done here as well, by triggers on views without rows of their own: one inserted row is
 * one decision, taken after the one before it, in whatever gateway's batch it came.
 */
export const LEDGER = [
  // An account's sums.
  `create table balances (
    account_id text primary key references accounts (id),
    balance integer not null default 0 check (balance >= 0),
    held integer not null default 0 check (held between 0 and balance),
    consumed integer not null default 0 check (consumed >= 0),
    requests integer not null default 0 check (requests >= 0),
    input_tokens integer not null default 0 check (input_tokens >= 0),
    output_tokens integer not null default 0 check (output_tokens >= 0)
  ) strict, without rowid`,
  `insert into balances (account_id) select id from accounts`,
  `create trigger accounts_insert_opens_balance after insert on accounts begin
    insert into balances (account_id) values (new.id);
  end`,

  // What a key with a budget has spent and holds.
  `create table budgets (
    key_id text primary key references keys (id),
    credits integer not null check (credits >= 0),
    spent integer not null default 0 check (spent >= 0),
    held integer not null default 0 check (held >= 0)
  ) strict, without rowid`,
  `insert into budgets (key_id, credits)
    select id, budget_credits from keys where budget_credits is not null`,
  `create trigger keys_insert_opens_budget after insert on keys
    when new.budget_credits is not null begin
    insert into budgets (key_id, credits) values (new.id, new.budget_credits);
  end`,

  // Credits that were granted together. One that never expires sorts last.
  `create table lots (
    id text primary key,
    account_id text not null references accounts (id),
    source text not null check
      (source in ('signup', 'owner', 'invite_signup', 'invite_payment', 'package', 'grant')),
    note text not null default '' check (length(note) <= 500),
    granted integer not null check (granted > 0),
    remaining integer not null check (remaining between 0 and granted),
    created_at_ms integer not null check (created_at_ms >= 0),
    expires_at_ms integer not null default 9007199254740991 check (expires_at_ms >= 0)
  ) strict`,
  `create index lots_with_credits on lots (account_id, expires_at_ms, created_at_ms, id)
    where remaining > 0`,
  `create index lots_by_account on lots (account_id, created_at_ms)`,
  `create index lots_by_expiry on lots (expires_at_ms)
    where remaining > 0 and expires_at_ms < 9007199254740991`,

  // The cause is a request's id, a lot's id (its grant), or the id of an expiry.
  `create table entries (
    account_id text not null,
    cause_id text not null,
    lot_id text not null references lots (id),
    kind text not null check (kind in ('grant', 'charge', 'expire')),
    credits integer not null check (case kind when 'grant' then credits > 0 else credits < 0 end),
    at_ms integer not null check (at_ms >= 0),
    primary key (cause_id, lot_id)
  ) strict, without rowid`,
  `create trigger entries_insert_moves_credits after insert on entries begin
    update lots set remaining = remaining + new.credits where id = new.lot_id;
    update balances set balance = balance + new.credits where account_id = new.account_id;
  end`,
  ...["update", "delete"].map((event) =>
    `create trigger entries_${event}_is_refused before ${event} on entries begin
      select raise(abort, 'entries are only ever added');
    end`
  ),

  // What running requests may still spend. A gateway renews the leases of its own.
  `create table holds (
    request_id text primary key,
    account_id text not null,
    key_id text not null,
    gateway_id text not null,
    credits integer not null check (credits > 0),
    created_at_ms integer not null,
    lease_until_ms integer not null
  ) strict, without rowid`,
  `create trigger holds_insert_holds after insert on holds begin
    update balances set held = held + new.credits where account_id = new.account_id;
    update budgets set held = held + new.credits where key_id = new.key_id;
  end`,
  `create trigger holds_update_holds after update of credits on holds begin
    update balances set held = held + new.credits - old.credits where account_id = new.account_id;
    update budgets set held = held + new.credits - old.credits where key_id = new.key_id;
  end`,
  `create trigger holds_delete_releases after delete on holds begin
    update balances set held = held - old.credits where account_id = old.account_id;
    update budgets set held = held - old.credits where key_id = old.key_id;
  end`,

  // Requests of a key that were admitted in a minute, an hour, a day of UTC. A row per window, so
  // that a clock which jumps and comes back finds its counts again.
  `create table windows (
    key_id text not null,
    span_ms integer not null,
    at_ms integer not null,
    used integer not null check (used > 0),
    primary key (key_id, span_ms, at_ms)
  ) strict, without rowid`,

  // Takes an account's expired credits out of its balance, except for what running requests hold.
  `create view expiries as select null as account_id, null as at_ms, null as cause_id where false`,
  `create trigger expiries_take_credits instead of insert on expiries begin
    insert into entries (account_id, cause_id, lot_id, kind, credits, at_ms)
    select new.account_id, new.cause_id, id, 'expire', -taken, new.at_ms
    from (
      select id, min(
        remaining,
        (select balance - held from balances where account_id = new.account_id) + remaining
          - sum(remaining) over (order by expires_at_ms, created_at_ms, id)
      ) as taken
      from lots
      where account_id = new.account_id and remaining > 0 and expires_at_ms <= new.at_ms
    )
    where taken > 0;
  end`,

  // How many requests a balance above a number of credits allows, as the gateways' settings say: a
  // list for each wording of them.
  `create table tiers (
    list_id text not null,
    above integer not null check (above >= 0),
    minute integer not null check (minute >= 0),
    hour integer not null check (hour >= 0),
    day integer not null check (day >= 0),
    primary key (list_id, above)
  ) strict, without rowid`,

  // How a request's admission was decided, until the transaction that decided it has answered.
  `create table decisions (
    request_id text primary key,
    verdict text not null check (verdict in ('admitted', 'rate', 'budget', 'credits')),
    credits integer not null,
    balance integer not null,
    minute_limit integer not null,
    minute_used integer not null,
    hour_limit integer not null,
    hour_used integer not null,
    day_limit integer not null,
    day_used integer not null
  ) strict, without rowid`,

  // May this request run, and on how many credits?
  `create view admissions as select null as request_id, null as account_id, null as key_id,
    null as gateway_id, null as least, null as wanted, null as at_ms, null as lease_until_ms,
    null as tier_list where false`,
  `create trigger admissions_decide instead of insert on admissions begin
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
        when minute_used >= minute or hour_used >= hour or day_used >= day then 'rate'
        when budget < new.least then 'budget'
        when free < new.least then 'credits'
        else 'admitted'
      end,
      min(new.wanted, free, budget), balance,
      coalesce(minute, 0), minute_used, coalesce(hour, 0), hour_used, coalesce(day, 0), day_used
    from (
      select balance, balance - held as free, minute, hour, day,
        coalesce(
          (select credits - spent - held from budgets where key_id = new.key_id),
          9007199254740991
        ) as budget,
        coalesce((select used from windows where key_id = new.key_id and span_ms = 60000
          and at_ms = new.at_ms / 60000 * 60000), 0) as minute_used,
        coalesce((select used from windows where key_id = new.key_id and span_ms = 3600000
          and at_ms = new.at_ms / 3600000 * 3600000), 0) as hour_used,
        coalesce((select used from windows where key_id = new.key_id and span_ms = 86400000
          and at_ms = new.at_ms / 86400000 * 86400000), 0) as day_used
      from balances left join tiers on list_id = new.tier_list and above = (
        select max(above) from tiers where list_id = new.tier_list and above < balance
      )
      where account_id = new.account_id
    );
    insert into windows (key_id, span_ms, at_ms, used)
    select new.key_id, span_ms, new.at_ms / span_ms * span_ms, 1
    from decisions, (select 60000 as span_ms union all select 3600000 union all select 86400000)
    where request_id = new.request_id and verdict = 'admitted'
    on conflict (key_id, span_ms, at_ms) do update set used = used + 1;
    insert into holds
    select new.request_id, new.account_id, new.key_id, new.gateway_id, credits, new.at_ms,
      new.lease_until_ms
    from decisions where request_id = new.request_id and verdict = 'admitted';
  end`,

  // A running request asks for more, up to a number of credits in all; it gets what there is.
  `create view growths as select null as request_id, null as wanted where false`,
  `create trigger growths_extend_hold instead of insert on growths begin
    update holds set credits = max(credits, min(
      new.wanted,
      credits + (select balance - held from balances where account_id = holds.account_id),
      coalesce(
        (select holds.credits + budgets.credits - spent - held from budgets
          where key_id = holds.key_id),
        9007199254740991
      )
    ))
    where request_id = new.request_id;
  end`,

  // The record keeps what the charge was, what could not be collected of it, and what was left.
  `alter table usage_records add column price_credits integer not null default 0
    check (price_credits >= 0)`,
  `alter table usage_records add column charged_credits integer not null default 0
    check (charged_credits between 0 and price_credits)`,
  `alter table usage_records add column balance_credits integer check (balance_credits >= 0)`,
  `create index usage_records_uncollected on usage_records (request_id)
    where charged_credits < price_credits`,
  `alter table usage_hours add column credits integer not null default 0 check (credits >= 0)`,

  // The end of a request, once: its hold is released, its price taken, its record written.
  `create view settlements as select *, null as settled_at_ms from usage_records where false`,
  `create trigger settlements_settle instead of insert on settlements begin
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
    where taken > 0
      and not exists (select 1 from usage_records where request_id = new.request_id);
    insert into usage_records
    select new.request_id, new.account_id, new.key_id, new.dialect, new.route, new.upstream,
      new.upstream_model, new.attempts, new.status, new.ending, new.streamed, new.usage_source,
      new.input_tokens, new.cached_tokens, new.output_tokens, new.reasoning_tokens,
      new.started_at_ms, new.first_token_ms, new.duration_ms, new.price_credits,
      coalesce((select -sum(credits) from entries where cause_id = new.request_id), 0),
      (select balance from balances where account_id = new.account_id)
    where true
    on conflict (request_id) do nothing;
  end`,
  `create trigger usage_records_insert_adds_up after insert on usage_records begin
    insert into usage_hours (account_id, hour_at_ms, key_id, route, requests, errors, input_tokens,
      cached_tokens, output_tokens, duration_ms, credits)
    values (new.account_id, new.started_at_ms / 3600000 * 3600000, new.key_id, new.route, 1,
      new.ending <> 'complete', new.input_tokens, new.cached_tokens, new.output_tokens,
      new.duration_ms, new.charged_credits)
    on conflict (account_id, hour_at_ms, key_id, route) do update set
      requests = requests + 1,
      errors = errors + excluded.errors,
      input_tokens = input_tokens + excluded.input_tokens,
      cached_tokens = cached_tokens + excluded.cached_tokens,
      output_tokens = output_tokens + excluded.output_tokens,
      duration_ms = duration_ms + excluded.duration_ms,
      credits = credits + excluded.credits;
    update balances set
      consumed = consumed + new.charged_credits,
      requests = requests + 1,
      input_tokens = input_tokens + new.input_tokens,
      output_tokens = output_tokens + new.output_tokens
    where account_id = new.account_id;
    update budgets set spent = spent + new.charged_credits where key_id = new.key_id;
  end`,

  // Records that were deleted because they were old or many.
  `create table pruned_records (records integer not null) strict`,
  `insert into pruned_records (records) values (0)`,
  `create trigger usage_records_delete_is_counted after delete on usage_records begin
    update pruned_records set records = records + 1;
  end`,

  // Who invited whom.
  `alter table accounts add column invite_code text`,
  `create unique index accounts_by_invite_code on accounts (invite_code)`,
  `alter table accounts add column invited_by text references accounts (id)`,
  `create index accounts_by_inviter on accounts (invited_by) where invited_by is not null`,
];
