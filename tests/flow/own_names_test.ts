/** Models of upstreams, served by the names that the upstreams list. */

import type { SettingsInput } from "../../src/settings/config/mod.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { assertLedgerClean } from "../fake/customer.ts";
import { startGateway, statusOf, type TestGateway, usageRecords } from "../fake/gateway.ts";
import { sluice } from "../fake/shell.ts";
import { until } from "../fake/temp.ts";
import { type Answers, completion, fakeUpstream } from "../fake/upstream.ts";

/** An upstream that lists these models, and answers for them only. */
function listing(models: () => readonly (string | Record<string, unknown>)[]): Answers {
  return ({ path, body }) => {
    const data = models().map((one) => typeof one === "string" ? { id: one } : one);
    if (path === "/v1/models") return Response.json({ object: "list", data });
    if (data.some(({ id }) => id === body.model)) return completion(`I am ${body.model}`);
    const message = `model "${body.model}" not found, try pulling it first`;
    return Response.json({ error: { message, type: "api_error", code: null } }, { status: 404 });
  };
}

async function served({ url }: TestGateway): Promise<string[]> {
  const { data } = await (await fetch(`${url}/v1/models`)).json();
  return data.map(({ id }: { id: string }) => id);
}

Deno.test("the models of the one upstream are served by their own names, the built-in ones are not", async () => {
  await using upstream = fakeUpstream(listing(() => [
    "llama3.2:3b",
    "gpt-oss:20b",
    { id: "mine/custom", max_model_len: 16_384 },
    "text-embedding-3-small",
    "not usable as a name",
  ]));
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url, discover: true } },
  });
  assertEquals(await served(gateway), [
    "llama3.2:3b",
    "gpt-oss:20b",
    "mine/custom",
    "text-embedding-3-small", // for embeddings: named in errors of that endpoint only
  ]);
  const reply = await gateway.chat("Hi", { model: "llama3.2:3b" });
  assertStringIncludes(await reply.text(), "I am llama3.2:3b");
  const info = await fetch(`${gateway.url}/v1/models/mine/custom`);
  assertEquals((await info.json()).id, "mine/custom");

  const unknown = await gateway.chat("Hi", { model: "svc-k3" });
  const { error } = await unknown.json();
  assertEquals([unknown.status, error.code], [404, "model_not_found"]);
  assertEquals(
    error.message,
    "Unknown model 'svc-k3'. Available models: llama3.2:3b, gpt-oss:20b, mine/custom (GET /v1/models).",
  );
  const { catalog } = gateway.gateway;
  assertEquals(catalog.find("mine/custom")?.context, 16_384);
  assertEquals(catalog.find("gpt-oss:20b")?.origin, "known");
  assertEquals(catalog.find("llama3.2:3b")?.origin, "guess");
  const [record] = await usageRecords(gateway);
  assertEquals(record?.route, "llama3.2:3b");
  await assertLedgerClean(gateway);
});

Deno.test("two upstreams that have a model of one name: each under its upstream's", async () => {
  await using one = fakeUpstream(listing(() => ["shared", "only-one"]));
  await using other = fakeUpstream(listing(() => ["shared"]));
  await using gateway = await startGateway({
    settings: {
      upstreams: {
        one: { url: one.url, discover: true },
        other: { url: other.url, discover: true },
      },
      routes: { "only-one": { prices: { input: 7, cached: 7, output: 7 } } },
      aliases: { both: "other/shared" },
    },
  });
  assertEquals(await served(gateway), ["only-one", "one/shared", "other/shared"]);
  assertEquals(gateway.gateway.catalog.find("only-one")?.prices.output, 7);
  assertEquals(await statusOf(gateway.chat("Hi", { model: "both" })), 200);
  assertEquals(other.received.at(-1)?.body.model, "shared");
});

const CANNOT_LIST: Readonly<Record<string, () => Response>> = {
  "no such endpoint": () => new Response("404 page not found", { status: 404 }),
  "a page": () =>
    new Response("<html>Welcome</html>", { headers: { "content-type": "text/html" } }),
  "a rejected key": () => Response.json({ error: { message: "no" } }, { status: 401 }),
  "no list": () => Response.json({ models: 3 }),
};

for (const [name, list] of Object.entries(CANNOT_LIST)) {
  Deno.test(`an upstream that cannot list its models is sent the built-in names: ${name}`, async () => {
    await using upstream = fakeUpstream(({ path }) =>
      path === "/v1/models" ? list() : completion("Hello")
    );
    await using gateway = await startGateway({
      settings: { upstream: { url: upstream.url, discover: true } },
    });
    assertEquals((await served(gateway)).length, 6);
    assertEquals(await statusOf(gateway.chat("Hi", { model: "svc-k3" })), 200);
    assertEquals(upstream.received.at(-1)?.body.model, "svc-k3");
    assertEquals(gateway.gateway.unlisted, ["default"]);
  });
}

