import { assert, assertEquals } from "../../assert.ts";
import { alertReceiver } from "../../fake/alert_receiver.ts";
import { startGateway } from "../../fake/gateway.ts";
import { until } from "../../fake/temp.ts";

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
