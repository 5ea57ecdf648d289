/** What upstreams list: read of every shape that services give it, by a probe over a socket. */

import fc from "fast-check";
import { SILENT } from "../../../src/ground/telemetry/mod.ts";
import { settings } from "../../../src/settings/config/mod.ts";
import { keptListings, ModelLists } from "../../../src/requests/upstreams/model_lists.ts";
import { probeUpstream } from "../../../src/requests/upstreams/probe.ts";
import { takesKeys, withForeignKey } from "../../../src/requests/upstreams/upstream.ts";
import { exists, sleep, tempDir, until } from "../../fake/temp.ts";
import { assert, assertEquals } from "../../assert.ts";
import { sized } from "../../tier.ts";

/** A service that lists what it is told to. */
function lister() {
  const next = { body: "", status: 200 };
  let received = 0;
  let query = "";
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    received++;
    const { pathname, search } = new URL(request.url);
    assertEquals(pathname, "/v1/models");
    query = search;
    return new Response(next.body, { status: next.status });
  });
  const { one } = settings.parse({
    upstreams: { one: { url: `http://127.0.0.1:${server.addr.port}/v1`, discover: true } },
  }).upstreams;
  return {
    next,
    get received() {
      return received;
    },
    get query() {
      return query;
    },
    settings: one!,
    async probe(body: unknown, status = 200) {
      next.body = typeof body === "string" ? body : JSON.stringify(body);
      next.status = status;
      const { lists, models, isPage } = await probeUpstream("one", one!, {
        now: () => 0,
        patienceMs: 10_000,
      });
      return { lists, models, isPage };
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

const model = (id: string, context?: number, maxOutput?: number) => ({ id, context, maxOutput });
const listed = (...models: readonly ReturnType<typeof model>[]) => ({
  lists: true,
  models,
  isPage: false,
});
const NO_LIST = { lists: false, models: [], isPage: false };

Deno.test("a list of models is read as each service writes it; what is none lists nothing", async () => {
  await using service = lister();
  const cases: readonly (readonly [body: unknown, expected: object])[] = [
    [{ object: "list", data: [{ id: "a" }] }, listed(model("a"))],
    [{ data: [{ id: "a" }, { id: "b" }] }, listed(model("a"), model("b"))],
    [{ data: [] }, listed()],
    [{ object: "list", data: null }, listed()], // Ollama without models
    [{ object: "list" }, listed()],
    [{ data: ["a", null, 7, {}, { id: 7 }, { id: "b" }] }, listed(model("b"))],
    // names of limits
    [{ data: [{ id: "a", max_model_len: 8 }] }, listed(model("a", 8))],
    [{ data: [{ id: "a", context_length: 8, max_output_tokens: 4 }] }, listed(model("a", 8, 4))],
    [{ data: [{ id: "a", context_window: 8 }] }, listed(model("a", 8))],
    [{ data: [{ id: "a", max_context_length: 8 }] }, listed(model("a", 8))],
    [
      { data: [{ id: "a", top_provider: { max_completion_tokens: 4 } }] },
      listed(model("a", undefined, 4)),
    ],
    [
      { data: [{ id: "a", max_completion_tokens: 5, top_provider: { max_completion_tokens: 4 } }] },
      listed(model("a", undefined, 5)),
    ],
    [{ data: [{ id: "a", top_provider: null }] }, listed(model("a"))],
    [{ data: [{ id: "a", top_provider: "x" }] }, listed(model("a"))],
    // what is no limit
    ...[0, -1, 1.5, "8", null, 2 ** 60].map((no) =>
      [
        { data: [{ id: "a", max_model_len: no, max_completion_tokens: no }] },
        listed(model("a")),
      ] as const
    ),
    [{ data: [{ id: "a", max_model_len: null, context_length: 8 }] }, listed(model("a", 8))],
    // as Anthropic names limits; other services may mean the context by the second
    [
      { data: [{ id: "a", type: "model", max_input_tokens: 8, max_tokens: 4 }] },
      listed(model("a", 8, 4)),
    ],
    [{ data: [{ id: "a", max_tokens: 4 }] }, listed(model("a"))],
    // a bare list, as Together writes it
    [
      [{ id: "a", object: "model", context_length: 8 }, { id: "b", object: "model" }],
      listed(model("a", 8), model("b")),
    ],
    // as Google writes it: models that generate contents
    [
      {
        models: [
          { name: "models/a", inputTokenLimit: 8, outputTokenLimit: 4 },
          { name: "models/b", supportedGenerationMethods: ["embedContent", "generateContent"] },
          { name: "models/c", supportedGenerationMethods: ["embedContent"] },
          { name: "models/d", supportedGenerationMethods: "none" },
          { name: "e" },
          { name: 7 },
          {},
          null,
          "models/f",
        ],
        data: [{ id: "x" }],
      },
      listed(model("a", 8, 4), model("b"), model("d"), model("e")),
    ],
    [{ models: ["models/a", null, { name: "a" }], data: [{ id: "x" }] }, listed(model("x"))],
    [{ models: [{ name: "a" }] }, NO_LIST],
    // what is no list
    [[], NO_LIST],
    [[{ id: "a" }, { name: "b" }], NO_LIST],
    ["null", NO_LIST],
    ["7", NO_LIST],
    ['"list"', NO_LIST],
    [{}, NO_LIST],
    [{ object: "model", data: { id: "a" } }, NO_LIST],
    ["{", NO_LIST],
    ["", NO_LIST],
    [{ data: [{ id: "a", of: JSON.parse("[".repeat(16) + "]".repeat(16)) }] }, listed(model("a"))],
    [{ data: [{ id: "a", of: JSON.parse("[".repeat(30) + "]".repeat(30)) }] }, NO_LIST],
    [" \n<!doctype html>", { ...NO_LIST, isPage: true }],
  ];
  for (const [body, expected] of cases) {
    assertEquals(await service.probe(body), expected as never, JSON.stringify(body));
  }
  assertEquals(await service.probe({ data: [{ id: "a" }] }, 404), NO_LIST, "only of a 200");
  const many = Array.from({ length: 2_001 }, (_, at) => ({ id: `m${at}` }));
  assertEquals((await service.probe({ data: many })).models.length, 2_000);
});

Deno.test("each dialect's list is asked for whole: services write it in pages", async () => {
  await using service = lister();
  for (
    const [dialect, expected] of [
      ["chat", ""],
      ["messages", "?limit=1000"],
      ["responses", ""],
      ["generate", "?pageSize=1000"],
    ] as const
  ) {
    service.next.body = "{}";
    const settings = { ...service.settings, dialect };
    await probeUpstream("one", settings, { now: () => 0, patienceMs: 10_000 });
    assertEquals(service.query, expected, dialect);
  }
});

Deno.test("a probe says what the upstream's clock shows, and why it ended: nothing in time, or the asker closes", async () => {
  await using service = lister();
  service.next.body = "{}";
  const probe = (more: object, settings = service.settings) =>
    probeUpstream("one", settings, { now: () => 0, patienceMs: 10_000, ...more });
  const { clockMs, fault, status } = await probe({});
  assertEquals([typeof clockMs, fault, status], ["number", undefined, 200]);
  const closing = await probe({ closing: AbortSignal.abort() });
  assertEquals([closing.status, closing.fault?.kind, closing.fault?.words], [
    undefined,
    "left",
    "no response within 10 s",
  ]);
  await using silent = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => late.promise,
  );
  const late = Promise.withResolvers<Response>();
  const url = `http://127.0.0.1:${silent.addr.port}/v1`;
  const slow = await probe({ patienceMs: 50 }, { ...service.settings, url });
  assertEquals([slow.fault?.kind, slow.fault?.words], ["left", "no response within 0.05 s"]);
  late.resolve(new Response());
  await silent.shutdown();
  const gone = await probe({}, { ...service.settings, url });
  assertEquals([gone.fault?.kind, gone.fault?.isOfCredentials], ["not_sent", false]);
  assert(!gone.fault!.message.includes(`${silent.addr.port}`), gone.fault!.message);
});

Deno.test("of several keys the first that is not rejected counts, for whatever else it gets", async () => {
  const asked: (string | null)[] = [];
  const statuses: Record<string, number> = { a: 401, b: 403, c: 500, d: 200 };
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    ({ headers }) => {
      const key = headers.get("authorization")!.replace("Bearer ", "");
      asked.push(key);
      return new Response('{"data":[]}', { status: statuses[key]! });
    },
  );
  const url = `http://127.0.0.1:${server.addr.port}`;
  for (
    const [keys, expected] of [
      [["d", "a"], [200, "d"]],
      [["a", "d"], [200, "a", "d"]],
      [["b", "d"], [200, "b", "d"]],
      [["a", "b", "c", "d"], [500, "a", "b", "c"]],
      [["a", "b"], [403, "a", "b"]],
    ] as const
  ) {
    asked.length = 0;
    const { one } = settings.parse({ upstreams: { one: { url, keys } } }).upstreams;
    const { status } = await probeUpstream("one", one!, { now: () => 0, patienceMs: 10_000 });
    assertEquals([status, ...asked], [...expected] as never);
  }
});

