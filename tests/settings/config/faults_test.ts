import {
  ConfigError,
  loadConfig,
  locateFaults,
  settingsJsonSchema,
} from "../../../src/settings/config/mod.ts";
import { Catalog } from "../../../src/settings/catalog/mod.ts";
import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "../../assert.ts";
import { tempDir } from "../../fake/temp.ts";

async function load(file: string, more: { env?: Record<string, string>; port?: number } = {}) {
  await using dir = await tempDir();
  await Deno.writeTextFile(`${dir.path}/sluice.jsonc`, file);
  const { env = {}, port } = more;
  return await loadConfig({ env, directory: dir.path, flags: { port } });
}

async function faultsOf(...given: Parameters<typeof load>): Promise<readonly string[]> {
  return (await assertRejects(() => load(...given), ConfigError)).faults;
}

Deno.test("errors say place, setting, what is right and what is written; those of the file in its order", async () => {
  const found = await faultsOf(
    `{
  // a comment, and a trailing comma
  "upstreams": {
    "local": { "url": "localhost:11434", "timeouts": { "conectMs": 5 } },
    "bad name": { "url": "http://a" },
    "none": {},
  },
  "routes": {
    "svc-k3": {
      "targets": [{ "upstream": "local", "model": 3 }],
      "context": "12k",
      "maxOutput": 0.5,
      "images": "all"
    }
  },
  "limits": { "accountShare": 2 },
  "credits": [],
  "logLevel": null,
  "logLevel": "info"
}`,
    { env: { SLUICE_LOG: "loud", SLUICE_TRUSTED_PROXIES: "10.0.0.0/8, proxy" }, port: 70_000 },
  );
  assertEquals(found, [
    'sluice.jsonc:4:16  upstreams.local.url: must be an http:// or https:// URL: got "localhost:11434"',
    "sluice.jsonc:4:56  upstreams.local.timeouts.conectMs: unknown setting; did you mean 'connectMs'?",
    "sluice.jsonc:5:5  upstreams.bad name: the name must be 1 to 128 letters, digits or any of . _ : / -, starting with a letter or digit",
    "sluice.jsonc:6:5  upstreams.none.url: is missing: must be an http:// or https:// URL",
    "sluice.jsonc:10:42  routes.svc-k3.targets[0].model: must be text that is not empty: got 3",
    'sluice.jsonc:11:7  routes.svc-k3.context: must be a whole number, 1 or more: got "12k"',
    "sluice.jsonc:12:7  routes.svc-k3.maxOutput: must be a whole number, 1 or more: got 0.5",
    'sluice.jsonc:13:7  routes.svc-k3.images: must be one of "none", "inline", "remote": got "all"',
    "sluice.jsonc:16:15  limits.accountShare: must be a number above 0, up to 1: got 2",
    "sluice.jsonc:17:3  credits: must be an object: { … }: got a list",
    "sluice.jsonc:19:3  logLevel: is set twice, first in line 18",
    "--port  port: must be a whole number from 0 to 65535: got 70000",
    'SLUICE_TRUSTED_PROXIES  trustedProxies[1]: must be an IP address, or a range such as 10.0.0.0/8: got "proxy"',
    'SLUICE_LOG  log: must be one of "pretty", "json": got "loud"',
  ]);
});

Deno.test("errors do not repeat secrets, nor what a variable was replaced by", async () => {
  const canary = "canary-secret";
  const found = await faultsOf(
    `{
      "upstreams": {
        "a": { "url": "ftp://me:${canary}@host/?key=${canary}", "key": ["${canary}"] },
        "b": { "url": "\${ADDRESS}", "key": "x", "headers": { "X-A": 5, "Host": "${canary}" } },
        "c": { "url": "http://h/v1", "credentials": { "kind": "command", "command": "vault ${canary}" } },
        "d": { "url": "http://h/v1", "credentials": { "kind": "command", "command": ["vault", ["${canary}"]] } }
      },
      "metricsToken": { "${canary}": 1 }, "secret": "${canary}", "owner": { "key": "${canary}" }
    }`,
    { env: { ADDRESS: canary, SLUICE_DATABASE_URL: `ftp://u:${canary}@h/?t=${canary}` } },
  );
  assert(!found.join("\n").includes(canary), found.join("\n"));
  assert(found.some((line) => line.includes('got "${ADDRESS}"')), found.join("\n"));
  const quoted = found.filter((line) => line.includes(': got "'));
  assert(quoted.length > 2 && quoted.every((line) => line.endsWith('"')), quoted.join("\n"));
  assert(found.some((line) => line.startsWith("SLUICE_DATABASE_URL  ")), found.join("\n"));
});

