import type { Database, Statement } from "../../ground/database/mod.ts";
import { type Role, ROLES, TEAM_ROLES, type TeamRole } from "./roles.ts";
import * as z from "zod";

/** Role, teams and budgets: what the groups of one provider give. */
export interface Granted {
  readonly role: Role;
  /** Roles by team ID. */
  readonly teams: ReadonlyMap<string, TeamRole>;
  /** Credits of budgets, by their period. */
  readonly budgets: ReadonlyMap<string, number>;
}

/** What an account has, and what of it came from groups. */
export interface Holdings extends Pick<Granted, "role" | "teams"> {
  /** What this provider's groups gave before. */
  readonly granted: Granted;
  /** What those of all others give together. */
  readonly others: Granted;
}

const teamRoles = z.record(z.string(), z.enum(TEAM_ROLES));
const marksJson = z.array(z.object({
  kind: z.enum(["role", "team", "budget"]),
  name: z.string(),
  provider: z.string(),
  value: z.string(),
}));

/**
 * Gives accounts what their groups give, and takes what those no longer give. What was given by hand stays, whatever groups say: an
 * account has a mark for each thing that came from a provider's groups, and none once somebody gives that thing by hand. What several
 * providers give goes with the last of them.
 */
export class GroupGrants {
  readonly #database: Database;
  readonly #now: () => number;

  constructor(database: Database, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  /** Reads role, teams and marks of an account. */
  async read(accountId: string, provider: string): Promise<Holdings> {
    const row = await this.#database.one(
      `select role, (
          select json_group_object(team_id, role) from team_members where account_id = accounts.id
        ) as teams, (
          select json_group_array(json_object(
            'kind', kind, 'name', name, 'provider', provider, 'value', value
          )) from group_grants where account_id = accounts.id
        ) as marks
        from accounts where id = ?`,
      [accountId],
    );
    const marks = marksJson.parse(JSON.parse(String(row?.marks ?? "[]")));
    const of = (ofProvider: boolean): Granted => {
      const some = marks.filter((mark) => (mark.provider === provider) === ofProvider);
      const kind = (wanted: string) => some.filter((mark) => mark.kind === wanted);
      const roles = kind("role").map(({ value }) => value);
      const teams = new Map<string, TeamRole>();
      for (const { name, value } of kind("team")) {
        if (teams.get(name) !== "lead") teams.set(name, value === "lead" ? "lead" : "member");
      }
      const budgets = new Map<string, number>();
      for (const { name, value } of kind("budget")) {
        budgets.set(name, Math.max(Number(value), budgets.get(name) ?? 0));
      }
      const role = (["operator", "finance"] as const).find((one) => roles.includes(one));
      return { role: role ?? "none", teams, budgets };
    };
    return {
      role: z.enum(ROLES).parse(row?.role ?? "none"),
      teams: new Map(Object.entries(teamRoles.parse(JSON.parse(String(row?.teams ?? "{}"))))),
      granted: of(true),
      others: of(false),
    };
  }

