import * as z from "zod";
import type { Condition, Database, Statement, Value } from "../../ground/database/mod.ts";
import { jsonText, rowOf } from "../../ground/row.ts";
import type { GroupDocument, UserDocument } from "./documents.ts";
import { ScimError } from "./error.ts";
import type { Term } from "./filter.ts";

const userRow = rowOf({
  id: z.string(),
  account_id: z.string(),
  user_name: z.string(),
  external_id: z.string().nullable(),
  attributes: jsonText(z.record(z.string(), z.unknown())),
  version: z.int(),
  created_at_ms: z.int(),
  changed_at_ms: z.int(),
  /** As the account has it, if the directory deactivated it. */
  disabled_at_ms: z.int().nullable(),
  deleted_at_ms: z.int().nullable(),
  changes: z.int(),
  /** What its groups gave when that was evaluated last, as a digest. */
  rights: z.string(),
});

const groupRow = rowOf({
  id: z.string(),
  display_name: z.string(),
  external_id: z.string().nullable(),
  version: z.int(),
  created_at_ms: z.int(),
  changed_at_ms: z.int(),
});

/** A user that a directory sent. Whether it is active, its account says. */
export type DirectoryUser = z.output<typeof userRow>;
/** A group that a directory sent, without its members. */
export type DirectoryGroup = z.output<typeof groupRow>;

/** Some of a list, and how many there are in all. */
export interface Page<Item> {
  readonly total: number;
  readonly items: readonly Item[];
}

/** Which part of a list is wanted. */
interface Part {
  readonly terms: readonly Term[];
  readonly offset: number;
  readonly limit: number;
}

const USER_COLUMNS = `id, account_id, user_name, external_id, attributes, version, created_at_ms,
  changed_at_ms, disabled_at_ms, deleted_at_ms, changes, rights`;
const GROUP_COLUMNS = "id, display_name, external_id, version, created_at_ms, changed_at_ms";

/** Conditions by the attribute that a filter names, in lower case. */
const USER_FILTERS: Readonly<Record<string, string>> = {
  id: "id = ?",
  username: "user_name = ?",
  externalid: "external_id = ?",
  displayname: "attributes ->> '$.displayName' = ? collate nocase",
  "emails.value": `exists (select 1 from json_each(attributes, '$.emails')
    where value ->> '$.value' = ? collate nocase)`,
};
const HAS_MEMBER =
  "exists (select 1 from scim_members where group_id = scim_groups.id and user_id = ?)";
const GROUP_FILTERS: Readonly<Record<string, string>> = {
  id: "id = ?",
  displayname: "display_name = ?",
  externalid: "external_id = ?",
  members: HAS_MEMBER,
  "members.value": HAS_MEMBER,
};

/** What directories have sent: users, groups, and who is in which. */
export class Directory {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Finds a user that was not deleted. */
  async user(id: string): Promise<DirectoryUser | undefined> {
    const [user] = await this.#users("id = ? and deleted_at_ms is null", [id]);
    return user;
  }

  /** Finds the user that an account is, deleted ones included. */
  async userOf(accountId: string): Promise<DirectoryUser | undefined> {
    const [user] = await this.#users("account_id = ?", [accountId]);
    return user;
  }

  /** Finds the account of the one user that has an ID of the directory's. */
  async accountOf(externalId: string): Promise<string | undefined> {
    const found = await this.#users("external_id = ? and deleted_at_ms is null", [externalId]);
    return found.length === 1 ? found[0]!.accountId : undefined;
  }

