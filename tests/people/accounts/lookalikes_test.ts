/** Whom a name or an address is of, where an engine's indexes find more than the same letters in another case. */

import { Accounts } from "../../../src/people/accounts/mod.ts";
import { Directory, insertUser } from "../../../src/people/scim/mod.ts";
import { assertEquals } from "../../assert.ts";
import { ledgerBench, possible } from "../../fake/ledger.ts";

/** Letters that are another one's but for what PostgreSQL's index sees: of Kelvin, full width, and one that nobody sees. */
const LOOKALIKES = ["\u212Aate", "\uFF4Bate", "ka\u00ADte", "ka\u200Bte", "ka\u0001te"];

for (const engine of possible(["file", "postgres"])) {
  Deno.test(`what only looks like an address or a user's name is nobody's: ${engine}`, async () => {
    await using bench = await ledgerBench(engine);
    const { database } = bench;
    const accounts = new Accounts(database, Date.now);
    const directory = new Directory(database);
    const kate = await accounts.create({ email: "kate@example.com" });
    await database.batch(insertUser({
      id: "su_1",
      accountId: kate.id,
      userName: "kate@example.com",
      externalId: null,
      attributes: {},
      disabledAtMs: null,
      nowMs: 1,
    }));
    const named = async (value: string) => {
      const part = { terms: [{ attribute: "username", value }], offset: 0, limit: 9 };
      const { total, items } = await directory.users(part);
      assertEquals(items.length, total);
      return total;
    };
    for (const name of ["kate", "Kate", "KATE"]) {
      assertEquals((await accounts.find(`${name}@example.com`))?.id, kate.id);
      assertEquals(await named(`${name}@Example.com`), 1);
    }
    for (const name of LOOKALIKES) {
      assertEquals([name, await accounts.find(`${name}@example.com`)], [name, undefined]);
      assertEquals([name, await named(`${name}@example.com`)], [name, 0]);
    }
  });
}
