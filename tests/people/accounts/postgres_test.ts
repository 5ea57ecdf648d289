/** What PostgreSQL does differently with statements about accounts: it compares no truth value with a number. */

import { Accounts } from "../../../src/people/accounts/mod.ts";
import { openDatabase } from "../../../src/ground/database/mod.ts";
import { RULES } from "../../../src/money/ledger/mod.ts";
import { assertEquals } from "../../assert.ts";
import { postgresDatabase, whyNoPostgres } from "../../fake/postgres.ts";

const why = await whyNoPostgres();
const skipped = why === undefined ? "" : ` (skipped: ${why})`;

Deno.test(
  `Accounts.page finds those that are disabled, and those that are not, on PostgreSQL, too${skipped}`,
  { ignore: why !== undefined },
  async () => {
    await using place = await postgresDatabase();
    let nowMs = Date.UTC(2026, 0, 1);
    const now = () => nowMs++;
    const database = await openDatabase({
      file: undefined,
      server: { url: place.url, token: undefined },
      durability: "normal",
      rules: RULES,
      now,
    });
    try {
      const accounts = new Accounts(database, now);
      for (const name of ["on", "off"]) await accounts.create({ email: `${name}@example.com` });
      await accounts.disable("off@example.com");
      const emails = async (disabled?: boolean) =>
        (await accounts.page({ disabled, limit: 9 })).map(({ email }) => email);
      assertEquals(await emails(), ["on@example.com", "off@example.com"]);
      assertEquals(await emails(true), ["off@example.com"]);
      assertEquals(await emails(false), ["on@example.com"]);
    } finally {
      await database.close();
    }
  },
);
