import type { Database, Statement } from "../../ground/database/mod.ts";
import { type Role, ROLES, TEAM_ROLES, type TeamRole } from "./roles.ts";
import * as z from "zod";

/** Role, teams and budgets of an account: what its groups give, or what it has. */
export interface Granted {
  readonly role: Role;
  /** Roles by team ID. */
  readonly teams: ReadonlyMap<string, TeamRole>;
  /** Periods of budgets. */
  readonly budgets: ReadonlySet<string>;
}

/** What an account has, and what of it came from groups. */
export interface Holdings extends Granted {
  readonly fromGroups: {
    readonly role: boolean;
    readonly teams: ReadonlySet<string>;
    readonly budgets: ReadonlySet<string>;
  };
}

const teamRoles = z.record(z.string(), z.enum(TEAM_ROLES));

/**
 * Gives accounts what their groups give, and takes what those no longer give. What was given by hand stays, whatever groups say: an
 * account has a mark for each thing that came from a provider's groups, which is gone once somebody gives that thing by hand.
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
          select json_group_array(kind || ' ' || name) from group_grants
          where account_id = accounts.id and provider = ?
        ) as marks
        from accounts where id = ?`,
      [provider, accountId],
    );
    const marks = z.array(z.string()).parse(JSON.parse(String(row?.marks ?? "[]")));
    const of = (kind: string) =>
      new Set(
        marks.flatMap((mark) => mark.startsWith(`${kind} `) ? [mark.slice(kind.length + 1)] : []),
      );
    const budgets = of("budget");
    return {
      role: z.enum(ROLES).parse(row?.role ?? "none"),
      teams: new Map(Object.entries(teamRoles.parse(JSON.parse(String(row?.teams ?? "{}"))))),
      budgets,
      fromGroups: { role: of("role").size > 0, teams: of("team"), budgets },
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
    const isMarked = (kind: string) =>
      `exists (select 1 from group_grants where account_id = ? and kind = '${kind}'
        and name = ? and provider = ?)`;
    const mark = (kind: string, name: string, onlyIf: string, args: string[]): Statement => ({
      sql: `insert into group_grants (account_id, kind, name, provider, granted_at_ms)
        select ?, '${kind}', ?, ?, ? where ${onlyIf} on conflict do nothing`,
      args: [accountId, name, provider, now, ...args],
    });
    const { role, teams, budgets } = rights;
    const roles: Statement[] = role === "none"
      ? [{
        sql: `update accounts set role = 'none' where id = ? and role <> 'owner'
          and ${isMarked("role")}`,
        args: [accountId, accountId, "role", provider],
      }, {
        sql: `delete from group_grants where account_id = ? and kind = 'role' and provider = ?`,
        args: [accountId, provider],
      }]
      : [
        mark(
          "role",
          "role",
          "exists (select 1 from accounts where id = ? and kind = 'person' and role = 'none')",
          [accountId],
        ),
        {
          sql: `update accounts set role = ? where id = ? and role <> 'owner'
            and ${isMarked("role")}`,
          args: [role, accountId, accountId, "role", provider],
        },
      ];
    const gone = `account_id = ? and kind = 'team' and provider = ?
      and name not in (select value from json_each(?))`;
    const goneArgs = [accountId, provider, JSON.stringify([...teams.keys()])];
    return [
      ...roles,
      {
        sql: `update keys set revoked_at_ms = ? where member_id = ? and revoked_at_ms is null
          and team_id in (select name from group_grants where ${gone})`,
        args: [now, accountId, ...goneArgs],
      },
      {
        sql: `delete from team_members where account_id = ?
          and team_id in (select name from group_grants where ${gone})`,
        args: [accountId, ...goneArgs],
      },
      { sql: `delete from group_grants where ${gone}`, args: goneArgs },
      {
        sql: `delete from group_grants where account_id = ? and kind = 'budget' and provider = ?
          and name not in (select value from json_each(?))`,
        args: [accountId, provider, JSON.stringify([...budgets])],
      },
      ...[...budgets].map((period) => mark("budget", period, "true", [])),
      ...[...teams].flatMap(([teamId, teamRole]): Statement[] => [
        mark(
          "team",
          teamId,
          `exists (select 1 from teams where id = ?)
            and not exists (select 1 from team_members where team_id = ? and account_id = ?)`,
          [teamId, teamId, accountId],
        ),
        {
          sql: `insert into team_members (team_id, account_id, role, added_at_ms)
            select ?, ?, ?, ? where ${isMarked("team")}
            on conflict (team_id, account_id) do update set role = excluded.role`,
          args: [teamId, accountId, teamRole, now, accountId, teamId, provider],
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
