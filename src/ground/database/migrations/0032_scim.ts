import { isJson } from "../../sql/mod.ts";
import type { Migration } from "./migration.ts";

/** People and groups that a company's directory sends, and what groups give, kept apart for each provider. */
export const SCIM: Migration = {
  version: 32,
  name: "scim",
  statements: [
    // Accounts that a directory manages.
    `create table scim_users (
      id text primary key check (length(id) between 1 and 40),
      account_id text not null unique references accounts (id),
      user_name text not null collate nocase check (length(user_name) between 1 and 254),
      external_id text check (length(external_id) between 1 and 500),
      -- what the directory sent besides, as JSON
      attributes text not null check (${isJson("attributes")}),
      version integer not null check (version > 0),
      created_at_ms integer not null check (created_at_ms >= 0),
      changed_at_ms integer not null check (changed_at_ms >= 0),
      -- as the account has it, if the directory deactivated it: what was disabled by hand stays disabled
      disabled_at_ms integer,
      deleted_at_ms integer,
      -- how often its groups have changed
      changes integer not null default 0,
      -- after which of these changes, and by which settings, its rights were evaluated
      evaluated text not null default '',
      -- what they were then, as a digest
      rights text not null default ''
    ) strict, without rowid`,
    // names are free once a user is deleted
    `create unique index scim_users_by_name on scim_users (user_name) where deleted_at_ms is null`,
    // who signs in by it
    `create index scim_users_by_external_id on scim_users (external_id)
      where external_id is not null`,
    `create table scim_groups (
      id text primary key check (length(id) between 1 and 40),
      display_name text not null collate nocase check (length(display_name) between 1 and 500),
      external_id text check (length(external_id) between 1 and 500),
      version integer not null check (version > 0),
      created_at_ms integer not null check (created_at_ms >= 0),
      changed_at_ms integer not null check (changed_at_ms >= 0)
    ) strict, without rowid`,
    // filters by name
    `create index scim_groups_by_name on scim_groups (display_name)`,
    `create table scim_members (
      group_id text not null references scim_groups (id),
      user_id text not null references scim_users (id),
      primary key (group_id, user_id)
    ) strict, without rowid`,
    // the groups of a user
    `create index scim_members_by_user on scim_members (user_id)`,
    // Two providers may give the same thing: it goes with the last of them.
    `create table grants_by_provider (
      account_id text not null references accounts (id),
      kind text not null check (kind in ('role', 'team', 'budget')),
      -- of a team its ID, of a budget its period
      name text not null,
      provider text not null,
      -- the role, the role in the team, or the budget's credits
      value text not null,
      granted_at_ms integer not null check (granted_at_ms >= 0),
      primary key (account_id, kind, name, provider)
    ) strict, without rowid`,
    `insert into grants_by_provider
      select account_id, kind, name, provider, coalesce(case kind
          when 'role' then (select role from accounts where id = account_id)
          when 'team' then (select role from team_members
            where team_id = name and team_members.account_id = group_grants.account_id)
          else (select credits from budgets
            where owner = 'account' and owner_id = account_id and period = name)
        end, ''), granted_at_ms
      from group_grants`,
    `drop table group_grants`,
    `alter table grants_by_provider rename to group_grants`,
    // A directory's word links identities as well.
    `create table linked_identities (
      issuer text not null check (length(issuer) between 1 and 1000),
      subject text not null check (length(subject) between 1 and 1000),
      account_id text not null references accounts (id),
      -- the settings' name of the provider
      provider text not null check (length(provider) between 1 and 40),
      -- why it signs in this account
      linked_by text not null check (linked_by in ('hand', 'domain', 'group', 'scim')),
      linked_at_ms integer not null check (linked_at_ms >= 0),
      primary key (issuer, subject)
    ) strict, without rowid`,
    `insert into linked_identities select * from identities`,
    `drop table identities`,
    `alter table linked_identities rename to identities`,
    `create index identities_by_account on identities (account_id)`,
  ],
};
