import type { Database } from "../../src/ground/database/mod.ts";

/**
 * A real database with something in front of it, such as a way that can be cut off.
 *
 * @param before Called before each use, with the name of the write or of the method; may throw.
 */
export function guardedDatabase(database: Database, before: (use: string) => void): Database {
  return {
    place: database.place,
    dialect: database.dialect,
    get waiting() {
      return database.waiting;
    },
    all: async (...args) => (before("all"), await database.all(...args)),
    one: async (...args) => (before("one"), await database.one(...args)),
    batch: async (...args) => (before("batch"), await database.batch(...args)),
    write: async (write, item) => (before(write.name), await database.write(write, item)),
    close: () => database.close(),
  };
}
