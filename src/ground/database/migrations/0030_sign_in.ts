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
      -- of the state that comes back
      digest text primary key check (length(digest) = 64),
      -- of what only this browser has
      browser text not null check (length(browser) = 64),
      provider text not null,
      nonce text not null,
      verifier text not null,
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
