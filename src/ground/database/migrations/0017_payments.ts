/** Orders of packages, what became of their payments, redemption codes, and automatic purchases. */

/** Milliseconds of a time that never comes. */
const NEVER = "9007199254740991";

export const PAYMENTS = [
  // Its terms never change; what is below them follows from its events and from what is known of its payment.
  `create table orders (
    id text primary key check (substr(id, 1, 4) = 'ord_'),
    account_id text not null references accounts (id),
    provider text not null check (provider in ('stripe', 'manual', 'gift', 'earlier')),
    -- where it was made
    origin text not null check (origin in ('console', 'command', 'top_up', 'operator', 'earlier')),
    -- repeating it changes nothing
    reference text not null check (length(reference) between 1 and 200),
    package_id text not null,
    package_name text not null,
    credits integer not null check (credits > 0),
    valid_days integer check (valid_days > 0),
    -- in minor units of the currency; null where nobody wrote it down
    amount integer check (amount >= 0),
    currency text not null,
    livemode integer not null check (livemode in (0, 1)),
    -- of the lot that its payment grants
    lot_id text not null unique,
    note text not null check (length(note) <= 500),
    created_at_ms integer not null check (created_at_ms >= 0),

    session_id text unique,
    session_url text,
    state text not null default 'open' check (state in ('open', 'paid', 'expired', 'failed',
      'partly_refunded', 'refunded', 'disputed', 'charged_back')),
    payment_id text unique,
    paid_amount integer check (paid_amount >= 0),
    paid_at_ms integer check (paid_at_ms >= 0),
    receipt integer unique check (receipt > 0),
    -- the part of the amount that was refunded or disputed
    gone_amount integer not null default 0 check (gone_amount between 0 and coalesce(paid_amount, 0)),
    -- why an operator has to look at it
    needs_look text not null default '',
    unique (account_id, provider, reference)
  ) strict`,
  `create index orders_by_account on orders (account_id, created_at_ms)`,
  `create index orders_by_time on orders (created_at_ms)`,
  `create index orders_open on orders (created_at_ms) where state = 'open'`,
  `create index orders_gone on orders (id) where gone_amount > 0`,

  // What happened to orders, each by what caused it: a session, a payment, a refund, a dispute.
  `create table order_events (
    id text primary key check (id = kind || ':' || cause_id),
    kind text not null check (kind in ('session', 'paid', 'expired', 'failed', 'refunded',
      'refund_failed', 'inquiry', 'disputed', 'dispute_lost', 'dispute_won', 'review', 'looked')),
    cause_id text not null,
    order_id text not null references orders (id),
    -- the provider's event that brought it; null where it was found by asking
    event_id text,
    amount integer check (amount >= 0),
    detail text not null default '' check (length(detail) <= 500),
    at_ms integer not null check (at_ms >= 0)
  ) strict, without rowid`,
  `create index order_events_by_order on order_events (order_id, at_ms)`,
  `create unique index order_events_by_event on order_events (event_id) where event_id is not null`,

  // Credits that orders granted, took back, or left owed. The id is that of the lot or the take-back, if there is one.
  `create table order_credits (
    id text primary key,
    cause text not null,
    order_id text not null references orders (id),
    role text not null check (role in ('purchase', 'bonus')),
    account_id text not null references accounts (id),
    kind text not null check
      (kind in ('granted', 'taken', 'owed', 'repaid', 'forgiven', 'returned')),
    credits integer not null check (credits > 0),
    lot_id text references lots (id),
    at_ms integer not null check (at_ms >= 0)
  ) strict, without rowid`,
  `create index order_credits_by_order on order_credits (order_id, role, kind)`,
  `create index order_credits_by_account on order_credits (account_id, kind)`,
  `create index order_credits_by_lot on order_credits (lot_id)`,

  // Refunds and disputes as the provider has told of them, also of payments that are nobody's. It only ever learns more.
  `create table payment_facts (
    id text primary key,
    kind text not null check (kind in ('refund', 'dispute')),
    payment_id text not null,
    amount integer not null check (amount >= 0),
    currency text not null,
    livemode integer not null check (livemode in (0, 1)),
    -- of a refund 0 pending, 1 succeeded, 2 failed; of a dispute 0 inquiry, 1 withdrawn, 2 lost, 3 won
    rank integer not null check (rank between 0 and 3),
    at_ms integer not null check (at_ms >= 0)
  ) strict, without rowid`,
  `create index payment_facts_by_payment on payment_facts (payment_id, at_ms)`,

  // Events of the provider that were handled.
  `create table payment_events (
    id text primary key,
    type text not null,
    object_id text not null,
    livemode integer not null check (livemode in (0, 1)),
    order_id text,
    outcome text not null check (outcome in ('applied', 'repeated', 'no_effect', 'unknown', 'review')),
    created_at_ms integer not null,
    received_at_ms integer not null
  ) strict, without rowid`,
  `create index payment_events_by_time on payment_events (received_at_ms)`,

  // Packages that were sold by hand before there were orders. What was paid is not known.
  `insert into orders (id, account_id, provider, origin, reference, package_id, package_name,
      credits, amount, currency, livemode, lot_id, note, created_at_ms, state, payment_id,
      paid_at_ms)
    select 'ord_' || substr(id, 5), account_id, 'earlier', 'earlier', id, '', 'Package', granted,
      null, '', 1, id, note, created_at_ms, 'paid', 'earlier_' || id, created_at_ms
    from lots where source = 'package'`,
  `insert into order_events (id, kind, cause_id, order_id, at_ms)
    select 'paid:earlier_' || lot_id, 'paid', 'earlier_' || lot_id, id, created_at_ms from orders`,
  `insert into order_credits (id, cause, order_id, role, account_id, kind, credits, lot_id, at_ms)
    select lot_id, 'paid:' || payment_id, id, 'purchase', account_id, 'granted', credits, lot_id,
      created_at_ms
    from orders`,
  `insert into order_credits (id, cause, order_id, role, account_id, kind, credits, lot_id, at_ms)
    select lots.id, 'paid:' || payment_id, orders.id, 'bonus', lots.account_id, 'granted', granted,
      lots.id, lots.created_at_ms
    from lots join first_payments on lots.id = 'lot_payment_' || first_payments.account_id
      join orders on orders.lot_id = first_payments.lot_id
    where source = 'invite_payment'`,

  // Only a digest of the code is kept. Its credits are fixed when it is made.
  `create table redemption_codes (
    id text primary key,
    digest text not null unique,
    hint text not null,
    package_id text,
    package_name text,
    credits integer not null check (credits > 0),
    valid_days integer check (valid_days > 0),
    note text not null check (length(note) <= 500),
    created_at_ms integer not null check (created_at_ms >= 0),
    expires_at_ms integer not null default ${NEVER},
    revoked_at_ms integer,
    redeemed_at_ms integer,
    redeemed_by text references accounts (id),
    check ((redeemed_at_ms is null) = (redeemed_by is null)),
    check (redeemed_at_ms is null or revoked_at_ms is null)
  ) strict, without rowid`,
  // Wrong codes that were tried, by account and by client address.
  `create table code_tries (
    tried_by text not null,
    window_at_ms integer not null,
    tries integer not null check (tries > 0),
    primary key (tried_by, window_at_ms)
  ) strict, without rowid`,

  // Automatic purchases. Off unless there is a row that is on.
  `create table top_ups (
    account_id text primary key references accounts (id),
    is_on integer not null check (is_on in (0, 1)),
    below_credits integer not null check (below_credits > 0),
    package_id text not null,
    max_per_month integer not null check (max_per_month between 1 and 100),
    customer_id text,
    payment_method_id text,
    livemode integer not null default 1 check (livemode in (0, 1)),
    -- why it stopped
    stopped text not null default '',
    stopped_at_ms integer,
    changed_at_ms integer not null
  ) strict, without rowid`,
];
