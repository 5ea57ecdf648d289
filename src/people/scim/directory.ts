import * as z from "zod";
import type { Condition, Database, Value } from "../../ground/database/mod.ts";
import { columnsIn, jsonText, rowOf } from "../../ground/row.ts";
import { ScimError } from "./error.ts";
import type { Term } from "./filter.ts";
import { elementsOf, isNamed, isSameButForCase, textAt, textsOf } from "../../ground/sql/mod.ts";

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

const USER_COLUMNS = columnsIn(userRow);
const GROUP_COLUMNS = columnsIn(groupRow);

/** Conditions by the attribute that a filter names, in lower case. Each question mark is the value that it names. */
const USER_FILTERS: Readonly<Record<string, string>> = {
  id: "id = ?",
  username: isNamed("user_name", "?"),
  externalid: "external_id = ?",
  displayname: isSameButForCase(textAt("attributes", "displayName"), "?"),
  "emails.value": `exists (select 1 from ${elementsOf(textAt("attributes", "emails"))}
    where ${isSameButForCase(textAt("value", "value"), "?")})`,
};
const HAS_MEMBER =
  "exists (select 1 from scim_members where group_id = scim_groups.id and user_id = ?)";
const GROUP_FILTERS: Readonly<Record<string, string>> = {
  id: "id = ?",
  displayname: isNamed("display_name", "?"),
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
        where user_id in ${textsOf()} order by display_name, id`,
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
        where group_id in ${textsOf()} order by user_name, user_id`,
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
        where deleted_at_ms is null and id in ${textsOf()}`,
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
      `evaluated <> changes || ' ' || ? and (? = 1 or id in ${textsOf()})
        order by id limit ?`,
      [settings, of === undefined ? 1 : 0, JSON.stringify(of ?? []), limit],
    );
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
  const parts = terms.map(({ attribute }, at) => {
    if (Object.hasOwn(filters, attribute)) return filters[attribute]!.replaceAll("?", `?${at + 1}`);
    throw new ScimError("invalidFilter", `Filters know ${Object.keys(filters).join(", ")}.`);
  });
  return {
    sql: [always, ...parts].join(" and "),
    args: terms.map(({ value }) => typeof value === "string" ? value : String(value)),
  };
}
