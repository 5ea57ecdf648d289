import { Accounts, Passwords } from "../../../src/people/accounts/mod.ts";
import { openDatabase } from "../../../src/ground/database/mod.ts";
import { RULES } from "../../../src/money/ledger/mod.ts";
import { assertEquals, assertRejects } from "../../assert.ts";
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

  assertEquals(await passwords.matches(undefined, PASSWORD), false);
  // that a hash is computed for nobody shows with a cost that scrypt refuses: no power of two
  const impossible = new Passwords(database, Date.now, { N: 32_767, r: 8, p: 3 });
  await assertRejects(() => impossible.matches(undefined, PASSWORD), Error);

  // a hash tells its cost, so that it may be raised later
  const cheap = new Passwords(database, Date.now, { N: 1_024, r: 8, p: 1 });
  assertEquals(await cheap.matches(account, PASSWORD), true);
});
