/** Signing in to the console, and what a request's record says about its translation. */
export const CONSOLE = [
  `create table passwords (
    account_id text primary key references accounts (id),
    hash text not null check (length(hash) between 20 and 500),
    changed_at_ms integer not null check (changed_at_ms >= 0)
  ) strict, without rowid`,

  // Each works once, and not for long.
  `create table sign_in_links (
    digest text primary key check (length(digest) = 64),
    account_id text not null references accounts (id),
    expires_at_ms integer not null check (expires_at_ms >= 0)
  ) strict, without rowid`,

  `create table sessions (
    digest text primary key check (length(digest) = 64),
    account_id text not null references accounts (id),
    by_link integer not null check (by_link in (0, 1)),
    created_at_ms integer not null check (created_at_ms >= 0),
    expires_at_ms integer not null check (expires_at_ms >= 0)
  ) strict, without rowid`,
  `create index sessions_by_account on sessions (account_id)`,

  // Entries of an account, newest first.
  `create index entries_by_account on entries (account_id, at_ms)`,

  // Names of request fields that could not be carried to the upstream's dialect.
  `alter table usage_records add column ignored text not null default ''
    check (length(ignored) <= 2000)`,
  `drop view settlements`,
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
    insert into usage_records (request_id, account_id, key_id, dialect, route, upstream,
      upstream_model, attempts, status, ending, streamed, usage_source, input_tokens, cached_tokens,
      output_tokens, reasoning_tokens, started_at_ms, first_token_ms, duration_ms, price_credits,
      charged_credits, balance_credits, ignored)
    select new.request_id, new.account_id, new.key_id, new.dialect, new.route, new.upstream,
      new.upstream_model, new.attempts, new.status, new.ending, new.streamed, new.usage_source,
      new.input_tokens, new.cached_tokens, new.output_tokens, new.reasoning_tokens,
      new.started_at_ms, new.first_token_ms, new.duration_ms, new.price_credits,
      coalesce((select -sum(credits) from entries where cause_id = new.request_id), 0),
      (select balance from balances where account_id = new.account_id), coalesce(new.ignored, '')
    where true
    on conflict (request_id) do nothing;
  end`,
];
