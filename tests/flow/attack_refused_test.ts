import { assertEquals } from "../assert.ts";
import { startChild, whileServing } from "../fake/child_gateway.ts";
import { startGateway } from "../fake/gateway.ts";
import { sized } from "../tier.ts";

Deno.test("bodies that are refused for want of credits count as unbilled bytes, or in the window", async () => {
  await using gateway = await startGateway({
    now: () => Date.UTC(2030, 0, 1),
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
  while (statuses.at(-1) !== 429 && statuses.length < 60) {
    const reply = await gateway.post("/v1/chat/completions", body);
    await reply.body?.cancel();
    statuses.push(reply.status);
  }
  assertEquals(statuses.at(-1), 429); // 60 MB and 60 requests in one minute
});

const MEGABYTES = sized(6, 60);
const MESSAGES = sized(6_000, 60_000);
/** Small chats of the other account meanwhile. */
const SERVED = sized(3, 100);

const TEXTS: readonly [what: string, path: string, members: () => string][] = [
  [
    `${MEGABYTES} MB of plain text`,
    "chat/completions",
    () => `"messages":[{"role":"user","content":"${"a B1.".repeat(MEGABYTES * 200_000)}"}]`,
  ],
  [
    `${MESSAGES} messages`,
    "chat/completions",
    () => `"messages":[${new Array(MESSAGES).fill('{"role":"user","content":"a"}').join(",")}]`,
  ],
  [
    `${MEGABYTES} MB of spaces to embed`,
    "embeddings",
    () => `"input":"${" ".repeat(MEGABYTES * 1_000_000)}"`,
  ],
  [
    `${MEGABYTES} MB beside what is to be embedded`,
    "embeddings",
    () => `"input":"a","instruction":"${"a B1.".repeat(MEGABYTES * 200_000)}"`,
  ],
];

Deno.test("what is counted and then refused holds nobody else up", async (t) => {
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
        "dear-vectors": {
          kind: "embeddings",
          targets: [{ upstream: "simulator", model: "x" }],
          context: 90_000_000,
          minimum: 1_000_000_000,
          prices: { input: 1 },
        },
      },
    },
  });
  for (const [why, path, members] of TEXTS) {
    await t.step(why, async () => {
      const model = path === "embeddings" ? "dear-vectors" : "dear";
      const body = new TextEncoder().encode(`{"model":"${model}",${members()}}`);
      await whileServing(gateway, { worst: 500, median: 100 }, async (served) => {
        const loop = async () => {
          do {
            const reply = await gateway.post(`/v1/${path}`, body);
            await reply.body?.cancel();
          } while (served() < SERVED);
        };
        await Promise.all([loop(), loop()]);
      });
    });
  }
});
