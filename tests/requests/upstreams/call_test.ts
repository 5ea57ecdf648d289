import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { startGateway, statusOf, usageRecords } from "../../fake/gateway.ts";
import { DEADLINE_MS, inTime, sleep, until } from "../../fake/temp.ts";
import {
  chunk,
  completion,
  eventStream,
  fakeUpstream,
  rawServer,
  readRequest,
  sse,
} from "../../fake/upstream.ts";

const encoder = new TextEncoder();

/** Two upstreams for one route, in failover order. */
function twoTargets(first: string, second: string) {
  return {
    upstreams: { first: { url: first }, second: { url: second } },
    routes: {
      "svc-k2": {
        targets: [{ upstream: "first", model: "model-a" }, {
          upstream: "second",
          model: "model-b",
        }],
      },
    },
  };
}

/** What a route of a test's own needs. */
const OWN_ROUTE = {
  context: 100_000,
  maxOutput: 1_024,
  minimum: 1,
  prices: { input: 1, cached: 1, output: 1 },
};

/** A route by the name of each upstream, with that one as its only target. */
function routesTo(names: readonly string[]) {
  return Object.fromEntries(
    names.map((name) => [
      `to-${name}`,
      { ...OWN_ROUTE, targets: [{ upstream: name, model: "m" }] },
    ]),
  );
}

const FAILOVER: readonly { status: number; calls: [number, number]; answers: number }[] = [
  { status: 429, calls: [1, 1], answers: 200 },
  { status: 500, calls: [1, 1], answers: 200 },
  { status: 503, calls: [1, 1], answers: 200 },
  { status: 529, calls: [1, 1], answers: 200 },
  { status: 401, calls: [1, 1], answers: 200 },
  { status: 403, calls: [1, 1], answers: 200 },
  { status: 404, calls: [1, 1], answers: 200 },
  { status: 302, calls: [1, 1], answers: 200 },
  { status: 400, calls: [1, 0], answers: 400 },
  { status: 422, calls: [1, 0], answers: 400 },
];

// Proves P9.
Deno.test("by the status of the first target the next is asked, or nobody else", async () => {
  await using first = fakeUpstream(({ path }) =>
    Response.json({ error: { message: "no" } }, {
      status: Number(/\d+/.exec(path)![0]),
      headers: { location: "http://127.0.0.1:9/" },
    })
  );
  await using second = fakeUpstream(() => completion("from the second"));
  // an upstream for each, as what is refused once may rest
  await using gateway = await startGateway({
    settings: {
      upstreams: {
        ...Object.fromEntries(FAILOVER.map(({ status }) => [
          `first-${status}`,
          { url: first.url.replace("/v1", `/${status}/v1`) },
        ])),
        second: { url: second.url },
      },
      routes: Object.fromEntries(FAILOVER.map(({ status }) => [`to-${status}`, {
        ...OWN_ROUTE,
        targets: [{ upstream: `first-${status}`, model: "model-a" }, {
          upstream: "second",
          model: "model-b",
        }],
      }])),
    },
  });
  for (const { status, calls, answers } of FAILOVER) {
    const before = [first, second].map(({ received }) => received.length);
    const reply = await gateway.chat("Hi", { model: `to-${status}` });
    await reply.body?.cancel();
    assertEquals(reply.status, answers, `${status}`);
    const asked = [first, second].map(({ received }, at) => received.length - before[at]!);
    assertEquals(asked, calls, `${status}`);
    if (answers === 200) assertEquals(reply.headers.get("x-sluice-upstream"), "second");
    if (calls[1] === 1) assertEquals(second.received.at(-1)!.body.model, "model-b");
  }
});

