import { Ajv2020 } from "ajv/dist/2020.js";
import { Catalog } from "../../../src/settings/catalog/mod.ts";
import {
  ConfigError,
  databaseFile,
  effectiveSettings,
  loadConfig,
  settingsJsonSchema,
} from "../../../src/settings/config/mod.ts";
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "../../assert.ts";
import { tempDir } from "../../fake/temp.ts";

async function load(
  { file, env = {}, flags = {}, serving = true }: {
    file?: string;
    env?: Record<string, string>;
    flags?: Record<string, string | number>;
    serving?: boolean;
  },
) {
  await using dir = await tempDir();
  if (file !== undefined) await Deno.writeTextFile(`${dir.path}/sluice.jsonc`, file);
  return await loadConfig({ env, directory: dir.path, flags, serving });
}

async function faults(options: Parameters<typeof load>[0]): Promise<readonly string[]> {
  return (await assertRejects(() => load(options), ConfigError)).faults;
}

Deno.test("hosts that may be private are hosts, with or without a port, and no addresses of pages", async () => {
  const right = [
    "pager",
    "pager.internal:8443",
    "10.0.0.7",
    "10.0.0.7:9000",
    "[::1]:80",
    "fd00::7",
  ];
  for (const section of ["alerts", "images"]) {
    const file = (hosts: string[]) => JSON.stringify({ [section]: { allowPrivateHosts: hosts } });
    await load({ file: file(right) });
    for (
      const wrong of ["http://10.0.0.7:9000/hook", "10.0.0.7/24", "*.internal", "a b", "h:x", ""]
    ) {
      const [fault = ""] = await faults({ file: file([wrong]) });
      assertStringIncludes(fault, `${section}.allowPrivateHosts[0]`);
      assertStringIncludes(fault, "must be a host or host:port", wrong);
    }
  }
});

Deno.test("origins of browsers are written as browsers send them, or no page would ever match", async () => {
  const file = (origins: string[]) => JSON.stringify({ cors: { origins } });
  await load({
    file: file([
      "*",
      "null",
      "https://app.example.com",
      "http://localhost:5173",
      "tauri://localhost",
    ]),
  });
  for (
    const wrong of [
      "https://app.example.com/",
      "https://App.example.com",
      "https://app.example.com:443",
      "http://localhost:*",
      "app.example.com",
      "tauri://localhost/",
      "",
    ]
  ) {
    const [fault = ""] = await faults({ file: file([wrong]) });
    assertStringIncludes(fault, "cors.origins[0]");
    assertStringIncludes(fault, "must be * or an origin as browsers send it", wrong);
  }
});

/** The example of the documentation. */
const EXAMPLE = `{
  "$schema": "./sluice.schema.json",
  "upstreams": {
    "moonshot": { "url": "https://host.example/v1", "key": "\${MOONSHOT_API_KEY}", "dialect": "chat", "quirks": "moonshot" },
    "local": { "url": "http://127.0.0.1:11434/v1", "dialect": "chat" }, // trailing comma, comment
  },
  "routes": {
    "svc-k3": { "targets": [{ "upstream": "moonshot", "model": "kimi-k3" }, { "upstream": "local", "model": "qwen3" }] },
    "house-small": { "targets": [{ "upstream": "local", "model": "llama3" }], "context": 32768, "maxOutput": 8192,
                     "minimum": 1, "prices": { "input": 10, "cached": 5, "output": 40 },
                     "images": "none", "reasoning": "none" }
  },
  "tiers": [{ "above": 0, "minute": 20, "hour": 600, "day": 5000 }, { "above": 100, "minute": 60, "hour": 2000, "day": 20000 }],
  "credits": { "signup": 10, "inviteSignup": 50, "inviteFirstPayment": 500, "ownerGrant": 1000000 }
}`;

Deno.test("loadConfig with nothing set gives the defaults", async () => {
  const { settings, origins, file, warnings } = await load({});
  assertEquals([settings.host, settings.port, settings.durability], ["127.0.0.1", 8787, "full"]);
  assertEquals([[...origins.keys()], file, warnings.length], [["data"], undefined, 0]);
  assert(settings.data.endsWith("/data") && databaseFile(settings)!.endsWith("/data/sluice.db"));
});

