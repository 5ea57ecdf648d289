import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { audit } from "../../../src/money/ledger/mod.ts";
import { customer } from "../../fake/customer.ts";
import { startGateway, statusOf, usageRecords } from "../../fake/gateway.ts";
import { sharedGateway } from "../../fake/shared_gateway.ts";
import { sleep, until } from "../../fake/temp.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";

const encoder = new TextEncoder();

/** Sends bytes as they are; answers everything that comes back until `until` matches or the end. */
async function raw(
  { url }: { url: string },
  text: string,
  until = /\r\n\r\n[\s\S]*[}\n]$/,
): Promise<string> {
  const { hostname, port } = new URL(url);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  await connection.write(encoder.encode(text));
  const buffer = new Uint8Array(65_536);
  let answer = "";
  while (!until.test(answer)) {
    const size = await connection.read(buffer);
    if (size === null) break;
    answer += new TextDecoder().decode(buffer.subarray(0, size));
  }
  return answer;
}

const hello = { model: "svc-k2", messages: [{ role: "user", content: "Hello" }] };

interface Row {
  readonly when: string;
  readonly body?: unknown;
  readonly key?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly status: number;
  readonly code: string;
  readonly type?: string;
  readonly param?: string | null;
  readonly says?: string;
}

const unknownKey = `sk-${"z".repeat(40)}`;
const png = "data:image/png;base64,iVBORw0KGgo=";
const image = (
  url: string,
) => [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }];

