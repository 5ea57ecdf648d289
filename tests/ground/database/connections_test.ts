/** What a connection to an embedded file leaves behind when it is closed, or cannot be opened. */

import DatabaseConstructor from "libsql";
import { pathToFileURL } from "node:url";
import { DatabaseError } from "../../../src/ground/database/mod.ts";
import { EmbeddedDatabase } from "../../../src/ground/database/file/embedded.ts";
import { collectGarbage } from "../../../src/ground/platform/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { tempDir } from "../../fake/temp.ts";

/** Counts the descriptors that this process has in a directory. A program of the system reads them: Deno's permission leaves /proc out. */
async function descriptorsIn(directory: string): Promise<number> {
  const { stdout } = await new Deno.Command("ls", { args: ["-l", `/proc/${Deno.pid}/fd`] })
    .output();
  const lines = new TextDecoder().decode(stdout).split("\n");
  return lines.filter((line) => line.includes(` -> ${directory}/`)).length;
}

/** Deno 2.4 lets a test collect garbage only with a flag. */
const ignore = Deno.build.os !== "linux" || !collectGarbage();

Deno.test({
  name: "a closed connection leaves no descriptor behind, nor one that could not be opened",
  ignore,
  async fn() {
    await using dir = await tempDir();
    const path = `${dir.path}/a.db`;
    const first = await EmbeddedDatabase.open(path, { durability: "full" });
    await first.batch([{ sql: "create table t (a)" }]);
    const usual = await descriptorsIn(dir.path);
    for (const readOnly of [false, true, false, true]) {
      const other = await EmbeddedDatabase.open(path, { durability: "full", readOnly });
      for (let at = 0; at < 20; at++) await other.all(`select * from t where a = ${at}`);
      await other.close();
      // the index is one for the process, which closing opens once more to look for locks
      const left = await descriptorsIn(dir.path);
      assert(left <= usual + 1, `${left} descriptors, ${usual} before`);
    }
    await first.close();
    assertEquals(await descriptorsIn(dir.path), 0);
    await Deno.writeTextFile(path, "no database, but long enough to be looked at".repeat(100));
    for (let at = 0; at < 3; at++) {
      await assertRejects(() => EmbeddedDatabase.open(path, { durability: "full" }), DatabaseError);
    }
    assertEquals(await descriptorsIn(dir.path), 0);
  },
});

Deno.test({
  name: "no connection keeps an index that was opened for reading only: the next one can write",
  ignore,
  async fn() {
    await using dir = await tempDir();
    const path = `${dir.path}/a.db`;
    const before = await EmbeddedDatabase.open(path, { durability: "full" });
    await before.batch([{ sql: "create table t (a)" }]);
    // another process has the log and its index open, so that they stay
    const other = new Deno.Command(Deno.execPath(), {
      args: ["eval", "--no-lock", HOLD, path],
      stdin: "piped",
      stdout: "piped",
      cwd: new URL("../../../", import.meta.url),
    }).spawn();
    await other.stdout.getReader().read();
    await before.close();
    const url = pathToFileURL(path);
    url.search = "vfs=unix&readonly_shm=1";
    // as after an open(2) for writing that failed
    const broken = new DatabaseConstructor(url.href) as unknown as Raw;
    broken.exec("begin; select * from t; commit");
    const fault = await assertRejects(
      () => EmbeddedDatabase.open(path, { durability: "full", readOnly: true }),
      DatabaseError,
    );
    assertEquals(fault.code, "SQLITE_READONLY");
    await assertRejects(() => EmbeddedDatabase.open(path, { durability: "full" }), DatabaseError);
    broken.close();
    const again = await EmbeddedDatabase.open(path, { durability: "full" });
    await again.batch([{ sql: "insert into t values (1)" }]);
    await again.close();
    await other.stdin.close();
    await other.status;
  },
});

interface Raw {
  exec(sql: string): void;
  close(): void;
}

/** A program that reads a database until its standard input ends. */
const HOLD = `
  import Database from "libsql";
  const database = new Database("file:" + Deno.args[0]);
  database.exec("begin; select * from t; commit");
  console.log("open");
  await Deno.stdin.read(new Uint8Array(1));
`;
