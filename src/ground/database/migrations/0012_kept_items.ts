/**
 * Items of replies that clients may refer to for a while, sealed; and secrets that all gateways at one server share.
 */

export const KEPT_ITEMS = [
  `create table secrets (
    name text primary key,
    value text not null,
    created_at_ms integer not null
  ) strict, without rowid`,

  // with a rowid: a row may be long
  `create table kept_items (
    account_id text not null references accounts (id),
    item_id text not null,
    bytes integer not null check (bytes > 0),
    created_at_ms integer not null,
    expires_at_ms integer not null,
    sealed text not null,
    primary key (account_id, item_id)
  ) strict`,
  // each has all that is read to find out which are surplus
  `create index kept_items_by_account on kept_items (account_id, expires_at_ms, bytes)`,
  `create index kept_items_by_expiry on kept_items (expires_at_ms, bytes)`,
];
