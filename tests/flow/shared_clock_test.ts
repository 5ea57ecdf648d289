import { audit, creditsOf } from "../../src/money/ledger/mod.ts";
import { assert, assertEquals } from "../assert.ts";
import { customer } from "../fake/customer.ts";
import { startGateway, statusOf, usageRecords } from "../fake/gateway.ts";
import { sharedServer } from "../fake/shared_server.ts";
import { sleep, tempDir } from "../fake/temp.ts";
import { completion, fakeUpstream } from "../fake/upstream.ts";
import { PROOF } from "../tier.ts";

const APART_MS = 90_000;
const MINUTE_MS = 60_000;
/** How long the requests of a test may take. */
const ROOM_MS = 20_000;

/** Waits until so much of a minute is left. */
async function roomInMinute(): Promise<void> {
  const leftMs = MINUTE_MS - Date.now() % MINUTE_MS;
  if (leftMs < ROOM_MS) await sleep(leftMs + 10);
}

// Proves P7, P8.
Deno.test(
  "gateways at one server whose clocks are 90 s apart share windows, expiry and charges exactly",
  PROOF,
  async () => {
    await using dir = await tempDir();
    await using server = await sharedServer(dir.path);
    await using upstream = fakeUpstream(() => completion("ok"));
    const start = (offMs: number) =>
      startGateway({
        settings: {
          database: { url: server.url },
          upstream: { url: upstream.url },
          tiers: [{ above: 0, minute: 16, hour: 1_000, day: 1_000 }],
        },
        now: () => Date.now() + offMs,
      });
    await using behind = await start(-APART_MS / 2);
    await using ahead = await start(APART_MS / 2);
    const gateways = [behind, ahead];
    const { keys: [key], accountId, email } = await customer(behind, 1_000);

    await roomInMinute();
    const statuses = await Promise.all(
      Array.from(
        { length: 32 },
        (_, at) => statusOf(gateways[at % 2]!.chat("Hi", {}, { key: key! })),
      ),
    );
    assertEquals(statuses.filter((status) => status === 200).length, 16);
    assertEquals(statuses.filter((status) => status === 429).length, 16);
    const seen = [];
    for (const gateway of gateways) {
      const { status, headers, body } = await gateway.chat("Hi", {}, { key: key! });
      await body?.cancel();
      const resetMs = Number(headers.get("x-ratelimit-reset")) * 1_000;
      assertEquals(resetMs, Math.ceil(Date.now() / MINUTE_MS) * MINUTE_MS);
      assert(Math.abs(Date.now() + 1_000 * Number(headers.get("retry-after")) - resetMs) < 10_000);
      seen.push([status, headers.get("x-ratelimit-remaining")]);
    }
    assertEquals(seen, [[429, "0"], [429, "0"]]);
    const used = await behind.gateway.database.all(
      "select at_ms, used from windows where span_ms = 60000",
    );
    assertEquals(used, [{ at_ms: Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS, used: 16 }]);
    for (const { started_at_ms, settled_at_ms } of await usageRecords(behind)) {
      assert(Math.abs(Number(started_at_ms) - Date.now()) < ROOM_MS);
      assert(Math.abs(Number(settled_at_ms) - Date.now()) < ROOM_MS);
    }

    // a lot expires for all of them at the same time
    const { sales, accounts, database } = ahead.gateway;
    const expiresAtMs = Date.now() + 3_000;
    await sales.grant(await accounts.get(email), { credits: 7, expiresAtMs });
    for (const { gateway } of gateways) await gateway.admission.keep();
    assertEquals((await creditsOf(database, accountId, 0)).lots.map(({ granted }) => granted), [
      7,
      1_000,
    ]);
    await sleep(expiresAtMs - Date.now() + 50);
    await behind.gateway.admission.keep();
    const expired = await database.one("select at_ms from entries where kind = 'expire'");
    assert(Math.abs(Number(expired?.at_ms) - expiresAtMs) < 10_000);
    assertEquals((await audit(database)).mismatches, []);
  },
);

Deno.test("a clock that is set while the gateway runs is noticed when leases are renewed", async () => {
  await using dir = await tempDir();
  await using server = await sharedServer(dir.path);
  let offMs = 0;
  await using gateway = await startGateway({
    settings: { database: { url: server.url } },
    now: () => Date.now() + offMs,
  });
  const { admission, database } = gateway.gateway;
  offMs = APART_MS;
  await admission.keep();
  await roomInMinute();
  await statusOf(gateway.chat("Hi"));
  const windows = await database.all("select at_ms from windows where span_ms = 60000");
  assertEquals(windows, [{ at_ms: Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS }]);
});