const REFUSALS: readonly Row[] = [
  {
    when: "a malformed key",
    key: "hello",
    status: 401,
    code: "invalid_api_key",
    says: "Malformed",
  },
  {
    when: "an unknown key",
    key: unknownKey,
    status: 401,
    code: "invalid_api_key",
    says: "Unknown API key",
  },
  {
    when: "a key in the query string",
    path: "/v1/chat/completions?key=x",
    key: "",
    status: 401,
    code: "invalid_api_key",
  },
  { when: "no JSON", body: "{nope", status: 400, code: "invalid_request", says: "not valid JSON" },
  { when: "an empty body", body: "", status: 400, code: "invalid_request", says: "empty" },
  { when: "an array", body: [], status: 400, code: "invalid_request", says: "must be an object" },
  {
    when: "no model",
    body: { messages: hello.messages },
    status: 400,
    code: "invalid_request",
    param: "model",
  },
  {
    when: "no messages",
    body: { model: "svc-k2" },
    status: 400,
    code: "invalid_request",
    param: "messages",
  },
  {
    when: "empty messages",
    body: { ...hello, messages: [] },
    status: 400,
    code: "invalid_request",
    param: "messages",
  },
  {
    when: "an unknown role",
    body: { ...hello, messages: [{ role: "boss", content: "x" }] },
    status: 400,
    code: "invalid_request",
    param: "messages[0].role",
  },
  {
    when: "temperature 2.1",
    body: { ...hello, temperature: 2.1 },
    status: 400,
    code: "invalid_request",
    param: "temperature",
  },
  {
    when: "temperature -0.1",
    body: { ...hello, temperature: -0.1 },
    status: 400,
    code: "invalid_request",
    param: "temperature",
  },
  {
    when: "max_tokens 0",
    body: { ...hello, max_tokens: 0 },
    status: 400,
    code: "invalid_request",
    param: "max_tokens",
  },
  {
    when: "max_tokens 128001",
    body: { ...hello, max_tokens: 128_001 },
    status: 400,
    code: "invalid_request",
    param: "max_tokens",
  },
  {
    when: "max_tokens 1.5",
    body: { ...hello, max_tokens: 1.5 },
    status: 400,
    code: "invalid_request",
    param: "max_tokens",
  },
  {
    when: "max_tokens 128001 beside max_completion_tokens",
    body: { ...hello, max_tokens: 128_001, max_completion_tokens: 5 },
    status: 400,
    code: "invalid_request",
    param: "max_tokens",
  },
  {
    when: "max_completion_tokens 0",
    body: { ...hello, max_completion_tokens: 0 },
    status: 400,
    code: "invalid_request",
    param: "max_completion_tokens",
  },
  {
    when: "top_p 1.1",
    body: { ...hello, top_p: 1.1 },
    status: 400,
    code: "invalid_request",
    param: "top_p",
  },
  {
    when: "presence_penalty 3",
    body: { ...hello, presence_penalty: 3 },
    status: 400,
    code: "invalid_request",
    param: "presence_penalty",
  },
  {
    when: "frequency_penalty -3",
    body: { ...hello, frequency_penalty: -3 },
    status: 400,
    code: "invalid_request",
    param: "frequency_penalty",
  },
  { when: "n 0", body: { ...hello, n: 0 }, status: 400, code: "invalid_request", param: "n" },
  { when: "n 9", body: { ...hello, n: 9 }, status: 400, code: "invalid_request", param: "n" },
  {
    when: "five stop sequences",
    body: { ...hello, stop: ["a", "b", "c", "d", "e"] },
    status: 400,
    code: "invalid_request",
    param: "stop",
  },
  {
    when: "stream as text",
    body: { ...hello, stream: "true" },
    status: 400,
    code: "invalid_request",
    param: "stream",
  },
  {
    when: "an unknown tool_choice",
    body: { ...hello, tool_choice: "maybe" },
    status: 400,
    code: "invalid_request",
    param: "tool_choice",
  },
  {
    when: "a tool_choice that is no tool",
    body: { ...hello, tools: [], tool_choice: { type: "function", function: { name: "x" } } },
    status: 400,
    code: "invalid_request",
    param: "tool_choice",
  },
  {
    when: "an unknown response_format",
    body: { ...hello, response_format: { type: "xml" } },
    status: 400,
    code: "invalid_request",
    param: "response_format.type",
  },
  {
    when: "an unknown model",
    body: { ...hello, model: "svc-k4" },
    status: 404,
    code: "model_not_found",
    param: "model",
    says: "svc-k",
  },
  {
    when: "an image on a text route",
    body: { ...hello, messages: image(png) },
    status: 400,
    code: "invalid_request",
    param: "messages[0].content[0].image_url",
  },
  {
    when: "a remote image on an inline route",
    body: { model: "svc-k2.5", messages: image("https://cdn.example/a.png") },
    status: 400,
    code: "invalid_request",
    says: "remote",
  },
  {
    when: "a video",
    body: {
      model: "svc-k3",
      messages: [{ role: "user", content: [{ type: "video_url", video_url: { url: "x" } }] }],
    },
    status: 400,
    code: "invalid_request",
    says: "video",
  },
  {
    when: "a video as an image",
    body: { model: "svc-k3", messages: image("https://cdn.example/a.mp4?x=1") },
    status: 400,
    code: "invalid_request",
    says: "video",
  },
  {
    when: "thinking on svc-k3",
    body: { ...hello, model: "svc-k3", thinking: { type: "enabled" } },
    status: 400,
    code: "invalid_request",
    param: "thinking",
  },
  {
    when: "an odd thinking on svc-k2.6",
    body: { ...hello, model: "svc-k2.6", thinking: { type: "sometimes" } },
    status: 400,
    code: "invalid_request",
    param: "thinking",
  },
  {
    when: "a prompt that is too long",
    body: { ...hello, messages: [{ role: "user", content: "word ".repeat(160_000) }] },
    status: 400,
    code: "context_length_exceeded",
    says: "prompt is too long: ",
  },
  {
    when: "101 levels",
    body: `${"[".repeat(101)}${"]".repeat(101)}`,
    status: 400,
    code: "invalid_request",
    says: "limit is 100 levels",
  },
  {
    when: "a million levels",
    body: "[".repeat(1_000_000),
    status: 400,
    code: "invalid_request",
    says: "limit is 100 levels",
  },
  {
    when: "a number out of range",
    body: '{"model":"svc-k2","messages":[{"role":"user","content":"x"}],"temperature":1e999}',
    status: 400,
    code: "invalid_request",
    param: "temperature",
  },
  {
    when: "a body that is not compressed as it says",
    body: hello,
    headers: { "content-encoding": "gzip" },
    status: 400,
    code: "invalid_request",
    says: "not valid gzip",
  },
  ...["zstd", "br", "gzip, gzip"].map((encoding) => ({
    when: `a body compressed by ${encoding}`,
    body: hello,
    headers: { "content-encoding": encoding },
    status: 400,
    code: "invalid_request",
    says: `compressed by '${encoding}'`,
  })),
  {
    when: "an unknown path",
    path: "/v1/rerank",
    body: {},
    status: 404,
    code: "not_found",
    says: "POST /v1/rerank",
  },
];

