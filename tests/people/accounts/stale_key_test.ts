import { Accounts, KeyRing, Keys } from "../../../src/people/accounts/mod.ts";
import { DatabaseError, openDatabase } from "../../../src/ground/database/mod.ts";
import { RULES } from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { inTime, tempDir, until } from "../../fake/temp.ts";

/** What a database does that has stopped answering. */
const FAILURES: Readonly<Record<string, () => Promise<never>>> = {
  "fails": () => Promise.reject(new DatabaseError("SLUICE_SERVER", "away")),
  "says nothing": () => new Promise(() => {}),
};

for (const [what, failing] of Object.entries(FAILURES)) {
  Deno.test(`KeyRing: a database that ${what} keeps no revoked key alive`, async () => {
    await using dir = await tempDir();
    const database = await openDatabase({
      file: `${dir.path}/sluice.db`,
      durability: "normal",
      rules: RULES,
      now: () => 1,
    });
    await using _open = { [Symbol.asyncDispose]: () => database.close() };
    const account = await new Accounts(database, () => 1).create({ email: "ada@example.com" });
    const keys = new Keys(database, () => 1);
    const { id, secret } = await keys.issue(account);
    const away = { is: false };
    const silent: (() => void)[] = [];
    const seen: typeof database = Object.create(database, {
      one: {
        value: async (sql: string, args?: readonly string[]) => {
          if (!away.is) return await database.one(sql, args);
          const back = new Promise<void>((resolve) => silent.push(resolve));
          await Promise.race([failing(), back]);
          return await database.one(sql, args);
        },
      },
    });
    let tick = 0;
    const ring = new KeyRing(seen, { now: () => 1, pollMs: 50, tick: () => tick });
    try {
      await ring.refresh();
      await ring.identify([secret]);
      assert(!(ring.identify([secret]) instanceof Promise), "it is held");
      away.is = true;
      await keys.revoke(id);
      tick += 200; // more than three polls
      for (let times = 0; times < 3; times++) {
        const found = ring.identify([secret]);
        assert(found instanceof Promise, "a copy that has grown stale was used");
        const outcome = await inTime(found.then(() => "accepted", () => "refused"), 50, "waits");
        assert(outcome !== "accepted", outcome);
        found.catch(() => {});
      }
      away.is = false;
      for (const back of silent) back();
      await until(() => ring.refresh().then(() => true));
      const refusal = await assertRejects(async () => await ring.identify([secret]), Error);
      assertEquals(refusal.message, "This API key has been revoked. Use another key.");
    } finally {
      away.is = false;
      for (const back of silent) back();
      await ring.close();
    }
  });
}
