import { settings } from "../../../src/settings/config/mod.ts";
import { DatabaseAlert } from "../../../src/operating/alerts/database_alert.ts";
import { Metrics, SILENT } from "../../../src/ground/telemetry/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { type AlertReceiver, alertReceiver } from "../../fake/alert_receiver.ts";
import { startGateway } from "../../fake/gateway.ts";
import { sleep, until } from "../../fake/temp.ts";

/** The alert alone, with a receiver of every alert and one of another kind. */
function alertTo(receiver: AlertReceiver, afterMs: number, pauseMs?: number) {
  const metrics = new Metrics(() => ({
    requestsInFlight: 0,
    writesWaiting: 0,
    databaseBytes: undefined,
    upstreams: [],
  }));
  const secret = "s".repeat(20);
  const { alerts } = settings.parse({
    alerts: {
      allowPrivateHosts: [receiver.host],
      receivers: {
        ops: { url: receiver.url, secret },
        money: { url: receiver.url, secret, alerts: ["low_credits"] },
      },
    },
  });
  let reads = 0;
  let maxReads = Infinity;
  const alert = new DatabaseAlert({
    settings: () => reads++ < maxReads ? alerts : { ...alerts, receivers: {} },
    resolve: () => Promise.resolve([]),
    log: SILENT,
    metrics,
    now: () => 0,
    place: "/data/sluice.db",
    afterMs,
    ...(pauseMs !== undefined && { pauseMs }),
  });
  const counted = async (line: string) => {
    const found = (await metrics.text()).split("\n").find((one) => one.startsWith(line));
    return Number(found?.split(" ").at(-1) ?? 0);
  };
  return {
    alert,
    kinds: () => receiver.marks.map((mark) => mark.split(":")[0]),
    /** Has the settings without receivers once they were read this often. */
    withoutReceivers: (afterReads = 0) => maxReads = afterReads,
    reads: () => reads,
    raised: (kind: string) => counted(`sluice_alerts_total{kind="${kind}"}`),
    deliveries: (outcome: string) =>
      counted(`sluice_alert_deliveries_total{receiver="ops",outcome="${outcome}"}`),
  };
}

Deno.test("a database that is away for a moment is no alert; a longer failure is one, and its end another", async () => {
  await using receiver = alertReceiver();
  const brief = alertTo(receiver, 3_600_000);
  brief.alert.away("why");
  brief.alert.away("why");
  brief.alert.back();
  brief.alert.back();
  await brief.alert.close();
  assertEquals(await brief.raised("database_down"), 0);
  assertEquals(receiver.received, []);

  const long = alertTo(receiver, 1, 1);
  for (let time = 1; time <= 2; time++) {
    long.alert.away("first");
    long.alert.away("last"); // the alert says what it is now
    await receiver.waitFor(2 * time - 1);
    long.alert.away("later"); // once
    await sleep(5);
    long.alert.back();
    long.alert.back();
    await receiver.waitFor(2 * time);
    assertEquals(await long.raised("database_down"), time);
    assertEquals(await long.raised("database_up"), time);
  }
  assertEquals(long.kinds(), ["database_down", "database_up", "database_down", "database_up"]);
  assertEquals(JSON.parse(receiver.received[0]!.body).alerts[0].text, "last");
  await until(async () => await long.deliveries("delivered") === 4, { what: "four deliveries" });
  assertEquals(await long.deliveries("failed"), 0);
  await sleep(20); // in which one that was delivered would be sent again
  assertEquals(receiver.received.length, 4);
  await long.alert.close();
});

Deno.test("a delivery that failed is tried again after a pause, which nothing waits for that closes", async () => {
  await using receiver = alertReceiver();
  receiver.behave([], "error");
  const { alert, deliveries, raised } = alertTo(receiver, 1);
  alert.away("why");
  await until(async () => await deliveries("failed") === 1, { what: "a failed delivery" });
  assertEquals(receiver.received.length, 1);
  await alert.close();
  const after = [receiver.received.length, await deliveries("failed")];
  assertEquals([...after, await deliveries("delivered")], [1, 1, 0]);
  // nothing is begun once it is closed
  alert.back();
  alert.away("why");
  await sleep(20);
  assertEquals([receiver.received.length, await raised("database_down")], [1, 1]);
});

Deno.test("a receiver that fails has six attempts, or until the settings do not have it any more", async () => {
  await using receiver = alertReceiver();
  receiver.behave([], "error");
  const failing = alertTo(receiver, 1, 1);
  failing.alert.away("why");
  await until(async () => await failing.deliveries("failed") === 6, { what: "six attempts" });
  await sleep(30);
  assertEquals(receiver.received.length, 6);
  await failing.alert.close();

  const removed = alertTo(receiver, 1, 1);
  removed.withoutReceivers(2); // the alert and its first attempt read them
  removed.alert.away("why");
  await until(() => removed.reads() >= 3, { what: "a look before the next attempt" });
  await removed.alert.close();
  assertEquals(await removed.deliveries("failed"), 1);
});

Deno.test("a receiver that the settings no longer have gets nothing", async () => {
  await using receiver = alertReceiver();
  const { alert, withoutReceivers, raised } = alertTo(receiver, 1);
  withoutReceivers();
  alert.away("why");
  await until(async () => await raised("database_down") === 1, { what: "the alert" });
  await alert.close();
  assertEquals(receiver.received, []);
});

Deno.test({
  name:
    "a database that cannot be used is an alert, without the database, and its return is another",
  ignore: Deno.build.os === "windows",
  async fn() {
    await using receiver = alertReceiver();
    await using gateway = await startGateway({
      looksInside: true,
      lendFrom: 1e9, // with a loan, a request would be tried for longer
      alertTimes: { databaseAfterMs: 200 },
      settings: {
        alerts: {
          allowPrivateHosts: [receiver.host],
          receivers: { ops: { url: receiver.url, secret: "s".repeat(20) } },
        },
      },
    });
    const file = gateway.gateway.database.place;
    const statusOf = async (response: Promise<Response>) => {
      const { status, body } = await response;
      await body?.cancel();
      return status;
    };
    const ready = () => statusOf(fetch(`${gateway.url}/readyz`));
    assertEquals(await statusOf(gateway.chat("Hi")), 200);
    assertEquals(await ready(), 200);
    await Deno.rename(file, `${file}.away`);
    assertEquals(await statusOf(gateway.chat("Hi")), 503);
    assertEquals(await ready(), 503);
    await receiver.waitFor(1);
    assert(receiver.marks[0]!.startsWith("database_down:"), receiver.marks[0]);
    assert(receiver.received[0]!.body.includes("was moved or deleted"));
    await Deno.rename(`${file}.away`, file);
    await until(async () => await ready() === 200, { what: "the return of the database" });
    assertEquals(await statusOf(gateway.chat("Hi")), 200);
    await receiver.waitFor(2);
    assert(receiver.marks[1]!.startsWith("database_up:"), receiver.marks[1]);
  },
});