Deno.test("a target that refuses connections: the next is asked", async () => {
  const gone = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${(gone.addr as Deno.NetAddr).port}/v1`;
  gone.close();
  await using second = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({ settings: twoTargets(url, second.url) });
  const reply = await gateway.chat("Hi");
  assertEquals([reply.status, reply.headers.get("x-sluice-upstream")], [200, "second"]);
  await reply.body?.cancel();
  const [record] = await usageRecords(gateway);
  assertEquals([record!.attempts, record!.upstream, record!.upstream_model], [
    2,
    "second",
    "model-b",
  ]);
});

Deno.test("a 5xx of the only target is asked once more, after a wait", async () => {
  let calls = 0;
  await using upstream = fakeUpstream(() =>
    ++calls === 1 ? new Response("oops", { status: 502 }) : completion("ok")
  );
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  assertEquals(await statusOf(gateway.chat("Hi")), 200);
  assertEquals(upstream.received.length, 2);
  assertStringIncludes(gateway.log(), "upstream attempt failed");
});

Deno.test("Retry-After is honoured within the caller's patience, else passed on", async () => {
  let calls = 0;
  let wait = "1";
  await using upstream = fakeUpstream(() =>
    ++calls % 2 === 1
      ? new Response("busy", { status: 429, headers: { "retry-after": wait } })
      : completion("ok")
  );
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  const reply = statusOf(gateway.chat("Hi"));
  assertEquals(await inTime(reply, 900, "waits"), "waits");
  assertEquals(await reply, 200);
  wait = "120";
  const busy = await gateway.chat("Hi");
  assertEquals([busy.status, busy.headers.get("retry-after")], [429, "60"]);
  assertEquals((await busy.json()).error.code, "rate_limit_exceeded");
  assertEquals(calls, 3);
});

Deno.test("all targets busy is 429; one busy and one broken is 503", async () => {
  await using busy = fakeUpstream(() => new Response("", { status: 429 }));
  await using broken = fakeUpstream(() => new Response("", { status: 500 }));
  await using both = await startGateway({ settings: twoTargets(busy.url, busy.url) });
  assertEquals(await statusOf(both.chat("Hi")), 429);
  await using mixed = await startGateway({ settings: twoTargets(busy.url, broken.url) });
  const reply = await mixed.chat("Hi");
  await reply.body?.cancel();
  assertEquals(reply.status, 503);
  assertMatch(reply.headers.get("retry-after")!, /^\d+$/);
});

Deno.test("a pooled connection that dies before the response: exactly one POST arrives", async () => {
  let posts = 0;
  await using upstream = rawServer(async (connection) => {
    for (let index = 0;; index++) {
      if (await readRequest(connection) === undefined) return;
      posts++;
      if (index === 1) return; // the second request on this connection: gone without a word
      const body = await completion("first").text();
      await connection.write(encoder.encode(
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      ));
    }
  });
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  assertEquals(await statusOf(gateway.chat("one")), 200);
  assertEquals(await statusOf(gateway.chat("two")), 503);
  await sleep(100);
  assertEquals([posts, upstream.connections], [2, 1]);
  const [, second] = await usageRecords(gateway);
  assertEquals([second!.attempts, second!.ending], [1, "upstream_failed"]);
});

Deno.test("the connect timeout is one: a server that accepts nothing", {
  // Deno 2.4 cannot cancel a connection that is being made: it ends when the system gives up
  sanitizeOps: false,
}, async () => {
  // a listener whose backlog is full: connections are neither accepted nor refused
  const python = new Deno.Command("python3", {
    args: [
      "-c",
      `
import socket, sys
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(0)
kept = []
for _ in range(4):
    client = socket.socket()
    client.setblocking(False)
    try:
        client.connect(listener.getsockname())
    except BlockingIOError:
        pass
    kept.append(client)
print(listener.getsockname()[1], flush=True)
sys.stdin.read()`,
    ],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const reader = python.stdout.getReader();
  const port = new TextDecoder().decode((await reader.read()).value).trim();
  try {
    await using gateway = await startGateway({
      settings: {
        upstreams: {
          full: {
            url: `http://127.0.0.1:${port}/v1`,
            timeouts: { connectMs: 1_000, readMs: DEADLINE_MS },
          },
        },
      },
    });
    const asked = gateway.chat("Hi");
    assertEquals(await inTime(asked, 1_900, "waits"), "waits", "two attempts of a second each");
    const reply = await asked;
    assertEquals(reply.status, 503);
    assertStringIncludes((await reply.json()).error.message, "cannot be reached");
    assertStringIncludes(gateway.log(), "not_sent: ETIMEDOUT");
  } finally {
    await python.stdin.close();
    await reader.cancel();
    await python.status;
    if (Deno.version.deno.startsWith("2.4.")) await sleep(3_000);
  }
});

