import type { Migration } from "./migration.ts";

/** Passkeys (WebAuthn): people sign in with a key that never leaves what holds it. */
export const PASSKEYS: Migration = {
  version: 31,
  name: "passkeys",
  statements: [
    // Passkeys of accounts: the public halves.
    `create table passkeys (
      -- the credential's, as base64url
      id text primary key check (length(id) between 1 and 1364),
      account_id text not null references accounts (id),
      name text not null check (length(name) between 1 and 200),
      -- of its signatures, as COSE numbers it
      algorithm integer not null check (algorithm in (-7, -8, -257)),
      -- SubjectPublicKeyInfo, as base64url
      public_key text not null,
      -- how often it has signed, by its own count; 0 where it does not count
      counter integer not null check (counter between 0 and 4294967295),
      created_at_ms integer not null check (created_at_ms >= 0),
      used_at_ms integer check (used_at_ms >= 0)
    ) strict, without rowid`,
    // those of an account
    `create index passkeys_by_account on passkeys (account_id)`,
    // What a passkey is asked to sign, for five minutes at most.
    `create table passkey_challenges (
      digest text primary key check (length(digest) = 64),
      -- of what only this browser has
      browser text not null check (length(browser) = 64),
      -- the account that a passkey is to be added to; null to sign in
      account_id text references accounts (id),
      expires_at_ms integer not null
    ) strict, without rowid`,
    // which have ended
    `create index passkey_challenges_by_end on passkey_challenges (expires_at_ms)`,
    // With which passkey a session began: it ends with it.
    `alter table sessions add column passkey text references passkeys (id) on delete cascade`,
    `create index sessions_by_passkey on sessions (passkey) where passkey is not null`,
  ],
};