Deno.test("whatever an upstream says instead of a list, reading it does not fail (property)", async () => {
  await using service = lister();
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(fc.json(), fc.json().map((json) => `{"data":[${json}]}`), fc.string()),
      async (body) => {
        const { models } = await service.probe(body);
        assert(models.every(({ id }) => typeof id === "string"), body);
      },
    ),
    { numRuns: sized(30, 1_000) },
  );
});

Deno.test("lists are asked for again: what has changed is told and kept, what fails is not a change", async () => {
  await using service = lister();
  await using directory = await tempDir();
  const open = () =>
    ModelLists.open({ one: service.settings }, {
      directory: directory.path,
      log: SILENT,
      now: () => 0,
      mayWait: true,
    });
  service.next.body = JSON.stringify({ data: [{ id: "a" }] });
  const first = await open();
  assertEquals([...first.listings].map(([, [one]]) => one!.id), ["a"]);
  await first.close();

  // the kept list will do for a start; it is asked for at once, and after a change is told
  service.next.body = JSON.stringify({ data: [{ id: "b" }] });
  const again = await open();
  assertEquals([...again.listings].map(([, [one]]) => one!.id), ["a"]);
  let changes = 0;
  again.watch(() => changes++);
  await until(() => changes === 1, { what: "the change" });
  assertEquals([...again.listings].map(([, [one]]) => one!.id), ["b"]);
  const file = `${directory.path}/models.json`;
  await Deno.remove(file);
  assertEquals(await again.ask(), false, "the same list");
  assertEquals(await exists(file), false, "what has not changed is not written again");
  service.next.status = 500;
  assertEquals(await again.ask(), false, "one that does not answer keeps its list");
  assertEquals(again.without, []);
  for (const status of [404, 405, 501]) {
    service.next.status = 200;
    await again.ask();
    service.next.status = status;
    assertEquals(await again.ask(), true, `${status}: it cannot list any more`);
    assertEquals(again.without, ["one"]);
  }
  await again.close();
});

