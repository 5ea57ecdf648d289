/** What is said of a backup that cannot be put in place, and that nothing changes then. */

import {
  backUp,
  type Database,
  DatabaseError,
  restoreFile,
} from "../../../src/ground/database/mod.ts";
import { EmbeddedDatabase } from "../../../src/ground/database/file/embedded.ts";
import { assertEquals, assertMatch, assertRejects } from "../../assert.ts";
import { writeEmptyDatabase } from "../../fake/empty_database.ts";
import { tempDir } from "../../fake/temp.ts";

/** Writes until the database may not grow any more, which SQLite takes for a full disk. */
async function fill(copy: Database): Promise<void> {
  await copy.all("pragma max_page_count = 1"); // which is what there is, then
  await copy.batch([{ sql: "create table filler as select zeroblob(1000000) as bytes" }]);
}

const FAULTS: readonly {
  what: string;
  note?: (copy: Database) => Promise<void>;
  damages?: true;
  code: string;
  says: RegExp;
}[] = [
  {
    what: "a full disk is not the backup's fault",
    note: fill,
    code: "SQLITE_FULL",
    says: /^Cannot check \S+backup\.db: .*disk is full/,
  },
  {
    what: "a damaged backup is none",
    damages: true,
    code: "SQLITE_(CORRUPT|NOTADB)",
    says: /^Cannot use \S+backup\.db as a backup: /,
  },
];

for (const { what, note, damages = false, code, says } of FAULTS) {
  Deno.test(`restore: ${what}, and nothing changes`, async () => {
    await using dir = await tempDir();
    const [file, backup] = [`${dir.path}/sluice.db`, `${dir.path}/backup.db`];
    await writeEmptyDatabase(file);
    const database = await EmbeddedDatabase.open(file, { durability: "full" });
    await backUp(database, backup);
    await database.close();
    if (damages) {
      using opened = await Deno.open(backup, { write: true });
      await opened.seek(4_096, Deno.SeekMode.Start);
      await opened.write(new Uint8Array(8_192).fill(0xaa));
    }
    const names = async () =>
      (await Array.fromAsync(Deno.readDir(dir.path))).map(({ name }) => name).toSorted();
    const before = [await names(), await Deno.readFile(file)];
    const error = await assertRejects(
      () => restoreFile(backup, file, { nowMs: 0, ...(note && { note }) }),
      DatabaseError,
    );
    assertMatch(error.code, new RegExp(`^${code}$`));
    assertMatch(error.message, says);
    assertEquals([await names(), await Deno.readFile(file)], before);
  });
}
