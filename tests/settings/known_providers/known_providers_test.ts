import { settingsText } from "../../../src/doors/cli/init.ts";
import { LOCAL_SERVERS } from "../../../src/requests/upstreams/mod.ts";
import { ConfigError, loadConfig } from "../../../src/settings/config/mod.ts";
import { knownProviders, providersIn } from "../../../src/settings/known_providers/mod.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../assert.ts";
import { startGateway } from "../../fake/gateway.ts";
import { sluice } from "../../fake/shell.ts";
import { tempDir, until } from "../../fake/temp.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";

/** Loads settings with these upstreams. */
async function load(upstreams: unknown, env: Record<string, string> = {}, serving = true) {
  await using directory = await tempDir();
  await Deno.writeTextFile(`${directory.path}/sluice.jsonc`, JSON.stringify({ upstreams }));
  return await loadConfig({ env, directory: directory.path, serving });
}

const PARTS = { resource: "acme", project: "proj", region: "eu-central-1" };

Deno.test("each provider resolves by its ID and its other names", async () => {
  const all = knownProviders();
  assert(all.length >= 135, `${all.length} providers`);
  const names = all.flatMap(({ id, aliases }) => [id, ...aliases]);
  assertEquals(new Set(names).size, names.length);
  const upstreams = Object.fromEntries(
    names.map((provider) => [provider, { provider, ...PARTS, key: "k-123456" }]),
  );
  const { settings } = await load(upstreams);
  for (const { id, aliases, dialect, quirks } of all) {
    for (const name of [id, ...aliases]) {
      const found = settings.upstreams[name]!;
      const { protocol } = new URL(found.url);
      assert(protocol === "https:" || /127\.0\.0\.1|localhost/.test(found.url), found.url);
      assert(!/\{|\/(?:chat\/completions|messages|responses)\/?$/.test(found.url), found.url);
      assertEquals([found.dialect, found.quirks], [dialect, quirks]);
    }
  }
});

Deno.test("a provider brings address, dialect, quirks and key; what is set besides wins", async () => {
  const { settings, origins } = await load({
    groq: { provider: "groq" },
    mine: {
      provider: "openai",
      url: "http://127.0.0.1:9/v1",
      dialect: "responses",
      key: "own-key",
    },
    other: {
      provider: "openai",
      url: "http://127.0.0.1:9/v1",
      dialect: "messages",
      key: "own-key",
    },
  }, { GROQ_API_KEY: "gsk-from-env" });
  const { groq, mine, other } = settings.upstreams;
  assertEquals([groq!.url, groq!.dialect], ["https://api.groq.com/openai/v1", "chat"]);
  assertEquals(groq!.key?.reveal(), "gsk-from-env");
  assertEquals(origins.get("upstreams.groq.key"), "environment GROQ_API_KEY");
  assertEquals(origins.get("upstreams.groq.url"), "provider groq");
  assertEquals([mine!.url, mine!.dialect, mine!.quirks], [
    "http://127.0.0.1:9/v1",
    "responses",
    "openai",
  ]);
  assertEquals(mine!.key?.reveal(), "own-key");
  assertEquals(other!.quirks, undefined, "they are of the provider's dialects");
});

Deno.test("parts of an address come from the settings or the provider's own variables", async () => {
  const env = { DATABRICKS_HOST: "https://adb-1.azuredatabricks.net/", DATABRICKS_TOKEN: "dapi-1" };
  const { settings } = await load({
    azure: { provider: "azure", resource: "acme", key: "k-123456" },
    bricks: { provider: "databricks" },
    claude: { provider: "vertex-anthropic", project: "p", region: "global" },
    gemini: { provider: "vertex", project: "p", region: "europe-west1" },
    eu: { provider: "vertex", project: "p", region: "eu" },
    us: { provider: "vertex-gemini", project: "p", region: "us" },
    claude2: { provider: "vertex-anthropic", project: "p", region: "us" },
  }, env);
  const urls = Object.values(settings.upstreams).map(({ url }) => url);
  assertEquals(urls, [
    "https://acme.openai.azure.com/openai/v1",
    "https://adb-1.azuredatabricks.net/ai-gateway/mlflow/v1",
    "https://aiplatform.googleapis.com/v1/projects/p/locations/global",
    "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/europe-west1/endpoints/openapi",
    "https://aiplatform.eu.rep.googleapis.com/v1/projects/p/locations/eu/endpoints/openapi",
    "https://aiplatform.us.rep.googleapis.com/v1/projects/p/locations/us/publishers/google",
    "https://aiplatform.us.rep.googleapis.com/v1/projects/p/locations/us",
  ]);
  assertEquals(settings.upstreams.claude!.credentials?.kind, "google");
});

Deno.test("what a provider needs and does not have is said", async () => {
  const faultsOf = async (upstream: unknown) => {
    const error = await assertRejects(() => load({ a: upstream }), ConfigError);
    assertEquals(error.faults.length, 1, error.message);
    return error.faults[0]!;
  };
  assert(
    (await faultsOf({ provider: "grok" })).includes(
      "unknown provider 'grok'; did you mean 'groq'?",
    ),
  );
  assert((await faultsOf({ provider: "groq" })).includes("Groq needs a key: set GROQ_API_KEY"));
  const azure = await faultsOf({ provider: "azure", key: "k-123456" });
  assert(azure.includes("upstreams.a.resource: Azure OpenAI needs `resource`"), azure);
  assert(azure.includes("AZURE_RESOURCE_NAME"), azure);
  const part = await faultsOf({ provider: "azure", resource: "evil.example/?", key: "k-123456" });
  assert(part.includes("letters, digits"), part);
  assert((await faultsOf({ key: "k" })).includes("upstreams.a.url: is missing"));
  const both = await faultsOf({
    provider: "groq",
    key: "k-123456",
    credentials: { kind: "file", path: "t" },
  });
  assert(both.includes("cannot be combined"), both);
  const { missingVariables } = await load({ a: { provider: "groq" } }, {}, false);
  assertEquals(missingVariables, ["GROQ_API_KEY"]);
});

Deno.test("of providers that read the same variable one is offered; a token of something else is no offer", () => {
  const env = Object.fromEntries(
    knownProviders().flatMap((
      { keyVariables, holes },
    ) => [...keyVariables, ...Object.values(holes)])
      .map((name) => [name, "x"]),
  );
  const offered = providersIn(env).map(({ provider }) => provider.id);
  for (const id of ["moonshot", "alibaba", "zai", "minimax", "stepfun", "xiaomi", "opencode"]) {
    assert(offered.includes(id), id);
  }
  for (const id of ["github-models", "alibaba-cn", "moonshotai-cn", "minimax-cn"]) {
    assert(!offered.includes(id), id);
  }
  assertEquals(providersIn({ CLOUDFLARE_API_KEY: "x" }), []);
});

Deno.test("sluice init with ten variables writes ten upstreams that reply", async () => {
  const names =
    "ANTHROPIC_API_KEY OPENAI_API_KEY GROQ_API_KEY MISTRAL_API_KEY XAI_API_KEY TOGETHER_API_KEY CEREBRAS_API_KEY " +
    "DEEPINFRA_API_KEY NVIDIA_API_KEY HF_TOKEN";
  const env = Object.fromEntries(names.split(" ").map((name) => [name, `key-of-${name}`]));
  await using directory = await tempDir();
  // models are asked for: nothing answers there
  const nowhere = { ...env, HTTPS_PROXY: "http://127.0.0.1:9" };
  const { code, out, err } = await sluice(["init", "--yes", "--here"], {
    directory: directory.path,
    env: nowhere,
  });
  assertEquals(code, 0, err);
  for (const name of Object.keys(env)) assert(out.includes(name), out);
  const written = await Deno.readTextFile(`${directory.path}/sluice.jsonc`);
  assert(!/key-of-/.test(written));
  const { settings: { upstreams } } = await loadConfig({ env, directory: directory.path });
  assertEquals(Object.keys(upstreams).length, 10);

  // the file as it is, but for where the providers are
  await using fake = fakeUpstream(({ path, body }) => {
    const name = path.split("/")[2];
    if (path.endsWith("/models")) return Response.json({ data: [{ id: `model-of-${name}` }] });
    return path.endsWith("/messages")
      ? Response.json({
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: body.model,
        content: [{ type: "text", text: `I am ${name}.` }],
        stop_reason: "end_turn",
        usage: { input_tokens: 3, output_tokens: 3 },
      })
      : completion(`I am ${name}.`);
  });
  const moved = written.replace(
    /"provider": "([^"]+)",/g,
    (setting, name) => `${setting} "url": "${fake.url}/${name}",`,
  );
  await using gateway = await startGateway({ env, settings: { upstream: { url: fake.url } } });
  const reload = await gateway.reload(moved.replace("{", '{ "port": 0,'));
  assert(!("error" in reload), JSON.stringify(reload));
  for (const [name, { key }] of Object.entries(upstreams)) {
    const model = `model-of-${name}`;
    await until(
      async () => (await (await fetch(`${gateway.url}/v1/models`)).text()).includes(model),
      {
        what: model,
      },
    );
    const reply = await gateway.post("/v1/chat/completions", {
      model,
      messages: [{ role: "user", content: "Who are you?" }],
    });
    assertStringIncludes(await reply.text(), `I am ${name}.`);
    const { headers } = fake.received.findLast(({ body }) => body?.model === model)!;
    const sent = headers.get("x-api-key") ?? headers.get("authorization")?.replace("Bearer ", "");
    assertEquals(sent, key?.reveal(), name);
  }
});

