import fc from "fast-check";
import jsonc from "jsonc-parser";
import { SettingsEditor } from "../../../src/settings/config/mod.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "../../assert.ts";
import { tempDir } from "../../fake/temp.ts";

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

/** The text of a file after a setting was changed. */
async function changed(before: string, path: string[], value: object) {
  await using dir = await tempDir();
  const file = `${dir.path}/sluice.jsonc`;
  await Deno.writeTextFile(file, before);
  const editor = await SettingsEditor.open(file);
  editor.set(path, value);
  await editor.write(() => Promise.resolve());
  return await Deno.readTextFile(file);
}

const COMMENTED = `{
  // what we serve
  "routes": {
    "a": {
      // agreed with finance
      "prices": { "input": 10, "cached": 5, "output": 40 }, // since May
      "targets": [
        // the cheap one
        { "upstream": "x", "model": "m" }, // first
        { "upstream": "y", /* theirs */ "model": "n" } // second
      ],
      "minimum": 3 /* credits */
    } // the end of a
  }
}
`;
const [X, Y] = [{ upstream: "x", model: "m" }, { upstream: "y", model: "n" }];
const PRICES = { input: 10, cached: 5, output: 40 };

const CHANGES: readonly { why: string; value: object; edits: [string, string][] }[] = [
  { why: "nothing", value: { targets: [X, Y], minimum: 3, prices: PRICES }, edits: [] },
  {
    why: "a price",
    value: { prices: { ...PRICES, output: 50 }, targets: [X, Y], minimum: 3 },
    edits: [[`"output": 40`, `"output": 50`]],
  },
  {
    why: "the order of targets: each keeps the comments in it",
    value: { prices: PRICES, targets: [Y, X], minimum: 3 },
    edits: [
      [`{ "upstream": "x", "model": "m" }`, `{ "upstream": "A", "model": "m" }`],
      [`{ "upstream": "y", /* theirs */ "model": "n" }`, `{ "upstream": "x", "model": "m" }`],
      [`{ "upstream": "A", "model": "m" }`, `{ "upstream": "y", /* theirs */ "model": "n" }`],
    ],
  },
  {
    why: "a weight",
    value: { prices: PRICES, targets: [{ ...X, weight: 3 }, Y], minimum: 3 },
    edits: [[`"model": "m" }`, `"model": "m", "weight": 3 }`]],
  },
  {
    why: "a target less",
    value: { prices: PRICES, targets: [Y], minimum: 3 },
    edits: [
      [`{ "upstream": "y", /* theirs */ "model": "n" } // second`, `// second`],
      [`{ "upstream": "x", "model": "m" }`, `{ "upstream": "y", /* theirs */ "model": "n" }`],
    ],
  },
  {
    why: "a target more",
    value: { prices: PRICES, targets: [X, Y, { upstream: "z", model: "o" }], minimum: 3 },
    edits: [[
      `"model": "n" } // second`,
      `"model": "n" }, // second\n        { "upstream": "z", "model": "o" }`,
    ]],
  },
  {
    why: "the last property less",
    value: { prices: PRICES, targets: [X, Y] },
    edits: [[`      "minimum": 3 /* credits */`, `      /* credits */`]],
  },
  {
    why: "a property less that has a comment",
    value: { targets: [X, Y], minimum: 3 },
    edits: [[`"prices": { "input": 10, "cached": 5, "output": 40 }, // since May`, `// since May`]],
  },
  {
    why: "a property more",
    value: { prices: PRICES, targets: [X, Y], minimum: 3, context: 9 },
    edits: [[`"minimum": 3 /* credits */`, `"minimum": 3, /* credits */\n      "context": 9`]],
  },
];
for (const { why, value, edits } of CHANGES) {
  Deno.test(`SettingsEditor.set: ${why}`, async () => {
    const expected = edits.reduce((text, [from, to]) => {
      assert(text.split(from).length === 2, from);
      return text.replace(from, () => to);
    }, COMMENTED);
    assertEquals(await changed(COMMENTED, ["routes", "a"], value), expected);
  });
}

Deno.test("SettingsEditor.set: whatever the layout, the value is there, and every comment and other setting is kept", async () => {
  const value = fc.record({
    minimum: fc.nat(9),
    prices: fc.record({ input: fc.nat(9), output: fc.nat(9) }, { requiredKeys: [] }),
    targets: fc.uniqueArray(
      fc.record({ model: fc.constantFrom("a", "b", "c", "d"), weight: fc.nat(3) }, {
        requiredKeys: ["model"],
      }),
      { selector: ({ model }) => model, minLength: 1, maxLength: 4 },
    ),
  }, { requiredKeys: [] });
  await fc.assert(
    fc.asyncProperty(
      value,
      value,
      fc.array(fc.constantFrom("", " ", "\n", "\r\n  ", "/*#*/", " //#\n"), {
        minLength: 5,
        maxLength: 12,
      }),
      fc.boolean(),
      async (from, to, gaps, hasTrailing) => {
        let number = 0;
        const gap = () => gaps[number++ % gaps.length]!.replace("#", () => `c${number};`);
        const written = (one: unknown): string => {
          const end = (parts: string[]) =>
            parts.join(`${gap()},${gap()}`) + (hasTrailing && parts.length > 0 ? `${gap()},` : "");
          if (Array.isArray(one)) return `[${gap()}${end(one.map(written))}${gap()}]`;
          if (typeof one !== "object" || one === null) return JSON.stringify(one);
          const parts = Object.entries(one).map(([key, inner]) =>
            `${JSON.stringify(key)}${gap()}:${gap()}${written(inner)}`
          );
          return `{${gap()}${end(parts)}${gap()}}`;
        };
        const text = written({ port: 1, routes: { z: { minimum: 1 }, a: from, b: {} }, host: "h" });
        const result = await changed(text, ["routes", "a"], to);
        assertEquals(jsonc.parse(result, [], { allowTrailingComma: true }), {
          port: 1,
          routes: { z: { minimum: 1 }, a: to, b: {} },
          host: "h",
        }, text);
        const errors: jsonc.ParseError[] = [];
        jsonc.parse(result, errors, { allowTrailingComma: true });
        assertEquals(errors, [], result);
        const before = text.match(/c\d+;/g) ?? [];
        const node = jsonc.findNodeAtLocation(jsonc.parseTree(text)!, ["routes", "a"])!;
        const inside = text.slice(node.offset, node.offset + node.length);
        for (const comment of before) {
          if (inside.includes(comment)) continue; // those inside what goes may go
          assert(result.includes(comment), `${comment} of ${text} is not in ${result}`);
        }
      },
    ),
    { numRuns: 500 },
  );
});