Deno.test("numbers beyond 2^53: kept where they are carried, refused where they are limits", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  const body = (more: string) =>
    `{"model":"svc-k2","messages":[{"role":"user","content":"Hi"}],${more}}`;
  const carried = await gateway.post(
    "/v1/chat/completions",
    body('"vendor":{"id":1234567890123456789},"stream_options":12345678901234567890'),
  );
  await carried.body?.cancel();
  assertEquals(carried.status, 200);
  assertStringIncludes(upstream.received[0]!.raw, '"vendor":{"id":1234567890123456789}');
  const refused = await gateway.post(
    "/v1/chat/completions",
    body('"max_tokens":12345678901234567890'),
  );
  const { error } = await refused.json();
  assertEquals([refused.status, error.param], [400, "max_tokens"]);
  assertStringIncludes(error.message, "12345678901234567890");
});

Deno.test("refusals of POST /v1/chat/completions", async (t) => {
  await using gateway = await startGateway();
  for (const row of REFUSALS) {
    await t.step(`${row.when}: ${row.status} ${row.code}`, async () => {
      const reply = await gateway.post(row.path ?? "/v1/chat/completions", row.body ?? hello, {
        ...(row.key === undefined ? {} : { key: row.key }),
        ...(row.headers === undefined ? {} : { headers: row.headers }),
      });
      const { error, ...rest } = await reply.json();
      assertEquals([reply.status, error.code], [row.status, row.code], JSON.stringify(error));
      assertEquals(rest, {});
      assertEquals(Object.keys(error), ["message", "type", "code", "param"]);
      assertEquals(error.type, row.type ?? "invalid_request_error");
      if (row.param !== undefined) assertEquals(error.param, row.param);
      if (row.says !== undefined) assertStringIncludes(error.message, row.says);
      assertEquals(reply.headers.get("x-should-retry"), "false");
      assertMatch(reply.headers.get("x-request-id")!, /^req_/);
      assertEquals(reply.headers.get("request-id"), reply.headers.get("x-request-id"));
    });
  }
});

Deno.test("a body is bounded, whatever its headers say", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: {
      upstream: { url: upstream.url },
      limits: { bodyBytes: 1_000, drainMs: 1_000, bodyIdleMs: 1_000 },
    },
  });
  const bodyOf = (size: number) => {
    const text = JSON.stringify({ ...hello, pad: "" });
    return text.replace('"pad":""', `"pad":"${"x".repeat(size - text.length)}"`);
  };
  assertEquals(await statusOf(gateway.post("/v1/chat/completions", bodyOf(1_000))), 200);
  const over = await gateway.post("/v1/chat/completions", bodyOf(1_001));
  assertEquals(over.status, 400);
  assertStringIncludes((await over.json()).error.message, "the limit is 1000 bytes");
  const head =
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\n`;
  const chunked = await raw(
    gateway,
    `${head}transfer-encoding: chunked\r\n\r\n7d0\r\n${"x".repeat(2_000)}\r\n`,
  );
  assertMatch(chunked, /^HTTP\/1\.1 400 /);
  const silent = await raw(gateway, `${head}content-length: 500\r\n\r\n{"model"`);
  assertMatch(silent, /^HTTP\/1\.1 400 [\s\S]*no data for 1 s/);
});

Deno.test("a large body is read as it was sent, whole or in chunks of any size", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  const content = Array.from({ length: 200_000 }, (_, index) => `${index} é`).join(" ");
  const messages = [{ role: "user", content }];
  const bytes = encoder.encode(JSON.stringify({ model: "svc-k3", messages }));
  assert(bytes.length > 1_500_000);
  let at = 0;
  const chunks = new ReadableStream<Uint8Array>({
    pull(controller) {
      const size = [1, 7, 300, 5_000, 200_000][at % 5]!;
      controller.enqueue(bytes.subarray(at, at + size));
      at += size;
      if (at >= bytes.length) controller.close();
    },
  });
  for (const body of [bytes, chunks]) {
    const reply = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.key}` },
      body,
    });
    assertEquals(reply.status, 200, await reply.text());
    assertEquals(upstream.received.at(-1)!.body.messages, messages);
  }
});