Deno.test("loadConfig takes the file, then the environment, then flags", async () => {
  const file = '{"port": 1, "host": "a", "logLevel": "warn"}';
  const config = await load({
    file,
    env: { SLUICE_PORT: "2", SLUICE_HOST: "b" },
    flags: { port: 3 },
  });
  assertEquals([config.settings.port, config.settings.host, config.settings.logLevel], [
    3,
    "b",
    "warn",
  ]);
  assertEquals(Object.fromEntries(config.origins), {
    port: "flag --port",
    host: "environment SLUICE_HOST",
    logLevel: "file sluice.jsonc",
    data: "default: no home directory is set",
  });
});

Deno.test("loadConfig reads the documented example", async () => {
  const { settings } = await load({ file: EXAMPLE, env: { MOONSHOT_API_KEY: "from-env" } });
  assertEquals(settings.upstreams.moonshot!.key!.reveal(), "from-env");
  const catalog = new Catalog(settings);
  assertEquals(catalog.routes.map(({ id }) => id), ["svc-k3", "house-small"]);
  assertEquals(catalog.resolve("svc-k3").context, 1_000_000);
  assertEquals(catalog.resolve("claude-house-small").prices, { input: 10, cached: 5, output: 40 });
});

Deno.test("upstreams.NAME.keys are keys, with or without a weight, and secrets", async () => {
  const file =
    '{"upstreams": {"x": {"url": "http://a", "keys": ["${A}", {"key": "${B}", "weight": 3}]}}}';
  const config = await load({ file, env: { A: "key-a", B: "key-b" } });
  const keys = config.settings.upstreams.x!.keys!;
  assertEquals(keys.map(({ key, weight }) => [key.reveal(), weight]), [["key-a", 1], ["key-b", 3]]);
  const shown = JSON.stringify(effectiveSettings(config)) + Deno.inspect(config, { depth: 9 });
  assert(!/key-[ab]/.test(shown), shown);
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(
    settingsJsonSchema(),
  );
  const input = { upstreams: { x: { url: "http://a", keys: ["a", { key: "b", weight: 3 }] } } };
  assert(validate(input), JSON.stringify(validate.errors));
  assert(!validate({ upstreams: { x: { url: "http://a", keys: [{ wieght: 3 }] } } }));
});

Deno.test("loadConfig names every fault at once, and the nearest known name", async () => {
  const found = await faults({
    file: '{"prot": 1, "upstreams": {"x": {"url": "ftp://a", "tiemouts": {}}}, "logLevel": "loud"}',
    env: { SLUICE_PORT: "abc", SLUICE_OWNER_KEY: "short" },
  });
  const all = found.join("\n");
  assertEquals(found.length, 6, all);
  assertStringIncludes(all, "prot: unknown setting; did you mean 'port'?");
  assertStringIncludes(all, "upstreams.x.tiemouts: unknown setting; did you mean 'timeouts'?");
  assertStringIncludes(all, "upstreams.x.url: must be an http:// or https:// URL");
  assertStringIncludes(
    all,
    'SLUICE_PORT  port: must be a whole number from 0 to 65535: got "abc"',
  );
  assertStringIncludes(all, "owner.key: must be 'sk-'");
  assertStringIncludes(all, "logLevel:");
});

