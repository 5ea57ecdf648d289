import { Accounts, Passwords } from "../../../src/people/accounts/mod.ts";
import { openDatabase } from "../../../src/ground/database/mod.ts";
import { RULES } from "../../../src/money/ledger/mod.ts";
import { assertEquals, assertRejects } from "../../assert.ts";
import { ledgerBench } from "../../fake/ledger.ts";
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

Deno.test("where only owners sign in with passwords, those of others count for nothing", async () => {
  await using ledger = await ledgerBench("file");
  const { database } = ledger;
  const accounts = new Accounts(database, Date.now);
  const all = new Passwords(database, Date.now, { N: 2, r: 1, p: 1 });
  const owners = all.under({ onlyOwners: true });
  for (const role of ["owner", "operator", "none"] as const) {
    const account = await accounts.create({ email: `${role}@example.com`, role });
    await all.set(account, PASSWORD);
    for (const [passwords, mayUse] of [[all, true], [owners, role === "owner"]] as const) {
      assertEquals(passwords.mayUse(account), mayUse, role);
      assertEquals(await passwords.isSet(account), mayUse, role);
      assertEquals(await passwords.matches(account, PASSWORD), mayUse, role);
      if (mayUse) await passwords.set(account, PASSWORD);
      else await assertRejects(() => passwords.set(account, PASSWORD), Error, "Only owners");
    }
  }
});

Deno.test("two hashes are computed at once, however many are asked for", async () => {
  await using ledger = await ledgerBench("file");
  const dear = new Passwords(ledger.database, Date.now, { N: 32_768, r: 8, p: 1 });
  const cheap = new Passwords(ledger.database, Date.now, { N: 2, r: 1, p: 1 });
  const ended: string[] = [];
  await Promise.all(
    [dear, dear, cheap].map(async (one) => {
      await one.matches(undefined, PASSWORD);
      ended.push(one === dear ? "dear" : "cheap");
    }),
  );
  assertEquals([ended[0], ended.length], ["dear", 3]);
});