Deno.test("the read and stream timeouts end a silent upstream", async () => {
  await using upstream = rawServer(async (connection) => {
    const request = await readRequest(connection);
    if (request?.includes('"stream":true')) {
      await connection.write(encoder.encode(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" +
          'data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n',
      ));
    }
    await connection.read(new Uint8Array(1));
  });
  await using gateway = await startGateway({
    settings: {
      upstreams: { slow: { url: upstream.url, timeouts: { readMs: 1_000, streamMs: 1_000 } } },
    },
  });
  const whole = await gateway.chat("Hi");
  assertEquals(whole.status, 503);
  await whole.body?.cancel();
  const stream = await gateway.chat("Hi", { stream: true });
  assertEquals(stream.status, 200);
  assertStringIncludes(await stream.text(), '"code":"upstream_unavailable"');
});

const UNUSABLE: Readonly<Record<string, string>> = {
  "HTML with status 200":
    "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 4\r\n\r\n<a/>",
  "JSON of another shape":
    'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{"ok":1}\n',
  "status 204": "HTTP/1.1 204 No Content\r\n\r\n",
  "a body that breaks off":
    'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n{"id"',
  "what is not HTTP": "SSH-2.0-OpenSSH_9.2\r\n",
  "nothing": "",
};

for (const stream of [false, true]) {
  Deno.test(`an upstream whose answer is unusable: 503, asked once (stream: ${stream})`, async () => {
    await using stack = new AsyncDisposableStack();
    const posts = new Map<string, number>();
    const upstreams: Record<string, { url: string }> = {};
    const cases = Object.entries(UNUSABLE).map(([what, bytes], at) => ({
      what,
      bytes,
      name: `one-${at}`,
    }));
    for (const { name, bytes } of cases) {
      upstreams[name] = stack.use(rawServer(async (connection) => {
        if (await readRequest(connection) === undefined) return;
        posts.set(name, (posts.get(name) ?? 0) + 1);
        if (bytes !== "") await connection.write(encoder.encode(bytes));
      }));
    }
    await using gateway = await startGateway({
      settings: {
        upstreams: Object.fromEntries(
          Object.entries(upstreams).map(([name, { url }]) => [name, { url }]),
        ),
        routes: routesTo(Object.keys(upstreams)),
      },
    });
    for (const { what, name } of cases) {
      const reply = await gateway.chat("Hi", { stream, model: `to-${name}` });
      assertEquals(reply.status, 503, what);
      assertEquals((await reply.json()).error.code, "upstream_unavailable", what);
      assertEquals(posts.get(name), 1, what);
    }
  });
}

const REPORTED = [
  {
    name: "long",
    error: { message: "maximum context length is 4096 tokens, got 9000", code: 400 },
    status: 400,
    code: "context_length_exceeded",
    asked: 1,
  },
  {
    name: "busy",
    error: { message: "busy", code: 429 },
    status: 429,
    code: "rate_limit_exceeded",
    asked: 1,
  },
  { name: "down", error: "down", status: 503, code: "upstream_unavailable", asked: 2 },
];

Deno.test("an upstream that reports an error as JSON with status 200", async () => {
  await using upstream = fakeUpstream(({ path }) => {
    const { error } = REPORTED.find(({ name }) => path.startsWith(`/${name}/`))!;
    return Response.json({ error });
  });
  await using gateway = await startGateway({
    settings: {
      upstreams: Object.fromEntries(
        REPORTED.map(({ name }) => [name, { url: upstream.url.replace("/v1", `/${name}/v1`) }]),
      ),
      routes: routesTo(REPORTED.map(({ name }) => name)),
    },
  });
  for (const { name, status, code, asked } of REPORTED) {
    const before = upstream.received.length;
    for (const stream of [false, true]) {
      const reply = await gateway.chat("Hi", { stream, model: `to-${name}` });
      assertEquals([reply.status, (await reply.json()).error.code], [status, code]);
    }
    assertEquals(upstream.received.length - before, 2 * asked, code);
  }
});

Deno.test("a compressed reply is read although none was asked for", async () => {
  await using upstream = fakeUpstream(async () => {
    const plain = await completion("squeezed").text();
    const zipped = new Blob([plain]).stream().pipeThrough(new CompressionStream("gzip"));
    return new Response(zipped, {
      headers: { "content-encoding": "gzip", "content-type": "application/json" },
    });
  });
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  const reply = await gateway.chat("Hi");
  assertEquals((await reply.json()).choices[0].message.content, "squeezed");
});