Deno.test("SLUICE_UPSTREAM_MODEL puts the upstream's models behind the built-in routes", async () => {
  await using upstream = fakeUpstream(listing(() => ["qwen3", "llama3"]));
  const routed = async (model: string) => {
    await using gateway = await startGateway({
      env: { SLUICE_UPSTREAM_URL: upstream.url, SLUICE_UPSTREAM_MODEL: model },
      settings: {},
    });
    await until(() => gateway.gateway.catalog.find("qwen3") !== undefined, { what: "list" });
    const { catalog } = gateway.gateway;
    return ["svc-k2", "svc-k3"].map((id) => catalog.find(id)?.targets[0]?.model);
  };
  assertEquals(await routed("qwen3"), ["qwen3", "qwen3"]);
  assertEquals(await routed("svc-k2=llama3, svc-k3=qwen3"), ["llama3", "qwen3"]);
  assertEquals(await routed("svc-k3=qwen3"), [undefined, "qwen3"]);
});

Deno.test("an upstream that is away keeps its models, also over a restart; a reload asks it again", async () => {
  let models = ["first"];
  let answers = true;
  await using upstream = fakeUpstream((request, signal) =>
    answers
      ? listing(() => models)(request, signal)
      : Response.json({ error: { message: "down" } }, { status: 503 })
  );
  const settings: SettingsInput = { upstream: { url: upstream.url, discover: true } };
  await using gateway = await startGateway({ settings });
  assertEquals(await served(gateway), ["first"]);
  models = ["first", "second"];
  await gateway.reload(settings);
  assertEquals(await served(gateway), ["first", "second"]);
  answers = false;
  await gateway.reload(settings);
  assertEquals(await served(gateway), ["first", "second"]);
  const { out } = await sluice([
    "models",
    "--json",
    "--config",
    `${gateway.directory}/sluice.jsonc`,
  ], {
    directory: gateway.directory,
  });
  assertEquals(JSON.parse(out).map(({ id }: { id: string }) => id), ["first", "second"]);
});

/** How upstreams say that they do not have a model, and what only looks like it. */
const UPSTREAM_ERRORS: readonly [number, unknown, number][] = [
  [404, {
    error: {
      message: "The model `m` does not exist or you do not have access to it.",
      code: "model_not_found",
    },
  }, 404],
  [404, { error: 'model "m" not found, try pulling it first' }, 404],
  [404, {
    object: "error",
    message: "The model `m` does not exist.",
    type: "NotFoundError",
    code: 404,
  }, 404],
  [404, { type: "error", error: { type: "not_found_error", message: "model: m" } }, 404],
  [400, { error: { message: "m is not a valid model ID", code: 400 } }, 404],
  [400, { object: "error", message: "Invalid model: m", type: "invalid_model" }, 404],
  // names of models have dots
  [404, {
    error: {
      message: "The model `Qwen/Qwen2.5-7B-Instruct` does not exist.",
      type: "NotFoundError",
      param: "model",
      code: 404,
    },
  }, 404],
  [404, {
    error: { message: 'model "llama3.2" not found, try pulling it first', type: "api_error" },
  }, 404],
  [404, {
    code: "Some requested entity was not found",
    error: "The model grok-4.1-x does not exist or your team 12 does not have access to it.",
  }, 404],
  [400, { error: { message: "Model Not Exist", type: "invalid_request_error" } }, 404],
  [404, {
    error: {
      message: "Not found the model kimi-k9 or Permission denied",
      type: "resource_not_found_error",
    },
  }, 404],
  [400, { message: "The provided model identifier is invalid." }, 404],
  [400, {
    message:
      "Invocation of model ID anthropic.claude-sonnet-4-5-20250929-v1:0 with on-demand throughput isn’t supported. " +
      "Retry your request with the ID or ARN of an inference profile that contains this model.",
  }, 404],
  [404, { message: "This model version has reached the end of its life." }, 404],
  [404, {
    error: {
      code: "DeploymentNotFound",
      message:
        "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, " +
        "please wait a moment and try again.",
    },
  }, 404],
  [404, {
    error: {
      message: "Unable to access model foo. Please visit https://api.together.ai/models.",
      code: "model_not_available",
    },
  }, 404],
  [400, { error: { code: "1211", message: "模型不存在，请检查模型代码。" } }, 404],
  [400, {
    error: {
      message: "The model `m` has been decommissioned and is no longer supported.",
      code: "model_decommissioned",
    },
  }, 404],
  [404, { error: { message: "No endpoints found for foo/bar-2.5.", code: 404 } }, 404],
  [404, { error: { message: "No endpoints found that support tool use.", code: 404 } }, 503],
  [400, {
    error: { message: "This model takes text only. The image a.png was not found." },
  }, 400],
  [404, { error: { message: "Not Found" } }, 503],
  [404, "<html>nothing here</html>", 503],
  [400, {
    error: { message: "temperature is not supported with this model", code: "unsupported_value" },
  }, 400],
  [400, { error: { message: "image not found in the request of this model" } }, 400],
];

