/** Writes that act outside of the database, such as a test alert: whatever dies, they act at most once for each key. */

import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { adminClient } from "../../fake/admin_client.ts";
import { alertReceiver } from "../../fake/alert_receiver.ts";
import { failingDatabase, type Fault } from "../../fake/failing_database.ts";
import { startGateway } from "../../fake/gateway.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { DEADLINE_MS } from "../../fake/temp.ts";
import { sized } from "../../tier.ts";

// the gate draws for each call on which side of it they die; the proofs try both
for (
  const fault of sized<readonly (Fault | "before or after")[]>(["before or after"], [
    "before",
    "after",
  ])
) {
  Deno.test(`a test that dies ${fault} any call to the database acts at most once`, async () => {
    const seed = testSeed();
    const random = new Random(seed);
    await using receiver = alertReceiver();
    let probes = 0;
    await using upstream = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, () => {
      probes++;
      return Response.json({ object: "list", data: [{ id: "one" }] });
    });
    let control: ReturnType<typeof failingDatabase> | undefined;
    let now = Date.now();
    await using gateway = await startGateway({
      now: () => now,
      wrapDatabase: (database) => (control = failingDatabase(database)).wrapped,
      settings: {
        upstreams: {
          lists: { url: `http://127.0.0.1:${upstream.addr.port}/v1`, discover: false },
        },
        alerts: {
          receivers: { ops: { url: receiver.url, secret: "a secret of the tests" } },
          allowPrivateHosts: [receiver.host],
        },
      },
    });
    const { keys, owner, database } = gateway.gateway;
    const { secret } = await keys.issue(owner, { scopes: ["admin"] });
    const client = adminClient(gateway.url, secret);
    let number = 0;
    for (const path of ["/alerts/test", "/upstreams/lists/test"]) {
      for (let at = 1;; at++) {
        const once = `test ${++number}`;
        const acted = () => receiver.received.length + probes;
        const before = acted();
        await client("GET", "/accounts"); // the key is known

        const died = fault === "before or after"
          ? random.pick(["before", "after"] as const)
          : fault;
        const why = `SLUICE_TEST_SEED=${seed}: ${path}, ${died} call ${at}`;
        control!.killAt(at, died);
        const first = await client("POST", path, { body: {}, once });
        const isOver = first.status < 300;
        control!.mend();
        assert(isOver || first.status === 503, `${why}: ${first.status} ${first.text}`);
        now += 120_000; // the claim of the one that died has ended
        const second = await client("POST", path, { body: {}, once });
        const third = await client("POST", path, { body: {}, once });
        assertEquals([third.status, third.text], [second.status, second.text], why);
        if (isOver) assertEquals(second.text, first.text);
        if (second.status !== 200) {
          assertEquals(second.status, 409, `${why}: ${second.text}`);
          assertStringIncludes(second.json.error.message, "outcome");
        }
        const times = acted() - before;
        assert(times <= 1, `${why}: acted ${times} times`);
        if (second.status === 200) assertEquals(times, 1, why);
        if (isOver) break;
      }
    }
    const logged = await database.all("select count(*) as number from operation_log");
    assertEquals(Number(logged[0]!.number), number);
  });
}

Deno.test("a test that is slow while another request takes its claim acts once", async () => {
  await using receiver = alertReceiver();
  let now = Date.now();
  await using gateway = await startGateway({
    now: () => now,
    settings: {
      alerts: {
        receivers: { ops: { url: receiver.url, secret: "a secret of the tests" } },
        allowPrivateHosts: [receiver.host],
        timeoutMs: DEADLINE_MS,
      },
    },
  });
  const { keys, owner } = gateway.gateway;
  const { secret } = await keys.issue(owner, { scopes: ["admin"] });
  const client = adminClient(gateway.url, secret);
  receiver.behave(["held"]);
  const test = () => client("POST", "/alerts/test", { body: {}, once: "slow" });
  const first = test();
  await receiver.waitForDeliveries(1);
  now += 11_000;
  const other = await test();
  assertEquals([other.status, other.json.error?.code], [409, "in_progress"]);
  receiver.release();
  const { status, text } = await first;
  assertEquals(status, 200);
  const again = await test();
  assertEquals([again.status, again.text], [200, text]);
  assertEquals(receiver.received.length, 1);
});

Deno.test("a clock that is set back keeps no key waiting, and no write is carried out twice", async () => {
  let control: ReturnType<typeof failingDatabase> | undefined;
  let now = Date.now();
  await using gateway = await startGateway({
    lendFrom: 1e9,
    now: () => now,
    wrapDatabase: (database) => (control = failingDatabase(database)).wrapped,
  });
  const { keys, owner, accounts } = gateway.gateway;
  const { secret } = await keys.issue(owner, { scopes: ["admin"] });
  const client = adminClient(gateway.url, secret);
  for (const fault of ["before", "after"] as const) {
    for (let at = 1;; at++) {
      now += 86_400_000;
      const email = `${fault}-${at}@example.com`;
      const create = () => client("POST", "/accounts", { body: { email }, once: email });
      await client("GET", "/accounts"); // the key is known
      control!.killAt(at, fault);
      const first = await create();
      control!.mend();
      // twice, each time by an hour
      now -= 3_600_000;
      control!.killAt(at + 2, fault);
      await create();
      control!.mend();
      now -= 3_600_000;
      const last = await create();
      assertEquals(last.status, 201, `${fault} ${at}: ${last.text}`);
      assert(await accounts.find(email) !== undefined);
      if (first.status < 300) break;
    }
  }
});
