/** A client that disconnects before the response has begun is noticed, however large the request was. */

import { assertEquals } from "../assert.ts";
import { assertLedgerClean } from "../fake/customer.ts";
import { startGateway, unreadChat, usageRecords } from "../fake/gateway.ts";
import { until } from "../fake/temp.ts";
import { rawServer, readRequest } from "../fake/upstream.ts";

for (const size of [100, 1_000, 20_000, 200_000]) {
  for (const stream of [false, true]) {
    Deno.test(`a caller who leaves before the answer is noticed: ${size} characters, stream ${stream}`, async () => {
      let asked = 0;
      let waiting = 0;
      await using upstream = rawServer(async (connection) => {
        await readRequest(connection);
        asked++;
        waiting++;
        await connection.read(new Uint8Array(1)).catch(() => null).finally(() => waiting--);
      });
      await using gateway = await startGateway({
        settings: { upstream: { url: upstream.url }, limits: { drainMs: 500 } },
      });
      const content = "word ".repeat(size / 5);
      const connection = await unreadChat(gateway, {
        model: "svc-k3",
        stream,
        messages: [{ role: "user", content }],
      });
      try {
        await until(() => waiting === 1, { what: "the upstream being asked" });
      } finally {
        connection.close();
      }
      await until(() => gateway.gateway.inFlight.count === 0, { what: "the end of the request" });
      await until(() => waiting === 0, { what: "the end of the upstream's work" });
      assertEquals(asked, 1);
      assertEquals((await usageRecords(gateway)).map((one) => [one.ending, one.charged_credits]), [
        ["client_left", 0],
      ]);
      await assertLedgerClean(gateway);
    });
  }
}