Deno.test("an upstream's 400 reaches the caller with its message, without secrets", async () => {
  const secret = "upstream-secret-0123456789";
  let message = "";
  await using upstream = fakeUpstream(() =>
    Response.json({ error: { message, param: "top_p" } }, { status: 400 })
  );
  const { host } = new URL(upstream.url);
  await using gateway = await startGateway({
    settings: { upstreams: { one: { url: upstream.url, key: secret } } },
  });
  message = `top_p is bad; your key ${secret} at ${host} is sk-live-1234567890`;
  const reply = await gateway.chat("Hi");
  const { error } = await reply.json();
  assertEquals([reply.status, error.code, error.param], [400, "invalid_request", "top_p"]);
  assertEquals(error.message, "top_p is bad; your key [secret] at [upstream] is [secret]");
  message = "This model's maximum context length is 8192 tokens";
  const long = (await (await gateway.chat("Hi")).json()).error;
  assertEquals(
    [long.code, long.message],
    [
      "context_length_exceeded",
      `prompt is too long: 8193 tokens > 8192 maximum (${message})`,
    ],
  );
  assert(!gateway.log().includes(secret));
});

Deno.test("what is sent: mapped model, defaults, own headers, the caller's unknown fields", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: {
      upstreams: {
        one: { url: `${upstream.url}/`, key: "secret-key", headers: { "X-Team": "blue" } },
      },
      routes: { "svc-k2": { targets: [{ upstream: "one", model: "real-name" }] } },
    },
  });
  const reply = await gateway.chat("Hi", {
    seed: 7,
    logit_bias: { "5": 1 },
    x_unknown: [{ deep: null }],
  });
  const body = await reply.json();
  assertEquals([body.model, body.choices[0].message.content], ["svc-k2", "ok"]);
  const [sent] = upstream.received;
  assertEquals(sent!.path, "/v1/chat/completions");
  assertEquals(sent!.body, {
    model: "real-name",
    messages: [{ role: "user", content: "Hi" }],
    seed: 7,
    logit_bias: { "5": 1 },
    x_unknown: [{ deep: null }],
    max_tokens: 1_024,
    temperature: 0.6,
    top_p: 1,
  });
  assertEquals(sent!.headers.get("authorization"), "Bearer secret-key");
  assertEquals(sent!.headers.get("x-team"), "blue");
  assertEquals(sent!.headers.get("content-length"), String(sent!.raw.length));
});

Deno.test("quirks: moonshot is sent no sampling, and its own output limit", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: { upstreams: { one: { url: upstream.url, quirks: "moonshot" } } },
  });
  await (await gateway.chat("Hi", { temperature: 1, presence_penalty: 1, max_tokens: 50 })).body
    ?.cancel();
  assertEquals(Object.keys(upstream.received[0]!.body).sort(), [
    "max_completion_tokens",
    "messages",
    "model",
  ]);
});

const tool = (name: string) => ({
  type: "function",
  function: { name, parameters: { type: "object" } },
});
const named = { type: "function", function: { name: "b" } };

