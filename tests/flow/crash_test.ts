import { openDatabase } from "../../src/ground/database/mod.ts";
import { audit, RULES } from "../../src/money/ledger/mod.ts";
import { assert, assertEquals } from "../assert.ts";
import { startCommand } from "../fake/command.ts";
import { Random, testSeed } from "../fake/random.ts";
import { serveHere } from "../fake/shell.ts";
import { tempDir, until } from "../fake/temp.ts";
import { chunk, completion, eventStream, fakeUpstream, sse } from "../fake/upstream.ts";
import { sized } from "../tier.ts";

/** Each takes a process of its own. */
const ROUNDS = sized(2, 50);
const CLIENTS = 12;
const KEY = `sk-${"k".repeat(40)}`;

/** Credits by the output token, and by the input token of embeddings, so that a charge says which answer it is for. */
const SETTINGS = {
  port: 0,
  tiers: [{ above: 0, minute: 1e9, hour: 1e9, day: 1e9 }],
  routes: {
    token: {
      context: 100_000,
      maxOutput: 1_000,
      minimum: 1,
      prices: { input: 0, cached: 0, output: 1_000_000 },
    },
    vector: { kind: "embeddings", minimum: 1, prices: { input: 1_000_000 } },
  },
};

/** An answer that a client has received to its last byte. */
interface Received {
  readonly requestId: string;
  readonly tokens: number;
}

/** Asks until the gateway is gone; answers what arrived whole. */
async function keepAsking(url: string, random: Random, into: Received[]): Promise<void> {
  while (true) {
    const tokens = random.integer(1, 30);
    const kind = random.pick(["stream", "whole", "embeddings"] as const);
    const stream = kind === "stream";
    try {
      const path = kind === "embeddings" ? "embeddings" : "chat/completions";
      const reply = await fetch(`${url}/v1/${path}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${KEY}`,
          "content-type": "application/json",
          // the audit compares their roll-ups with the requests that are recorded
          "x-sluice-tags": `kind=${kind},tokens=${tokens}`,
        },
        body: JSON.stringify(
          kind === "embeddings" ? { model: "vector", input: `tokens=${tokens}` } : {
            model: "token",
            stream,
            max_tokens: 100,
            messages: [{ role: "user", content: `tokens=${tokens}` }],
          },
        ),
      });
      const text = await reply.text();
      assertEquals(reply.status, 200, text);
      const whole = stream ? text.endsWith("data: [DONE]\n\n") : text.endsWith("}");
      if (!whole) return;
      into.push({ requestId: reply.headers.get("x-request-id")!, tokens });
    } catch (error) {
      if (error instanceof TypeError) return; // the connection is gone
      throw error;
    }
  }
}

// Proves P2, P6.
Deno.test(`killed under load, ${ROUNDS} times: what was answered is charged once, nothing else is`, async () => {
  const seed = testSeed();
  const random = new Random(seed);
  await using upstream = fakeUpstream(({ body }) => {
    if (body === undefined) return new Response("no list of models", { status: 404 });
    const tokens = Number(/tokens=(\d+)/.exec(body.input ?? body.messages[0].content)![1]);
    if (body.input !== undefined) {
      return Response.json({
        data: [{ index: 0, embedding: [0.5] }],
        usage: { prompt_tokens: tokens, total_tokens: tokens },
      });
    }
    const usage = { prompt_tokens: 5, completion_tokens: tokens, total_tokens: 5 + tokens };
    return body.stream
      ? eventStream(
        sse(chunk({ role: "assistant", content: "a" })),
        sse(
          ...Array.from({ length: 5 }, () => chunk({ content: "b" })),
          chunk({}, "stop"),
          JSON.stringify({ choices: [], usage }),
          "[DONE]",
        ),
      )
      : completion("ok", { usage });
  });
  await using dir = await tempDir();
  await Deno.writeTextFile(
    `${dir.path}/sluice.jsonc`,
    JSON.stringify({ ...SETTINGS, upstream: { url: upstream.url } }),
  );
  const options = { directory: dir.path, env: { SLUICE_OWNER_KEY: KEY, SLUICE_LOG_LEVEL: "warn" } };
  const seen = new Set<string>();
  let answered = 0;
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const received: Received[] = [];
      {
        await using gateway = startCommand([], options);
        const [, url] = await gateway.waitFor(/listening on (http:\S+)/);
        const clients = Array.from(
          { length: CLIENTS },
          (_, at) => keepAsking(url!, new Random(seed + round * 100 + at), received),
        );
        // some more than are admitted before credits are lent
        const enough = random.integer(25, 80);
        await until(() => received.length >= enough, { what: "the load" });
        gateway.signal("SIGKILL");
        await Promise.all(clients);
      }

      const database = await openDatabase({
        file: `${dir.path}/data/sluice.db`,
        durability: "full",
        rules: RULES,
        now: Date.now,
      });
      try {
        const rows = await database.all(
          "select request_id, charged_credits, price_credits from usage_records",
        );
        const charged = new Map(rows.map((row) => [String(row.request_id), row]));
        for (const { requestId, tokens } of received) {
          const row = charged.get(requestId);
          assertEquals([row?.charged_credits, row?.price_credits], [tokens, tokens], requestId);
        }
        // Charged although its last byte was not seen: killed between the commit and the sending. Of
        // at most one request of each client was on its way.
        const whole = new Set(received.map(({ requestId }) => requestId));
        const more = [...charged.keys()].filter((id) => !seen.has(id) && !whole.has(id));
        assert(more.length <= CLIENTS, `${more.length} charged that were not answered`);
        answered += received.length;
        for (const id of charged.keys()) seen.add(id);

        const { mismatches, uncollected } = await audit(database);
        assertEquals([mismatches, uncollected.requests], [[], 0]);
        const [integrity] = await database.all("pragma integrity_check");
        assertEquals(integrity!.integrity_check, "ok");
      } finally {
        await database.close();
      }
    }
    // the next start releases what the killed gateway held
    await using gateway = serveHere([], options);
    await gateway.waitFor(/listening on/);
    const database = await openDatabase({
      file: `${dir.path}/data/sluice.db`,
      durability: "full",
      rules: RULES,
      now: Date.now,
    });
    const held = await database.one(
      "select (select count(*) from holds) as holds, (select sum(held) from balances) as held",
    );
    await database.close();
    assertEquals([held!.holds, held!.held], [0, 0]);
    assert(answered > ROUNDS * 5, `only ${answered} requests were answered`);
  } catch (error) {
    throw new Error(`SLUICE_TEST_SEED=${seed}`, { cause: error });
  }
});