const FAULTS: readonly { file: string; says: string }[] = [
  {
    file: '{"upstreams": {"x": {"url": "http://a", "key": "one-key", "keys": ["two-key"]}}}',
    says: "upstreams.x.keys: cannot be combined with `key`",
  },
  {
    file: '{"upstreams": {"x": {"url": "http://a", "keys": [{"key": "one-key", "wieght": 3}]}}}',
    says: "upstreams.x.keys[0].wieght: unknown setting; did you mean 'weight'?",
  },
  {
    file: '{"upstreams": {"x": {"url": "http://a", "keys": [5]}}}',
    says: "upstreams.x.keys[0]: must be an API key, or an object",
  },
  {
    file: '{"upstreams": {"x": {"url": "http://a", "keys": [{"key": ""}]}}}',
    says: "upstreams.x.keys[0].key:",
  },
  {
    file: '{"upstreams": {"x": {"url": "http://a", "keys": ["${NOT_SET}"]}}}',
    says: "upstreams.x.keys[0]: environment variable NOT_SET is not set",
  },
  {
    file: '{"routes": {"x": {"targets": [{"upstream": "simulator", "model": "m", "weight": -1}]}}}',
    says: "routes.x.targets[0].weight",
  },
  {
    file: '{"routes": {"x": {"prices": [{"input": 1, "output": 2, "form": "2027-01-01"}]}}}',
    says: "routes.x.prices[0].form: unknown setting; did you mean 'from'?",
  },
  {
    file: '{"routes": {"x": {"prices": [{"input": 1}, {"input": 2}]}}}',
    says: "routes.x.prices: must not have two rows from the same time",
  },
  {
    file: '{"upstreams": {"x": {"url": "http://a", "limits": {"atOnse": 3}}}}',
    says: "upstreams.x.limits.atOnse: unknown setting; did you mean 'atOnce'?",
  },
  {
    file: '{"database": {"url": "mysql://db.example/sluice"}}',
    says: "database.url: must start with file:, http://, https://, libsql:// or postgres://",
  },
  { file: "[]", says: "sluice.jsonc:1:1  must be an object" },
  { file: '{"port": }', says: "sluice.jsonc:1:10  syntax error: expected a value before }" },
  {
    file: '{"upstreams": {"x": {"url": "http://a", "key": "${NOT_SET}"}}}',
    says: "NOT_SET is not set",
  },
  {
    file: '{"port": 70000}',
    says: "sluice.jsonc:1:2  port: must be a whole number from 0 to 65535: got 70000",
  },
  {
    file: '{"upstreams": {"x": {"url": "http://a", "caCert": "gone.pem"}}}',
    says: "upstreams.x.caCert: cannot read",
  },
  {
    file: '{"upstreams": {"x": {"url": "http://a", "caCert": "sluice.jsonc"}}}',
    says: "upstreams.x.caCert: must contain a PEM certificate",
  },
  {
    file: '{"upstreams": {"x": {"url": "http://a", "headers": {"Bad Name": "1"}}}}',
    says: "Bad Name",
  },
  {
    file: '{"upstreams": {"x": {"url": "http://a", "headers": {"X-A": "日"}}}}',
    says: "must be a valid header value",
  },
  { file: '{"aliases": {"g*4": "svc-k3"}}', says: "aliases.g*4" },
  {
    file: '{"tiers": [{"above": 0, "minute": 1, "hour": 1, "day": 1}, ' +
      '{"above": 0, "minute": 2, "hour": 2, "day": 2}]}',
    says: "must not repeat a value of `above`",
  },
  { file: '{"payments": {"stripeKey": "x"}}', says: "payments.stripeKey: unknown setting" },
  { file: '{"__proto__": {"port": 1}}', says: "__proto__: unknown setting" },
  {
    file: '{"tiers": [{"above": 0, "minute": 1, "hour": 1, "day": 1, "week": 1}]}',
    says: "tiers[0].week",
  },
];

for (const { file, says } of FAULTS) {
  Deno.test(`loadConfig refuses ${file}`, async () =>
    assertStringIncludes((await faults({ file })).join(), says));
}

Deno.test("loadConfig takes * as an alias for everything, and no certificate where none is needed", async () => {
  const { settings } = await load({ file: '{"aliases": {"*": "svc-k3", "gpt-*": "svc-k2"}}' });
  assertEquals(new Catalog(settings).resolve("anything").id, "svc-k3");
  const upstream = { url: "https://host.example", caCert: "gone.pem" };
  await load({ file: JSON.stringify({ upstreams: { x: upstream } }), serving: false });
});

Deno.test("loadConfig takes a byte order mark, and a key that ends with a line's end", async () => {
  const { settings } = await load({
    file: '\uFEFF{"upstreams": {"x": {"url": "http://a", "key": "sk-x\\n"}}}',
  });
  assertEquals(settings.upstreams.x!.key!.reveal(), "sk-x");
});

Deno.test("loadConfig refuses a named file that is not there", async () => {
  assertStringIncludes(
    (await faults({ env: { SLUICE_CONFIG: "gone.jsonc" } })).join(),
    "gone.jsonc",
  );
});

