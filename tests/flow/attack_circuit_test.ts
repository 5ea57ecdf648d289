import { assert, assertEquals } from "../assert.ts";
import { customer } from "../fake/customer.ts";
import { startGateway, type TestGateway } from "../fake/gateway.ts";
import { chunk, completion, fakeUpstream, rawServer, readRequest, sse } from "../fake/upstream.ts";

const START_MS = Date.UTC(2030, 0, 1);
/** Longer than the first cooldown. */
const RESTED_MS = 6_000;
const ROUTE = {
  context: 9_000,
  maxOutput: 4_000,
  minimum: 1,
  prices: { input: 1, cached: 1, output: 1 },
};

function asks(more: object = {}): string {
  return JSON.stringify({ model: "r", messages: [{ role: "user", content: "Hi" }], ...more });
}

async function ask(gateway: TestGateway, more: object = {}, key = gateway.key) {
  const reply = await gateway.post("/v1/chat/completions", asks(more), { key });
  const text = await reply.text();
  return { status: reply.status, from: reply.headers.get("x-sluice-upstream"), text };
}

/** The key of another account. */
async function otherKey(gateway: TestGateway): Promise<string> {
  const { keys: [key = ""] } = await customer(gateway, 1_000_000);
  return key;
}

Deno.test("requests of one account that a healthy upstream answers with an error move nobody else's", async () => {
  const statuses = [402, 403, 404, 409, 410, 415, 451];
  await using upstream = fakeUpstream(({ body }) =>
    body.file_id === undefined
      ? completion("hi")
      : Response.json({ error: { message: "No such File object: file-x" } }, {
        status: Number(body.model),
      })
  );
  await using second = fakeUpstream(() => completion("second"));
  const upstreams = statuses.map((status) => [`a${status}`, { url: upstream.url }] as const);
  const routeOf = (status: number) => ({
    ...ROUTE,
    targets: [{ upstream: `a${status}`, model: `${status}` }, { upstream: "b", model: "x" }],
  });
  const routes = statuses.map((status) => [`r${status}`, routeOf(status)] as const);
  await using gateway = await startGateway({
    now: () => START_MS,
    settings: {
      upstreams: { ...Object.fromEntries(upstreams), b: { url: second.url } },
      routes: Object.fromEntries(routes),
    },
  });
  const key = await otherKey(gateway);
  for (const status of statuses) {
    const [model, first] = [`r${status}`, `a${status}`];
    assertEquals((await ask(gateway, { model })).from, first);
    for (let at = 0; at < 5; at++) await ask(gateway, { model, file_id: "file-x" });
    assertEquals((await ask(gateway, { model }, key)).from, first);
  }
});

Deno.test("an answer whose size the caller asked for says nothing of the upstream", async () => {
  // 2,000 tokens with 20 alternatives each, as OpenAI writes them
  const alternative = { token: " the", logprob: -0.1, bytes: [32, 116, 104, 101] };
  const one = { ...alternative, top_logprobs: new Array(20).fill(alternative) };
  await using upstream = fakeUpstream(({ body }) =>
    body.logprobs === true
      ? completion("", {
        choices: [{
          index: 0,
          message: { role: "assistant", content: " the".repeat(2_000) },
          finish_reason: "stop",
          logprobs: { content: new Array(2_000).fill(one) },
        }],
      })
      : completion("hi")
  );
  await using second = fakeUpstream(() => completion("second"));
  await using gateway = await startGateway({
    now: () => START_MS,
    settings: {
      upstreams: { a: { url: upstream.url }, b: { url: second.url } },
      routes: {
        r: {
          ...ROUTE,
          targets: [{ upstream: "a", model: "x" }, { upstream: "b", model: "x" }],
        },
      },
      replies: { values: 1_000 }, // of what is not asked for
    },
  });
  const large = { logprobs: true, top_logprobs: 20, max_tokens: 2_000 };
  const answers = [];
  for (let at = 0; at < 5; at++) answers.push(await ask(gateway, large));
  // everybody else is sent to the second target now
  assertEquals((await ask(gateway, {}, await otherKey(gateway))).from, "a");
  assertEquals(answers.map(({ status }) => status), [200, 200, 200, 200, 200]);
});

const FIRST_EVENTS = {
  chat: sse(chunk({ role: "assistant", content: "" })),
  messages: `event: message_start\ndata: ${
    JSON.stringify({
      type: "message_start",
      message: {
        id: "m",
        type: "message",
        role: "assistant",
        model: "x",
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 1, output_tokens: 0 },
      },
    })
  }\n\n`,
};

for (const dialect of ["chat", "messages"] as const) {
  Deno.test(`a first target that says no more than that an answer begins keeps nobody waiting (${dialect})`, async () => {
    let asked = 0;
    await using hung = rawServer(async (connection) => {
      if (await readRequest(connection) === undefined) return;
      asked++;
      const head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
      await connection.write(new TextEncoder().encode(head + FIRST_EVENTS[dialect]));
      await connection.read(new Uint8Array(1)); // until it is closed
    });
    await using second = fakeUpstream(() => completion("second"));
    await using gateway = await startGateway({
      now: () => START_MS,
      settings: {
        upstreams: {
          a: { url: hung.url, dialect, timeouts: { headersMs: 500, streamMs: 2_000 } },
          b: { url: second.url },
        },
        routes: {
          r: {
            ...ROUTE,
            targets: [{ upstream: "a", model: "x" }, { upstream: "b", model: "x" }],
          },
        },
      },
    });
    for (let at = 0; at < 3; at++) await ask(gateway, { stream: true });
    assert(asked === 1, `each of three callers was sent to the target that hangs: ${asked}`);
  });
}

for (
  const [why, reply] of [
    ["closes without an answer", ""],
    [
      "answers with a page",
      "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 1\r\n\r\nx",
    ],
    ["answers nothing with 204", "HTTP/1.1 204 No Content\r\n\r\n"],
  ]
) {
  Deno.test(`a first target that ${why}: a probe's caller is answered by the second`, async () => {
    let nowMs = START_MS;
    await using broken = rawServer(async (connection) => {
      if (await readRequest(connection) === undefined) return;
      await connection.write(new TextEncoder().encode(reply));
    });
    await using second = fakeUpstream(() => completion("second"));
    await using gateway = await startGateway({
      now: () => nowMs,
      settings: {
        upstreams: { a: { url: broken.url }, b: { url: second.url } },
        routes: {
          r: {
            ...ROUTE,
            targets: [{ upstream: "a", model: "x" }, { upstream: "b", model: "x" }],
          },
        },
      },
    });
    while ((await ask(gateway)).status !== 200); // until it is known
    nowMs += RESTED_MS;
    const answers = [await ask(gateway), await ask(gateway)];
    assertEquals(answers.map(({ status }) => status), [200, 200]);
  });
}
