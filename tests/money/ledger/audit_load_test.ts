import { openDatabase } from "../../../src/ground/database/mod.ts";
import { audit, RULES } from "../../../src/money/ledger/mod.ts";
import { SILENT } from "../../../src/ground/telemetry/mod.ts";
import { Retention } from "../../../src/money/usage/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { startGateway, statusOf } from "../../fake/gateway.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { sleep, until } from "../../fake/temp.ts";
import { sized } from "../../tier.ts";

const AUDITS = sized(3, 8);
/** Min requests that succeed meanwhile, and records that are kept of all. */
const SUCCEEDED = sized(30, 100);
const KEPT = sized(20, 200);
/** How long a caller waits after a reply, which spares the processor. */
const REST_MS = sized(20, 0);

Deno.test("audits of a gateway under load find nothing, and only read", async () => {
  await using gateway = await startGateway({ settings: { limits: { holdLeaseMs: 1_000 } } });
  const { accounts, keys, sales, database } = gateway.gateway;
  const ada = await accounts.create({ email: "ada@example.com" });
  await sales.grant(ada, { credits: 300 });
  const limited = (await keys.issue(ada, { budgetCredits: 40 })).secret;
  const short = (await keys.issue(ada)).secret;
  await until(async () => await statusOf(gateway.chat("Hi", {}, { key: short })) === 200);

  let isOver = false;
  const statuses = new Map<number, number>();
  const caller = async (number: number) => {
    while (!isOver) {
      const key = [gateway.key, limited, short][number % 3]!;
      const abort = new AbortController();
      if (number === 7) setTimeout(() => abort.abort(), 15);
      const body = number % 2 === 0 ? {} : { stream: true };
      const status = await statusOf(
        gateway.chat("Tell me more.", body, { key, signal: abort.signal }),
      ).catch(() => 0);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      await sleep(status === 200 ? REST_MS : 5);
    }
  };
  const grants = async () => {
    while (!isOver) {
      await sales.grant(ada, { credits: 5, expiresAtMs: Date.now() + 50 });
      await new Retention({ database, log: SILENT, now: Date.now, days: 90, rows: KEPT }).prune();
      await sleep(20);
    }
  };
  const load = Promise.all([...Array.from({ length: 8 }, (_, at) => caller(at)), grants()]);

  const file = `${gateway.directory}/data/sluice.db`;
  const own = await openDatabase({ file, durability: "full", rules: RULES, now: Date.now });
  const reads = guardedDatabase(own, (use) => assert(use === "all", `the audit used ${use}`));
  try {
    for (let count = 0; count < AUDITS; count++) {
      const { mismatches, records } = await audit(reads);
      assertEquals(mismatches, []);
      assert(records > 0);
      await sleep(50);
    }
    // on a slow machine the load takes longer to have met everything
    await until(
      async () =>
        (statuses.get(200) ?? 0) > SUCCEEDED && (statuses.get(403) ?? 0) > 0 &&
        Number((await database.one("select records from pruned_records"))!.records) > 0,
      { what: "responses of every kind, and pruned records" },
    );
  } finally {
    isOver = true;
    await load;
    await own.close();
  }
  assertEquals((await audit(database)).mismatches, []);
});