Deno.test("a variable may be in a file: Sluice's own, and those that the settings file names", async () => {
  await using dir = await tempDir();
  const inFile = async (name: string, text: string) => {
    await Deno.writeTextFile(`${dir.path}/${name}`, text);
    return `${dir.path}/${name}`;
  };
  const file = `{ "upstreams": { "a": { "url": "https://a.example/v1", "key": "\${A_KEY}" } } }`;
  const env = {
    A_KEY_FILE: await inFile("key", "sk-upstream\n"),
    SLUICE_DATABASE_URL: "postgres://sluice@db.example/sluice",
    SLUICE_DATABASE_TOKEN_FILE: await inFile("password", "p4ss word\n"),
    AWS_WEB_IDENTITY_TOKEN_FILE: `${dir.path}/nobody-reads-this-here`,
  };
  const { settings, warnings, variables } = await load({ file, env });
  assertEquals([settings.upstreams.a!.key!.reveal(), settings.database.token!.reveal()], [
    "sk-upstream",
    "p4ss word",
  ]);
  assertEquals([warnings, variables.includes("A_KEY")], [[], true]);

  const away = `${dir.path}/away`;
  const empty = await inFile("empty", "\n");
  assertEquals(await faults({ env: { SLUICE_METRICS_TOKEN_FILE: empty } }), [
    `The file of SLUICE_METRICS_TOKEN_FILE is empty: write the value into ${empty}`,
  ]);
  const [unreadable = "", ...others] = await faults({ env: { SLUICE_SECRET_FILE: away } });
  assertStringIncludes(unreadable, "Cannot read the file of SLUICE_SECRET_FILE");
  assertEquals(others, []);
  const both = { ...env, SLUICE_DATABASE_TOKEN: "other" };
  assertEquals(await faults({ file, env: both }), [
    "Set one of SLUICE_DATABASE_TOKEN and SLUICE_DATABASE_TOKEN_FILE",
  ]);
});

Deno.test("loadConfig warns of a misspelt variable, not of an orchestrator's", async () => {
  const { warnings } = await load({
    env: {
      SLUICE_UPSTREM_URL: "http://x",
      SLUICE_SERVICE_HOST: "10.0.0.1",
      SLUICE_PORT_8787_TCP: "x",
    },
  });
  assertEquals(warnings.length, 1);
  assertStringIncludes(warnings[0]!, "did you mean SLUICE_UPSTREAM_URL?");
});

Deno.test("loadConfig warns of the key of an upstream without a URL, unless the file has it elsewhere", async () => {
  const env = { SLUICE_UPSTREAM_KEY: "sk-test-key-of-nothing" };
  const { warnings } = await load({ env });
  assertEquals(warnings.length, 1);
  assertStringIncludes(warnings[0]!, "(environment SLUICE_UPSTREAM_KEY) is not used");
  assert(!warnings[0]!.includes(env.SLUICE_UPSTREAM_KEY));
  const url = "http://127.0.0.1:1";
  const file = JSON.stringify({ upstreams: { a: { url, key: "${SLUICE_UPSTREAM_KEY}" } } });
  assertEquals((await load({ env, file })).warnings, []);
  assertEquals((await load({ env: { ...env, SLUICE_UPSTREAM_URL: url } })).warnings, []);
});

Deno.test("a variable whose value is the name of another is refused if it is used, and warned of where nothing is served", async () => {
  const file = JSON.stringify({
    payments: { stripe: { secretKey: "${KEY}", webhookSecret: "${HOOK}" } },
  });
  const KEY = "sk_test_51MarkedSecretKeyForTests42abcdEFGH";
  const HOOK = "whsec_MarkedWebhookSecretForTests1234567890";
  for (const name of ["${HOOK}", "$HOOK", "${HOOK:-x}", '"${HOOK}"', "'$HOOK'", "${}", "$(HOOK)"]) {
    for (
      const [own, options] of [
        ["HOOK", { file, env: { KEY, HOOK: name } }],
        ["SLUICE_STRIPE_WEBHOOK_SECRET", {
          env: { SLUICE_STRIPE_SECRET_KEY: KEY, SLUICE_STRIPE_WEBHOOK_SECRET: name },
        }],
      ] as const
    ) {
      const told = (await faults(options)).join("\n");
      assertStringIncludes(told, own === "HOOK" && name !== "${HOOK}" ? "webhookSecret" : own);
    }
    const [told = ""] = await faults({ env: { SLUICE_METRICS_TOKEN: name } });
    assertStringIncludes(told, "variable SLUICE_METRICS_TOKEN is the name of another variable");
  }
  const [said] = (await load({ file, env: { KEY, HOOK: "${HOOK}" }, serving: false })).warnings;
  assertStringIncludes(said!, "variable HOOK is the name of another variable");
  for (const SLUICE_METRICS_TOKEN of ["a$b${c}", "$ecret"]) {
    const fine = { KEY, HOOK, OTHER: "${HOOK}", SLUICE_METRICS_TOKEN };
    assertEquals((await load({ file, env: fine })).warnings, []);
  }
});

