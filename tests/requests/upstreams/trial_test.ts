import { settings } from "../../../src/settings/config/mod.ts";
import { checksKeys, type TrialResult, tryUpstream } from "../../../src/requests/upstreams/mod.ts";
import { type BackName, DIALECT_NAMES } from "../../../src/wire/dialects/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { generateServer } from "../../fake/generate.ts";
import { startGateway } from "../../fake/gateway.ts";
import { DEADLINE_MS } from "../../fake/temp.ts";
import { chunk, completion, eventStream, fakeUpstream, sse } from "../../fake/upstream.ts";
import { DEPARTURES } from "../../flow/departures.ts";

/** Deno 2.4 may still have a timer of a closed connection when a trial ends. */
function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, fn, sanitizeOps: false, sanitizeResources: false });
}

/** Tries an upstream with one key. */
async function tried(
  url: string,
  { dialect = "chat", key = "k", model = "m" }: {
    dialect?: BackName;
    key?: string;
    model?: string;
  } = {},
): Promise<readonly TrialResult[]> {
  const { upstreams } = settings.parse({ upstreams: { one: { url, dialect, key } } });
  return await tryUpstream("one", upstreams.one!, {
    model,
    now: Date.now,
    patienceMs: DEADLINE_MS,
  });
}

const USAGE = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 };
const unknownModel = () =>
  Response.json({ error: { message: "no such model", code: "model_not_found" } }, { status: 404 });

for (const { name, detail, isHidden, whole, stream } of DEPARTURES) {
  if (isHidden) continue;
  test(`a trial names what departs: ${name}${detail === undefined ? "" : ` (${detail})`}`, async () => {
    await using upstream = fakeUpstream(({ body }) =>
      body.model !== "m" ? unknownModel() : body.stream === true ? stream() : whole()
    );
    const results = await tried(upstream.url);
    assert(
      results.some(({ departures }) => departures.includes(name)),
      JSON.stringify(results),
    );
    for (const { check, fault } of results.filter(({ check }) => check.startsWith("text"))) {
      assertEquals(fault, undefined, check);
    }
  });
}

test("of an upstream that has the model in the path, too, a trial hears text, its end and usage", async () => {
  await using upstream = generateServer();
  const results = await tried(upstream.url, { dialect: "generate", model: "svc-k3" });
  const texts = results.filter(({ check }) => check.startsWith("text"));
  assertEquals(texts.map(({ fault, departures }) => [fault, departures]), [
    [undefined, []],
    [undefined, []],
  ]);
});

test("of an upstream that replies as its dialect says, a trial names nothing", async () => {
  const call = {
    id: "c",
    type: "function",
    function: { name: "get_weather", arguments: '{"city":"Bonn"}' },
  };
  await using upstream = fakeUpstream(({ body }) => {
    if (body.model !== "m") return unknownModel();
    const message = body.tools === undefined
      ? { role: "assistant", content: "sluice" }
      : { role: "assistant", content: null, tool_calls: [call] };
    const finish = body.tools === undefined ? "stop" : "tool_calls";
    return completion("", {
      choices: [{ index: 0, message, finish_reason: finish }],
      usage: USAGE,
    });
  });
  const results = await tried(upstream.url);
  const streamed = ["a whole reply to a request for a stream"];
  assertEquals(results, [
    { check: "text", fault: undefined, detail: "9 tokens in, 2 out", departures: [] },
    {
      check: "text, streamed",
      fault: undefined,
      detail: "9 tokens in, 2 out",
      departures: streamed,
    },
    { check: "tools", fault: undefined, detail: "9 tokens in, 2 out", departures: [] },
    {
      check: "tools, streamed",
      fault: undefined,
      detail: "9 tokens in, 2 out",
      departures: streamed,
    },
    { check: "errors", fault: undefined, detail: "status 404: no such model", departures: [] },
  ]);
  // only the request that has a tool speaks of what it is for
  const asked = upstream.received.map(({ body: { tools, messages } }) =>
    [tools !== undefined, /weather/i.test(JSON.stringify(messages))] as const
  );
  assertEquals(asked.map(([hasTool]) => hasTool).toSorted(), [false, false, false, true, true]);
  for (const [hasTool, saysWeather] of asked) assertEquals(saysWeather, hasTool);
});

