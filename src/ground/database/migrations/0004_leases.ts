/**
 * Leases by the database's clock; what comes late or twice; growth after a lease has ended.
 *
 * Gateways that share a server may have clocks that differ by more than a lease. The one clock that all of
 * them share decides which holds are still kept.
 */

/** The database's clock, in milliseconds. */
const DATABASE_CLOCK = "cast(unixepoch('subsec') * 1000 as integer)";

/** More than anybody has. */
const UNLIMITED = "9007199254740991";

export const LEASES = [
  // As before, but that the lease is a length, and that a request which has ended is not admitted again: a
  // network may deliver its admission late.
  `drop view admissions`,
  `create view admissions as select null as request_id, null as account_id, null as key_id,
    null as gateway_id, null as least, null as wanted, null as at_ms, null as lease_ms,
    null as tier_list where false`,
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
          ${UNLIMITED}
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
      ${DATABASE_CLOCK} + new.lease_ms
    from decisions where request_id = new.request_id and verdict = 'admitted';
  end`,

  // As before, but that expired credits are taken out first, and that a running request whose lease has
  // ended holds anew what there is.
  `drop view growths`,
  `create view growths as select null as request_id, null as account_id, null as key_id,
    null as gateway_id, null as wanted, null as at_ms, null as lease_ms where false`,
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
    select new.request_id, new.account_id, new.key_id, new.gateway_id, credits, new.at_ms,
      ${DATABASE_CLOCK} + new.lease_ms
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

  // As before, but that a charge whose record was pruned is known by its entries.
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
      charged_credits, balance_credits, ignored)
    select new.request_id, new.account_id, new.key_id, new.dialect, new.route, new.upstream,
      new.upstream_model, new.attempts, new.status, new.ending, new.streamed, new.usage_source,
      new.input_tokens, new.cached_tokens, new.output_tokens, new.reasoning_tokens,
      new.started_at_ms, new.first_token_ms, new.duration_ms, new.price_credits,
      coalesce((select -sum(credits) from entries where cause_id = new.request_id), 0),
      (select balance from balances where account_id = new.account_id), coalesce(new.ignored, '');
  end`,

  // What was asked before there were credits counts as well.
  `update balances set (requests, input_tokens, output_tokens) = (
    select coalesce(sum(requests), 0), coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0)
    from usage_hours where usage_hours.account_id = balances.account_id
  )`,

  // What could not be collected is remembered when the record that says so is pruned.
  `alter table pruned_records add column uncollected_requests integer not null default 0`,
  `alter table pruned_records add column uncollected_credits integer not null default 0`,
  `drop trigger usage_records_delete_is_counted`,
  `create trigger usage_records_delete_is_counted after delete on usage_records begin
    update pruned_records set
      records = records + 1,
      uncollected_requests = uncollected_requests + (old.charged_credits < old.price_credits),
      uncollected_credits = uncollected_credits + old.price_credits - old.charged_credits;
  end`,
];