const MOONSHOT = [
  {
    why: "k3 calls a named tool because it is offered that one alone",
    body: { model: "svc-k3", tools: [tool("a"), tool("b")], tool_choice: named },
    sent: { tools: [tool("b")], tool_choice: "required", reasoning_effort: "max" },
  },
  {
    why: "k2.6 gives up reasoning for a demanded tool",
    body: { model: "svc-k2.6", tools: [tool("b")], tool_choice: "required" },
    sent: { tool_choice: "required", thinking: { type: "disabled" } },
  },
  {
    why: "k2.6 that is told to reason chooses freely",
    body: {
      model: "svc-k2.6",
      tools: [tool("b")],
      tool_choice: "required",
      thinking: { type: "enabled" },
    },
    sent: { tool_choice: "auto", thinking: { type: "enabled" } },
  },
  {
    why: "a model that does not reason takes any choice",
    body: { model: "svc-k2", tools: [tool("b")], tool_choice: named },
    sent: { tool_choice: named },
  },
  {
    why: "the beginning of an answer is marked",
    body: {
      model: "svc-k2",
      messages: [{ role: "user", content: "Hi" }, { role: "assistant", content: "{" }],
    },
    sent: {
      messages: [{ role: "user", content: "Hi" }, {
        role: "assistant",
        content: "{",
        partial: true,
      }],
    },
  },
  {
    why: "a turn that calls tools has reasoning, if an empty one",
    body: {
      model: "svc-k3",
      messages: [
        { role: "user", content: "Hi" },
        {
          role: "assistant",
          tool_calls: [{ id: "x", type: "function", function: { name: "b", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "x", content: "1" },
      ],
    },
    sent: {
      messages: [
        { role: "user", content: "Hi" },
        {
          role: "assistant",
          tool_calls: [{ id: "x", type: "function", function: { name: "b", arguments: "{}" } }],
          reasoning_content: "",
        },
        { role: "tool", tool_call_id: "x", content: "1" },
      ],
    },
  },
];

Deno.test("quirks: moonshot: tools, reasoning and beginnings are sent as each of its models takes them", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  const target = (model: string) => ({ targets: [{ upstream: "one", model }] });
  await using gateway = await startGateway({
    settings: {
      upstreams: { one: { url: upstream.url, quirks: "moonshot" } },
      routes: {
        "svc-k2": target("kimi-k2"),
        "svc-k2.6": target("kimi-k2.6"),
        "svc-k3": target("kimi-k3"),
      },
    },
  });
  for (const { why, body, sent } of MOONSHOT) {
    assertEquals(await statusOf(gateway.chat("Hi", body)), 200, why);
    const got = upstream.received.at(-1)!.body;
    const wanted = Object.fromEntries(Object.keys(sent).map((field) => [field, got[field]]));
    assertEquals<unknown>(wanted, sent, why);
  }
});

const EARLIER_REASONING = [
  { quirks: "vllm", sent: { reasoning: "R", reasoning_content: "R" } },
  { quirks: "ollama", sent: { reasoning: "R", reasoning_content: "R" } },
  { quirks: "openrouter", sent: { reasoning: "R", reasoning_content: "R" } },
  { quirks: "openai", sent: {} },
  { quirks: "deepseek", sent: { reasoning_content: "R" } },
] as const;

Deno.test("quirks: earlier reasoning is sent as each upstream takes it", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: {
      upstreams: Object.fromEntries(
        EARLIER_REASONING.map(({ quirks }) => [quirks, { url: upstream.url, quirks }]),
      ),
      routes: routesTo(EARLIER_REASONING.map(({ quirks }) => quirks)),
    },
  });
  const called = { id: "x", type: "function", function: { name: "a", arguments: "{}" } };
  const answers = [
    { role: "assistant", content: null, tool_calls: [called], reasoning_content: "R" },
    { role: "assistant", content: null, tool_calls: [called] },
  ];
  const messages = answers.flatMap((answer) => [
    { role: "user", content: "Hi" },
    answer,
    { role: "tool", tool_call_id: "x", content: "1" },
  ]);
  for (const { quirks, sent } of EARLIER_REASONING) {
    const body = { messages, model: `to-${quirks}` };
    assertEquals(await statusOf(gateway.chat("", body)), 200, quirks);
    const [first, second] = upstream.received.at(-1)!.body.messages
      .filter(({ role }: { role: string }) => role === "assistant");
    const { reasoning_content: _, ...plain } = answers[0]!;
    assertEquals(first, { ...plain, ...sent }, quirks);
    const empty = quirks === "deepseek" ? { reasoning_content: "" } : {};
    assertEquals(second, { ...plain, ...empty }, quirks);
  }
});

Deno.test("quirks: vllm goes on with an assistant's message at the end", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: { upstreams: { one: { url: upstream.url, quirks: "vllm" } } },
  });
  const messages = [{ role: "user", content: "Hi" }, { role: "assistant", content: "Well," }];
  assertEquals(await statusOf(gateway.chat("", { messages })), 200);
  assertEquals(await statusOf(gateway.chat("", { messages: messages.slice(0, 1) })), 200);
  assertEquals(
    upstream.received.map(({ body }) => [body.continue_final_message, body.add_generation_prompt]),
    [[true, false], [undefined, undefined]],
  );
});

