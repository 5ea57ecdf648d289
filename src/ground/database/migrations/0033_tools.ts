import type { Migration } from "./migration.ts";

/** Tools that sign in by a browser, and what ends them when a provider refuses the person who approved them. */
export const TOOLS: Migration = {
  version: 33,
  name: "tools",
  statements: [
    // Tools that somebody has approved in a browser: each fetches its tokens within a minute.
    `create table tool_codes (
      digest text primary key check (length(digest) = 64),
      client_id text not null check (length(client_id) between 1 and 100),
      -- what people call it
      client text not null check (length(client) between 1 and 100),
      redirect_uri text not null check (length(redirect_uri) between 1 and 1000),
      -- of PKCE: the digest of what only the tool knows
      challenge text not null check (length(challenge) = 43),
      account_id text not null references accounts (id),
      -- the provider that had signed in the person who approved
      provider text,
      address text not null check (length(address) <= 100),
      expires_at_ms integer not null,
      -- of the tool that was signed in: who sends the code again ends it
      key_id text
    ) strict, without rowid`,
    // which have ended, and how many an account has
    `create index tool_codes_by_end on tool_codes (expires_at_ms)`,
    `create index tool_codes_by_account on tool_codes (account_id)`,
    // From where a tool was signed in, and by which provider the person who approved it.
    `alter table tool_grants add column address text`,
    `alter table tool_grants add column provider text`,
    `alter table device_codes add column provider text`,
    // When the provider last said who somebody is, by a sign-in or a refresh, and when it was last asked.
    `alter table identities add column vouched_at_ms integer`,
    `alter table identities add column asked_at_ms integer`,
    // the provider's refresh token, sealed
    `alter table identities add column refresh_sealed text`,
  ],
};