Deno.test("errors of syntax repeat names of settings, and no text that may be a secret", async () => {
  const key = "sk-canary-secret";
  for (
    const file of [
      `{"keys": ["a" "${key}"]}`,
      `{"keys": ["a" ${key}]}`,
      `{"key": ${key}}`,
      `{"key": ${key}:${key}}`,
      `{"key" "${key}"}`,
      `{"key": "a" "${key}"}`,
      `{"key": "${key}`,
      `{"key": '${key}'}`,
      `{"key": "a"} "${key}"`,
    ]
  ) {
    const found = (await faultsOf(file)).join("\n");
    assert(found.includes("syntax error") && !found.includes("canary"), found);
  }
});

Deno.test("errors do not repeat the address of a receiver of alerts", async () => {
  const url = "hooks.example/services/canary-secret";
  const found = await faultsOf(
    `{"alerts": {"receivers": {"a.b": {"kind": "slack", "url": "${url}"}}}}`,
  );
  assertEquals(found.length, 1);
  assert(!found[0]!.includes("canary"), found[0]);
});

const SYNTAX: readonly { file: string; says: string }[] = [
  {
    file: '{\n  "port": 1\n  "host": "a"\n}',
    says: '3:3  syntax error: expected a comma or a closing bracket before "host"',
  },
  { file: '{"port" 1}', says: "1:9  syntax error: expected a colon before 1" },
  { file: '{"port": }', says: "1:10  syntax error: expected a value before }" },
  {
    file: "{port: 1}",
    says: '1:2  syntax error: unexpected "port": text must be in double quotes',
  },
  { file: '{"cors": True}', says: '1:10  syntax error: unexpected "True": write true' },
  { file: '{"host": "a}', says: '1:10  syntax error: expected " at the end of the text' },
  {
    file: '{"port": 1',
    says: "1:11  syntax error: expected a comma or } before the end of the file",
  },
  { file: '{"port": 1} /*', says: "1:13  syntax error: expected */ at the end of the comment" },
  { file: '\uFEFF{\r\n"port": 1.\r\n}', says: "2:9  syntax error: expected a digit" },
];

for (const { file, says } of SYNTAX) {
  Deno.test(`${JSON.stringify(file)}: ${says}`, async () =>
    assertEquals(await faultsOf(file), [`sluice.jsonc:${says}`]));
}

Deno.test("a file that is no JSON at all is not complained about in every line", async () => {
  for (
    const file of [
      "port = 1\n".repeat(100),
      '{ "a" 1\n'.repeat(100),
      "\0".repeat(9_999),
      "[".repeat(1e6),
    ]
  ) {
    const { length } = await faultsOf(file);
    assert(length > 0 && length <= 5, `${length}`);
  }
});

Deno.test("an empty file, and one of comments, set nothing", async () => {
  for (const file of ["", " \n", "// nothing yet\n"]) {
    assertEquals((await load(file)).settings.port, 8787);
  }
});

Deno.test("errors that the catalog finds are given their place", async () => {
  const { settings, fileText } = await load(`{
  "upstreams": { "local": { "url": "http://127.0.0.1:1" } },
  "routes": { "svc-k2": { "targets": [
    { "upstream": "locale", "model": "m" }
  ] } },
  "aliases": { "small": "svc-k22" }
}`);
  const error = assertThrows(() => new Catalog(settings), ConfigError);
  const located = locateFaults(error, fileText);
  assert(located instanceof ConfigError);
  assertEquals(located.faults.map((line) => line.split(": ")[0]), [
    "sluice.jsonc:4:7  routes.svc-k2.targets[0].upstream",
    "sluice.jsonc:6:16  aliases.small",
  ]);
});