Deno.test("an upstream's unknown model is a 404 that asks nobody to try again", async () => {
  let [status, body]: [number, unknown] = [404, ""];
  await using upstream = fakeUpstream(() =>
    typeof body === "string" ? new Response(body, { status }) : Response.json(body, { status })
  );
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  for (const [given, said, expected] of UPSTREAM_ERRORS) {
    [status, body] = [given, said];
    const reply = await gateway.chat("Hi");
    const { error } = await reply.json();
    assertEquals(reply.status, expected, JSON.stringify(said));
    if (expected !== 404) continue;
    assertEquals(error.code, "model_not_found");
    assertEquals(reply.headers.get("x-should-retry"), "false");
    assertEquals(reply.headers.get("retry-after"), null);
    assertMatch(error.message, /^The upstream does not have this model/);
  }
  const resting = gateway.gateway.upstreams.all.filter(({ health }) => health.resting);
  assertEquals(resting, []);
  await assertLedgerClean(gateway);
});

Deno.test("a target without the model leaves the request to the next; one that is down may come back", async () => {
  await using without = fakeUpstream(listing(() => []));
  let status = 200;
  await using other = fakeUpstream(() =>
    status === 200 ? completion("Hello") : Response.json({ error: { message: "x" } }, { status })
  );
  await using gateway = await startGateway({
    settings: {
      upstreams: { without: { url: without.url }, other: { url: other.url } },
      routes: {
        "svc-k2": {
          targets: [{ upstream: "without", model: "m" }, { upstream: "other", model: "m" }],
        },
      },
    },
  });
  assertEquals(await statusOf(gateway.chat("Hi")), 200);
  status = 500;
  assertEquals(await statusOf(gateway.chat("Hi")), 503);
  assert(other.received.length > 1);
});

Deno.test("an upstream gets no other's requests by what it lists, nor breaks anything by odd names", async () => {
  const hostile = [
    "good-model",
    "good/good-model",
    "cheap-1",
    "mine",
    "claude-svc-k2",
    "claude-house",
    "constructor",
    "toString",
    "__proto__",
    "x';touch${IFS}/tmp/pwned;'",
    'a"b',
    "$(id)",
    "<script>",
    "line\nbreak",
    "own-model",
  ];
  await using good = fakeUpstream(listing(() => ["good-model"]));
  await using evil = fakeUpstream(listing(() => hostile));
  await using gateway = await startGateway({
    settings: {
      upstreams: {
        good: { url: good.url, discover: true },
        zevil: { url: evil.url, discover: true },
      },
      routes: {
        house: { targets: [{ upstream: "good", model: "good-model" }] },
        "svc-k2": { targets: [{ upstream: "good", model: "good-model" }] },
      },
      aliases: { "cheap-*": "house", mine: "house" },
    },
  });
  const names = ["good/good-model", "cheap-1", "mine", "claude-svc-k2", "claude-house", "house"];
  for (const model of names) {
    assertEquals(await statusOf(gateway.chat("Hi", { model })), 200, model);
  }
  assertEquals(evil.received.filter(({ path }) => path !== "/v1/models"), []);
  // what is the upstream's own is served, and each name that is served can be used
  for (const model of await served(gateway)) {
    assertMatch(model, /^[\w@][\w.:@/+-]*$/);
    const reply = await gateway.chat("Hi", { model });
    await reply.body?.cancel();
    assertEquals(reply.status, 200, model);
    const { context, maxOutput, prices } = gateway.gateway.catalog.resolve(model);
    assert([context, maxOutput, prices.input].every(Number.isSafeInteger), model);
  }
  assert((await served(gateway)).includes("own-model"));
  assert((await served(gateway)).includes("zevil/cheap-1"));
  await assertLedgerClean(gateway);
});
