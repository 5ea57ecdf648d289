import { type Database, DatabaseError, type Statement } from "../../ground/database/mod.ts";
import { type Account, AccountError, conflict } from "./account.ts";
import {
  checkKeyOptions,
  insertKey,
  insertKeys,
  type Key,
  KEY_COLUMNS,
  type KeyOptions,
  newKey,
  newSecret,
  readKey,
} from "./key.ts";
import type { Team } from "./teams.ts";
import { digestOf } from "../../ground/platform/mod.ts";

const OF_TEAM = `select ${KEY_COLUMNS} from keys where team_id = ? order by created_at_ms, id`;
/** Holds for a team that is not disabled, and a member of it who has not been stopped, if the key has one. */
const IF_IN_TEAM = `exists (select 1 from teams where id = ? and disabled_at_ms is null)
  and (? is null or exists (
    select 1 from team_members join accounts on accounts.id = account_id
    where team_id = ? and account_id = ? and stopped_at_ms is null
      and accounts.disabled_at_ms is null
  ))`;

/** Issues and lists keys of teams. */
export class TeamKeys {
  readonly #database: Database;
  readonly #now: () => number;

  constructor(database: Database, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  /**
   * Issues a key of a team. Its pool pays, or the member if the team has none.
   *
   * @param member The member who will use the key, or `null` for a key of the whole team.
   * @param options Name and restrictions. Its only scope is `inference`.
   * @param also Returns statements to run in the same transaction.
   * @returns The key with its `secret`, which cannot be read again.
   * @throws {AccountError} If an option is invalid, the team is disabled, the member is stopped or not in the team, or
   *   nobody would pay.
   * @throws {DuplicateKey} If `options.id` is already in use.
   */
  async issue(
    team: Team,
    member: Account | null,
    options: Omit<KeyOptions, "scopes"> = {},
    also: (key: Key) => readonly Statement[] = () => [],
  ): Promise<Key & { secret: string }> {
    checkKeyOptions(options, this.#now());
    const payerId = team.poolId ?? member?.id;
    if (payerId === undefined) {
      throw new AccountError(
        `Team ${team.name} has no pool: its keys are for a member, who pays for them`,
      );
    }
    const { secret = newSecret() } = options;
    const key: Key = {
      ...newKey({ id: payerId }, secret, this.#now(), options),
      teamId: team.id,
      memberId: member?.id ?? null,
    };
    const inTeam = [team.id, key.memberId, team.id, key.memberId];
    let isMade = false;
    try {
      const [made] = await insertKeys(this.#database, [
        insertKey(key, digestOf(secret), { onlyIf: { sql: IF_IN_TEAM, args: inTeam } }),
        ...also(key),
      ]);
      isMade = made!.length > 0;
    } catch (error) {
      // statements about a key that was not made may fail
      if (!(error instanceof DatabaseError) || await this.#mayHaveKeys(inTeam)) throw error;
    }
    if (!isMade) {
      throw conflict(
        member === null
          ? `Team ${team.name} is disabled`
          : `Team ${team.name} is disabled, or ${member.email} is stopped, disabled or not in it`,
      );
    }
    return { ...key, secret };
  }

  /**
   * Lists the keys of a team, including revoked and expired ones and those of members who were removed.
   *
   * @returns Keys, oldest first.
   */
  async list({ id }: Pick<Team, "id">): Promise<Key[]> {
    return (await this.#database.all(OF_TEAM, [id])).map(readKey);
  }

  async #mayHaveKeys(inTeam: readonly (string | null)[]): Promise<boolean> {
    return await this.#database.one(`select 1 as found where ${IF_IN_TEAM}`, inTeam) !== undefined;
  }
}