Deno.test("sluice init writes an upstream that can be used where a variable has a host with its scheme", async () => {
  const env = { DATABRICKS_HOST: "https://adb-1.azuredatabricks.net/", DATABRICKS_TOKEN: "dapi-1" };
  await using directory = await tempDir();
  const { code, err } = await sluice(["init", "--yes", "--here"], {
    directory: directory.path,
    env: { ...env, HTTPS_PROXY: "http://127.0.0.1:9" },
  });
  assertEquals(code, 0, err);
  const { settings: { upstreams } } = await loadConfig({ env, directory: directory.path });
  assertEquals(upstreams.databricks!.url, "https://adb-1.azuredatabricks.net/ai-gateway/mlflow/v1");
});

Deno.test("a model's name adds no setting to the file that init writes", async () => {
  const [preset] = LOCAL_SERVERS;
  const id = '"\n  },\n  "registration": "open",\n  "tags": {\n    //';
  await using directory = await tempDir();
  const text = settingsText([{ preset: preset!, models: [{ id }] }]);
  await Deno.writeTextFile(`${directory.path}/sluice.jsonc`, text);
  const { settings } = await loadConfig({ env: {}, directory: directory.path });
  assertEquals(settings.registration, "invite");
});

Deno.test("the address of a provider is written once, in the table", async () => {
  const hosts = knownProviders().filter(({ url }) => !url.includes("{"))
    .map(({ url }) => new URL(url).hostname)
    // programs on this machine; and one whose older version is imported
    .filter((host) => !["127.0.0.1", "localhost", "api.novita.ai"].includes(host));
  const again: string[] = [];
  for await (const { path, text } of sources(new URL("../../../src/", import.meta.url))) {
    if (path.includes("/known_providers/")) continue;
    again.push(
      ...hosts.filter((host) => text.includes(`//${host}`)).map((host) => `${path}: ${host}`),
    );
  }
  assertEquals(again, []);
});

async function* sources(folder: URL): AsyncGenerator<{ path: string; text: string }> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const url = new URL(isDirectory ? `${name}/` : name, folder);
    if (isDirectory) yield* sources(url);
    else if (/\.(tsx?|js)$/.test(name)) {
      yield { path: url.pathname, text: await Deno.readTextFile(url) };
    }
  }
}