for (const dialect of DIALECT_NAMES) {
  test(`a trial of text in the dialect ${dialect}, whole and streamed`, async () => {
    await using gateway = await startGateway();
    const { url, key } = gateway;
    const results = await tried(`${url}/v1`, { dialect, key, model: "svc-k2" });
    const texts = results.filter(({ check }) => check.startsWith("text"));
    assertEquals(texts.map(({ fault, departures }) => [fault, departures]), [
      [undefined, []],
      [undefined, []],
    ]);
    const errors = results.find(({ check }) => check === "errors")!;
    assertEquals([errors.fault, errors.departures], [undefined, []]);
    assert(errors.detail.startsWith("status 404"), errors.detail);
  });
}

test("a trial names usage without output, by which replies would be free, in each dialect", async () => {
  for (const dialect of DIALECT_NAMES) {
    await using gateway = await startGateway();
    const { url, key } = gateway;
    // the same replies with zeros in them
    await using upstream = fakeUpstream(async ({ path, raw }) => {
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      const reply = await fetch(`${url}${path}`, { method: "POST", headers, body: raw });
      const zeros = (await reply.text()).replaceAll(/"(\w+_tokens)":\d+/g, '"$1":0');
      const type = reply.headers.get("content-type")!;
      return new Response(zeros, { status: reply.status, headers: { "content-type": type } });
    });
    const results = await tried(upstream.url, { dialect, model: "svc-k2" });
    const texts = results.filter(({ check }) => check.startsWith("text"));
    assertEquals(
      texts.map(({ fault, departures }) => [fault, departures]),
      new Array(2).fill([undefined, ["usage with 0 tokens of output: its replies cost nothing"]]),
      dialect,
    );
  }
});

test("a trial says why requests fail, without secrets and addresses", async () => {
  await using upstream = fakeUpstream(() =>
    Response.json({ error: { message: "bad key sk-secret-1234567" } }, { status: 401 })
  );
  const results = await tried(upstream.url, { key: "sk-secret-1234567" });
  assertEquals(results.map(({ fault }) => fault !== undefined), [true, true, true, true, false]);
  const { host } = new URL(upstream.url);
  assert(!/sk-secret/.test(JSON.stringify(results)), JSON.stringify(results));
  await upstream[Symbol.asyncDispose]();
  const gone = await tried(`http://${host}`);
  assert(gone.every(({ fault }) => fault !== undefined && !fault.includes(host)));
});

test("a trial says what a reply lacks, and what else it has (table)", async () => {
  const call = { id: "c", type: "function", function: { name: "get_weather", arguments: "{}" } };
  const reply = (message: object, usage: object | null = USAGE) =>
    completion("", {
      choices: [{
        index: 0,
        message: { role: "assistant", ...message },
        finish_reason: "tool_calls" in message ? "tool_calls" : "stop",
      }],
      usage,
    });
  const free = { prompt_tokens: 9, completion_tokens: 0, total_tokens: 9 };
  const NONE = "no usage: responses are charged by the gateway's count";
  const [TOKENS, ZERO] = ["9 tokens in, 2 out", "usage with 0 tokens of output"];
  for (
    const [what, of, check, fault, detail, departs] of [
      ["all", () => reply({ content: "x" }), "text", undefined, TOKENS, undefined],
      ["no text", () => reply({ content: "" }), "text", "no text", `no text, ${TOKENS}`, undefined],
      ["no usage", () => reply({ content: "x" }, null), "text", NONE, NONE, undefined],
      ["a call", () => reply({ tool_calls: [call] }), "tools", undefined, TOKENS, undefined],
      [
        "no call",
        () => reply({ content: "x" }),
        "tools",
        "the tool was not called",
        `the tool was not called, ${TOKENS}`,
        undefined,
      ],
      [
        "reasoning",
        () => reply({ content: "x", reasoning_content: "hm" }),
        "text",
        undefined,
        `with reasoning, ${TOKENS}`,
        undefined,
      ],
      [
        "free output",
        () => reply({ content: "x" }, free),
        "text",
        undefined,
        "9 tokens in, 0 out",
        ZERO,
      ],
      [
        "no JSON",
        () => new Response("{", { headers: { "content-type": "application/json" } }),
        "text",
        "the response is not JSON",
        "the response is not JSON",
        undefined,
      ],
      [
        "an error",
        () => Response.json({ error: { message: "no" } }, { status: 418 }),
        "text",
        "status 418: no",
        "status 418: no",
        undefined,
      ],
      [
        "an error without words",
        () => new Response("<p>", { status: 502 }),
        "text",
        "status 502",
        "status 502",
        undefined,
      ],
    ] as const
  ) {
    await using upstream = fakeUpstream(() => of());
    const results = await tried(upstream.url);
    const found = results.find((one) => one.check === check)!;
    assertEquals([found.fault, found.detail], [fault, detail], what);
    assertEquals(
      [found.departures.length, found.departures[0]?.startsWith(departs ?? "")],
      departs === undefined ? [0, undefined] : [1, true],
      what,
    );
  }
});

