/** What a database that is wrapped has of the one within: all of it, but for what it says that it leaves out. */

import {
  type Database,
  forReports,
  type Replica,
  WrappedDatabase,
} from "../../../src/ground/database/mod.ts";
import { assertEquals } from "../../assert.ts";

/** Whether each part of a database is passed on. */
const IS_PASSED: Readonly<Record<keyof Database, boolean>> = {
  place: true,
  dialect: true,
  isUnfinished: true,
  waiting: true,
  replica: true,
  all: true,
  one: true,
  batch: true,
  write: true,
  close: true,
  writeBehind: false,
  outbox: false,
  refused: false,
  flush: false,
  line: false,
};

/** A database of which each part is another value, or a method that resolves with its own name and arguments. */
function marked(): Database {
  const method = (name: string) => (...args: unknown[]) => Promise.resolve([name, ...args]);
  const methods = ["all", "one", "batch", "write", "close", "writeBehind", "refused", "flush"];
  return {
    place: "a place",
    dialect: "postgres",
    isUnfinished: true,
    waiting: 3,
    replica: { place: "a replica" } as Replica,
    outbox: {},
    ...Object.fromEntries(methods.map((name) => [name, method(name)])),
    line: method("line"),
  } as unknown as Database;
}

Deno.test("a wrapped database has each part of the one within that it does not leave out", async () => {
  const inner = marked();
  const wrapped: Database = new WrappedDatabase(inner);
  for (const [name, isPassed] of Object.entries(IS_PASSED)) {
    const [its, own] = [inner, wrapped].map((one) => one[name as keyof Database] as unknown);
    if (!isPassed) {
      assertEquals(own, undefined, name);
    } else if (typeof its === "function") {
      const args = Array.from({ length: wrapped[name as "all"].length }, (_, at) => at);
      const call = (of: Database) => (of as unknown as Record<string, typeof its>)[name]!(...args);
      assertEquals([name, await call(wrapped)], [name, await call(inner)]);
    } else assertEquals(own, its, name);
  }
});

Deno.test("reports of a wrapped database read the replica", () => {
  const inner = marked();
  assertEquals(forReports(new WrappedDatabase(inner)), inner.replica);
});
