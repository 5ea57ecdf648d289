import { outboxFiles } from "../../src/ground/database/outbox.ts";
import { assertEquals } from "../assert.ts";
import { startGateway, statusOf } from "../fake/gateway.ts";
import { until } from "../fake/temp.ts";

// Proves P6.
Deno.test("a gateway whose database is elsewhere, as on another disk, keeps settlements in its data directory", async () => {
  await using gateway = await startGateway({
    settings: { data: "./data", database: { url: "file:./disk/sluice.db" } },
  });
  const { directory } = gateway;
  const [data, disk] = [`${directory}/data/sluice.db`, `${directory}/disk/sluice.db`];
  const hasKept = async () => {
    assertEquals(await statusOf(gateway.chat("Hi")), 200); // on lent credits, as soon as there are some
    return (await outboxFiles(data, disk)).length === 2;
  };
  await until(hasKept, { what: "settlements to be kept" });
  assertEquals([(await outboxFiles(data)).length, await outboxFiles(disk)], [2, []]);
  await gateway.gateway.stop();
  assertEquals(await outboxFiles(data), []);
});