Deno.test("output limits: capped by the route, and by what the input leaves", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: {
      upstream: { url: upstream.url },
      routes: { tiny: { context: 100, maxOutput: 80 } },
    },
  });
  const sent = async (body: Record<string, unknown>, prompt = "Hi") => {
    const reply = await gateway.chat(prompt, body);
    await reply.body?.cancel();
    assertEquals(reply.status, 200);
    return upstream.received.at(-1)!.body;
  };
  assertEquals((await sent({ max_tokens: 128_000 })).max_tokens, 8_192);
  assertEquals((await sent({ model: "svc-k2-0905", max_tokens: 128_000 })).max_tokens, 128_000);
  const both = await sent({ max_tokens: 5, max_completion_tokens: 9 });
  assertEquals([both.max_tokens, both.max_completion_tokens], [undefined, 9]);
  // fields of other dialects are unknown ones
  const others = await sent({ max_output_tokens: 500_000, stop_sequences: [..."abcde"] });
  assertEquals([others.max_output_tokens, others.stop_sequences.length], [500_000, 5]);
  const narrow = (await sent({ model: "tiny", max_tokens: 80 }, "word ".repeat(60))).max_tokens;
  assert(narrow > 20 && narrow < 40, `left over: ${narrow}`);
});

Deno.test("reasoning fields that a route cannot use are dropped and named", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  const ask = async (body: Record<string, unknown>) => {
    const reply = await gateway.chat("Hi", body);
    await reply.body?.cancel();
    const { thinking, reasoning_effort: effort } = upstream.received.at(-1)!.body;
    return { ignored: reply.headers.get("x-sluice-ignored"), thinking, effort };
  };
  const enabled = { type: "enabled" };
  assertEquals(await ask({ thinking: enabled, reasoning_effort: "high" }), {
    ignored: "thinking, reasoning_effort",
    thinking: undefined,
    effort: undefined,
  });
  assertEquals(await ask({ model: "svc-k2.6", thinking: enabled }), {
    ignored: null,
    thinking: enabled,
    effort: undefined,
  });
  assertEquals((await ask({ model: "svc-k3" })).effort, "max");
  assertEquals((await ask({ model: "svc-k3", reasoning_effort: "low" })).effort, "low");
  assertEquals(
    (await ask({ model: "svc-k2.7-code", thinking: { type: "disabled" } })).ignored,
    "thinking",
  );
});