  /** Lists users that were not deleted, oldest first. */
  async users(part: Part): Promise<Page<DirectoryUser>> {
    const where = conditionOf(part.terms, USER_FILTERS, "deleted_at_ms is null");
    return {
      total: await this.#count("select count(*) as n from scim_users where ", where),
      items: await this.#users(
        `${where.sql} order by created_at_ms, id limit ? offset ?`,
        [...where.args, part.limit, part.offset],
      ),
    };
  }

  /** Finds a group. */
  async group(id: string): Promise<DirectoryGroup | undefined> {
    const [group] = await this.#groups("id = ?", [id]);
    return group;
  }

  /** Lists groups, oldest first. */
  async groups(part: Part): Promise<Page<DirectoryGroup>> {
    const where = conditionOf(part.terms, GROUP_FILTERS, "true");
    return {
      total: await this.#count("select count(*) as n from scim_groups where ", where),
      items: await this.#groups(
        `${where.sql} order by created_at_ms, id limit ? offset ?`,
        [...where.args, part.limit, part.offset],
      ),
    };
  }

  /** The groups of users, by the users' IDs. */
  async groupsOf(userIds: readonly string[]): Promise<ReadonlyMap<string, DirectoryGroup[]>> {
    const rows = await this.#database.all(
      `select user_id, ${GROUP_COLUMNS} from scim_members join scim_groups on id = group_id
        where user_id in (select value from json_each(?)) order by display_name, id`,
      [JSON.stringify(userIds)],
    );
    return new Map(
      [...Map.groupBy(rows, ({ user_id }) => String(user_id))]
        .map(([id, of]) => [id, of.map((row) => groupRow.parse(row))]),
    );
  }

  /** The members of groups, by the groups' IDs: IDs and names of users. */
  async membersOf(
    groupIds: readonly string[],
  ): Promise<ReadonlyMap<string, { readonly id: string; readonly userName: string }[]>> {
    const rows = await this.#database.all(
      `select group_id, user_id, user_name from scim_members join scim_users on id = user_id
        where group_id in (select value from json_each(?)) order by user_name, user_id`,
      [JSON.stringify(groupIds)],
    );
    const members = rows.map((row) => ({
      groupId: String(row.group_id),
      id: String(row.user_id),
      userName: String(row.user_name),
    }));
    return Map.groupBy(members, ({ groupId }) => groupId);
  }

  /** The accounts of users that were not deleted, by the users' IDs. */
  async accountsOf(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await this.#database.all(
      `select id, account_id from scim_users
        where deleted_at_ms is null and id in (select value from json_each(?))`,
      [JSON.stringify(ids)],
    );
    return new Map(rows.map((row) => [String(row.id), String(row.account_id)]));
  }

  /**
   * Finds users whose rights were not evaluated since their groups changed, or by the settings as they are.
   *
   * @param settings By what the settings are known.
   * @param of The users in question; without them all.
   */
  async due(
    settings: string,
    { of, limit }: { readonly of?: readonly string[]; readonly limit: number },
  ): Promise<DirectoryUser[]> {
    return await this.#users(
      `evaluated <> changes || ' ' || ? and (? or id in (select value from json_each(?)))
        order by id limit ?`,
      [settings, of === undefined ? 1 : 0, JSON.stringify(of ?? []), limit],
    );
  }

  /** Notes that a user's rights were evaluated, and what they are. */
  evaluated(
    { id, changes, rights }: Pick<DirectoryUser, "id" | "changes" | "rights">,
    settings: string,
  ): Statement {
    return {
      sql: `update scim_users set evaluated = changes || ' ' || ?, rights = ?
        where id = ? and changes = ?`,
      args: [settings, rights, id, changes],
    };
  }

  /** Notes that the rights of users are what they were. */
  evaluatedAlike(
    users: readonly Pick<DirectoryUser, "id" | "changes">[],
    settings: string,
  ): Statement {
    return {
      sql: `update scim_users set evaluated = changes || ' ' || ?
        where (id, changes) in (select value ->> 0, value ->> 1 from json_each(?))`,
      args: [settings, JSON.stringify(users.map(({ id, changes }) => [id, changes]))],
    };
  }

  /** Holds while the groups of a user are those that were read with it. */
  hasChanges({ id, changes }: Pick<DirectoryUser, "id" | "changes">): Condition {
    return {
      sql: "exists (select 1 from scim_users where id = ? and changes = ?)",
      args: [id, changes],
    };
  }

  /** Holds while a user is as it was read. */
  isSameUser({ id, version }: Pick<DirectoryUser, "id" | "version">): Condition {
    return {
      sql:
        "exists (select 1 from scim_users where id = ? and version = ? and deleted_at_ms is null)",
      args: [id, version],
    };
  }

  /** Holds while a group is as it was read. */
  isSameGroup({ id, version }: Pick<DirectoryGroup, "id" | "version">): Condition {
    return {
      sql: "exists (select 1 from scim_groups where id = ? and version = ?)",
      args: [id, version],
    };
  }

  /** Creates a user. One that was deleted and had its account is replaced. */
  insertUser(
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
      {
        sql: `insert into scim_users (id, account_id, user_name, external_id, attributes, version,
            created_at_ms, changed_at_ms, disabled_at_ms)
          values (?, ?, ?, ?, ?, 1, ?, ?, ?)`,
        args: [
          ...[id, accountId, userName, externalId, JSON.stringify(attributes), nowMs, nowMs],
          disabledAtMs,
        ],
      },
    ];
  }

  /** Changes a user. */
  updateUser(
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
  deleteUser(
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
  insertGroup(
    id: string,
    { displayName, externalId }: Pick<GroupDocument, "displayName" | "externalId">,
    nowMs: number,
  ): Statement {
    return {
      sql: `insert into scim_groups (${GROUP_COLUMNS}) values (?, ?, ?, 1, ?, ?)`,
      args: [id, displayName, externalId, nowMs, nowMs],
    };
  }

  /** Changes the names of a group, for all its members. */
  updateGroup(
    id: string,
    { displayName, externalId }: Pick<GroupDocument, "displayName" | "externalId">,
    nowMs: number,
  ): Statement[] {
    return [
      {
        sql: `update scim_users set changes = changes + 1
          where id in (select user_id from scim_members where group_id = ?)
            and exists (select 1 from scim_groups
              where id = ? and (display_name <> ? collate binary or external_id is not ?))`,
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
  deleteGroup(id: string): Statement[] {
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
  changeMembers(
    groupId: string,
    { added, removed }: { readonly added: readonly string[]; readonly removed: readonly string[] },
  ): Statement[] {
    const [more, less] = [JSON.stringify(added), JSON.stringify(removed)];
    return [
      {
        sql: `insert into scim_members (group_id, user_id) select ?, value from json_each(?)
          where value in (select id from scim_users where deleted_at_ms is null)
          on conflict do nothing`,
        args: [groupId, more],
      },
      {
        sql: `delete from scim_members
          where group_id = ? and user_id in (select value from json_each(?))`,
        args: [groupId, less],
      },
      {
        sql: `update scim_users set changes = changes + 1 where id in (
          select value from json_each(?) union select value from json_each(?))`,
        args: [more, less],
      },
    ];
  }

  async #users(where: string, args: readonly Value[]): Promise<DirectoryUser[]> {
    const rows = await this.#database.all(
      `select ${USER_COLUMNS} from scim_users where ${where}`,
      args,
    );
    return rows.map((row) => userRow.parse(row));
  }

  async #groups(where: string, args: readonly Value[]): Promise<DirectoryGroup[]> {
    const rows = await this.#database.all(
      `select ${GROUP_COLUMNS} from scim_groups where ${where}`,
      args,
    );
    return rows.map((row) => groupRow.parse(row));
  }

  async #count(select: string, { sql, args }: Condition): Promise<number> {
    return Number((await this.#database.one(`${select}${sql}`, args))!.n);
  }
}

function conditionOf(
  terms: readonly Term[],
  filters: Readonly<Record<string, string>>,
  always: string,
): Condition {
  const parts = terms.map(({ attribute }) => {
    if (Object.hasOwn(filters, attribute)) return filters[attribute]!;
    throw new ScimError("invalidFilter", `Filters know ${Object.keys(filters).join(", ")}.`);
  });
  return {
    sql: [always, ...parts].join(" and "),
    args: terms.map(({ value }) => typeof value === "string" ? value : String(value)),
  };
}
