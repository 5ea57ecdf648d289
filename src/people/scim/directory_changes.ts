import type { Condition, Statement } from "../../ground/database/mod.ts";
import { insertOf } from "../../ground/row.ts";
import type { DirectoryGroup, DirectoryUser } from "./directory.ts";
import type { GroupDocument, UserDocument } from "./documents.ts";
import { elementsOf, integerAt, isSame, textAt, textsOf } from "../../ground/sql/mod.ts";

/** Of users' IDs with how often their groups changed: those of a JSON array, which is an argument. */
const AS_READ = `(select ${textAt("value", 0)}, ${integerAt("value", 1)} from ${elementsOf("?")})`;

const SAME_NAME = isSame("display_name", "?");

function asRead(users: readonly Pick<DirectoryUser, "id" | "changes">[]): string {
  return JSON.stringify(users.map(({ id, changes }) => [id, changes]));
}

/**
 * Notes that the rights of users were evaluated.
 *
 * @param rights What they are; without it, what they were.
 */
export function evaluated(
  users: readonly Pick<DirectoryUser, "id" | "changes">[],
  { settings, rights = null }: { readonly settings: string; readonly rights?: string | null },
): Statement {
  return {
    sql: `update scim_users set evaluated = changes || ' ' || ?, rights = coalesce(?, rights)
      where (id, changes) in ${AS_READ}`,
    args: [settings, rights, asRead(users)],
  };
}

/** Holds while the groups of users are those that were read with them. */
export function haveChanges(users: readonly Pick<DirectoryUser, "id" | "changes">[]): Condition {
  return {
    sql: `(select count(*) from scim_users where (id, changes) in ${AS_READ}) = ?`,
    args: [asRead(users), users.length],
  };
}

/** Holds while a user is as it was read. */
export function isSameUser({ id, version }: Pick<DirectoryUser, "id" | "version">): Condition {
  return {
    sql: "exists (select 1 from scim_users where id = ? and version = ? and deleted_at_ms is null)",
    args: [id, version],
  };
}

/** Holds while a group is as it was read. */
export function isSameGroup({ id, version }: Pick<DirectoryGroup, "id" | "version">): Condition {
  return {
    sql: "exists (select 1 from scim_groups where id = ? and version = ?)",
    args: [id, version],
  };
}

/** Creates a user. One that was deleted and had its account is replaced. */
export function insertUser(
  user: Pick<UserDocument, "userName" | "externalId" | "attributes"> & {
    readonly id: string;
    readonly accountId: string;
    readonly disabledAtMs: number | null;
    readonly nowMs: number;
  },
): Statement[] {
  const { id, accountId, userName, externalId, attributes, disabledAtMs, nowMs } = user;
  return [
    {
      sql: "delete from scim_users where account_id = ? and deleted_at_ms is not null",
      args: [accountId],
    },
    insertOf("insert into scim_users", {
      id,
      accountId,
      userName,
      externalId,
      attributes: JSON.stringify(attributes),
      version: 1,
      createdAtMs: nowMs,
      changedAtMs: nowMs,
      disabledAtMs,
    }),
  ];
}

/** Changes a user. */
export function updateUser(
  id: string,
  { userName, externalId, attributes }: Pick<
    UserDocument,
    "userName" | "externalId" | "attributes"
  >,
  { disabledAtMs, nowMs }: { readonly disabledAtMs: number | null; readonly nowMs: number },
): Statement {
  return {
    sql: `update scim_users set user_name = ?, external_id = ?, attributes = ?,
        disabled_at_ms = ?, changed_at_ms = ?, version = version + 1 where id = ?`,
    args: [userName, externalId, JSON.stringify(attributes), disabledAtMs, nowMs, id],
  };
}

/** Deletes a user: its account is told apart from those that the directory never had. */
export function deleteUser(
  id: string,
  { disabledAtMs, nowMs }: { readonly disabledAtMs: number | null; readonly nowMs: number },
): Statement[] {
  return [
    {
      sql: `update scim_groups set version = version + 1
        where id in (select group_id from scim_members where user_id = ?)`,
      args: [id],
    },
    { sql: "delete from scim_members where user_id = ?", args: [id] },
    {
      sql: `update scim_users set disabled_at_ms = ?, deleted_at_ms = ?, changes = changes + 1,
          version = version + 1 where id = ?`,
      args: [disabledAtMs, nowMs, id],
    },
  ];
}

/** Creates a group without members. */
export function insertGroup(
  id: string,
  { displayName, externalId }: Pick<GroupDocument, "displayName" | "externalId">,
  nowMs: number,
): Statement {
  const row = { id, displayName, externalId, version: 1, createdAtMs: nowMs, changedAtMs: nowMs };
  return insertOf("insert into scim_groups", row);
}

/** Changes the names of a group, for all its members. */
export function updateGroup(
  id: string,
  { displayName, externalId }: Pick<GroupDocument, "displayName" | "externalId">,
  nowMs: number,
): Statement[] {
  return [
    {
      sql: `update scim_users set changes = changes + 1
        where id in (select user_id from scim_members where group_id = ?)
          and exists (select 1 from scim_groups
            where id = ? and (not (${SAME_NAME}) or external_id is distinct from ?))`,
      args: [id, id, displayName, externalId],
    },
    {
      sql: `update scim_groups set display_name = ?, external_id = ?, changed_at_ms = ?,
          version = version + 1 where id = ?`,
      args: [displayName, externalId, nowMs, id],
    },
  ];
}

/** Deletes a group with its memberships. */
export function deleteGroup(id: string): Statement[] {
  return [
    {
      sql: `update scim_users set changes = changes + 1
        where id in (select user_id from scim_members where group_id = ?)`,
      args: [id],
    },
    { sql: "delete from scim_members where group_id = ?", args: [id] },
    { sql: "delete from scim_groups where id = ?", args: [id] },
  ];
}

/** Puts users into a group and takes others out. */
export function changeMembers(
  groupId: string,
  { added, removed }: { readonly added: readonly string[]; readonly removed: readonly string[] },
): Statement[] {
  const [more, less] = [JSON.stringify(added), JSON.stringify(removed)];
  return [
    {
      sql: `insert into scim_members (group_id, user_id) select ?, value from ${elementsOf("?")}
        where value in (select id from scim_users where deleted_at_ms is null)
        on conflict do nothing`,
      args: [groupId, more],
    },
    {
      sql: `delete from scim_members
        where group_id = ? and user_id in ${textsOf()}`,
      args: [groupId, less],
    },
    {
      sql: `update scim_users set changes = changes + 1 where id in (
        select value from ${elementsOf("?")} union select value from ${elementsOf("?")})`,
      args: [more, less],
    },
  ];
}
