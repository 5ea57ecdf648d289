import type { AlertTimes } from "../../../src/operating/alerts/mod.ts";
import { notices } from "../../../src/operating/alerts/mod.ts";
import type { SettingsInput } from "../../../src/settings/config/mod.ts";
import { DatabaseError } from "../../../src/ground/database/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { type AlertReceiver, alertReceiver, isSigned } from "../../fake/alert_receiver.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";
import { canShareServer, sharedServer } from "../../fake/shared_server.ts";
import { DEADLINE_MS, tempDir, until } from "../../fake/temp.ts";
import { sized } from "../../tier.ts";

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
  const isOver = async () => (await notices(database, { limit: 1, state: "waiting" })).length === 0;
  await until(isOver, { what: "the end of all deliveries" });
}

Deno.test("a receiver that fails, hangs up, redirects and returns gets an alert once, signed", async () => {
  await using receiver = alertReceiver();
  await using gateway = await startGateway({ settings: to(receiver), alertTimes: FAST });
  receiver.behave([
    "error",
    "hang up",
    "redirect",
    "take and hang up",
    "slow",
  ]);
  await raise(gateway, ["a"]); // each alert has pauses of its own
  await settled(gateway);
  assertEquals(receiver.marks, ["a"]);
  assertEquals(receiver.received.map(({ behaviour }) => behaviour), [
    "error",
    "hang up",
    "redirect",
    "take and hang up",
    "slow",
  ]);
  assert(receiver.received.every((one) => isSigned(one, SECRET, Date.now())));
  assert(!receiver.received.some((one) => isSigned(one, "another", Date.now())));
  const ids = receiver.received.flatMap(({ alerts }) => alerts.map(({ id }) => id));
  assertEquals(new Set(ids).size, 1, "a repetition has the ID of the first time");
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
  assertStringIncludes(
    metrics,
    'sluice_alert_deliveries_total{receiver="ops",outcome="failed"} 4',
  );
  assertStringIncludes(
    metrics,
    'sluice_alert_deliveries_total{receiver="ops",outcome="delivered"} 1',
  );
  assert(!gateway.log().includes("hidden"), "no address in the log");
});

Deno.test("a delivery that a receiver does not acknowledge in time is made again, with the same IDs", async () => {
  await using receiver = alertReceiver();
  const settings = to(receiver, { timeoutMs: 300 });
  await using gateway = await startGateway({ settings, alertTimes: FAST });
  receiver.behave(["stall"]);
  await raise(gateway, ["a"]);
  await receiver.waitForDeliveries(1);
  await settled(gateway);
  const [first, ...others] = receiver.received;
  assertEquals([first!.behaviour, others.length > 0], ["stall", true]);
  assertEquals(others.at(-1)!.alerts, first!.alerts);
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
        timeoutMs: DEADLINE_MS,
      },
    },
    alertTimes: FAST,
  });
  await raise(gateway, ["a"]);
  await stalling.waitForDeliveries(1);
  await working.waitFor(1);
  await (await gateway.chat("Hi")).body?.cancel();
  const waiting = await notices(gateway.gateway.database, { limit: 1, state: "waiting" });
  assertEquals([waiting.length, stalling.received.length], [1, 1], "it stalls still");
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
  const groups = sized(20, 40);
  await raise(gateway, Array.from({ length: 50 * groups }, (_, at) => `mark:${at}`));
  await receiver.waitFor(50 * groups);
  await settled(gateway);
  assertEquals([receiver.received.length, slack.received.length], [groups, groups]);
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
    const fault = async () =>
      (await notices(gateway.gateway.database, { limit: 1 }))[0]?.deliveries[0]?.error ?? "";
    await until(async () => await fault() !== "", { what: "the outcome" });
    assertStringIncludes(await fault(), "not allowed");
    assert(!gateway.log().includes("hidden"));
  }
  assertEquals(receiver.received.length, 0);
});

Deno.test("two gateways at one server deliver each alert once, and one has the job", {
  ignore: !await canShareServer(),
}, async () => {
  await using dir = await tempDir();
  await using server = await sharedServer(`${dir.path}/server`);
  await using receiver = alertReceiver();
  receiver.behave(["error", "error", "slow", "slow"], "ok");
  const settings = { ...to(receiver), database: { url: server.url } };
  await using one = await startGateway({ settings, alertTimes: FAST });
  await using two = await startGateway({ settings, alertTimes: FAST });
  const marks = Array.from({ length: 60 }, (_, at) => `mark:${at}`);
  await Promise.all([raise(one, marks), raise(two, marks)]);
  await receiver.waitFor(60);
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
  const failedWrites: string[] = [];
  await using gateway = await startGateway({
    settings: to(receiver),
    alertTimes: FAST,
    now: () => now,
    wrapDatabase: (database) =>
      guardedDatabase(database, (use) => {
        if (!isAway || receiver.received.length === 0) return;
        failedWrites.push(use);
        throw new DatabaseError("SQLITE_IOERR", "The database is away");
      }),
  });
  isAway = true;
  receiver.behave(["slow"]);
  await raise(gateway, ["a"]);
  await receiver.waitFor(1);
  const outcomes = () => failedWrites.filter((use) => use === "batch").length;
  await until(() => outcomes() >= 3, { what: "three attempts to write the outcome" });
  isAway = false;
  now += 120_000; // the claim has ended
  await settled(gateway);
  assertEquals(receiver.received.length, 1);
});