Deno.test("count_tokens has a bound of its own, for each key", async () => {
  await using gateway = await startGateway({
    settings: { limits: { countsPerMinute: 24 } },
    now: () => Date.UTC(2030, 0, 1, 0, 0, 30),
  });
  const body = { model: "svc-k3", messages: [{ role: "user", content: "Hi" }] };
  const count = (key?: string) =>
    gateway.post("/v1/messages/count_tokens", body, key === undefined ? {} : { key });
  const statuses = await Promise.all(
    Array.from({ length: 25 }, async () => {
      const reply = await count();
      const answer = await reply.json();
      return reply.status === 200 ? [200, answer.input_tokens > 0] : [
        reply.status,
        answer.error.type,
        Number(reply.headers.get("retry-after")) <= 60,
      ];
    }),
  );
  assertEquals(statuses.filter(([status]) => status === 200), Array(24).fill([200, true]));
  assertEquals(statuses.filter(([status]) => status !== 200), [[429, "rate_limit_error", true]]);
  const other = await gateway.gateway.keys.issue(gateway.gateway.owner, {});
  assertEquals(await statusOf(count(other.secret)), 200);
  assertEquals((await usageRecords(gateway)).length, 0);
});

Deno.test("/healthz and /readyz", async () => {
  await using gateway = await startGateway();
  const status = async (path: string) => {
    const reply = await fetch(gateway.url + path);
    await reply.body?.cancel();
    return reply.status;
  };
  assertEquals([await status("/healthz"), await status("/readyz")], [200, 200]);
  // the write that readiness is probed by is none of the ledger's
  assertEquals((await audit(gateway.gateway.database)).mismatches, []);
  gateway.gateway.app.stopTaking();
  assertEquals([await status("/healthz"), await status("/readyz")], [200, 503]);
  const refused = await gateway.chat("Hi");
  assertEquals(refused.status, 503);
  assertMatch(refused.headers.get("retry-after")!, /^\d+$/);
  await refused.body?.cancel();
});

/** Proves P11: everything that leaves the gateway while all kinds of things go wrong. */
Deno.test("no secret appears in any log line or error body", async () => {
  const upstreamKey = "upstream-canary-0123456789abcdef";
  const prompt = "canary-prompt-5f2c";
  let status = 200;
  await using upstream = fakeUpstream(({ headers }) =>
    status === 200
      ? completion("fine")
      : Response.json({ error: { message: `bad key ${headers.get("authorization")}` } }, { status })
  );
  await using gateway = await startGateway({
    settings: { upstreams: { one: { url: upstream.url, key: upstreamKey } } },
  });
  const bodies: string[] = [];
  const ask = async (reply: Promise<Response>) => void bodies.push(await (await reply).text());
  for (status of [200, 400, 401, 403, 404, 429, 500, 503]) {
    await ask(gateway.chat(prompt));
    await ask(gateway.chat(prompt, { stream: true }));
  }
  const lost = `sk-lost-canary-${"a".repeat(40)}`;
  await ask(gateway.chat(prompt, {}, { key: lost }));
  await ask(gateway.chat(prompt, { temperature: "x" }));
  await ask(gateway.post("/v1/chat/completions", `{"${prompt}`));
  await sleep(10);
  for (const secret of [gateway.key, upstreamKey, lost]) {
    const forms = [secret, btoa(secret), encodeURIComponent(secret)];
    for (const form of forms) {
      assert(!gateway.log().includes(form), `the log holds ${form}`);
      assert(!bodies.join().includes(form), `an answer holds ${form}`);
    }
  }
  assert(!gateway.log().includes(prompt), "the log holds a prompt");
});

Deno.test("the metrics token is taken from either key header", async () => {
  const token = "m".repeat(40);
  await using gateway = await startGateway({ env: { SLUICE_METRICS_TOKEN: token } });
  const ask = (headers: Record<string, string>) =>
    statusOf(fetch(`${gateway.url}/metrics`, { headers }));
  assertEquals(await ask({}), 401);
  assertEquals(await ask({ "x-api-key": "other" }), 401);
  assertEquals(await ask({ "x-api-key": token }), 200);
  assertEquals(await ask({ authorization: `Bearer ${token}` }), 200);
});

Deno.test("a balance in no tier of request limits is told so", async () => {
  await using gateway = await startGateway({
    settings: {
      tiers: [{ above: 100, minute: 9, hour: 9, day: 9 }],
      credits: { ownerGrant: 50 },
    },
  });
  const reply = await gateway.chat("Hi");
  const { error } = await reply.json();
  assertEquals([reply.status, error.code], [403, "insufficient_credits"]);
  assertStringIncludes(error.message, "No rate-limit tier covers a balance of 50 credits");
});