Deno.test("n is asked for one by one where the upstream gives one answer at a time", async () => {
  let calls = 0;
  await using upstream = fakeUpstream(({ body }) => {
    const which = ++calls;
    assertEquals([body.n, body.max_completion_tokens], [undefined, 50]);
    return body.stream
      ? eventStream(
        sse(chunk({ role: "assistant", content: `${which}` }), chunk({}, "stop")),
        sse(
          JSON.stringify({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } }),
          "[DONE]",
        ),
      )
      : completion(`${which}`);
  });
  await using gateway = await startGateway({
    settings: { upstreams: { one: { url: upstream.url, quirks: "moonshot" } } },
  });
  const whole = await (await gateway.chat("Hi", { n: 3, max_tokens: 50 })).json();
  assertEquals(
    // deno-lint-ignore no-explicit-any -- a reply as it came
    whole.choices.map(({ index, message }: any) => [index, message.content]).toSorted(),
    [[0, "1"], [1, "2"], [2, "3"]],
  );
  assertEquals([whole.usage.prompt_tokens, whole.usage.completion_tokens], [21, 9]);
  const streamed = await (await gateway.chat("Hi", {
    n: 3,
    max_tokens: 50,
    stream: true,
    stream_options: { include_usage: true },
  })).text();
  const datas = streamed.split("\n\n").filter((one) => one.startsWith("data: {"))
    .map((one) => JSON.parse(one.slice(6)));
  const ended = datas.filter(({ choices }) => choices[0]?.finish_reason === "stop");
  assertEquals(ended.map(({ choices }) => choices[0].index).toSorted(), [0, 1, 2]);
  assertEquals(datas.at(-1).usage.total_tokens, 30);
  assertEquals(streamed.split("[DONE]").length, 2);
  const records = await usageRecords(gateway);
  assertEquals(records.map((one) => [one.attempts, one.input_tokens, one.output_tokens]), [
    [3, 21, 9],
    [3, 21, 9],
  ]);
});

Deno.test("n: answers of very different length have each the credits that they need", async () => {
  let calls = 0;
  await using upstream = fakeUpstream(() => {
    const words = ++calls === 1 ? 10 : 6_000;
    const texts = Array.from({ length: words }, () => chunk({ content: "word " }));
    return eventStream(sse(...texts, chunk({}, "stop"), "[DONE]"));
  });
  await using gateway = await startGateway({
    settings: { upstreams: { one: { url: upstream.url, quirks: "ollama" } } },
  });
  const text = await (await gateway.chat("Hi", { n: 3, max_tokens: 8_000, stream: true })).text();
  assertEquals(text.match(/"finish_reason":"\w+"/g), Array(3).fill('"finish_reason":"stop"'));
});

Deno.test("n: one answer that fails fails them all, and the others are given up", async () => {
  for (const stream of [false, true]) {
    let calls = 0;
    await using upstream = fakeUpstream(() =>
      ++calls === 2
        ? new Response("no", { status: 400 })
        : stream
        ? eventStream(sse(chunk({ role: "assistant", content: "a" })), sse(chunk({}, "stop")))
        : completion("a")
    );
    await using gateway = await startGateway({
      settings: { upstreams: { one: { url: upstream.url, quirks: "moonshot" } } },
    });
    assertEquals(await statusOf(gateway.chat("Hi", { n: 3, stream })), 400);
    const [record] = await usageRecords(gateway);
    assertEquals([record!.ending, record!.usage_source], ["refused", null]);
  }
});

Deno.test("a target that keeps failing rests: others are asked first until it is probed", async () => {
  let now = Date.now();
  let broken = true;
  await using first = fakeUpstream(() =>
    broken ? new Response("", { status: 500 }) : completion("ok")
  );
  await using second = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: twoTargets(first.url, second.url),
    now: () => now,
  });
  const ask = async () => {
    const reply = await gateway.chat("Hi");
    await reply.body?.cancel();
    return reply.headers.get("x-sluice-upstream");
  };
  for (let round = 0; round < 5; round++) assertEquals(await ask(), "second");
  assertEquals(first.received.length, 5);
  for (let round = 0; round < 5; round++) await ask();
  assertEquals(first.received.length, 5, "a resting target is not asked first");
  broken = false;
  now += 6_000;
  assertEquals(await ask(), "first");
  await until(() => gateway.gateway.inFlight.count === 0);
});
