import type { Database, Row, Statement } from "../../ground/database/mod.ts";
import { type Role, ROLES, TEAM_ROLES, type TeamRole } from "./roles.ts";
import * as z from "zod";
import {
  greatest,
  jsonArrayOfRows,
  jsonObject,
  jsonObjectOfRows,
  least,
  textsOf,
} from "../../ground/sql/mod.ts";

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

/** Of IDs: those of a JSON array, which is an argument. */
const THESE = textsOf();

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

  /** Reads role, teams and marks of accounts, by their IDs. */
  async read(
    accountIds: readonly string[],
    provider: string,
  ): Promise<ReadonlyMap<string, Holdings>> {
    const rows = await this.#database.all(
      `select id, role, (
          select ${jsonObjectOfRows("team_id", "role")}
          from team_members where account_id = accounts.id
        ) as teams, (
          select ${jsonArrayOfRows(jsonObject("kind, name, provider, value"))}
          from group_grants where account_id = accounts.id
        ) as marks
        from accounts where id in ${THESE}`,
      [JSON.stringify(accountIds)],
    );
    return new Map(rows.map((row) => [String(row.id), holdingsOf(row, provider)]));
  }

  /**
   * Returns the statements that make role and teams of accounts what their groups give, and mark the budgets that they give. Each decides
   * by what it finds, so that what somebody gives by hand meanwhile stays.
   *
   * @param accountIds Accounts whose groups give the same.
   * @param rights With budgets that nobody has set by hand.
   */
  statements(accountIds: readonly string[], provider: string, rights: Granted): Statement[] {
    const now = this.#now();
    const { role, teams, budgets } = rights;
    const these = JSON.stringify(accountIds);
    /** Whether a thing has come from groups, whichever. */
    const marked = (kind: string) =>
      `exists (select 1 from group_grants
        where account_id = accounts.id and kind = '${kind}' and name = ?)`;
    const mark = (
      kind: string,
      { name, value, onlyIf, args }: {
        readonly name: string;
        readonly value: string;
        /** Of a row of `accounts`. */
        readonly onlyIf: string;
        readonly args: string[];
      },
    ): Statement => ({
      sql: `insert into group_grants (account_id, kind, name, provider, value, granted_at_ms)
        select id, '${kind}', ?, ?, ?, ? from accounts where id in ${THESE} and ${onlyIf}
        on conflict (account_id, kind, name, provider) do update set value = excluded.value`,
      args: [name, provider, value, now, these, ...args],
    });
    // of the names, the one that may more comes last in the alphabet
    const bestRole = `(select max(value) from group_grants
      where account_id = accounts.id and kind = 'role' and provider <> ?)`;
    const isGivenRole = `id in ${THESE} and role <> 'owner' and ${marked("role")}`;
    const betterRole = greatest("?", `coalesce(${bestRole}, '')`);
    const roles: Statement[] = role === "none"
      ? [{
        sql: `update accounts set role = coalesce(${bestRole}, 'none') where ${isGivenRole}`,
        args: [provider, these, "role"],
      }, {
        sql: `delete from group_grants
          where account_id in ${THESE} and kind = 'role' and provider = ?`,
        args: [these, provider],
      }]
      : [
        mark("role", {
          name: "role",
          value: role,
          onlyIf: `kind = 'person' and (role = 'none' or ${marked("role")})`,
          args: ["role"],
        }),
        {
          sql: `update accounts set role = ${betterRole} where ${isGivenRole}`,
          args: [role, provider, these, "role"],
        },
      ];
    const gone = `account_id in ${THESE} and kind = 'team' and provider = ?
      and name not in ${textsOf()}`;
    const goneArgs = [these, provider, JSON.stringify([...teams.keys()])];
    /** Accounts with the teams that nobody's groups give any more. */
    const lost = `select account_id, name from group_grants where ${gone} and not exists (
      select 1 from group_grants as others where others.account_id = group_grants.account_id
        and others.kind = 'team' and others.name = group_grants.name and others.provider <> ?)`;
    const lostArgs = [...goneArgs, provider];
    // "lead" comes before "member"
    const bestIn = (account: string, team: string) =>
      `(select min(value) from group_grants
        where account_id = ${account} and kind = 'team' and name = ${team} and provider <> ?)`;
    return [
      ...roles,
      {
        sql: `update keys set revoked_at_ms = ? where member_id in ${THESE}
          and revoked_at_ms is null and (member_id, team_id) in (${lost})`,
        args: [now, these, ...lostArgs],
      },
      {
        sql: `delete from team_members
          where account_id in ${THESE} and (account_id, team_id) in (${lost})`,
        args: [these, ...lostArgs],
      },
      {
        sql: `update team_members
          set role = coalesce(${bestIn("team_members.account_id", "team_id")}, role)
          where account_id in ${THESE}
            and (account_id, team_id) in (select account_id, name from group_grants where ${gone})`,
        args: [provider, these, ...goneArgs],
      },
      { sql: `delete from group_grants where ${gone}`, args: goneArgs },
      {
        sql: `delete from group_grants where account_id in ${THESE} and kind = 'budget'
          and provider = ? and name not in ${textsOf()}`,
        args: [these, provider, JSON.stringify([...budgets.keys()])],
      },
      ...[...budgets].map(([name, credits]) =>
        mark("budget", { name, value: String(credits), onlyIf: "true", args: [] })
      ),
      ...[...teams].flatMap(([teamId, teamRole]): Statement[] => [
        mark("team", {
          name: teamId,
          value: teamRole,
          onlyIf: `exists (select 1 from teams where id = ?) and (${marked("team")} or not exists (
            select 1 from team_members where team_id = ? and account_id = accounts.id))`,
          args: [teamId, teamId, teamId],
        }),
        {
          sql: `insert into team_members (team_id, account_id, role, added_at_ms)
            select ?, id, ${least("?", `coalesce(${bestIn("accounts.id", "?")}, ?)`)}, ?
            from accounts where id in ${THESE} and ${marked("team")}
            on conflict (team_id, account_id) do update set role = excluded.role`,
          args: [
            ...[teamId, teamRole, teamId, provider, teamRole, now],
            ...[these, teamId],
          ],
        },
      ]),
    ];
  }
}

/** What an account has, from the row that {@linkcode GroupGrants.read} reads. */
function holdingsOf(row: Row, provider: string): Holdings {
  const marks = marksJson.parse(JSON.parse(String(row.marks)));
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
    role: z.enum(ROLES).parse(row.role),
    teams: new Map(Object.entries(teamRoles.parse(JSON.parse(String(row.teams))))),
    granted: of(true),
    others: of(false),
  };
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