// those below share a gateway
const shared = sharedGateway();

shared("no key at all is 401", async (gateway) => {
  const reply = await fetch(`${gateway.url}/v1/chat/completions`, { method: "POST", body: "{}" });
  assertEquals([reply.status, (await reply.json()).error.code], [401, "invalid_api_key"]);
});

shared("either key header works; of two that differ one valid key is enough", async (gateway) => {
  const ask = async (headers: Record<string, string>) => {
    const reply = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers,
      body: JSON.stringify(hello),
    });
    await reply.body?.cancel();
    return reply.status;
  };
  const { key } = gateway;
  assertEquals(await ask({ authorization: `Bearer ${key}` }), 200);
  assertEquals(await ask({ authorization: `bearer   ${key}` }), 200);
  assertEquals(await ask({ "x-api-key": key }), 200);
  assertEquals(await ask({ authorization: `Bearer ${unknownKey}`, "x-api-key": key }), 200);
  assertEquals(await ask({ authorization: `Bearer ${key}`, "x-api-key": unknownKey }), 200);
  assertEquals(await ask({ authorization: "Bearer nonsense", "x-api-key": key }), 200);
  assertEquals(await ask({ authorization: `Bearer ${unknownKey}`, "x-api-key": "nonsense" }), 401);
});

shared("errors below /v1/messages are in the words of the messages dialect", async (gateway) => {
  const reply = await gateway.post("/v1/messages/batches?beta=true", {});
  const body = await reply.json();
  assertEquals(reply.status, 404);
  assertEquals([body.type, body.error.type], ["error", "invalid_request_error"]);
  assertEquals(body.request_id, reply.headers.get("request-id"));
});

shared(
  "a body that is not UTF-8 is refused, not repaired, whether it is short or long",
  async (gateway) => {
    const send = async (chars: number, sequence: readonly number[]) => {
      const content = `${"a".repeat(chars)}${"?".repeat(sequence.length)}`;
      const bytes = encoder.encode(
        JSON.stringify({ ...hello, messages: [{ role: "user", content }] }),
      );
      bytes.set(sequence, bytes.indexOf(63));
      const headers = { authorization: `Bearer ${gateway.key}` };
      const url = `${gateway.url}/v1/chat/completions`;
      const reply = await fetch(url, { method: "POST", headers, body: bytes });
      return { status: reply.status, text: await reply.text() };
    };
    const broken = [[0xff], [0x80], [0xc3], [0xc0, 0x80], [0xe2, 0x82], [0xed, 0xa0, 0x80], [
      0xf4,
      0x90,
      0x80,
      0x80,
    ]];
    for (const chars of [10, 200_000]) {
      assertEquals((await send(chars, [0xf0, 0x9f, 0x98, 0x80])).status, 200);
      for (const sequence of broken) {
        const { status, text } = await send(chars, sequence);
        assertEquals(status, 400, String(sequence));
        assertStringIncludes(text, "Request body is not valid UTF-8.");
      }
    }
  },
);

shared("a Host header with a path in it cannot reach another route", async (gateway) => {
  for (
    const host of [
      "x/v1/models?",
      "x/v1/models#",
      "x?",
      "x#y",
      "a@b/v1/models?",
      "x\\v1\\models?",
      "",
      "x y",
      "[::1/v1/models?",
    ]
  ) {
    const answer = await raw(
      gateway,
      `GET /healthz HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
    );
    assert(!answer.includes("svc-k2"), `Host: ${host} reached /v1/models: ${answer}`);
    if (host !== "") assertMatch(answer, /^HTTP\/1\.1 400 /, `Host: ${host}`);
  }
  for (
    const host of ["localhost", "localhost:8787", "127.0.0.1:1", "[::1]:8787", "gate.example.com"]
  ) {
    const answer = await raw(
      gateway,
      `GET /healthz HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
    );
    assertMatch(answer, /^HTTP\/1\.1 200 /, `Host: ${host}`);
  }
});

