import * as z from "zod";
import { columnsIn, insertOf, jsonText, rowOf, shownText } from "../../ground/row.ts";
import { type Database, DatabaseError, type Statement } from "../../ground/database/mod.ts";
import { displayed, nameFrom, newId, seenAs } from "../../ground/platform/mod.ts";
import { type Account, AccountError, conflict, insertAccount, readName } from "./account.ts";
import { OWN_KEY_USES, type OwnKeyUse } from "./upstream_keys.ts";
import { iif, textsOf } from "../../ground/sql/mod.ts";

const teamRow = rowOf({
  id: z.string(),
  name: shownText,
  /** The account that pays for the team's keys; `null` if members pay for their own. */
  pool_id: z.string().nullable(),
  /** Route IDs that keys of the team may use; `null`: all. */
  models: jsonText(z.array(z.string())).nullable(),
  own_keys: z.enum(OWN_KEY_USES),
  created_at_ms: z.int(),
  disabled_at_ms: z.int().nullable(),
}).transform(({ ownKeys, ...team }) => ({
  ...team,
  /** When requests are sent with the team's own keys of upstreams. */
  ownKeyUse: ownKeys,
}));

/** Several people with keys of their own, paid from a shared pool or by each of them. */
export type Team = z.output<typeof teamRow>;

/** Changes of a team. What is left out stays as it is. */
export interface TeamChanges {
  readonly name?: string | undefined;
  /** Route IDs; `null` allows all. */
  readonly models?: readonly string[] | null | undefined;
  readonly ownKeyUse?: OwnKeyUse | undefined;
  readonly disabled?: boolean | undefined;
}

const COLUMNS = columnsIn(teamRow);
/** Violates the primary key if a team besides one has a name that is not in a list. */
const FAIL_IF_OTHERS = `insert into teams
  select * from teams where id <> ? and name not in ${textsOf()} limit 1`;

/** Creates, finds and changes teams. */
export class Teams {
  readonly #database: Database;
  readonly #now: () => number;

