/** How credits are bought: orders of packages, what became of their payments, redemption codes, automatic purchases. */
export const PAYMENTS = [
  // An order's terms never change; what is below them follows from its events and from what is known of its payment.
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
    -- in minor units of the currency; null where it was not written down
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
    -- JSON: returnTo, email and savesMethod, as the service takes a call again only with the same; null until it was asked
    checkout_options text,
    unique (account_id, provider, reference)
  ) strict`,
  // lists of orders: of an account, of all
  `create index orders_by_account on orders (account_id, created_at_ms)`,
  `create index orders_by_time on orders (created_at_ms)`,
  // what the sweep asks the provider about
  `create index orders_open on orders (created_at_ms) where state = 'open'`,
  // those of which credits may be withheld
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
  // an order's history
  `create index order_events_by_order on order_events (order_id, at_ms)`,
  // an event of the provider does one thing
  `create unique index order_events_by_event on order_events (event_id) where event_id is not null`,

  // Credits that orders granted, took back, or left owed. The ID is that of the lot or the take-back, if there is one.
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
  // their sums: of an order, of an account
  `create index order_credits_by_order on order_credits (order_id, role, kind)`,
  `create index order_credits_by_account on order_credits (account_id, kind)`,
  // the order that a lot came from
  `create index order_credits_by_lot on order_credits (lot_id)`,
  // The purchase that was an account's first payment, whether or not it earned a bonus. Only ever added.
  `create table first_payments (
    account_id text primary key references accounts (id),
    lot_id text not null references lots (id)
  ) strict, without rowid`,

  // Refunds and disputes as the provider reports them, also of payments without an order. The latest state counts.
  `create table payment_facts (
    id text primary key,
    kind text not null check (kind in ('refund', 'dispute')),
    payment_id text not null,
    amount integer not null check (amount >= 0),
    currency text not null,
    livemode integer not null check (livemode in (0, 1)),
    -- of a refund 0 pending, 1 succeeded, 2 failed; of a dispute 0 inquiry, 1 withdrawn, 2 lost, 3 won
    rank integer not null check (rank between 0 and 3),
    at_ms integer not null check (at_ms >= 0),
    -- the provider's time of the state, and how often a later state was of a lower rank
    as_of_ms integer not null default 0 check (as_of_ms >= 0),
    reversals integer not null default 0 check (reversals >= 0)
  ) strict, without rowid`,
  // those of a payment, in order
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
  // the latest ones
  `create index payment_events_by_time on payment_events (received_at_ms)`,
  // these are pruned; the others are kept, and would be looked at each time
  `create index payment_events_without_effect on payment_events (received_at_ms)
    where outcome in ('repeated', 'no_effect', 'unknown')`,
  // When the last webhook came, and the last sweep succeeded, in each mode.
  `create table payment_contacts (
    name text not null check (name in ('webhook', 'sweep')),
    livemode integer not null check (livemode in (0, 1)),
    at_ms integer not null check (at_ms >= 0),
    primary key (name, livemode)
  ) strict, without rowid`,

  // Codes that grant credits once. Only a digest is kept; the credits are fixed when it is made.
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
    expires_at_ms integer not null default 9007199254740991,
    revoked_at_ms integer,
    redeemed_at_ms integer,
    redeemed_by text references accounts (id),
    check ((redeemed_at_ms is null) = (redeemed_by is null)),
    check (redeemed_at_ms is null or revoked_at_ms is null)
  ) strict, without rowid`,
  // Wrong codes that were tried, by account and by client address: guessing is bounded.
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
