import {
  DatabaseError,
  type GroupWrite,
  type JsonObject,
} from "../../../src/ground/database/mod.ts";
import { GroupWriter } from "../../../src/ground/database/group_writer.ts";
import { sqliteError } from "../../../src/ground/database/sqlite/failures.ts";
import { assert, assertEquals } from "../../assert.ts";

/** How a commit fails, by what is known of it. */
const FAILURES = {
  unknown: () => sqliteError("SQLITE_IOERR", "not durable", { outcomeUnknown: true }),
  reopening: () => new DatabaseError("SLUICE_REOPENING", "is being opened again"),
  full: () => sqliteError("SQLITE_FULL", "the disk is full"),
  corrupt: () => sqliteError("SQLITE_CORRUPT", "the file is malformed"),
};

function write(repeatable: boolean): GroupWrite<JsonObject, unknown> {
  return { name: "note", key: "id", repeatable, statements: ["insert"] };
}

/** What becomes of one write whose commits fail in this order. */
async function written(
  failures: readonly (keyof typeof FAILURES)[],
  repeatable = true,
): Promise<{ commits: number; error: unknown }> {
  let commits = 0;
  const writer = new GroupWriter(() => {
    const failure = failures[commits++];
    return failure === undefined
      ? Promise.resolve([[], [], []])
      : Promise.reject(FAILURES[failure]());
  });
  const error = await writer.write(write(repeatable), { id: "a" }).then(
    () => undefined,
    (one) => one,
  );
  return { commits, error };
}

Deno.test("a commit whose outcome is unknown is repeated once, if that does no harm", async () => {
  assertEquals(await written(["unknown"]), { commits: 2, error: undefined });
  const { commits, error } = await written(["unknown"], false);
  assert(error instanceof DatabaseError && error.outcomeUnknown);
  assertEquals(commits, 1);
});

for (const second of Object.keys(FAILURES) as (keyof typeof FAILURES)[]) {
  Deno.test(`what was unknown stays unknown, however its repetition fails: ${second}`, async () => {
    const { commits, error } = await written(["unknown", second]);
    assertEquals(commits, 2);
    assert(error instanceof DatabaseError, String(error));
    const { code, message } = FAILURES[second]();
    assertEquals([error.code, error.message, error.outcomeUnknown], [code, message, true]);
  });
}

Deno.test("a commit that is known to have failed is not repeated, and not called unknown", async () => {
  for (const first of ["reopening", "full", "corrupt"] as const) {
    const { commits, error } = await written([first]);
    assert(error instanceof DatabaseError);
    assertEquals([commits, error.outcomeUnknown], [1, false]);
  }
});
