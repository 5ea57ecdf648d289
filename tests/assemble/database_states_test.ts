import { DatabaseStates } from "../../src/assemble/database_states.ts";
import { assertEquals } from "../assert.ts";

Deno.test("while the database is away, each new reason is logged, and the same one not again at once", () => {
  const said: string[] = [];
  const states = new DatabaseStates({
    debug() {},
    info() {},
    warn: () => said.push("back"),
    error: (_text, fields) => said.push(String(fields?.error)),
  });
  const away = (message: string) =>
    states.changed({ isUsable: false, code: "SQLITE_IOERR", message });
  for (const why of ["disk I/O error", "disk I/O error", "database is locked", "disk I/O error"]) {
    away(why);
  }
  states.changed({ isUsable: true, awayMs: 5 });
  away("disk I/O error");
  assertEquals(said, [
    "disk I/O error",
    "database is locked",
    "disk I/O error",
    "back",
    "disk I/O error",
  ]);
});
