import { assert, assertEquals } from "../assert.ts";
import { generateServer } from "../fake/generate.ts";
import { startGateway } from "../fake/gateway.ts";
import { Random, testSeed } from "../fake/random.ts";
import { simulateServer } from "../fake/simulate.ts";
import { PROOF, sampled, sized } from "../tier.ts";
import { GROUPS, type Outcome, runChecks } from "./checks.ts";

const EMBEDDINGS = "text-embedding-3-small";
/** Whatever the other upstreams speak. */
const routes = {
  [EMBEDDINGS]: {
    kind: "embeddings" as const,
    targets: [{ upstream: "simulator", model: EMBEDDINGS }],
  },
};

/** Groups whose replies come from the upstream; the others do not depend on its dialect. */
const OF_UPSTREAM = ["chat", "messages", "responses"];

/** Runs groups of checks beside each other: the simulator takes its time for each word of a stream. */
async function outcomesOf(base: string, key: string, groups = GROUPS): Promise<Outcome[]> {
  const models = {
    chat: "svc-k2",
    messages: "svc-k2",
    responses: "svc-k3",
    embeddings: EMBEDDINGS,
  };
  const outcomes = groups.map((group) => Array.fromAsync(runChecks({ base, key, models }, group)));
  return (await Promise.all(outcomes)).flat();
}

/** Checks that cannot hold over an upstream of a dialect: responses has no stop sequences, and generate does not say which was met. */
const IMPOSSIBLE: Readonly<Record<string, RegExp>> = {
  responses: /stop sequence/,
  generate: /meets a stop sequence names it/,
};

/** Dialects of upstreams: in the gate that of the most, which has every group, and one of the others, another each run. */
const UPSTREAMS = [
  "chat",
  ...sampled(["messages", "responses", "generate"] as const, new Random(testSeed()), 3),
] as const;

for (const dialect of UPSTREAMS) {
  Deno.test(`every conformance check holds over a ${dialect} upstream`, async () => {
    await using server = dialect === "generate" ? generateServer() : simulateServer();
    await using gateway = await startGateway({
      settings: { upstream: { url: server.url, dialect }, routes },
    });
    const groups = dialect === "chat" ? GROUPS : sized(OF_UPSTREAM, GROUPS);
    const outcomes = await outcomesOf(gateway.url, gateway.key, groups);
    const faults = outcomes.filter(({ fault }) => fault !== undefined);
    assertEquals(faults.filter(({ holds }) => !IMPOSSIBLE[dialect]?.test(holds)), []);
    assert(outcomes.length >= 45);
  });
}

// the gate reaches the same simulator over a socket
Deno.test("every conformance check holds over the built-in simulator", PROOF, async () => {
  await using gateway = await startGateway({ settings: { routes } });
  const outcomes = await outcomesOf(gateway.url, gateway.key);
  assertEquals(outcomes.filter(({ fault }) => fault !== undefined), []);
});

Deno.test("a gateway that bends the formats is found out", async () => {
  await using gateway = await startGateway({ settings: { routes } });
  // what others do: drop the role, repeat a call's name, forget [DONE], say 200 to everything
  const crooked = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    const reply = await fetch(`${gateway.url}${pathname}`, {
      method: request.method,
      headers: request.headers,
      ...(request.method === "POST" ? { body: await request.text() } : {}),
    });
    const text = (await reply.text())
      .replace(/data: \[DONE\]\n\n$/, "")
      .replaceAll('"role":"assistant"', '"role":"model"')
      .replaceAll('"stop_reason":"tool_use"', '"stop_reason":"end_turn"')
      .replaceAll('"type":"text_delta"', '"type":"thinking_delta"')
      .replaceAll(/"(input|prompt)_tokens":\d+/g, '"$1_tokens":0');
    return new Response(text, { headers: { "content-type": reply.headers.get("content-type")! } });
  });
  const outcomes = await outcomesOf(`http://127.0.0.1:${crooked.addr.port}`, gateway.key);
  const faults = outcomes.filter(({ fault }) => fault !== undefined);
  assert(faults.length >= 15, `${faults.length} of ${outcomes.length}`);
  assert(faults.some(({ group, holds }) => group === "chat" && holds.startsWith("a stream is")));
  assert(faults.some(({ group, holds }) => group === "messages" && holds.includes("demanded")));
  assert(faults.some(({ group, holds }) => group === "responses" && holds.startsWith("streaming")));
  await crooked.shutdown();
});
