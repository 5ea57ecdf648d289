/** What failures mean, as each engine itself reports them. */

import { assert, assertEquals } from "../../assert.ts";
import { definitionsOf } from "../../../src/ground/database/definitions_of.ts";
import { DatabaseError, type FailureKind } from "../../../src/ground/database/mod.ts";
import { postgresError } from "../../../src/ground/database/postgres/failures.ts";
import { ledgerBench, possible } from "../../fake/ledger.ts";

const TABLES = [
  "create table marks (id text primary key, name text unique, n integer not null check (n > 0)) strict",
  "create table others (id integer primary key, mark text references marks) strict",
];
const MARKS_STAY = {
  trigger: "marks_stay",
  event: "before delete",
  on: "marks",
  refuses: "marks stay",
} as const;

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

for (const engine of possible(["file", "server", "postgres"])) {
  Deno.test(`a failure is of the kind that it is, and nothing is done: ${engine}`, async () => {
    await using bench = await ledgerBench(engine);
    const definitions = definitionsOf(bench.database);
    await bench.database.batch([
      ...definitions.ofSteps([{ version: 1, name: "tables", statements: TABLES }]),
      ...definitions.create(MARKS_STAY),
      "insert into marks values ('a', 'one', 1)",
    ].map((sql) => ({ sql })));
    for (const [sql, told] of FAILURES) {
      // PostgreSQL does not even ask the column what it takes
      const kind = engine === "postgres" && sql.includes("'text'") ? "statement" : told;
      const error = await bench.database.batch([{ sql }]).then(() => undefined, (one) => one);
      assert(error instanceof DatabaseError, sql);
      assertEquals([sql, error.kind, error.outcomeUnknown], [sql, kind, false]);
      assert(error.isAboutTheData && !error.isPassing);
      assertEquals(error.isDuplicate, kind === "duplicate");
    }
    assertEquals(await bench.database.all("select * from marks"), [{ id: "a", name: "one", n: 1 }]);
  });
}

Deno.test("of a connection to PostgreSQL that breaks nobody knows what it has done, whatever the system calls that", () => {
  const failed = (code: string) => postgresError(Object.assign(new Error("failed"), { code }));
  for (const code of ["EPIPE", "ECONNRESET", "EBADF", "57P01", "08006"]) {
    assertEquals([code, failed(code).outcomeUnknown], [code, true]);
  }
  for (const code of ["40001", "23505", "P0001", "XX000", "F0000", "HV000"]) {
    assertEquals([code, failed(code).outcomeUnknown], [code, false]);
  }
});