Deno.test("kept lists that are damaged are as good as none (table)", async () => {
  await using service = lister();
  await using directory = await tempDir();
  const { url } = service.settings;
  service.next.body = JSON.stringify({ data: [{ id: "asked" }] });
  const kept = (list: unknown) => JSON.stringify([["one", list]]);
  const cases: readonly (readonly [text: string, id: string])[] = [
    [kept({ url, models: [{ id: "kept" }] }), "kept"],
    [kept({ url: `${url}/other`, models: [{ id: "kept" }] }), "asked"],
    ...[
      "",
      "{}",
      "[1]",
      kept(null),
      kept({ models: [{ id: "kept" }] }),
      kept({ url: 1, models: [{ id: "kept" }] }),
      kept({ url }),
      kept({ url, models: "kept" }),
      kept({ url, models: [{ id: "kept" }, { id: 1 }] }),
      kept({ url, models: [{ id: "kept" }, {}] }),
      kept({ url, models: [{ id: "kept" }, null] }),
    ].map((text) => [text, "asked"] as const),
  ];
  for (const [text, id] of cases) {
    await Deno.writeTextFile(`${directory.path}/models.json`, text);
    const known = await keptListings({ one: service.settings }, directory.path);
    assertEquals([...known].length, id === "kept" ? 1 : 0, text);
    const lists = await ModelLists.open({ one: service.settings }, {
      directory: directory.path,
      log: SILENT,
      now: () => 0,
      mayWait: true,
    });
    assertEquals(
      [...lists.listings].map(([, models]) => models.map((one) => one.id)),
      [[id]],
      text,
    );
    await lists.close();
  }
});

/** After how long an upstream's list is asked for again. */
function waitOf(lists: ModelLists): number | undefined {
  const { setTimeout: real } = globalThis;
  let waitMs: number | undefined;
  const noted = (act: () => void, ms?: number) => (waitMs = ms, real(act, ms));
  globalThis.setTimeout = noted as typeof setTimeout;
  try {
    lists.watch(() => {});
    return waitMs;
  } finally {
    globalThis.setTimeout = real;
  }
}

