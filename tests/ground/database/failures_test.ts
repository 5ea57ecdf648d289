/** What failures mean, as each engine itself reports them. */

import { assert, assertEquals } from "../../assert.ts";
import { definitionsOf } from "../../../src/ground/database/definitions_of.ts";
import { DatabaseError, type FailureKind } from "../../../src/ground/database/mod.ts";
import {
  isOutdated,
  isUndone,
  postgresError,
} from "../../../src/ground/database/postgres/failures.ts";
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

/** What exceeds a limit of PostgreSQL: an entry of an index, which may be a third of a page, and a value. */
const BEYOND_LIMITS: typeof FAILURES = [
  [
    "insert into marks select 'b', string_agg(md5(i::text), ''), 1 from generate_series(1, 400) i",
    "statement",
  ],
  ["select repeat('text', 1000000000)", "statement"],
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
    const isPostgres = bench.database.dialect === "postgres";
    const failures = isPostgres ? [...FAILURES, ...BEYOND_LIMITS] : FAILURES;
    for (const [sql, told] of failures) {
      // PostgreSQL does not even ask the column what it takes
      const kind = isPostgres && sql.includes("'text'") ? "statement" : told;
      const error = await bench.database.batch([{ sql }]).then(() => undefined, (one) => one);
      assert(error instanceof DatabaseError, sql);
      assertEquals([sql, error.kind, error.outcomeUnknown], [sql, kind, false]);
      assert(error.isAboutTheData && !error.isPassing);
      assertEquals(error.isDuplicate, kind === "duplicate");
    }
    assertEquals(await bench.database.all("select * from marks"), [{ id: "a", name: "one", n: 1 }]);
  });
}

Deno.test("a state of PostgreSQL says whether to wait, what the data breaks, or that the database cannot be used", () => {
  const states: Readonly<Record<FailureKind, readonly string[]>> = {
    busy: ["40001", "40P01", "53300", "55P03", "55006", "57014"],
    duplicate: ["23505"],
    rule: ["23000", "23502", "23503", "23514"],
    // 54: a limit of the server that the statement itself exceeds, so that nobody else's statement fails for it
    statement: ["0A000", "22003", "2201E", "42601", "54000", "54001", "54011", "54023", "P0001"],
    // 42501, 42P01: rights and tables that an operator has taken away, which nobody's data can help
    unusable: [
      ...["28P01", "3D000", "42501", "42P01", "53100", "53200", "55000", "58030"],
      ...["XX000", "XX001"],
    ],
  };
  for (const [kind, codes] of Object.entries(states)) {
    for (const code of codes) {
      const error = postgresError(Object.assign(new Error("failed"), { code }));
      assertEquals([code, error.kind, error.outcomeUnknown], [code, kind, false]);
    }
  }
});

Deno.test("of a connection to PostgreSQL that breaks nobody knows what it has done, whatever the system calls that", () => {
  const failed = (code: string) => postgresError(Object.assign(new Error("failed"), { code }));
  for (const code of ["EPIPE", "ECONNRESET", "EBADF", "57P01", "08006", "40003"]) {
    assertEquals([code, failed(code).outcomeUnknown], [code, true]);
    assert(!isUndone(failed(code)), code);
  }
  for (const code of ["40001", "23505", "P0001", "XX000", "F0000", "HV000"]) {
    assertEquals([code, failed(code).outcomeUnknown], [code, false]);
  }
});

Deno.test("what is done again at once is known in whatever language PostgreSQL says so", () => {
  const failed = (code: string, message: string, routine: string) =>
    postgresError(Object.assign(new Error(message), { code, routine }));
  for (
    const error of [
      failed("0A000", "gecachter Plan darf den Ergebnistyp nicht ändern", "RevalidateCachedQuery"),
      failed("26000", "la sentencia preparada «s1» no existe", "FetchPreparedStatement"),
    ]
  ) assert(isOutdated(error) && isUndone(error), error.message);
  const idle = failed(
    "57P05",
    "terminating connection due to idle-session timeout",
    "ProcessInterrupts",
  );
  assert(isUndone(idle) && !isOutdated(idle));
  assertEquals([idle.kind, idle.outcomeUnknown], ["unusable", false]);
  const other = failed("0A000", "cached plans are not supported", "transformStatement");
  assert(!isOutdated(other) && !isUndone(other));
});
