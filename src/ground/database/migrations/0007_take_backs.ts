/** Taking credits back, which payment was an account's first, and when each key was last used. */
export const TAKE_BACKS = [
  // As before, but for the kind `take_back`: SQLite cannot change a check. The rows go through a second
  // table, as renaming one would make SQLite look at every trigger that reads the first.
  `create table entries_before as select * from entries`,
  `drop table entries`,
  `create table entries (
    account_id text not null,
    cause_id text not null,
    lot_id text not null references lots (id),
    kind text not null check (kind in ('grant', 'charge', 'expire', 'take_back')),
    credits integer not null check (case kind when 'grant' then credits > 0 else credits < 0 end),
    at_ms integer not null check (at_ms >= 0),
    primary key (cause_id, lot_id)
  ) strict, without rowid`,
  `insert into entries (account_id, cause_id, lot_id, kind, credits, at_ms)
    select account_id, cause_id, lot_id, kind, credits, at_ms from entries_before`,
  `drop table entries_before`,
  `create index entries_by_account on entries (account_id, at_ms)`,
  `create trigger entries_insert_moves_credits after insert on entries begin
    update lots set remaining = remaining + new.credits where id = new.lot_id;
    update balances set balance = balance + new.credits where account_id = new.account_id;
  end`,
  ...["update", "delete"].map((event) =>
    `create trigger entries_${event}_is_refused before ${event} on entries begin
      select raise(abort, 'entries are only ever added');
    end`
  ),

  // The purchase that was an account's first payment. It is kept whether or not it earned a bonus.
  `create table first_payments (
    account_id text primary key references accounts (id),
    lot_id text not null references lots (id)
  ) strict, without rowid`,
  // A bonus was made in the same transaction as its purchase, and has the same time.
  `insert into first_payments
    select substr(bonuses.id, 13), min(purchases.id)
    from lots as bonuses join lots as purchases
      on purchases.account_id = substr(bonuses.id, 13) and purchases.source = 'package'
        and purchases.created_at_ms = bonuses.created_at_ms
    where bonuses.source = 'invite_payment' group by 1`,
  ...["update", "delete"].map((event) =>
    `create trigger first_payments_${event}_is_refused before ${event} on first_payments begin
      select raise(abort, 'first_payments are only ever added');
    end`
  ),

  // Each has one entry, of which it is the cause. `wanted` is null for all that was left.
  `create table take_backs (
    id text primary key,
    account_id text not null references accounts (id),
    lot_id text not null references lots (id),
    credits integer not null check (credits > 0),
    wanted integer check (wanted >= credits),
    note text not null check (length(note) between 1 and 500),
    at_ms integer not null check (at_ms >= 0)
  ) strict, without rowid`,
  `create index take_backs_by_lot on take_backs (lot_id)`,
  `create trigger take_backs_insert_takes_credits after insert on take_backs begin
    insert into entries (account_id, cause_id, lot_id, kind, credits, at_ms)
    values (new.account_id, new.id, new.lot_id, 'take_back', -new.credits, new.at_ms);
  end`,
  ...["update", "delete"].map((event) =>
    `create trigger take_backs_${event}_is_refused before ${event} on take_backs begin
      select raise(abort, 'take_backs are only ever added');
    end`
  ),

  // Takes what is left of a lot and not held, or as much of it as is wanted. A first payment that was taken
  // back whole takes what is left of its bonus with it.
  `create view take_back_requests as select null as id, null as account_id, null as lot_id,
    null as wanted, null as note, null as at_ms where false`,
  `create trigger take_back_requests_decide instead of insert on take_back_requests
    when not exists (select 1 from take_backs where id = new.id) begin
    insert into expiries (account_id, at_ms, cause_id)
    select new.account_id, new.at_ms, 'expiry_' || new.id || '_' || lower(hex(randomblob(4)))
    where exists (
      select 1 from lots
      where account_id = new.account_id and remaining > 0 and expires_at_ms <= new.at_ms
    );
    insert into take_backs (id, account_id, lot_id, credits, wanted, note, at_ms)
    select new.id, new.account_id, new.lot_id, taken, new.wanted, new.note, new.at_ms
    from (
      select min(remaining, balance - held, coalesce(new.wanted, remaining)) as taken
      from lots join balances on balances.account_id = lots.account_id
      where lots.id = new.lot_id and lots.account_id = new.account_id
    )
    where taken > 0;
    insert into take_backs (id, account_id, lot_id, credits, note, at_ms)
    select new.id || '_bonus', account_id, lot_id, taken, 'The payment that earned it was taken back',
      new.at_ms
    from (
      select lots.account_id, lots.id as lot_id, min(remaining, balance - held) as taken
      from first_payments join lots on lots.id = 'lot_payment_' || first_payments.account_id
        join balances on balances.account_id = lots.account_id
      where first_payments.lot_id = new.lot_id
    )
    where taken > 0 and exists (select 1 from take_backs where id = new.id)
      and (select sum(credits) from take_backs where lot_id = new.lot_id)
        = (select granted from lots where id = new.lot_id);
  end`,

  // When the latest request of each key began. Roll-ups know the hour, where its record was pruned.
  `create table key_uses (
    key_id text primary key references keys (id),
    last_used_at_ms integer not null check (last_used_at_ms >= 0)
  ) strict, without rowid`,
  `insert into key_uses
    select key_id, max(at_ms) from (
      select key_id, hour_at_ms as at_ms from usage_hours
      union all select key_id, started_at_ms from usage_records
    ) group by key_id`,
  `create trigger usage_records_insert_marks_key after insert on usage_records begin
    insert into key_uses values (new.key_id, new.started_at_ms)
    on conflict (key_id) do update set
      last_used_at_ms = max(last_used_at_ms, excluded.last_used_at_ms);
  end`,
];
