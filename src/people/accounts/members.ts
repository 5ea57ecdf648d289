import * as z from "zod";
import { rowOf, shownText } from "../../ground/row.ts";
import type { Database, Statement } from "../../ground/database/mod.ts";
import { displayed } from "../../ground/platform/mod.ts";
import { type Account, AccountError } from "./account.ts";
import { givenByHand } from "./group_grants.ts";
import { TEAM_ROLES, type TeamRole } from "./roles.ts";
import type { Team } from "./teams.ts";

const memberRow = rowOf({
  team_id: z.string(),
  account_id: z.string(),
  email: z.string(),
  name: shownText,
  role: z.enum(TEAM_ROLES),
  added_at_ms: z.int(),
  /** Since when the member's keys of the team do not work, and its role in the team gives no permissions. */
  stopped_at_ms: z.int().nullable(),
  /** Since when the member's account is disabled. */
  disabled_at_ms: z.int().nullable(),
});

/** An account in a team. */
export type Member = z.output<typeof memberRow>;

const SELECT = `select team_id, account_id, email, accounts.name, team_members.role, added_at_ms,
    stopped_at_ms, disabled_at_ms
  from team_members join accounts on accounts.id = account_id`;

/** Adds, stops and removes members of teams. A running gateway applies each change within a second. */
export class Members {
  readonly #database: Database;
  readonly #now: () => number;

  constructor(database: Database, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  /**
   * Lists the members of a team.
   *
   * @returns Members: leads first, then by email address.
   */
  async list({ id }: Pick<Team, "id">): Promise<Member[]> {
    const rows = await this.#database.all(
      `${SELECT} where team_id = ? order by team_members.role, email`,
      [id],
    );
    return rows.map((row) => memberRow.parse(row));
  }

  /**
   * Counts the members of all teams.
   *
   * @returns Number of members by team ID, without teams that have none.
   */
  async counts(): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#database.all(
      "select team_id, count(*) as n from team_members group by 1",
    );
    return new Map(rows.map((row) => [String(row.team_id), Number(row.n)]));
  }

  /**
   * Lists the teams of an account.
   *
   * @returns The account as a member of each, with the team's name, by which they are sorted.
   */
  async ofAccount(
    { id }: Pick<Account, "id">,
  ): Promise<readonly (Member & { readonly teamName: string })[]> {
    const rows = await this.#database.all(
      `select member.*, teams.name as team_name from (${SELECT} where account_id = ?) as member
        join teams on teams.id = member.team_id order by teams.name, teams.id`,
      [id],
    );
    return rows.map((row) => ({
      ...memberRow.parse(row),
      teamName: displayed(String(row.team_name)),
    }));
  }

  /** Finds a member. */
  async find(
    { id }: Pick<Team, "id">,
    account: Pick<Account, "id">,
  ): Promise<Member | undefined> {
    const row = await this.#database.one(`${SELECT} where team_id = ? and account_id = ?`, [
      id,
      account.id,
    ]);
    return row && memberRow.parse(row);
  }

  /**
   * Adds a member, or changes the role of one. Without a role, a member keeps theirs, and others become a `member`.
   *
   * @throws {AccountError} If the account is not a person's.
   */
  async add(team: Team, account: Account, role?: TeamRole): Promise<Member> {
    if (account.kind !== "person") {
      throw new AccountError(`${account.email} is not a person: only people are members of teams`);
    }
    await this.#database.batch([
      {
        sql: `insert into team_members (team_id, account_id, role, added_at_ms) values (?, ?, ?, ?)
          on conflict (team_id, account_id) do update set role = coalesce(?, team_members.role)`,
        args: [team.id, account.id, role ?? "member", this.#now(), role ?? null],
      },
      givenByHand(account.id, "team", team.id),
    ]);
    return await this.#get(team, account);
  }

  /**
   * Changes the role of a member.
   *
   * @throws {AccountError} If the account is not in the team.
   */
  async setRole(team: Team, account: Pick<Account, "id">, role: TeamRole): Promise<Member> {
    return await this.#update(team, account, {
      sql: "update team_members set role = ? where team_id = ? and account_id = ?",
      args: [role, team.id, account.id],
    }, givenByHand(account.id, "team", team.id));
  }

  /**
   * Stops a member: rejects its keys of the team, and its role in it gives no permissions. Its other keys go on.
   *
   * @throws {AccountError} If the account is not in the team.
   */
  async stop(team: Team, account: Pick<Account, "id">): Promise<Member> {
    return await this.#update(team, account, {
      sql: `update team_members set stopped_at_ms = coalesce(stopped_at_ms, ?)
        where team_id = ? and account_id = ?`,
      args: [this.#now(), team.id, account.id],
    });
  }

  /**
   * Starts a stopped member again: its keys of the team work as before.
   *
   * @throws {AccountError} If the account is not in the team.
   */
  async start(team: Team, account: Pick<Account, "id">): Promise<Member> {
    return await this.#update(team, account, {
      sql: "update team_members set stopped_at_ms = null where team_id = ? and account_id = ?",
      args: [team.id, account.id],
    });
  }

  /**
   * Removes a member and revokes its keys of the team. Its usage stays in the team's reports.
   *
   * @returns The member as it was.
   * @throws {AccountError} If the account is not in the team.
   */
  async remove(team: Team, account: Pick<Account, "id">): Promise<Member> {
    const member = await this.#get(team, account);
    await this.#database.batch([
      {
        sql: `update keys set revoked_at_ms = ?
          where team_id = ? and member_id = ? and revoked_at_ms is null`,
        args: [this.#now(), team.id, account.id],
      },
      {
        sql: "delete from team_members where team_id = ? and account_id = ?",
        args: [team.id, account.id],
      },
    ]);
    return member;
  }

  async #update(
    team: Team,
    account: Pick<Account, "id">,
    ...statements: readonly Statement[]
  ): Promise<Member> {
    await this.#database.batch(statements);
    return await this.#get(team, account);
  }

  async #get(team: Team, account: Pick<Account, "id">): Promise<Member> {
    const member = await this.find(team, account);
    if (member !== undefined) return member;
    throw new AccountError(`This account is not in team ${team.name}`, { fault: "missing" });
  }
}
