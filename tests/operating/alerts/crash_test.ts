import { openStore } from "../../../src/assemble/mod.ts";
import { notices, Outbox } from "../../../src/operating/alerts/mod.ts";
import { loadConfig } from "../../../src/settings/config/mod.ts";
import { assertEquals } from "../../assert.ts";
import { alertReceiver } from "../../fake/alert_receiver.ts";
import { startCommand } from "../../fake/command.ts";
import { DEADLINE_MS, tempDir } from "../../fake/temp.ts";

Deno.test("a gateway killed between claim and acknowledgement delivers after its restart, with the same IDs", async () => {
  await using receiver = alertReceiver();
  await using dir = await tempDir();
  await Deno.writeTextFile(
    `${dir.path}/sluice.jsonc`,
    JSON.stringify({
      port: 0,
      alerts: {
        receivers: { ops: { url: receiver.url, secret: "secret" } },
        allowPrivateHosts: [receiver.host],
        timeoutMs: DEADLINE_MS,
      },
    }),
  );
  await Deno.mkdir(`${dir.path}/data`); // the place of the settings' own directory
  const config = await loadConfig({
    env: {},
    directory: dir.path,
    file: `${dir.path}/sluice.jsonc`,
  });
  const start = async () => {
    const command = startCommand(["--data", config.settings.data], { directory: dir.path });
    await command.waitFor(/listening on/);
    return command;
  };
  const look = async <T>(work: (store: Awaited<ReturnType<typeof openStore>>) => Promise<T>) => {
    await using store = await openStore(config);
    return await work(store);
  };
  await look(async ({ database }) => {
    const outbox = new Outbox(database, Date.now);
    await outbox.raise([{
      mark: "disk_low:a:1",
      kind: "disk_low",
      accountId: null,
      title: "A",
      text: "A",
      data: {},
    }], config.settings.alerts.receivers);
  });
  receiver.behave(["stall"]);
  {
    await using killed = await start();
    await receiver.waitForDeliveries(1);
    killed.signal("SIGKILL");
    await killed.status;
  }
  assertEquals(receiver.received.length, 1);
  await look(async ({ database }) => {
    const [one] = await notices(database, { limit: 1 });
    const [delivery] = one!.deliveries;
    assertEquals([delivery!.state, delivery!.attempts], ["waiting", 1], "claimed, nothing lost");
    // its lease would last half a minute
    await database.batch([{ sql: "update alert_deliveries set due_at_ms = 0" }]);
  });
  {
    await using again = await start();
    await receiver.waitForDeliveries(2);
    again.signal("SIGTERM");
    await again.status;
  }
  assertEquals(receiver.received.length, 2);
  const ids = receiver.received.map(({ alerts }) => alerts[0]!.id);
  assertEquals(ids[0], ids[1]);
  assertEquals(receiver.marks, ["disk_low:a:1"]);
  const [one] = await look(({ database }) => notices(database, { limit: 1 }));
  assertEquals(one!.deliveries[0]!.state, "delivered");
});