Deno.test("an upstream is asked again in ten minutes, or in half a minute if it has never listed anything and does not answer", async () => {
  await using service = lister();
  await using directory = await tempDir();
  const open = (upstreams: Parameters<typeof ModelLists.open>[0]) =>
    ModelLists.open(upstreams, { directory: directory.path, log: SILENT, now: () => 0 });
  const list = JSON.stringify({ data: [{ id: "a" }] });
  for (
    const [status, body, waitMs] of [
      [500, "", 30_000],
      [404, "", 600_000],
      [200, list, 600_000],
      [500, "", 600_000], // it has listed something
    ] as const
  ) {
    Object.assign(service.next, { status, body });
    const lists = await open({ one: service.settings });
    assertEquals(waitOf(lists), waitMs, `${status}`);
    await lists.close();
    assertEquals(waitOf(lists), undefined, "it is closed");
  }
  const none = await open({ one: { ...service.settings, discover: false } });
  assertEquals([waitOf(none), none.without, none.listings.size], [undefined, [], 0]);
  // what is kept is of upstreams that are asked, at this address
  for (
    const [kept, size] of [
      [{ one: service.settings }, 1],
      [{ one: { ...service.settings, discover: false } }, 0],
      [{ one: { ...service.settings, url: "http://other/" } }, 0],
      [{}, 0],
    ] as const
  ) {
    assertEquals((await keptListings(kept, directory.path)).size, size);
  }

  // a list that is as it was is no change, and they are in the order of names
  Object.assign(service.next, { status: 200, body: list });
  const both = { b: service.settings, a: service.settings };
  await (await open(both)).close();
  const again = await ModelLists.open(both, {
    directory: directory.path,
    log: SILENT,
    now: () => 0,
    mayWait: true,
  });
  assertEquals([...again.listings.keys()], ["a", "b"]);
  let changes = 0;
  again.watch(() => changes++);
  const { received } = service;
  await until(() => service.received === received + 2, { what: "that they are asked" });
  assertEquals(await again.ask(), false);
  await again.close();
  assertEquals(changes, 0);
});

Deno.test("lists that are closed while upstreams are asked stay as they were", async () => {
  await using service = lister();
  await using directory = await tempDir();
  const late = Promise.withResolvers<Response>();
  let isSlow = false;
  const list = (id: string) => JSON.stringify({ data: [{ id }] });
  await using slow = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => isSlow ? late.promise : new Response(list("b")),
  );
  service.next.body = list("a");
  const url = `http://127.0.0.1:${slow.addr.port}/v1`;
  const lists = await ModelLists.open(
    { a: service.settings, b: { ...service.settings, url } },
    { directory: directory.path, log: SILENT, now: () => 0 },
  );
  service.next.body = list("changed");
  isSlow = true;
  const { received } = service;
  const asking = lists.ask();
  await until(() => service.received > received, { what: "the first reply" });
  await sleep(100); // until it is read
  await lists.close();
  assertEquals(await asking, false);
  assertEquals([...lists.listings.values()].map(([model]) => model!.id), ["a", "b"]);
  late.resolve(new Response());
});

Deno.test("an upstream takes keys if it has one, or forwards what comes with requests", () => {
  const of = (more: object) => {
    const { one } = settings.parse({
      upstreams: { one: { url: "http://127.0.0.1/v1", ...more } },
    }).upstreams;
    return one!;
  };
  assertEquals(takesKeys(of({})), false);
  assertEquals(takesKeys(of({ key: "k" })), true);
  assertEquals(takesKeys(of({ keys: ["k", "l"] })), true);
  assertEquals(takesKeys(of({ credentials: { kind: "forward" } })), true);
  assertEquals(takesKeys(of({ credentials: { kind: "file", path: "/k" } })), false);

  // somebody else's key goes alone: nothing of the settings that says who the gateway is goes with it
  const secret = of({
    key: "k",
    headers: { "X-Api-Key": "s", Cookie: "s", Authorization: "s", "x-team": "t" },
  });
  const foreign = withForeignKey(secret, "theirs");
  assertEquals(takesKeys(foreign), true);
  assertEquals([foreign.key, foreign.keys], [undefined, undefined]);
  assertEquals(foreign.headers, {
    authorization: "Bearer theirs",
    "content-type": "application/json",
    "user-agent": "sluice",
    "x-team": "t",
  });
});
