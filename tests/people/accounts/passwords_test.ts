import { Accounts, Passwords } from "../../../src/people/accounts/mod.ts";
import { openDatabase } from "../../../src/ground/database/mod.ts";
import { RULES } from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { tempDir } from "../../fake/temp.ts";

const PASSWORD = "a long enough password";

Deno.test("a password's hash costs what OWASP asks for, for an account that does not exist too", async () => {
  await using dir = await tempDir();
  const database = await openDatabase({
    file: `${dir.path}/sluice.db`,
    durability: "normal",
    rules: RULES,
    now: Date.now,
  });
  await using _closed = { [Symbol.asyncDispose]: () => database.close() };
  const account = await new Accounts(database, Date.now).create({ email: "ada@example.com" });
  const passwords = new Passwords(database, Date.now);
  assertEquals(await passwords.isSet(account), false);
  assertEquals(await passwords.matches(account, PASSWORD), false);
  await passwords.set(account, PASSWORD);
  const row = await database.one("select hash from passwords");
  assertEquals(String(row!.hash).split("$").slice(0, 4), ["scrypt", "32768", "8", "3"]);
  assertEquals(await passwords.matches(account, PASSWORD), true);
  assertEquals(await passwords.matches(account, `${PASSWORD}s`), false);

  const start = performance.now();
  assertEquals(await passwords.matches(undefined, PASSWORD), false);
  const tookMs = performance.now() - start;
  assert(tookMs > 20, `${tookMs} ms`); // a hash takes some 200

  // a hash tells its cost, so that it may be raised later
  const cheap = new Passwords(database, Date.now, { N: 1_024, r: 8, p: 1 });
  assertEquals(await cheap.matches(account, PASSWORD), true);
});
