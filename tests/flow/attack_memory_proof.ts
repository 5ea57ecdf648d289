import { assert } from "../assert.ts";
import { startChild } from "../fake/child_gateway.ts";
import { connectTo, postHead, writeAll } from "../fake/raw_http.ts";
import { sleep } from "../fake/temp.ts";

const BODIES = 1_500;
const MB = 1_048_576;

Deno.test("bodies of just under 1 MB that never end take no more memory than their pool", async () => {
  await using gateway = await startChild({ descriptors: 8_192 });
  const head = postHead("/v1/chat/completions", {
    key: gateway.keys[0],
    headers: [`content-length: ${MB}`],
  });
  const most = new TextEncoder().encode(head + "{".padEnd(MB - 10_000, " "));
  await using connections = new AsyncDisposableStack();
  for (let at = 0; at < BODIES; at += 50) {
    const some = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const connection = await connectTo(gateway.url);
        void writeAll(connection, most);
        return connection;
      }),
    );
    for (const connection of some) connections.defer(() => connection.close());
    await gateway.smallChat(gateway.keys[1]);
  }
  await sleep(5_000); // what it takes, it takes soon
  const peak = await gateway.peakBytes() / MB;
  assert(gateway.alive());
  assert(peak < 900, `${Math.round(peak)} MB resident`);
});
