import { assertEquals } from "../assert.ts";
import { startChild, whileServing } from "../fake/child_gateway.ts";

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

const TEXTS: readonly [string, string][] = [
  ["60 MB of plain text", `[{"role":"user","content":"${"a B1.".repeat(12_000_000)}"}]`],
  [
    "60,000 messages",
    `[${new Array(60_000).fill('{"role":"user","content":"a"}').join(",")}]`,
  ],
];

for (const [why, messages] of TEXTS) {
  Deno.test(`what is counted and then refused holds nobody else up: ${why}`, async () => {
    await using gateway = await startChild({
      settings: {
        limits: { unbilledBytesPerMinute: 1e12 },
        routes: {
          dear: {
            targets: [{ upstream: "simulator", model: "x" }],
            context: 90_000_000,
            maxOutput: 100,
            minimum: 1_000_000_000,
            prices: { input: 1, cached: 1, output: 1 },
          },
        },
      },
    });
    const body = new TextEncoder().encode(`{"model":"dear","messages":${messages}}`);
    await whileServing(gateway, { worstMs: 5_000, medianMs: 1_000 }, async () => {
      const until = performance.now() + 2_000;
      const loop = async () => {
        while (performance.now() < until) {
          const reply = await gateway.post("/v1/chat/completions", body, { withinMs: 60_000 });
          await reply.body?.cancel();
        }
      };
      await Promise.all([loop(), loop()]);
    });
  });
}