  constructor(database: Database, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  /**
   * Creates a team without members.
   *
   * @param team Name, whether a shared pool pays for its keys, and the route IDs that they may use (default: all).
   * @throws {AccountError} If the name is invalid or in use.
   */
  async create(
    { id = newId("team"), poolId = newId("acc"), name: given, pool, models = null }: {
      /** IDs of the team and its pool. Default: new ones. */
      readonly id?: string | undefined;
      readonly poolId?: string | undefined;
      readonly name: string;
      readonly pool: boolean;
      readonly models?: readonly string[] | null | undefined;
    },
  ): Promise<Team> {
    const name = readTeamName(given);
    const createdAtMs = this.#now();
    const account = pool ? poolOf({ id, poolId }, name, createdAtMs) : undefined;
    const team: Team = {
      id,
      name,
      poolId: account?.id ?? null,
      models: models === null ? null : [...models],
      ownKeyUse: "first",
      createdAtMs,
      disabledAtMs: null,
    };
    await this.#writeNamed(team, [
      ...(account === undefined ? [] : [insertAccount(account)]),
      insertOf("insert into teams", {
        id,
        name,
        poolId: team.poolId,
        createdAtMs,
        ownKeys: team.ownKeyUse,
        models: models && JSON.stringify(models),
      }),
    ]);
    return team;
  }

  /**
   * Lists all teams.
   *
   * @returns Teams, by name.
   */
  async list(): Promise<Team[]> {
    const rows = await this.#database.all(`select ${COLUMNS} from teams order by name, id`);
    return rows.map((row) => teamRow.parse(row));
  }

  /** Finds a team by its ID. */
  async byId(id: string): Promise<Team | undefined> {
    const row = await this.#database.one(`select ${COLUMNS} from teams where id = ?`, [id]);
    return row && teamRow.parse(row);
  }

  /**
   * Finds the team of a pool.
   *
   * @returns The team, or `undefined` if the account is not a pool.
   */
  async ofPool(poolId: string): Promise<Team | undefined> {
    const row = await this.#database.one(`select ${COLUMNS} from teams where pool_id = ?`, [
      poolId,
    ]);
    return row && teamRow.parse(row);
  }

  /**
   * Gets a team.
   *
   * @param nameOrId Its name as people see it, in which case does not matter, or its ID.
   * @throws {AccountError} If it does not exist, or several older ones have names that look like it.
   */
  async get(nameOrId: string): Promise<Team> {
    const team = await this.find(nameOrId);
    if (team !== undefined) return team;
    throw new AccountError(
      `Team ${JSON.stringify(nameOrId.slice(0, 200))} not found. List teams with: sluice team list`,
      { fault: "missing" },
    );
  }

  /**
   * Finds a team.
   *
   * @param nameOrId As for {@linkcode get}.
   * @throws {AccountError} If several older ones have names that look like it.
   */
  async find(nameOrId: string): Promise<Team | undefined> {
    const row = await this.#database.one(
      `select ${COLUMNS} from teams where id = ? or name = ? order by id = ? desc limit 1`,
      [nameOrId, nameOrId, nameOrId],
    );
    if (row !== undefined) return teamRow.parse(row);
    const alike = await this.#like(nameOrId);
    if (alike.length <= 1) return alike[0];
    const ids = alike.map(({ id }) => id).join(", ");
    throw new AccountError(`Several teams have names like this one: pass an ID, one of ${ids}`);
  }

  /**
   * Changes a team. Keys of a disabled team stop working within a second; enabled again, they work as before.
   *
   * @throws {AccountError} If the name is invalid or in use.
   */
  async change({ id }: Pick<Team, "id">, changes: TeamChanges): Promise<Team> {
    const { models, ownKeyUse, disabled } = changes;
    const name = changes.name === undefined ? undefined : readTeamName(changes.name);
    const statements: Statement[] = [];
    if (name !== undefined) {
      statements.push({ sql: "update teams set name = ? where id = ?", args: [name, id] });
    }
    if (models !== undefined) {
      const text = models === null ? null : JSON.stringify(models);
      statements.push({ sql: "update teams set models = ? where id = ?", args: [text, id] });
    }
    if (ownKeyUse !== undefined) {
      statements.push({
        sql: "update teams set own_keys = ? where id = ?",
        args: [ownKeyUse, id],
      });
    }
    if (disabled !== undefined) {
      statements.push({
        sql: `update teams set disabled_at_ms = ${
          iif("? = 1", "coalesce(disabled_at_ms, ?)", "null")
        } where id = ?`,
        args: [disabled ? 1 : 0, this.#now(), id],
      });
    }
    if (name !== undefined) await this.#writeNamed({ id, name }, statements);
    else if (statements.length > 0) await this.#database.batch(statements);
    return await this.get(id);
  }

  /** The teams whose names look like one. */
  async #like(name: string): Promise<Team[]> {
    const shown = seenAs(name, { foldsCase: true });
    return (await this.list()).filter((one) => seenAs(one.name, { foldsCase: true }) === shown);
  }

  /**
   * Writes a team with its name. The database tells apart only the letters of ASCII: so the transaction fails if another team
   * came or was renamed after the names were compared, and they are compared again.
   *
   * @throws {AccountError} If the name looks like that of another team.
   */
  async #writeNamed(
    { id, name }: Pick<Team, "id" | "name">,
    statements: readonly Statement[],
  ): Promise<void> {
    const shown = seenAs(name, { foldsCase: true });
    for (let before = "";;) {
      const teams = await this.#database.all("select id, name from teams");
      const others = teams.filter((one) => one.id !== id).map((one) => String(one.name));
      // a team keeps the name that it has
      const isKept = teams.some((one) => one.id === id && one.name === name);
      if (!isKept && others.some((one) => seenAs(displayed(one), { foldsCase: true }) === shown)) {
        throw taken(name);
      }
      const known = JSON.stringify(others);
      try {
        await this.#database.batch([{ sql: FAIL_IF_OTHERS, args: [id, known] }, ...statements]);
        return;
      } catch (error) {
        if (!(error instanceof DatabaseError && error.isDuplicate)) throw error;
        if (known === before) throw taken(name, error);
        before = known;
      }
    }
  }
}

function taken(name: string, cause?: unknown): AccountError {
  return conflict(`Team ${JSON.stringify(name)} already exists`, { cause });
}

/** @throws {AccountError} If the name is empty, invalid, or looks like an ID. */
function readTeamName(given: string): string {
  const name = readName(given);
  if (name === "") throw new AccountError("A team needs a name");
  if (/^team_/i.test(seenAs(name))) {
    throw new AccountError("The name of a team must not begin with 'team_'");
  }
  return name;
}

/** The account of a team's pool. No address that somebody registers with is like its email address. */
function poolOf(
  { id, poolId }: { readonly id: string; readonly poolId: string },
  name: string,
  createdAtMs: number,
): Account {
  return {
    id: poolId,
    email: `${id.toLowerCase()}@pool`,
    name: nameFrom(`Pool of ${name}`),
    kind: "pool",
    role: "none",
    createdAtMs,
    disabledAtMs: null,
  };
}