/** The part of JSON Schema that the settings use. */
interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly pattern?: string;
}

type Wrap = (value: unknown) => unknown;

/** Every leaf of the settings, and how a value of it is put into a file. */
function* leaves(schema: Schema, path: string, wrap: Wrap): Generator<[string, Schema, Wrap]> {
  const inside = (name: string) => (path === "" ? name : `${path}.${name}`);
  if (schema.properties !== undefined) {
    for (const [name, one] of Object.entries(schema.properties)) {
      yield* leaves(one, inside(name), (value) => wrap({ [name]: value }));
    }
  } else if (typeof schema.additionalProperties === "object") {
    const name = "x-name";
    yield* leaves(schema.additionalProperties, inside(name), (value) => wrap({ [name]: value }));
  } else if (schema.items !== undefined) {
    yield [path, schema, wrap];
    yield* leaves(schema.items, `${path}[0]`, (value) => wrap([value]));
  } else yield [path, schema, wrap];
}

/** Values that a leaf does not take: of other types, and beyond its bounds. */
function wrongFor(
  { type, minimum, maximum, exclusiveMinimum, minLength, pattern, ...schema }: Schema,
) {
  const wrong: unknown[] = [{ a: 1 }];
  if (type !== "boolean") wrong.push(true);
  if (type !== "array") wrong.push([1]);
  if (type !== "string" && schema.enum === undefined && schema.anyOf === undefined) {
    wrong.push("12k");
  }
  if (type !== "number" && type !== "integer" && schema.anyOf === undefined) wrong.push(7);
  if (schema.anyOf?.every((one) => one.type !== "null") !== false) wrong.push(null);
  if (type === "integer") wrong.push(1.5);
  if (minimum !== undefined && minimum > -1e15) wrong.push(minimum - 1);
  if (exclusiveMinimum !== undefined) wrong.push(exclusiveMinimum);
  if (maximum !== undefined) wrong.push(maximum * 2);
  if (schema.enum !== undefined) wrong.push("nonsense");
  if (minLength !== undefined) wrong.push("");
  if (pattern !== undefined) wrong.push("\u0001 *?*");
  return wrong;
}

/** How the validator speaks. */
const RAW =
  /invalid|expected|received|too (small|big)|unrecognized|regex|pattern|\bint\b|\bNaN\b|undefined/i;

Deno.test("whatever is wrong with a setting: path, line, what is right, in plain words", async () => {
  let count = 0;
  for (const [path, schema, wrap] of leaves(settingsJsonSchema() as Schema, "", (value) => value)) {
    for (const value of wrongFor(schema)) {
      const file = JSON.stringify(wrap(value), null, 2);
      const found = await faultsOf(file).catch((error) => {
        throw new Error(`${path} took ${JSON.stringify(value)}`, { cause: error });
      });
      // other settings of the same object may be missing, too
      const place = [path, `${path}[0]`].find((one) =>
        found.some((line) => line.includes(`  ${one}: `))
      );
      const own = found.filter((line) => line.includes(`  ${place}: `));
      assertEquals(own.length, 1, `${file}\n${found.join("\n")}`);
      const [, line, column] = /^sluice\.jsonc:(\d+):(\d+) {2}/.exec(own[0]!) ?? [];
      const written = file.split("\n")[Number(line) - 1]!.slice(Number(column) - 1);
      const key = /([^.[\]]+)$/.exec(place!)?.[1];
      assert(key === undefined || written.startsWith(JSON.stringify(key)), `${own}\n${written}`);
      assertMatch(own[0]!, /: (the name )?(must|is missing: must) /);
      for (const one of found) assert(!RAW.test(one.replace(/: got .*/, "")), one);
      count++;
    }
  }
  assert(count > 400, `${count}`);
});
