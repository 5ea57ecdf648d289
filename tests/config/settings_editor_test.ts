import fc from "fast-check";
import jsonc from "jsonc-parser";
import { SettingsEditor } from "../../src/config/mod.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "../assert.ts";
import { tempDir } from "../fake/temp.ts";

/** The text of a file after settings were added. */
async function added(before: string | undefined, ...settings: [string[], unknown][]) {
  await using dir = await tempDir();
  const path = `${dir.path}/sluice.jsonc`;
  if (before !== undefined) await Deno.writeTextFile(path, before);
  const editor = await SettingsEditor.open(path);
  for (const [at, value] of settings) editor.add(at, value as object);
  await editor.write(() => Promise.resolve());
  return await Deno.readTextFile(path);
}

const ROUTE: [string[], unknown] = [["routes", "b"], {
  targets: [{ upstream: "local", model: "m" }],
}];
const WRITTEN = `"b": { "targets": [{ "upstream": "local", "model": "m" }] }`;

const CASES: readonly { why: string; before: string; after: string }[] = [
  { why: "an empty file", before: "", after: `{\n  "routes": { ${WRITTEN} }\n}\n` },
  { why: "an empty object", before: "{}", after: `{\n  "routes": { ${WRITTEN} }\n}` },
  {
    why: "behind the last property, its comment stays with it",
    before: `{\n  "routes": {\n    "a": {} // ours\n  }\n}\n`,
    after: `{\n  "routes": {\n    "a": {}, // ours\n    ${WRITTEN}\n  }\n}\n`,
  },
  {
    why: "behind a trailing comma and its comment",
    before: `{\n  "routes": {\n    "a": {}, // ours\n    // the end\n  },\n}\n`,
    after: `{\n  "routes": {\n    "a": {}, // ours\n    ${WRITTEN},\n    // the end\n  },\n}\n`,
  },
  {
    why: "into an object of comments",
    before: `{\n  "routes": {\n    // "x": {}\n  }\n}\n`,
    after: `{\n  "routes": {\n    // "x": {}\n    ${WRITTEN}\n  }\n}\n`,
  },
  {
    why: "into an object on one line",
    before: `{ "routes": { "a": {} } }`,
    after: `{ "routes": { "a": {},\n  ${WRITTEN}\n} }`,
  },
  {
    why: "a comma on a line of its own",
    before: `{\n  "routes": {\n    "a": {} // one\n    , // two\n  }\n}`,
    after: `{\n  "routes": {\n    "a": {} // one\n    , // two\n    ${WRITTEN},\n  }\n}`,
  },
  {
    why: "the file's own indentation and line ends",
    before: `{\r\n\t"routes": {\r\n\t\t"a": {}\r\n\t}\r\n}\r\n`,
    after: `{\r\n\t"routes": {\r\n\t\t"a": {},\r\n\t\t${WRITTEN}\r\n\t}\r\n}\r\n`,
  },
  {
    why: "behind a byte order mark",
    before: `\uFEFF{\n  "port": 1\n}\n`,
    after: `\uFEFF{\n  "port": 1,\n  "routes": { ${WRITTEN} }\n}\n`,
  },
];
for (const { why, before, after } of CASES) {
  Deno.test(`SettingsEditor.add: ${why}`, async () => {
    assertEquals(await added(before, ROUTE), after);
  });
}

Deno.test("SettingsEditor.add: values that do not fit go over several lines", async () => {
  const text = await added(undefined, [["upstreams", "a"], {
    url: `http://${"h".repeat(90)}/v1`,
    keys: ["x", "y"],
    left: undefined,
  }]);
  assertEquals(
    text,
    `{\n  "upstreams": {\n    "a": {\n      "url": "http://${
      "h".repeat(90)
    }/v1",\n      "keys": ["x", "y"]\n    }\n  }\n}\n`,
  );
});

Deno.test("SettingsEditor: whatever the file has stays as it is", async () => {
  const gap = fc.constantFrom("", " ", "\n", " // note\n", "\n// note, with comma\n", " /* , */ ");
  const file = fc.record({
    gaps: fc.array(gap, { minLength: 6, maxLength: 6 }),
    comma: fc.boolean(),
  })
    .map(({ gaps: [a, b, c, d, e, f], comma }) =>
      `${a}{${b}"routes"${c}:{${d}"a":{}${e}${comma ? "," : ""}${f}}}`
    );
  await fc.assert(
    fc.asyncProperty(file, async (before) => {
      const after = await added(before, ROUTE, [["aliases", "x*"], "b"]);
      const errors: jsonc.ParseError[] = [];
      const value = jsonc.parse(after, errors, { allowTrailingComma: true });
      assertEquals(errors, [], after);
      assertEquals(value, { routes: { a: {}, b: ROUTE[1] }, aliases: { "x*": "b" } });
      let at = 0;
      for (const character of before.replaceAll(/\s/g, "")) {
        at = after.indexOf(character, at) + 1;
        assert(at > 0, `${before}\n---\n${after}`);
      }
      const count = (text: string) => text.split("note").length;
      assertEquals(count(after), count(before));
    }),
    { numRuns: 150 },
  );
});

Deno.test("SettingsEditor: a file with errors, or that changes meanwhile, is not written", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/sluice.jsonc`;
  for (const text of [`{ "a": `, `[]`, `{ "a": 1 "b": 2 }`]) {
    await Deno.writeTextFile(path, text);
    await assertRejects(() => SettingsEditor.open(path), Error, "has errors");
  }
  await Deno.writeTextFile(path, `{ "routes": [] }`);
  const wrong = await SettingsEditor.open(path);
  assertThrows(() => wrong.add(["routes", "a"], {}), Error, "is not an object");
  assertThrows(() => wrong.add(["routes"], {}), Error, "already");
  wrong.add(["port"], 1);
  await assertRejects(
    () => wrong.write(() => Promise.reject(new Error("invalid"))),
    Error,
    "invalid",
  );
  await Deno.writeTextFile(path, "{}");
  await assertRejects(() => wrong.write(() => Promise.resolve()), Error, "has changed");
  assertEquals(await Deno.readTextFile(path), "{}");
  assertEquals((await Array.fromAsync(Deno.readDir(dir.path))).length, 1);
});

Deno.test("SettingsEditor: a new file is its owner's only; a link and the mode of a file stay", async () => {
  await using dir = await tempDir();
  const mode = async (path: string) => (await Deno.stat(path)).mode! & 0o777;
  const made = await SettingsEditor.open(`${dir.path}/new/sluice.jsonc`);
  assertEquals([made.exists, made.changed], [false, false]);
  made.add(["port"], 1);
  assertEquals(made.changed, true);
  await made.write(() => Promise.resolve());
  if (Deno.build.os !== "windows") assertEquals(await mode(`${dir.path}/new/sluice.jsonc`), 0o600);
  const real = `${dir.path}/real.jsonc`;
  await Deno.writeTextFile(real, "{}", { mode: 0o640 });
  await Deno.symlink(real, `${dir.path}/link.jsonc`);
  const linked = await SettingsEditor.open(`${dir.path}/link.jsonc`);
  linked.add(["port"], 1);
  await linked.write(() => Promise.resolve());
  assertEquals((await Deno.lstat(`${dir.path}/link.jsonc`)).isSymlink, true);
  assertEquals(await Deno.readTextFile(real), `{\n  "port": 1\n}`);
  if (Deno.build.os !== "windows") assertEquals(await mode(real), 0o640);
});
