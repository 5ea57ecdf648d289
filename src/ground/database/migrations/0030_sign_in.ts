import type { Migration } from "./migration.ts";

/** People who sign in with a provider of their company's, and what their groups there give them. */
export const SIGN_IN: Migration = {
  version: 30,
  name: "sign_in",
  statements: [
    // Who accounts are at providers.
    `create table identities (
      issuer text not null check (length(issuer) between 1 and 1000),
      subject text not null check (length(subject) between 1 and 1000),
      account_id text not null references accounts (id),
      -- the settings' name of the provider
      provider text not null check (length(provider) between 1 and 40),
      -- why it signs in this account
      linked_by text not null check (linked_by in ('hand', 'domain', 'group')),
      linked_at_ms integer not null check (linked_at_ms >= 0),
      primary key (issuer, subject)
    ) strict, without rowid`,
    // those of an account
    `create index identities_by_account on identities (account_id)`,
    // Browsers that were sent to a provider, for ten minutes at most.
    `create table provider_visits (
      -- of what only this browser has
      digest text primary key check (length(digest) = 64),
      provider text not null,
      -- the account that the identity is to be linked to
      account_id text references accounts (id),
      expires_at_ms integer not null
    ) strict, without rowid`,
    // which have ended
    `create index provider_visits_by_end on provider_visits (expires_at_ms)`,
    // What accounts have from groups of a provider: what was given by hand is not among it.
    `create table group_grants (
      account_id text not null references accounts (id),
      kind text not null check (kind in ('role', 'team', 'budget')),
      -- of a team its ID, of a budget its period
      name text not null,
      provider text not null,
      granted_at_ms integer not null check (granted_at_ms >= 0),
      primary key (account_id, kind, name)
    ) strict, without rowid`,
    // Tools that are signed in: each has a key, whose secret changes with every refresh.
    `create table tool_grants (
      key_id text primary key references keys (id),
      -- what the tool calls itself
      client text not null check (length(client) between 1 and 100),
      -- of what refresh tokens are made, besides the key of the seals
      salt text not null check (length(salt) between 32 and 64),
      -- of the refresh token that is valid
      generation integer not null check (generation > 0),
      refreshed_at_ms integer not null,
      -- when it has to be refreshed at the latest
      expires_at_ms integer not null
    ) strict, without rowid`,
    // Tools that wait for somebody to approve them, for ten minutes at most.
    `create table device_codes (
      digest text primary key check (length(digest) = 64),
      -- what somebody types, by its digest
      user_digest text not null unique check (length(user_digest) = 64),
      client text not null check (length(client) between 1 and 100),
      address text not null check (length(address) <= 100),
      created_at_ms integer not null,
      expires_at_ms integer not null,
      -- how long the tool has to wait between questions
      interval_ms integer not null check (interval_ms > 0),
      asked_at_ms integer not null,
      state text not null default 'pending' check (state in ('pending', 'approved', 'denied')),
      account_id text references accounts (id),
      check ((state = 'approved') = (account_id is not null))
    ) strict, without rowid`,
    // which have ended, and how many an address has
    `create index device_codes_by_end on device_codes (expires_at_ms)`,
    `create index device_codes_by_address on device_codes (address)`,
    // By which provider a session began, and that provider's own session: either may end it.
    `alter table sessions add column provider text`,
    `alter table sessions add column provider_session text`,
    // where it began, for the list of one's sessions
    `alter table sessions add column address text`,
    `alter table sessions add column agent text`,
    `create index sessions_by_provider on sessions (provider, provider_session)
      where provider_session is not null`,
  ],
};