Deno.test("free credits for anybody who registers are warned of", async () => {
  const warnings = async (file: string) => (await load({ file })).warnings;
  const [told, ...rest] = await warnings(`{ "registration": "open" }`);
  assertStringIncludes(told!, "each new account gets 10 credits");
  assertEquals(rest, []);
  for (const more of [`"open", "credits": { "signup": 0 }`, `"invite"`]) {
    assertEquals(await warnings(`{ "registration": ${more} }`), [], more);
  }
});

Deno.test("Catalog refuses targets and aliases that lead nowhere, all at once", async () => {
  const { settings } = await load({
    file: `{"upstreams": {"local": {"url": "http://127.0.0.1:1"}},
      "routes": {"svc-k2": {"targets": [{"upstream": "locale", "model": "m"}]}},
      "aliases": {"small": "svc-k22"}}`,
  });
  const { faults } = assertThrows(() => new Catalog(settings), ConfigError);
  assertEquals(faults.length, 2);
  assertStringIncludes(faults.join(), "unknown upstream 'locale'; did you mean 'local'?");
  assertStringIncludes(faults.join(), "unknown route 'svc-k22'; did you mean 'svc-k2'?");
});

Deno.test("effectiveSettings names origins and masks secrets", async () => {
  const config = await load({
    file: EXAMPLE,
    env: {
      MOONSHOT_API_KEY: "canary-secret",
      SLUICE_DATABASE_URL:
        "https://user:canary-secret@db.example/?token=canary-secret&x=canary-secret",
      SLUICE_OWNER_KEY: `sk-canary-secret-${"x".repeat(32)}`,
    },
  });
  const shown = JSON.stringify(effectiveSettings(config));
  assert(!shown.includes("canary-secret"), shown);
  const byPath = new Map(effectiveSettings(config).map((one) => [one.path, one]));
  assertEquals(byPath.get("upstreams.moonshot.key")!.value, "[secret]");
  assertEquals(byPath.get("owner.key")!.origin, "environment SLUICE_OWNER_KEY");
  assertEquals(byPath.get("upstreams.local.timeouts.connectMs")!.origin, "default");
  assertEquals(byPath.get("credits.signup")!.origin, "file sluice.jsonc");
});

Deno.test("effectiveSettings masks secrets below names with dots", async () => {
  const config = await load({
    file: JSON.stringify({
      upstreams: {
        "api.example": { url: "https://api.example", headers: { "x-key": "canary-secret" } },
      },
      alerts: {
        receivers: { "ops.chat": { kind: "slack", url: "https://hooks.example/canary-secret" } },
      },
    }),
  });
  const shown = effectiveSettings(config);
  assert(!JSON.stringify(shown).includes("canary-secret"), JSON.stringify(shown));
  const masked = shown.filter(({ value }) => value === "[secret]").map(({ path }) => path);
  assertEquals(masked, ["upstreams.api.example.headers.x-key", "alerts.receivers.ops.chat.url"]);
});

Deno.test("settingsJsonSchema accepts the example and refuses a typo", () => {
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(
    settingsJsonSchema(),
  );
  const example: Record<string, unknown> = JSON.parse(
    EXAMPLE.replaceAll(/\/\/ .*$/gm, "").replace(/,(\s*\})/g, "$1"),
  );
  assert(validate(example), JSON.stringify(validate.errors));
  assert(!validate({ ...example, prot: 1 }));
});

Deno.test("names of packages are trimmed and normalized, and one that shows nothing is an error", async () => {
  const file = (name: string) =>
    JSON.stringify({ packages: [{ id: "p", name, credits: 1, priceUsd: 1, validDays: null }] });
  const { settings } = await load({ file: file(" Cafe\u0301 ") });
  assertEquals(settings.packages.map(({ name }) => name), ["Caf\u00e9"]);
  for (const name of ["\u3164", "\u0301", "\u00ad"]) {
    const [fault] = await faults({ file: file(name) });
    assertStringIncludes(fault!, "must contain a character that can be seen");
  }
  assertEquals((await faults({ file: file("  ") })).length, 1);
});
