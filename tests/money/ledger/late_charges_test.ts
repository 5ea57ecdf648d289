/** What is charged once more, as a database had lost the charge after acknowledging it. */

import type { JsonObject } from "../../../src/ground/database/mod.ts";
import { newRequestId } from "../../../src/ground/platform/ids.ts";
import { audit } from "../../../src/money/ledger/mod.ts";
import { SETTLE } from "../../../src/money/ledger/settle.ts";
import { assertEquals } from "../../assert.ts";
import { ledgerBench } from "../../fake/ledger.ts";
import { whyNoPostgres } from "../../fake/postgres.ts";

type Item = NonNullable<typeof SETTLE.item>;

const NOW = Date.UTC(2030, 0, 1);

for (const kind of ["file", "postgres"] as const) {
  // Proves P2, P5.
  Deno.test({
    name:
      `a late charge takes its price, counts in its windows, and is named by the audit (${kind})`,
    ignore: kind === "postgres" && await whyNoPostgres() !== undefined,
    async fn() {
      await using bench = await ledgerBench(kind);
      const { database } = bench;
      const { accountId, keyId } = await bench.account();
      await bench.grant(accountId, 100);
      const item = (price: number, on: Partial<Item>) => ({
        request_id: newRequestId(NOW),
        account_id: accountId,
        key_id: keyId,
        dialect: "chat",
        route: "svc",
        attempts: 1,
        status: 200,
        ending: "complete",
        streamed: 0,
        usage_source: "upstream",
        input_tokens: 1,
        cached_tokens: 0,
        output_tokens: 1,
        reasoning_tokens: 0,
        started_at_ms: NOW,
        duration_ms: 1,
        price_credits: price,
        input_price: 1,
        cached_price: 1,
        output_price: 1,
        minimum_credits: price,
        admitted_at_ms: NOW,
        settled_at_ms: NOW,
        ...on,
      });
      // the database knows neither the loan of one nor the hold of the other
      const lost = [
        item(30, { loan_id: "loan_lost", lent: 50, details: '{"model":"m","tier":"flex"}' }),
        item(12, {}),
      ];
      for (const one of [...lost, ...lost]) {
        const settled = await database.write(SETTLE, SETTLE.late!(one as JsonObject) as Item);
        assertEquals(settled.charged, one.price_credits);
      }
      const report = await audit(database);
      assertEquals(report.mismatches, []);
      assertEquals(report.late, { requests: 2, credits: 42, accounts: [accountId] });
      assertEquals(
        (await database.all("select details from usage_records order by price_credits desc"))
          .map(({ details }) => JSON.parse(String(details))),
        [{ model: "m", tier: "flex", late: true }, { late: true }],
      );
    },
  });
}
