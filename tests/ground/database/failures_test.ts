/** What failures mean, as each engine itself reports them. */

import { assert, assertEquals } from "../../assert.ts";
import {
  DatabaseError,
  type FailureKind,
  type Statement,
} from "../../../src/ground/database/mod.ts";
import { ledgerBench } from "../../fake/ledger.ts";

const TABLES: readonly Statement[] = [
  "create table marks (id text primary key, name text unique, n integer not null check (n > 0)) strict",
  "create table others (id integer primary key, mark text references marks) strict",
  "create trigger marks_stay before delete on marks begin select raise(abort, 'marks stay'); end",
  "insert into marks values ('a', 'one', 1)",
].map((sql) => ({ sql }));

const FAILURES: readonly (readonly [sql: string, kind: FailureKind])[] = [
  ["insert into marks values ('a', 'two', 1)", "duplicate"],
  ["insert into marks values ('b', 'one', 1)", "duplicate"],
  ["update marks set n = 0", "rule"],
  ["update marks set n = null", "rule"],
  ["insert into others values (1, 'nobody')", "rule"],
  ["delete from marks", "rule"],
  ["update marks set n = 'text'", "rule"],
  ["select abs(-9223372036854775807 - 1)", "statement"],
];

for (const engine of ["file", "server"] as const) {
  Deno.test(`a failure is of the kind that it is, and nothing is done: ${engine}`, async () => {
    await using bench = await ledgerBench(engine);
    await bench.database.batch(TABLES);
    for (const [sql, kind] of FAILURES) {
      const error = await bench.database.batch([{ sql }]).then(() => undefined, (one) => one);
      assert(error instanceof DatabaseError, sql);
      assertEquals([sql, error.kind, error.outcomeUnknown], [sql, kind, false]);
      assert(error.isAboutTheData && !error.isPassing);
      assertEquals(error.isDuplicate, kind === "duplicate");
    }
    assertEquals(await bench.database.all("select * from marks"), [{ id: "a", name: "one", n: 1 }]);
  });
}
