/** Bytes that cost nothing are bounded, by key and minute. */

import { assertEquals, assertStringIncludes } from "../../assert.ts";
import { customer } from "../../fake/customer.ts";
import { startGateway } from "../../fake/gateway.ts";

/** More than this, and a body is handled on another thread. */
const LARGE_CHARS = 131_072;
const NOW = Date.UTC(2030, 0, 1, 12, 0, 10);

const bad = { model: "svc-k2", messages: "x".repeat(3_000) };
const good = (size: number) => ({
  model: "svc-k2",
  max_tokens: 5,
  messages: [{ role: "user", content: "x".repeat(size) }],
});

for (const path of ["/v1/chat/completions", "/v1/messages", "/v1/messages/count_tokens"]) {
  Deno.test(`${path}: rejected bodies have a quota of bytes, for each key and minute`, async () => {
    let nowMs = NOW;
    await using gateway = await startGateway({
      settings: { limits: { unbilledBytesPerMinute: 10_000 } },
      now: () => nowMs,
    });
    const { keys: [one, other] } = await customer(gateway, 100, { keys: 2 });
    const ask = async (key: string | undefined, body: unknown) => {
      const reply = await gateway.post(path, body, { key: key! });
      const text = await reply.text();
      if (reply.status === 429) {
        assertStringIncludes(text, "the limit is 10,000 per minute and API key");
        assertEquals(reply.headers.get("retry-after"), "60");
      }
      return reply.status;
    };
    const isFree = path.endsWith("count_tokens");
    // what is billed does not count; each of these has as many bytes as the whole quota
    for (let times = 0; !isFree && times < 3; times++) {
      assertEquals(await ask(one, good(10_000)), 200);
    }
    for (let times = 0; times < 4; times++) {
      assertEquals(await ask(one, isFree ? good(3_000) : bad), isFree ? 200 : 400);
    }
    assertEquals([await ask(one, bad), await ask(one, good(10))], [429, 429]);
    assertEquals(await ask(other, good(10)), 200, "another key");
    nowMs += 60_000;
    assertEquals(await ask(one, good(10)), 200, "another minute");
  });
}

Deno.test("/v1/messages/count_tokens: large bodies count in the quota, too", async () => {
  await using gateway = await startGateway({
    settings: { limits: { unbilledBytesPerMinute: LARGE_CHARS } },
    now: () => NOW,
  });
  const { keys: [key] } = await customer(gateway, 100, { keys: 1 });
  const statuses = [];
  for (let times = 0; times < 2; times++) {
    const body = good(LARGE_CHARS);
    const reply = await gateway.post("/v1/messages/count_tokens", body, { key: key! });
    await reply.body?.cancel();
    statuses.push(reply.status);
  }
  assertEquals(statuses, [200, 429]);
});
