import type { AlertTimes } from "../../../src/operating/alerts/mod.ts";
import { notices } from "../../../src/operating/alerts/mod.ts";
import type { SettingsInput } from "../../../src/settings/config/mod.ts";
import { DatabaseError } from "../../../src/ground/database/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { type AlertReceiver, alertReceiver, isSigned } from "../../fake/alert_receiver.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";
import { canRunSqld, sqldServer } from "../../fake/sqld.ts";
import { sleep, tempDir } from "../../fake/temp.ts";

const SECRET = "whsec-a-secret-of-the-test";
const FAST: AlertTimes = {
  watch: { seeEveryMs: 1e6, passEveryMs: 1e6, circuitMs: 0, circuitQuietMs: 1_000 },
  deliverEveryMs: 20,
  backoff: { firstMs: 20, maxMs: 100, giveUpMs: 86_400_000, minAttempts: 8 },
};

function to(
  receiver: AlertReceiver,
  more: Partial<NonNullable<SettingsInput["alerts"]>> = {},
): SettingsInput {
  return {
    alerts: {
      receivers: { ops: { url: receiver.url, secret: SECRET } },
      allowPrivateHosts: [receiver.host],
      timeoutMs: 500,
      ...more,
    },
  };
}

/** Raises alerts as the watch does. */
async function raise({ gateway }: TestGateway, marks: readonly string[]): Promise<void> {
  const alerts = marks.map((mark) => ({
    mark,
    kind: "disk_low" as const,
    accountId: null,
    title: `About ${mark}`,
    text: "Text <!channel> & more",
    data: { mark },
  }));
  await gateway.alerts.outbox.raise(alerts, gateway.config.settings.alerts.receivers);
  gateway.alerts.deliveries.wake();
}

async function settled({ gateway: { database } }: TestGateway): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    if ((await notices(database, { limit: 1, state: "waiting" })).length === 0) return;
    await sleep(20);
  }
  throw new Error("deliveries still wait");
}

Deno.test("a receiver that fails, stalls, hangs up, redirects and returns gets each alert once, signed", async () => {
  await using receiver = alertReceiver();
  await using gateway = await startGateway({ settings: to(receiver), alertTimes: FAST });
  receiver.behave([
    "error",
    "stall",
    "hang up",
    "redirect",
    "take and hang up",
    "slow",
  ]);
  const marks = ["a", "b", "c"];
  await raise(gateway, marks);
  await receiver.waitFor(3, 60_000);
  await settled(gateway);
  assertEquals(receiver.marks.toSorted(), marks);
  assertEquals(receiver.received.map(({ behaviour }) => behaviour), [
    "error",
    "stall",
    "hang up",
    "redirect",
    "take and hang up",
    "slow",
  ]);
  assert(receiver.received.every((one) => isSigned(one, SECRET, Date.now())));
  assert(!receiver.received.some((one) => isSigned(one, "another", Date.now())));
  const ids = receiver.received.flatMap(({ alerts }) => alerts.map(({ id }) => id));
  assertEquals(new Set(ids).size, 3, "a repetition has the IDs of the first time");
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
  assertStringIncludes(
    metrics,
    'sluice_alert_deliveries_total{receiver="ops",outcome="failed"} 5',
  );
  assertStringIncludes(
    metrics,
    'sluice_alert_deliveries_total{receiver="ops",outcome="delivered"} 1',
  );
  assert(!gateway.log().includes("hidden"), "no address in the log");
});

Deno.test("a receiver that stalls keeps neither others nor requests waiting", async () => {
  await using stalling = alertReceiver();
  await using working = alertReceiver();
  stalling.behave([], "stall");
  await using gateway = await startGateway({
    settings: {
      alerts: {
        receivers: {
          stalling: { url: stalling.url, secret: SECRET },
          working: { url: working.url, secret: SECRET },
        },
        allowPrivateHosts: [stalling.host, working.host],
        timeoutMs: 5_000,
      },
    },
    alertTimes: FAST,
  });
  await raise(gateway, ["a"]);
  await working.waitFor(1, 2_000);
  const startedTick = performance.now();
  await (await gateway.chat("Hi")).body?.cancel();
  assert(performance.now() - startedTick < 2_000);
});