shared("paths are exact: no trick reaches an endpoint by another spelling", async (gateway) => {
  for (
    const path of [
      "//v1/models",
      "/v1//models",
      "/V1/models",
      "/v1/models/",
      "/v1%2fmodels",
      "/v1/chat/completions/",
    ]
  ) {
    const answer = await raw(
      gateway,
      `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
    );
    assertMatch(answer, /^HTTP\/1\.1 404 /, path);
  }
});

shared(
  "browsers are served from any origin, preflight included, and may read our headers",
  async (gateway) => {
    const preflight = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: "OPTIONS",
      headers: {
        origin: "https://app.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,x-stainless-lang",
      },
    });
    assertEquals(preflight.status, 204);
    assertEquals(preflight.headers.get("access-control-allow-origin"), "*");
    assertStringIncludes(
      preflight.headers.get("access-control-allow-headers")!,
      "x-stainless-lang",
    );
    for (
      const reply of [await gateway.chat("Hi"), await gateway.post("/v1/chat/completions", "{")]
    ) {
      await reply.body?.cancel();
      assertEquals(reply.headers.get("access-control-allow-origin"), "*");
      assertStringIncludes(
        reply.headers.get("access-control-expose-headers")!,
        "X-RateLimit-Reset",
      );
    }
    const missing = await fetch(`${gateway.url}/v1/nothing`, {
      headers: { origin: "https://a.example" },
    });
    await missing.body?.cancel();
    assertEquals(missing.headers.get("access-control-allow-origin"), "*");
  },
);

shared("GET /v1/models serves both families of SDKs", async (gateway) => {
  const get = async (path: string, headers = {}) =>
    await (await fetch(`${gateway.url}${path}`, { headers })).json();
  const list = await get("/v1/models?limit=1000");
  assertEquals([list.object, list.has_more, list.first_id, list.last_id], [
    "list",
    false,
    "svc-k2",
    "svc-k3",
  ]);
  const [first] = list.data;
  assertEquals(
    [first.id, first.object, first.type, first.parent, first.root, first.owned_by],
    ["svc-k2", "model", "model", null, "svc-k2", "sluice"],
  );
  assertEquals(new Date(first.created_at).getTime(), first.created * 1_000);
  assert(Array.isArray(first.permission) && typeof first.display_name === "string");
  const withAliases = await get("/v1/models", { "anthropic-version": "2023-06-01" });
  assertEquals(withAliases.data.length, 12);
  assertEquals(withAliases.last_id, "claude-svc-k3");
  assertEquals((await get("/v1/models/claude-svc-k3")).root, "svc-k3");
});

shared("a good key of a disabled account is told where it stands", async (gateway) => {
  const { email, keys: [key] } = await customer(gateway, 40);
  await gateway.gateway.accounts.disable(email);
  const ask = () => gateway.chat("Hello", {}, { key: key! });
  await until(async () => await statusOf(ask()) === 403, { what: "the end of the account" });
  const reply = await ask();
  assertEquals([reply.status, (await reply.json()).error.code], [403, "permission_denied"]);
  assertEquals(reply.headers.get("x-credits-remaining"), "40");
  assert(reply.headers.has("x-ratelimit-limit"));
});

shared("an error that is simulated says so", async (gateway) => {
  for (const [directive, status] of [["[[status 500]]", 503], ["[[status 429]]", 429]] as const) {
    const reply = await gateway.chat(directive);
    await reply.body?.cancel();
    assertEquals([reply.status, reply.headers.get("x-sluice-simulated")], [status, "true"]);
  }
  const own = await gateway.chat("Hi", { temperature: 9 });
  await own.body?.cancel();
  assertEquals([own.status, own.headers.get("x-sluice-simulated")], [400, null]);
});
