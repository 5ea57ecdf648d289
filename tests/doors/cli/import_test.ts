import { createHash } from "node:crypto";
import { CLOUDS } from "../../../src/operating/importers/litellm/providers.ts";
import { findKnownProvider } from "../../../src/settings/known_providers/mod.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { homeIn } from "../../fake/command.ts";
import { KEYS, makeSource, shop } from "../../fake/import/new_api.ts";
import { keptOpen } from "../../fake/kept_open.ts";
import { serveHere, sluice } from "../../fake/shell.ts";
import { tempDir } from "../../fake/temp.ts";

const CONFIG = await Deno.readTextFile(new URL("../../fake/import/litellm.yaml", import.meta.url));
/** The variables that the configuration names. */
const VARIABLES = {
  OPENAI_API_KEY: "openai-environment-secret",
  AZURE_EU_KEY: "x",
  ANTHROPIC_API_KEY: "x",
  OPENROUTER_API_KEY: "x",
  AWS_REGION_NAME: "eu-north-1",
  VERTEX_PROJECT: "from-environment",
};

// deno-lint-ignore no-explicit-any -- tests look into whatever was printed
type Printed = any;

/** A place to import into: the user's own directories. */
async function place() {
  await using opened = new AsyncDisposableStack();
  const dir = opened.use(await tempDir());
  const { openParts } = opened.use(keptOpen());
  const env: Record<string, string> = homeIn(dir.path);
  const file = `${dir.path}/config/sluice/sluice.jsonc`;
  const run = (args: readonly string[], more = {}) =>
    sluice(args, { directory: dir.path, env: { ...env, ...more }, openParts });
  const owned = opened.move();
  return {
    path: dir.path,
    env,
    file,
    run,
    settings: () => Deno.readTextFile(file),
    write: (name: string, text: unknown) =>
      Deno.writeTextFile(
        `${dir.path}/${name}`,
        typeof text === "string" ? text : JSON.stringify(text),
      ),
    async json(...args: string[]): Promise<Printed> {
      const { code, out, err } = await run([...args, "--json"], VARIABLES);
      assertEquals([code, err.replace(/sluice: created.*\n/, "")], [0, ""], args.join(" "));
      return JSON.parse(out);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const byId = (rows: Printed, id: string) =>
  rows.find((one: Printed) => (one.id ?? one.name) === id);

Deno.test("import litellm: shows what it would do, and no secret", async () => {
  await using here = await place();
  await here.write("config.yaml", CONFIG);
  for (const args of [[], ["--json"]]) {
    const { code, out, err } = await here.run(["import", "litellm", "config.yaml", ...args]);
    assertEquals([code, err], [0, ""]);
    for (const secret of CONFIG.match(/[a-z-]+secret[a-z-]*/g)!.filter((one) => one !== "secret")) {
      if (!/secret-access|^-secret$/.test(secret)) {
        assert(!out.includes(secret), `${secret}\n${out}`);
      }
    }
  }
  const { out } = await here.run(["import", "litellm", "config.yaml"]);
  assertStringIncludes(out, "Nothing was written. To import this from LiteLLM, add --write");
  for (
    const line of [
      "model_list[0] (gpt-4o) rpm: rate limits follow the balance",
      "model_list[6] (text-embedding-3-small): mode embedding",
      "model_list[7] (titan): its region is not known: set aws_region_name",
      "fallbacks: claude-sonnet → gone: there is no such model",
      "model_group_alias.nowhere:",
      "router_settings.routing_strategy:",
      "router_settings.redis_password: not needed",
      "general_settings.master_key:",
      "environment_variables.LANGFUSE_SECRET_KEY:",
      "guardrails: there is no counterpart",
    ]
  ) assertStringIncludes(out, line);
  assertEquals(await Array.fromAsync(Deno.readDir(here.path)).then((all) => all.length), 1);
});

Deno.test("import litellm: upstreams, targets, prices and limits; a second time nothing changes", async () => {
  await using here = await place();
  await here.write("config.yaml", CONFIG);
  await Deno.mkdir(`${here.path}/config/sluice`, { recursive: true });
  await Deno.writeTextFile(here.file, `{\n  // ours\n  "port": 0, // any\n}\n`);
  const report = await here.json("import", "litellm", "config.yaml", "--write");
  assertEquals(report.variables, []);
  const upstream = (name: string) => byId(report.upstreams, name);
  assertEquals(upstream("azure").url, "https://team-eu.openai.azure.com/openai/v1");
  assertEquals(upstream("anthropic").dialect, "messages");
  assertEquals(upstream("ollama-chat").url, "http://10.0.0.6:11434/v1");
  assertEquals(upstream("hosted-vllm").keys, "settings file");
  assertEquals(upstream("openai").keys, "environment");
  const route = (id: string) => byId(report.routes, id);
  assertEquals(route("gpt-4o").targets, [
    { upstream: "openai", model: "gpt-4o", weight: 3 },
    { upstream: "azure", model: "gpt-4o-eu", weight: 1 },
  ]);
  assertEquals(route("gpt-4o").prices_from, "known");
  assertEquals(route("house-llama").targets, [
    { upstream: "hosted-vllm", model: "meta/llama-house" },
    { upstream: "ollama-chat", model: "llama3.1" },
  ]);
  assertEquals(route("claude-sonnet").targets.map((one: Printed) => one.upstream), [
    "anthropic",
    "openai",
    "azure",
  ]);
  assertEquals(route("reports").targets, [{ upstream: "openai", model: "gpt-4o-mini" }]);
  assertEquals(report.aliases.map((one: Printed) => [one.name, one.route]), [
    ["gpt-4", "gpt-4o"],
    ["sonnet-*", "claude-sonnet"],
  ]);

  const settings = await here.settings();
  assertStringIncludes(settings, "// ours");
  assertStringIncludes(settings, "// any");
  assertStringIncludes(settings, `"key": "\${OPENAI_API_KEY}"`);
  assertStringIncludes(settings, `"key": "sk-literal-upstream-secret"`);
  assertStringIncludes(settings, `"discover": true`);
  assert(!settings.includes("openai-environment-secret"));
  const checked = await here.run(["config", "check"], VARIABLES);
  assertEquals(checked.code, 0, checked.err);
  const shown = await here.json("config", "show");
  const value = (path: string) => shown.find((one: Printed) => one.path === path).value;
  assertEquals(value("routes.claude-sonnet.maxOutput"), 32_000);
  assertEquals(value("routes.claude-sonnet.prices.output"), 15_000);

  const again = await here.json("import", "litellm", "config.yaml", "--write");
  assertEquals(await here.settings(), settings);
  const states = [...again.upstreams, ...again.routes, ...again.aliases];
  assertEquals(new Set(states.map(({ state }: Printed) => state)), new Set(["unchanged"]));
});

Deno.test("import litellm: prices per token, of the highest target, become credits per million", async () => {
  await using here = await place();
  await here.write("config.yaml", CONFIG);
  const [only] = (await here.json("import", "litellm", "config.yaml")).routes.filter(
    ({ id }: Printed) => id === "house-llama",
  );
  assertEquals([only.prices_from, only.prices], ["source", {
    input: 300,
    cached: 150,
    output: 1_200, // nothing is known of its failover
  }]);
  await here.write(
    "one.yaml",
    `model_list:
  - model_name: m
    litellm_params: { model: openai/unheard-of, api_base: "http://10.0.0.1/v1", max_tokens: 100 }
    model_info: { input_cost_per_token: 3e-07, output_cost_per_token: 1.2e-6, max_input_tokens: 4000 }
`,
  );
  await here.json("import", "litellm", "one.yaml", "--write");
  const model = byId(await here.json("models"), "m");
  assertEquals(model.prices, { input: 300, cached: 300, output: 1_200 });
  assertEquals([model.context, model.maxOutput], [4_000, 100]);
});

Deno.test("import litellm: what the operator has stays; a taken name gets a number", async () => {
  await using here = await place();
  await here.write("config.yaml", CONFIG);
  await Deno.mkdir(`${here.path}/config/sluice`, { recursive: true });
  await Deno.writeTextFile(
    here.file,
    `{ "upstreams": {
      "openai": { "url": "https://other.example/v1" },
      "anthropic": { "url": "https://api.anthropic.com/v1/", "dialect": "messages", "key": "\${OWN}" }
    },
    "routes": { "reports": { "targets": [{ "upstream": "openai", "model": "own" }] } },
    "aliases": { "gpt-4": "reports" } }`,
  );
  const report = await here.json("import", "litellm", "config.yaml", "--write");
  assertEquals(byId(report.upstreams, "openai-2").state, "new");
  assertEquals(byId(report.upstreams, "anthropic").state, "unchanged");
  const checks = report.notices.map(({ subject }: Printed) => subject);
  for (const one of ["upstream anthropic", "route reports", "alias gpt-4"]) {
    assert(checks.includes(one), one);
  }
  assertStringIncludes(await here.settings(), `"gpt-4": "reports"`);
});

Deno.test("import litellm: its keys go on working, with budget, models and expiry", async () => {
  await using here = await place();
  const withoutWildcard = CONFIG.replace(/ {2}- model_name: openrouter[^]*?\n\n/, "\n");
  await here.write("config.yaml", withoutWildcard); // the gateway would ask for its models
  const secret = "sk-Abcdefghij_0123456789x"; // as short as LiteLLM makes them
  const digest = (text: string) => createHash("sha256").update(text).digest("hex");
  await here.write("keys.json", {
    total_pages: 2,
    current_page: 1,
    keys: [
      {
        token: digest(secret),
        key_name: "sk-...789x",
        key_alias: "laptop",
        spend: 2.5,
        max_budget: 10,
        models: ["gpt-4", "house-llama", "nowhere"],
        user_id: "ada@example.com",
        tpm_limit: 1_000,
        metadata: {},
        budget_duration: "30d",
        expires: "2099-01-01T00:00:00",
      },
      { token: digest("x"), key_name: "sk-...blok", blocked: true },
      { token: digest("y"), key_name: "sk-...old0", expires: "2020-01-01T00:00:00Z" },
      { token: digest("z"), key_name: "sk-...team", team_id: "t-1", team_alias: "Data Science" },
      { token: digest("w"), key_name: "sk-...admn", user_id: "default_user_id" },
    ],
  });
  await here.write("teams.json", [{ team_id: "t-1", team_alias: "Data Science", models: [] }]);
  await here.write("more.json", { key: "sk-1234", info: { key_alias: "custom", user_id: "eve" } });
  const args = [
    "import",
    "litellm",
    "config.yaml",
    "--keys",
    "keys.json",
    "more.json",
    "teams.json",
  ];
  const shown = await here.json(...args);
  assertEquals(shown.keys.map(({ state }: Printed) => state), [
    "adopted",
    "adopted",
    "adopted",
    "replaced",
  ]);
  const report = await here.json(...args, "--write");
  assertEquals(
    report.accounts.map(({ email, state }: Printed) => [email, state]),
    [
      ["ada@example.com", "new"],
      ["team-data-science@litellm.invalid", "new"],
      ["owner@localhost", "existing"],
      ["eve@litellm.invalid", "new"],
    ],
  );
  const [laptop] = report.keys;
  assertEquals(
    [laptop.models, laptop.budget, laptop.budget_period, laptop.expires_at, laptop.hint],
    [
      ["gpt-4o", "house-llama", "nowhere"],
      10_000,
      "month",
      "2099-01-01T00:00:00.000Z",
      "sk-...789x",
    ],
  );
  assertMatch(report.keys[3].key, /^sk-[A-Za-z0-9]{43}$/);
  const subjects = report.notices.map(({ subject }: Printed) => subject);
  for (const one of ["key laptop tpm_limit", "keys, page 1 of 2", "key sk-...blok"]) {
    assert(subjects.includes(one), `${one}: ${subjects.join("; ")}`);
  }

  const listed = JSON.stringify(await here.json("account", "list"));
  const again = await here.json(...args, "--write");
  assertEquals(again.keys.map(({ state, key }: Printed) => [state, key]), [
    ["unchanged", undefined],
    ["unchanged", undefined],
    ["unchanged", undefined],
    ["unchanged", undefined],
  ]);
  assertEquals(JSON.stringify(await here.json("account", "list")), listed);

  await here.json("credits", "grant", "--account", "ada@example.com", "--credits", "50");
  await using gateway = serveHere(["--port", "0"], {
    directory: here.path,
    env: { ...here.env, ...VARIABLES },
  });
  const [, url] = await gateway.waitFor(/listening on (\S+)/);
  const reply = await fetch(`${url}/user/credits`, { headers: { "x-api-key": secret } });
  assertEquals([reply.status, (await reply.json()).credits_remaining], [200, 50]);
});

Deno.test("import new-api: channels, ratios, users and tokens; a second time nothing changes", async () => {
  await using here = await place();
  makeSource(`${here.path}/one-api.db`, "new-api", shop());
  const before = await Deno.readFile(`${here.path}/one-api.db`);
  const args = ["import", "new-api", "one-api.db"];
  const dry = await here.run(args);
  assertEquals([dry.code, dry.err], [0, ""]);
  for (const secret of ["-secret", "personal-access", "smtp-", "aaaaaaaa", "ak|sk"]) {
    assert(!dry.out.includes(secret), `${secret} in ${dry.out}`);
  }
  for (
    const line of [
      "channel 2 (Reseller) param_override:",
      "channel 4 (VIP): it is for the group vip",
      "channel 5 (Bedrock) model nova-pro-v1:0: of Bedrock's models only Claude is imported",
      "channel 6 (Off): it is disabled",
      "user off: it is disabled",
      "token 4 (old): it has expired",
      "token 6 (of the disabled): its user is not imported",
      "token 2 (laptop) allow_ips:",
      "option SMTPToken:",
      "table logs: its 2 rows stay there",
      "model text-embedding-3-small: not a chat model",
    ]
  ) assertStringIncludes(dry.out, line);
  assertEquals(await Array.fromAsync(Deno.readDir(here.path)).then((all) => all.length), 1);

  const report = await here.json(...args, "--write");
  const main = byId(report.upstreams, "openai-main");
  assertEquals([main.url, main.keys], ["https://api.openai.com/v1", "settings file"]);
  assertEquals(byId(report.upstreams, "reseller").url, "https://reseller.example/v1");
  assertEquals(byId(report.upstreams, "claude").dialect, "messages");
  assertEquals(byId(report.routes, "gpt-4o").targets, [
    { upstream: "openai-main", model: "gpt-4o", weight: 3 },
    { upstream: "reseller", model: "vendor/gpt-4o", weight: 1 },
    { upstream: "claude", model: "claude-sonnet-4-5" },
  ]);
  assertEquals(byId(report.routes, "gpt-4o").prices, {
    input: 2_500,
    cached: 1_250,
    output: 10_000,
  });
  assertEquals(byId(report.routes, "house-model").prices, {
    input: 4_000,
    cached: 4_000,
    output: 12_000,
  });
  const settings = await here.settings();
  assertStringIncludes(settings, `"keys": ["sk-channel-secret-1", "sk-channel-secret-2"]`);
  assert(!settings.includes("sk-channel-off"));
  const perCall = byId(await here.json("models"), "per-call");
  assertEquals([perCall.minimum, perCall.prices], [20, { input: 0, cached: 0, output: 0 }]);
  assertEquals((await here.run(["config", "check"])).code, 0);

  assertEquals(
    report.accounts.map(({ email, credits }: Printed) => [email, credits]),
    [
      ["root@new-api.invalid", 200_000],
      ["ada@example.com", 2_500],
      ["bob@new-api.invalid", 0], // nobody gets a second account of an address
    ],
  );
  const laptop = report.keys.find(({ name }: Printed) => name === "laptop");
  assertEquals(
    [laptop.account, laptop.models, laptop.budget, laptop.hint],
    ["ada@example.com", ["gpt-4o", "nowhere"], 1_200, "sk-aaa…aaaa"],
  );
  const strange = report.keys.find(({ name }: Printed) => name === "strange");
  assertEquals([strange.state, strange.budget], ["replaced", 1]);
  assertEquals(report.keys.length, 4);

  const again = await here.json(...args, "--write");
  assertEquals(await here.settings(), settings);
  assertEquals(new Set(again.keys.map(({ state }: Printed) => state)), new Set(["unchanged"]));
  assertEquals(again.accounts.map(({ credits }: Printed) => credits), [0, 0, 0]);
  const credits = await here.json("credits", "show", "--account", "ada@example.com");
  assertEquals(credits.balance, 2_500);
  await here.json("credits", "audit"); // fails on any mismatch
  const vip = await here.json(...args, "--group", "vip");
  assertEquals(byId(vip.routes, "gpt-4o").prices.input, 1_250);
  assert(vip.routes.some(({ id }: Printed) => id === "claude-opus-4-5"));
  assertEquals(await Deno.readFile(`${here.path}/one-api.db`), before);
  const beside = (await Array.fromAsync(Deno.readDir(here.path), (one) => one.name))
    .filter((name) => name.startsWith("one-api"));
  assertEquals(beside, ["one-api.db"], "files beside the source");

  await using gateway = serveHere(["--port", "0"], { directory: here.path, env: here.env });
  const [, url] = await gateway.waitFor(/listening on (\S+)/);
  const reply = await fetch(`${url}/user/credits`, {
    headers: { authorization: `Bearer ${KEYS.ada}` },
  });
  assertEquals([reply.status, (await reply.json()).credits_remaining], [200, 2_500]);
});

Deno.test("import new-api: an address proves nothing, so that an account here is not spent from", async () => {
  await using here = await place();
  makeSource(`${here.path}/one-api.db`, "new-api", {
    ...shop(),
    users: [
      { username: "mallory", password: "x", email: "ada@example.com", quota: 500 },
      { username: "trent", password: "x", email: "owner@localhost", quota: 500 },
    ],
    tokens: [{ user_id: 1, key: "m".repeat(48), unlimited_quota: 1, name: "theirs" }],
  });
  await here.json("account", "create", "--email", "ada@example.com");
  const args = ["import", "new-api", "one-api.db", "--write"];
  for (let times = 0; times < 2; times++) {
    const { accounts, keys } = await here.json(...args);
    assertEquals(accounts.map(({ email }: Printed) => email), [
      "mallory@new-api.invalid",
      "trent@new-api.invalid",
    ]);
    assertEquals(keys[0].account, "mallory@new-api.invalid");
  }
  assertEquals((await here.json("key", "list", "--account", "ada@example.com")).data.length, 0);
  assertEquals((await here.json("account", "list")).data.length, 4);
});

Deno.test("import new-api --join: an account here gets the keys and credits of its address", async () => {
  await using here = await place();
  makeSource(`${here.path}/one-api.db`, "new-api", shop());
  await here.json("account", "create", "--email", "ada@example.com"); // with 10 credits
  const args = ["import", "new-api", "one-api.db", "--write", "--join"];
  await here.json(...args);
  await here.json(...args);
  const { balance } = await here.json("credits", "show", "--account", "ada@example.com");
  assertEquals(balance, 2_510);
});

Deno.test("import one-api: its channels have other numbers, and its tokens a list of models", async () => {
  await using here = await place();
  makeSource(`${here.path}/one-api.db`, "one-api", {
    channels: [
      { type: 36, key: "sk-deepseek", name: "深度求索", models: "deepseek-chat", weight: 9 },
      {
        type: 50,
        key: "sk-any",
        name: "Any",
        base_url: "https://any.example/api/v3",
        models: "deepseek-chat",
      },
      { type: 30, key: "", name: "Ollama", models: "qwen3" },
    ],
    users: [{ username: "ada", password: "x", quota: 500_000 }],
    tokens: [
      { user_id: 1, key: "a".repeat(48), models: "qwen3", remain_quota: 1, subnet: "10.0.0.0/8" },
      { user_id: 1, key: "b".repeat(48), models: null, unlimited_quota: 1 },
    ],
    options: [{ key: "QuotaPerUnit", value: "1000000" }, { key: "ModelRatio", value: "not JSON" }],
  });
  const report = await here.json("import", "one-api", "one-api.db", "--write");
  assertEquals(report.upstreams.map(({ name, url, keys }: Printed) => [name, url, keys]), [
    ["deepseek", "https://api.deepseek.com/v1", "settings file"],
    ["any", "https://any.example/api/v3", "settings file"],
    ["ollama", "http://localhost:11434/v1", "none"],
  ]);
  assertEquals(byId(report.routes, "deepseek-chat").targets.map((one: Printed) => one.weight), [
    1,
    1,
  ]);
  assertEquals(report.accounts[0].credits, 500);
  assertEquals(report.keys.map(({ models }: Printed) => models), [["qwen3"], null]);
});

Deno.test("import: sources that are none, or hostile, say so without what is in them", async () => {
  await using here = await place();
  const secret = "sk-do-not-print-this";
  const cases: readonly [string, string, string][] = [
    ["none.yaml", `a: ${secret}`, "it has no model_list"],
    ["bad.yaml", `model_list:\n  - api_key: "${secret}\n`, "not valid YAML: line"],
    ["loop.yaml", `model_list: &a [*a, ${secret}]`, ""],
    [
      "bomb.yaml",
      `a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n` +
      `c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\nmodel_list: [*d]`,
      "",
    ],
  ];
  for (const [name, text, says] of cases) {
    await here.write(name, text);
    const { code, out, err } = await here.run(["import", "litellm", name]);
    assert(!out.includes(secret) && !err.includes(secret), `${out}${err}`);
    if (says !== "") assertEquals([code, err.includes(says)], [1, true], err);
  }
  await here.write("config.yaml", CONFIG);
  await here.write("keys.json", `{"keys": [${secret}`);
  const bad = await here.run(["import", "litellm", "config.yaml", "--keys", "keys.json"]);
  assertEquals([bad.code, bad.err], [1, "sluice: keys.json is not valid JSON\n"]);

  await here.write("text.db", "no database at all, only text");
  const none = await here.run(["import", "new-api", "text.db"]);
  assertEquals([none.code, none.err.includes("Cannot read")], [1, true]);
  assertEquals((await here.run(["import", "new-api", "missing.db"])).code, 1);
  makeSource(`${here.path}/evil.db`, "new-api", {
    channels: [{
      type: 1,
      key: "sk-ü-not-ascii",
      name: "\u001b[31mred\u202e",
      models: "__proto__,gpt-4o,bad\u001bname",
      model_mapping: '{"gpt-4o":"gpt-4o"}',
    }],
    users: [{ username: "\u001b]0;x", password: "x", display_name: "a\u202eb", quota: 1e9 }],
    tokens: [{ user_id: 1, key: "k".repeat(48), name: "\u001b[2J", unlimited_quota: 1 }],
  });
  const evil = await here.run(["import", "new-api", "evil.db"]);
  assertEquals(evil.code, 0, evil.err);
  // deno-lint-ignore no-control-regex -- what must not reach a terminal
  assert(!/[\u001b\u202e]/.test(evil.out), evil.out);
  const refused = await here.run(["import", "new-api", "evil.db", "--write"]);
  assertEquals([refused.code, refused.err.includes("not-ascii")], [1, false], refused.err);
  assertEquals(await Deno.stat(here.file).then(() => true, () => false), false);
  assertEquals((await here.run(["import", "new-api", "evil.db", "--domain", "x y"])).code, 2);
});

Deno.test("providers that the import of LiteLLM's clouds names are there", () => {
  const all = Object.values(CLOUDS).flat();
  assertEquals(all.filter((id) => findKnownProvider(id) === undefined), []);
});

/** Deployments of Bedrock and Vertex AI, as LiteLLM's documentation of the two shows them. */
const CLOUD_CONFIG = `model_list:
  - model_name: bedrock-claude
    litellm_params:
      model: bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0
      aws_access_key_id: os.environ/CUSTOM_AWS_ACCESS_KEY_ID
      aws_secret_access_key: os.environ/CUSTOM_AWS_SECRET_ACCESS_KEY
      aws_region_name: us-west-2
  - model_name: bedrock-role
    litellm_params:
      model: bedrock/converse/eu-west-1/anthropic.claude-3-haiku-20240307-v1:0
      aws_role_name: arn:aws:iam::888602223428:role/iam_local_role
      aws_session_name: bedrock-session
  - model_name: bedrock-oss
    litellm_params:
      model: bedrock/openai.gpt-oss-120b-1:0
      api_key: os.environ/AWS_BEARER_TOKEN_BEDROCK
      aws_region_name: os.environ/AWS_REGION_NAME
  - model_name: bedrock-profile
    litellm_params:
      model: bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0
      model_id: arn:aws:bedrock:us-east-1:888602223428:application-inference-profile/abc123
      aws_region_name: us-east-1
      aws_secret_access_key: literal-aws-secret
      aws_access_key_id: AKIA0000
  - model_name: vertex-gemini
    litellm_params:
      model: vertex_ai/gemini-2.5-pro
      vertex_project: adroit-crow-413218
      vertex_location: us-central1
      vertex_credentials: /path/to/service_account.json
  - model_name: vertex-claude
    litellm_params:
      model: vertex_ai/claude-sonnet-4-5@20250929
      vertex_ai_project: os.environ/VERTEX_PROJECT
      vertex_ai_location: global
  - model_name: vertex-inline
    litellm_params:
      model: vertex_ai/meta/llama-4-scout-17b-16e-instruct-maas
      vertex_project: p
      vertex_location: us-east5
      vertex_credentials: '{"type": "service_account", "private_key": "inline-private-key"}'
  - model_name: any
    litellm_params: { model: "bedrock/*" }
`;

Deno.test("import litellm: deployments of Bedrock and Vertex AI get the credentials of their clouds", async () => {
  await using here = await place();
  await here.write("config.yaml", CLOUD_CONFIG);
  const report = await here.json("import", "litellm", "config.yaml", "--write");
  const text = await here.settings();
  const settings = JSON.parse(text.replaceAll(/^\s*\/\/.*$/gm, ""));
  const of = (route: string) => {
    const [{ upstream, model }] = settings.routes[route].targets;
    const { credentials, ...rest } = settings.upstreams[upstream];
    return [model, rest, credentials];
  };
  assertEquals(of("bedrock-claude"), [
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    { provider: "bedrock-anthropic", region: "us-west-2" },
    {
      kind: "aws",
      accessKeyId: "${CUSTOM_AWS_ACCESS_KEY_ID}",
      secretAccessKey: "${CUSTOM_AWS_SECRET_ACCESS_KEY}",
    },
  ]);
  assertEquals(of("bedrock-role"), [
    "anthropic.claude-3-haiku-20240307-v1:0",
    { provider: "bedrock-anthropic", region: "eu-west-1" },
    { kind: "aws", roleArn: "arn:aws:iam::888602223428:role/iam_local_role" },
  ]);
  assertEquals(of("bedrock-oss"), [
    "openai.gpt-oss-120b-1:0",
    { provider: "bedrock", region: "eu-north-1", key: "${AWS_BEARER_TOKEN_BEDROCK}" },
    undefined,
  ]);
  assertEquals(of("bedrock-profile")[0], CLOUD_CONFIG.match(/arn:aws:bedrock\S+/)![0]);
  assertEquals(of("vertex-gemini"), [
    "google/gemini-2.5-pro",
    { provider: "vertex", project: "adroit-crow-413218", region: "us-central1" },
    { kind: "google", file: "/path/to/service_account.json" },
  ]);
  assertEquals(of("vertex-claude"), [
    "claude-sonnet-4-5@20250929",
    { provider: "vertex-anthropic", project: "from-environment", region: "global" },
    { kind: "google" },
  ]);
  assertEquals(of("vertex-inline")[2], { kind: "google", file: "google-service-account.json" });
  assert(!text.includes("inline-private-key"));
  assertEquals(report.variables.toSorted(), [
    "AWS_BEARER_TOKEN_BEDROCK",
    "CUSTOM_AWS_ACCESS_KEY_ID",
    "CUSTOM_AWS_SECRET_ACCESS_KEY",
  ]);
  const notices = report.notices.map(({ subject, text }: Printed) => `${subject}: ${text}`).join(
    "\n",
  );
  for (
    const line of [
      "model_list[1] (bedrock-role) aws_session_name:",
      "model_list[2] (bedrock-oss): it is called by Bedrock's chat completions",
      "the settings file holds its key",
      "model_list[6] (vertex-inline): save its vertex_credentials as google-service-account.json",
      "model_list[7] (any): name the models of a cloud one by one",
    ]
  ) assertStringIncludes(notices, line);
  const env = Object.fromEntries(report.variables.map((name: string) => [name, "eu-west-1"]));
  const checked = await here.run(["config", "check"], env);
  assertEquals([checked.code, checked.err], [0, ""]);
  const again = await here.json("import", "litellm", "config.yaml", "--write");
  assertEquals(await here.settings(), text);
  assertEquals(new Set(again.upstreams.map(({ state }: Printed) => state)), new Set(["unchanged"]));
});

const ACCOUNT = JSON.stringify({
  type: "service_account",
  project_id: "shop-project",
  private_key: "account-private-key",
});

Deno.test("import new-api, one-api: channels of AWS and Vertex AI get the credentials of their clouds", async () => {
  for (
    const { flavour, vertex, channels } of [
      {
        flavour: "new-api",
        vertex: ["us-east5", "global"],
        channels: [
          {
            type: 33,
            key: "AKIA-1|aws-secret|us-east-1\nAKIA-2|aws-secret-2|us-east-1",
            models: "claude-opus-4-1-20250805,claude-3-5-sonnet-20241022",
          },
          {
            type: 33,
            key: "bedrock-api-key|ap-northeast-1",
            models: "claude-opus-4-20250514,claude-opus-4-6",
            settings: '{"aws_key_type":"api_key"}',
          },
          {
            type: 41,
            key: ACCOUNT,
            other: '{"default":"global","claude-sonnet-4-5-20250929":"us-east5"}',
            models: "claude-sonnet-4-5-20250929,gemini-2.5-pro",
          },
          {
            type: 41,
            key: "AQ.express",
            other: "global",
            models: "gemini-2.5-flash",
            settings: '{"vertex_key_type":"api_key"}',
          },
        ],
      },
      {
        flavour: "one-api",
        vertex: ["us-east5", "us-east5"],
        channels: [
          {
            type: 33,
            key: "AKIA-1|aws-secret|us-east-1",
            config: '{"region":"us-east-1","ak":"AKIA-1","sk":"aws-secret"}',
            models: "claude-opus-4-1-20250805,claude-3-5-sonnet-20241022",
          },
          {
            type: 33,
            key: "bedrock-api-key|ap-northeast-1",
            models: "claude-opus-4-20250514,claude-opus-4-6",
          },
          {
            type: 42,
            key: `us-east5|shop-project|${ACCOUNT}`,
            models: "claude-sonnet-4-5-20250929,gemini-2.5-pro",
          },
        ],
      },
    ] as const
  ) {
    await using here = await place();
    makeSource(`${here.path}/one-api.db`, flavour, {
      channels: channels.map((one, at) => ({ name: `Cloud ${at}`, ...one })),
    });
    const report = await here.json("import", "new-api", "one-api.db", "--write");
    const text = await here.settings();
    assert(!text.includes("account-private-key"));
    const settings = JSON.parse(text.replaceAll(/^\s*\/\/.*$/gm, ""));
    const of = (route: string) => {
      const [{ upstream, model }] = settings.routes[route].targets;
      return [model, settings.upstreams[upstream]];
    };
    const aws = {
      provider: "bedrock-anthropic",
      region: "us-east-1",
      credentials: { kind: "aws", accessKeyId: "AKIA-1", secretAccessKey: "aws-secret" },
    };
    assertEquals(of("claude-opus-4-1-20250805"), [
      "us.anthropic.claude-opus-4-1-20250805-v1:0",
      aws,
    ]);
    assertEquals(
      of("claude-3-5-sonnet-20241022")[0],
      "us.anthropic.claude-3-5-sonnet-20241022-v2:0",
    );
    const japan = {
      provider: "bedrock-anthropic",
      region: "ap-northeast-1",
      key: "bedrock-api-key",
    };
    assertEquals(of("claude-opus-4-20250514"), ["anthropic.claude-opus-4-20250514-v1:0", japan]);
    assertEquals(of("claude-opus-4-6"), ["apac.anthropic.claude-opus-4-6-v1", japan]);
    const google = {
      project: "shop-project",
      credentials: { kind: "google", file: "google-service-account.json" },
    };
    assertEquals(of("claude-sonnet-4-5-20250929"), [
      "claude-sonnet-4-5@20250929",
      { provider: "vertex-anthropic", region: vertex[0], ...google },
    ]);
    assertEquals(of("gemini-2.5-pro"), [
      "google/gemini-2.5-pro",
      { provider: "vertex", region: vertex[1], ...google },
    ]);
    const notices = report.notices.map(({ subject, text }: Printed) => `${subject}: ${text}`);
    assert(notices.some((one: string) => one.includes("google-service-account.json")));
    if (flavour === "new-api") {
      assert(notices.some((one: string) => one.includes("1 more of its keys")), notices.join("\n"));
      assert(notices.some((one: string) => one.includes("its key belongs to no project")));
    }
    const checked = await here.run(["config", "check"]);
    assertEquals([checked.code, checked.err], [0, ""]);
  }
});