Deno.test("thousands of alerts are delivered in groups, and Slack gets a bounded message", async () => {
  await using receiver = alertReceiver();
  await using slack = alertReceiver();
  await using gateway = await startGateway({
    settings: to(receiver, {
      receivers: {
        ops: { url: receiver.url, secret: SECRET },
        chat: { url: slack.url, kind: "slack" },
      },
      allowPrivateHosts: [receiver.host, slack.host],
    }),
    alertTimes: FAST,
  });
  await raise(gateway, Array.from({ length: 2_000 }, (_, at) => `mark:${at}`));
  await receiver.waitFor(2_000, 20_000);
  await settled(gateway);
  assertEquals([receiver.received.length, slack.received.length], [40, 40]);
  const { text } = JSON.parse(slack.received[0]!.body);
  assertStringIncludes(text, "and 30 more");
  assertStringIncludes(text, "&lt;!channel&gt; &amp; more");
  assertEquals(slack.received[0]!.signature, null);
});

Deno.test("a receiver with a private address is not contacted unless it is allowed", async () => {
  await using receiver = alertReceiver();
  for (const url of [receiver.url, receiver.url.replace("127.0.0.1", "localhost")]) {
    await using gateway = await startGateway({
      settings: {
        alerts: { receivers: { ops: { url, secret: SECRET } }, allowPrivateHosts: ["other.host"] },
      },
      alertTimes: FAST,
    });
    await raise(gateway, ["a"]);
    for (let tries = 0; tries < 100; tries++) {
      const [one] = await notices(gateway.gateway.database, { limit: 1 });
      if (one?.deliveries[0]?.error) break;
      await sleep(20);
    }
    const [one] = await notices(gateway.gateway.database, { limit: 1 });
    assertStringIncludes(one!.deliveries[0]!.error!, "not allowed");
    assert(!gateway.log().includes("hidden"));
  }
  assertEquals(receiver.received.length, 0);
});

Deno.test("two gateways at one server deliver each alert once, and one has the job", {
  ignore: !await canRunSqld(),
}, async () => {
  await using dir = await tempDir();
  await using server = await sqldServer(`${dir.path}/sqld`);
  await using receiver = alertReceiver();
  receiver.behave(["error", "error", "slow", "slow"], "ok");
  const settings = { ...to(receiver), database: { url: server.url } };
  await using one = await startGateway({ settings, alertTimes: FAST });
  await using two = await startGateway({ settings, alertTimes: FAST });
  const marks = Array.from({ length: 60 }, (_, at) => `mark:${at}`);
  await Promise.all([raise(one, marks), raise(two, marks)]);
  await receiver.waitFor(60, 30_000);
  await settled(one);
  assertEquals(receiver.marks.toSorted(), marks.toSorted());
  const taken = receiver.received.filter(({ behaviour }) => behaviour !== "error");
  assertEquals(taken.flatMap(({ alerts }) => alerts).length, 60, "not one of them twice");
  assertEquals([await one.gateway.alerts.watch.pass(), await two.gateway.alerts.watch.pass()], [
    true,
    false,
  ]);
});

Deno.test("what a receiver has taken is not sent again by the gateway, however long the database is away", async () => {
  await using receiver = alertReceiver();
  let now = Date.now();
  let isAway = false;
  let failed = 0;
  await using gateway = await startGateway({
    settings: to(receiver),
    alertTimes: FAST,
    now: () => now,
    wrapDatabase: (database) =>
      guardedDatabase(database, () => {
        if (!isAway || receiver.received.length === 0) return;
        failed++;
        throw new DatabaseError("SQLITE_IOERR", "The database is away");
      }),
  });
  isAway = true;
  receiver.behave(["slow"]);
  await raise(gateway, ["a"]);
  await receiver.waitFor(1);
  await sleep(4_000);
  assert(failed > 0);
  isAway = false;
  now += 120_000; // the claim has ended
  await settled(gateway);
  assertEquals(receiver.received.length, 1);
});
