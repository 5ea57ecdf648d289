import { assertEquals } from "../assert.ts";
import { startChild } from "../fake/child_gateway.ts";

Deno.test("bodies that are refused for want of credits count as unbilled bytes, or in the window", async () => {
  await using gateway = await startChild({
    settings: {
      tiers: [{ above: 0, minute: 20, hour: 600, day: 5_000 }],
      limits: { unbilledBytesPerMinute: 16 * 1_048_576 },
      routes: {
        dear: {
          targets: [{ upstream: "simulator", model: "x" }],
          context: 2_000_000,
          maxOutput: 100,
          minimum: 1_000_000_000,
          prices: { input: 1, cached: 1, output: 1 },
        },
      },
    },
  });
  const body = JSON.stringify({
    model: "dear",
    messages: [{ role: "user", content: "a B1.".repeat(200_000) }],
  });
  const statuses: number[] = [];
  for (let at = 0; at < 60; at++) {
    const reply = await gateway.post("/v1/chat/completions", body);
    await reply.body?.cancel();
    statuses.push(reply.status);
  }
  assertEquals(statuses.at(-1), 429); // 60 MB and 60 requests in one minute
});
