import { parentsFirst } from "../copy_rows.ts";
import { type Database, DatabaseError } from "../database.ts";
import type { Engine, UseOptions } from "../engine.ts";
import { schemaVersion } from "../migrate.ts";
import { MIGRATIONS, UNFINISHED } from "../migrations/mod.ts";
import { dropRules, installedRules } from "../rules.ts";
import { objectsMadeBy, schemaObjects } from "../sqlite/catalog.ts";
import { SQLITE_DEFINITIONS } from "../sqlite/definitions.ts";
import type { LibsqlOptions } from "./libsql.ts";
import { ServerDatabase } from "./server.ts";

/**
 * The engine of a libSQL server. Its operator keeps copies of its databases.
 *
 * It takes no transaction of the length that filling a database needs. So others see an incomplete one: it lists a step that no program
 * knows until it is, and so none uses it.
 */
export function serverEngine(
  place: Pick<LibsqlOptions, "url" | "token">,
  { durability, observe }: UseOptions,
): Engine {
  const open = () => ServerDatabase.connect({ ...place, durability }, observe);
  return {
    open,
    async fill(work) {
      const database = await open();
      try {
        await dropUnfinished(database); // of a copy that was interrupted
        await refuseOthers(database);
        database.isUnfinished = true;
        const made = await work(database);
        const sql = "delete from schema_versions where version = ?";
        await database.batch([{ sql, args: [UNFINISHED.version] }]);
        return made;
      } catch (error) {
        await dropUnfinished(database).catch(() => {}); // the next copy tries it again
        throw error;
      } finally {
        await database.close();
      }
    },
  };
}

/** @throws {DatabaseError} If a database has tables of another program: a transaction would keep them. */
async function refuseOthers(database: Database): Promise<void> {
  const [first] = await schemaObjects(database);
  if (first === undefined || await schemaVersion(database) > 0) return;
  throw new DatabaseError(
    "SLUICE_NOT_EMPTY",
    `Cannot copy to ${database.place}: it has the ${first.object} of another program. Name an empty one`,
  );
}

/** Leaves nothing of an incomplete database. */
async function dropUnfinished(database: Database): Promise<void> {
  if (await schemaVersion(database) !== UNFINISHED.version) return;
  const { first, ofSteps } = SQLITE_DEFINITIONS;
  const made = await objectsMadeBy([...first, ...ofSteps(MIGRATIONS)]);
  const ours = new Set(made.map(({ object }) => object));
  const rules = await installedRules(database);
  await database.batch([
    ...dropRules(rules?.objects ?? [], SQLITE_DEFINITIONS),
    ...(await parentsFirst(database)).toReversed().map(({ name }) => `table ${name}`)
      .filter((table) => ours.has(table))
      .map((table) => ({ sql: SQLITE_DEFINITIONS.drop(table) })),
    // the list of its steps last: until that is gone, nobody uses the rest
    ...["table installed_rules", "table schema_versions"].map((table) => ({
      sql: SQLITE_DEFINITIONS.drop(table),
    })),
  ]);
}