test("a trial of a stream reads it to its end, and what comes after it only for the usage", async () => {
  const usage = JSON.stringify({ choices: [], usage: USAGE });
  const [text, end] = [chunk({ content: "x" }), chunk({}, "stop")];
  for (
    const [events, fault, isLate] of [
      [[text, end, usage, "[DONE]"], undefined, false],
      [[text, end, "[DONE]", usage], undefined, true],
      [[text, end, "[DONE]", "{"], "the response is not JSON", false], // which may have been the usage
      [[text, end, usage, "[DONE]", "{"], undefined, false],
    ] as const
  ) {
    await using upstream = fakeUpstream(() => eventStream(sse(...events)));
    const results = await tried(upstream.url);
    const { fault: found, departures } = results.find(({ check }) => check === "text, streamed")!;
    const what = events.join();
    assertEquals(found?.startsWith(fault ?? "") ?? true, true, `${what}: ${found}`);
    assertEquals(departures.includes("usage after the end mark"), isLate, what);
  }
});

test("of a model that there is not, a trial expects a 404 or a 400 (table)", async () => {
  for (
    const [status, departures] of [
      [404, []],
      [400, []],
      [422, ["status 422 for a model that there is not"]],
      [200, ["a reply by another model than the one that was asked for"]],
    ] as const
  ) {
    await using upstream = fakeUpstream(() =>
      status === 200 ? completion("x") : Response.json({ error: { message: "no" } }, { status })
    );
    const results = await tried(upstream.url);
    const errors = results.find(({ check }) => check === "errors")!;
    assertEquals([errors.fault, errors.departures], [undefined, [...departures]], `${status}`);
  }
});

test("an upstream checks keys if it rejects one that nobody has given out, in words that are about the key (table)", async () => {
  const keys: (string | null)[] = [];
  for (
    const [status, message, checks] of [
      [401, "", true],
      [403, "", true],
      [400, "Invalid API key", true],
      [400, "the api_key is wrong", true],
      [400, "no such model", false],
      [404, "Invalid API key", false],
      [200, "Invalid API key", false],
    ] as const
  ) {
    await using upstream = fakeUpstream(({ headers }) => {
      keys.push(headers.get("authorization"));
      return Response.json({ error: { message } }, { status });
    });
    const { upstreams } = settings.parse({ upstreams: { one: { url: upstream.url, key: "own" } } });
    const options = { model: "m", now: Date.now, patienceMs: DEADLINE_MS };
    assertEquals(await checksKeys("one", upstreams.one!, options), checks, `${status} ${message}`);
  }
  assert(keys.every((key) => /^Bearer sk-\w{40}$/.test(key!)), keys.join());
  assertEquals(new Set(keys).size, keys.length);
  // one that does not answer says nothing
  const { upstreams } = settings.parse({ upstreams: { one: { url: "http://127.0.0.1:1" } } });
  const options = { model: "m", now: Date.now, patienceMs: DEADLINE_MS };
  assertEquals(await checksKeys("one", upstreams.one!, options), false);
  const { promise, resolve } = Promise.withResolvers<Response>();
  await using silent = fakeUpstream(() => promise);
  const slow = settings.parse({ upstreams: { one: { url: silent.url } } }).upstreams.one!;
  const late = await tryUpstream("one", slow, { model: "m", now: Date.now, patienceMs: 20 });
  assertEquals(new Set(late.map(({ fault }) => fault)), new Set(["no response within 0.02 s"]));
  resolve(new Response());
});