  /**
   * Returns the statements that make role and teams of an account what its groups give, and mark the budgets that they give. Each decides
   * by what it finds, so that what somebody gives by hand meanwhile stays.
   *
   * @param rights With budgets that nobody has set by hand.
   */
  statements(accountId: string, provider: string, rights: Granted): Statement[] {
    const now = this.#now();
    const { role, teams, budgets } = rights;
    /** Whether a thing has come from groups, whichever. */
    const marked = (kind: string) =>
      `exists (select 1 from group_grants where account_id = ? and kind = '${kind}' and name = ?)`;
    const mark = (
      kind: string,
      { name, value, onlyIf, args }: {
        readonly name: string;
        readonly value: string;
        readonly onlyIf: string;
        readonly args: string[];
      },
    ): Statement => ({
      sql: `insert into group_grants (account_id, kind, name, provider, value, granted_at_ms)
        select ?, '${kind}', ?, ?, ?, ? where ${onlyIf}
        on conflict (account_id, kind, name, provider) do update set value = excluded.value`,
      args: [accountId, name, provider, value, now, ...args],
    });
    // of the names, the one that may more comes last in the alphabet
    const bestRole = `(select max(value) from group_grants
      where account_id = ? and kind = 'role' and provider <> ?)`;
    const roles: Statement[] = role === "none"
      ? [{
        sql: `update accounts set role = coalesce(${bestRole}, 'none')
          where id = ? and role <> 'owner' and exists (select 1 from group_grants
            where account_id = accounts.id and kind = 'role' and provider = ?)`,
        args: [accountId, provider, accountId, provider],
      }, {
        sql: "delete from group_grants where account_id = ? and kind = 'role' and provider = ?",
        args: [accountId, provider],
      }]
      : [
        mark("role", {
          name: "role",
          value: role,
          onlyIf: `exists (select 1 from accounts
              where id = ? and kind = 'person' and (role = 'none' or ${marked("role")}))`,
          args: [accountId, accountId, "role"],
        }),
        {
          sql: `update accounts set role = max(?, coalesce(${bestRole}, ''))
            where id = ? and role <> 'owner' and exists (select 1 from group_grants
              where account_id = accounts.id and kind = 'role' and provider = ?)`,
          args: [role, accountId, provider, accountId, provider],
        },
      ];
    const gone = `account_id = ? and kind = 'team' and provider = ?
      and name not in (select value from json_each(?))`;
    const goneArgs = [accountId, provider, JSON.stringify([...teams.keys()])];
    /** Teams that nobody's groups give any more. */
    const lost = `select name from group_grants where ${gone} and not exists (
      select 1 from group_grants as others where others.account_id = group_grants.account_id
        and others.kind = 'team' and others.name = group_grants.name and others.provider <> ?)`;
    const lostArgs = [...goneArgs, provider];
    // "lead" comes before "member"
    const bestIn = (by: string) =>
      `(select min(value) from group_grants
        where account_id = ? and kind = 'team' and name = ${by} and provider <> ?)`;
    return [
      ...roles,
      {
        sql: `update keys set revoked_at_ms = ? where member_id = ? and revoked_at_ms is null
          and team_id in (${lost})`,
        args: [now, accountId, ...lostArgs],
      },
      {
        sql: `delete from team_members where account_id = ? and team_id in (${lost})`,
        args: [accountId, ...lostArgs],
      },
      {
        sql: `update team_members set role = coalesce(${bestIn("team_id")}, role)
          where account_id = ? and team_id in (select name from group_grants where ${gone})`,
        args: [accountId, provider, accountId, ...goneArgs],
      },
      { sql: `delete from group_grants where ${gone}`, args: goneArgs },
      {
        sql: `delete from group_grants where account_id = ? and kind = 'budget' and provider = ?
          and name not in (select value from json_each(?))`,
        args: [accountId, provider, JSON.stringify([...budgets.keys()])],
      },
      ...[...budgets].map(([name, credits]) =>
        mark("budget", { name, value: String(credits), onlyIf: "true", args: [] })
      ),
      ...[...teams].flatMap(([teamId, teamRole]): Statement[] => [
        mark("team", {
          name: teamId,
          value: teamRole,
          onlyIf: `exists (select 1 from teams where id = ?) and (${marked("team")}
            or not exists (select 1 from team_members where team_id = ? and account_id = ?))`,
          args: [teamId, accountId, teamId, teamId, accountId],
        }),
        {
          sql: `insert into team_members (team_id, account_id, role, added_at_ms)
            select ?, ?, min(?, coalesce(${bestIn("?")}, ?)), ? where exists (
              select 1 from group_grants
              where account_id = ? and kind = 'team' and name = ? and provider = ?)
            on conflict (team_id, account_id) do update set role = excluded.role`,
          args: [
            ...[teamId, accountId, teamRole, accountId, teamId, provider, teamRole, now],
            ...[accountId, teamId, provider],
          ],
        },
      ]),
    ];
  }
}

/** The statement that notes that something was given by hand, for the transaction that gives it. */
export function givenByHand(
  accountId: string,
  kind: "role" | "team" | "budget",
  name: string,
): Statement {
  return {
    sql: "delete from group_grants where account_id = ? and kind = ? and name = ?",
    args: [accountId, kind, name],
  };
}
