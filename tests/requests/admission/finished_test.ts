/** Leases are renewed for requests that run, and for no others. */

import { Admission } from "../../../src/requests/admission/mod.ts";
import type { Caller } from "../../../src/people/accounts/mod.ts";
import type { Database } from "../../../src/ground/database/mod.ts";
import { newRequestId } from "../../../src/ground/platform/ids.ts";
import { audit, TierList } from "../../../src/money/ledger/mod.ts";
import { SILENT } from "../../../src/ground/telemetry/mod.ts";
import { assertEquals } from "../../assert.ts";
import { startGateway, statusOf } from "../../fake/gateway.ts";
import { ledgerBench } from "../../fake/ledger.ts";
import { routeOf } from "../../fake/routes.ts";
import { until } from "../../fake/temp.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";

const LEASE_MS = 60_000;

Deno.test("the lease of a request that has ended is not renewed", async () => {
  await using bench = await ledgerBench("file");
  const route = await routeOf("svc-k2");
  const { accountId, keyId } = await bench.account();
  await bench.grant(accountId, 100);
  const clock = { tick: 0 };
  const admission = new Admission({
    database: bench.database,
    tierList: new TierList([{ above: 0, minute: 1e6, hour: 1e6, day: 1e6 }]),
    gatewayId: "gw",
    leaseMs: LEASE_MS,
    log: SILENT,
    now: Date.now,
    monotonicNow: () => clock.tick,
  });
  await admission.start();
  // leases are kept as often as a gateway does, while time passes for it and for the database
  const keepFor = async (ms: number) => {
    for (let passedMs = 0; passedMs < ms; passedMs += LEASE_MS / 4) {
      await admission.keep();
      clock.tick += LEASE_MS / 4;
      const sql = "update holds set lease_until_ms = lease_until_ms - ?";
      await bench.database.batch([{ sql, args: [LEASE_MS / 4] }]);
    }
  };
  try {
    const caller = { accountId, keyId, models: null } as unknown as Caller; // what admission looks at
    const admit = () =>
      admission.admit({
        requestId: newRequestId(Date.now()),
        caller,
        route,
        stream: true,
        inputTokens: 10,
        permittedOutput: 100,
        choices: 1,
      }, () => {});
    const holds = async () => (await audit(bench.database)).holds;
    const running = await admit();
    const ended = await admit();
    ended.hold.end(); // and its settlement never reached the database
    await keepFor(2 * LEASE_MS);
    assertEquals(await holds(), 1, "the one that runs keeps its hold, the other does not");
    running.hold.end();
    await keepFor(2 * LEASE_MS);
    assertEquals(await holds(), 0);
  } finally {
    await admission.close();
  }
});

Deno.test("a gateway forgets the ids of requests, however they end", async () => {
  let renewed: string[] = [];
  const watched = (database: Database): Database => ({
    place: database.place,
    dialect: database.dialect,
    waiting: 0,
    all: (...args) => database.all(...args),
    one: (...args) => database.one(...args),
    batch: (statements, ...more) => {
      for (const { sql, args: [, ids] = [] } of statements) {
        if (sql.startsWith("update holds set lease")) renewed = JSON.parse(String(ids));
      }
      return database.batch(statements, ...more);
    },
    write: (write, item) => database.write(write, item),
    close: () => database.close(),
  });
  let status = 200;
  const answered = Promise.withResolvers<void>();
  await using upstream = fakeUpstream(async ({ body }) => {
    if (body.messages[0].content === "slow") await answered.promise;
    return status === 200 ? completion("ok") : new Response("{}", { status });
  });
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, limits: { holdLeaseMs: 400 } },
    wrapDatabase: watched,
  });
  const slow = statusOf(gateway.chat("slow"));
  await until(() => renewed.length === 1, { what: "the renewal of the one that runs" });
  const [id] = renewed;
  for (const stream of [false, true]) {
    status = 200;
    await (await gateway.chat("Hi [[tokens 5]]", { stream })).text();
    status = 400;
    await (await gateway.chat("Hi", { stream })).text();
    status = 500;
    await (await gateway.chat("Hi", { stream })).text();
  }
  renewed = [];
  // the last one may still end when the next renewal begins, though its client has the reply
  await until(() => renewed.length === 1 && renewed[0] === id, {
    what: "a renewal of the one that runs alone",
  });
  status = 200;
  answered.resolve();
  assertEquals(await slow, 200);
});
