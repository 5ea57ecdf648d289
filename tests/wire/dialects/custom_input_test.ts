import fc from "fast-check";
import { CustomInput } from "../../../src/wire/dialects/neutral/custom_input.ts";
import { GrowingText } from "../../../src/wire/dialects/responses/reply/growing_text.ts";
import { assert, assertEquals } from "../../assert.ts";
import { sized } from "../../tier.ts";

/** The input in these pieces of arguments. */
function inputOf(pieces: readonly string[]): string {
  const input = new CustomInput();
  return pieces.map((piece) => input.add(piece)).join("") + input.end();
}

/** A text cut at these places. */
function cut(text: string, places: readonly number[]): string[] {
  const at = [...new Set(places.map((place) => place % (text.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((from, index) => text.slice(from, at[index]));
}

const ARGUMENTS = [
  { args: '{"input":"a"}', input: "a", why: "plain" },
  { args: ' { "input" : "a" } ', input: "a", why: "spaces" },
  { args: '{"input":""}', input: "", why: "empty" },
  {
    args: '{"input":"\\u0041\\ud83d\\ude00\\n\\"\\\\\\/\\b\\f\\r\\t"}',
    input: 'A😀\n"\\/\b\f\r\t',
    why: "escapes",
  },
  {
    args: '{"a":{"input":"no","b":["}"]},"n":-1.5e3,"s":"\\"}","input":"a"}',
    input: "a",
    why: "other properties first",
  },
  { args: '{"a":null,"input":"a","z":{"input":"no"}}', input: "a", why: "properties around it" },
  { args: '{"inp\\u0075t":"a"}', input: "a", why: "an escaped key" },
  { args: '{"input":"a","input":"b"}', input: "a", why: "the key twice" },
  { args: '{"input":"a"} trailing', input: "a", why: "text behind" },
  { args: '{"input":"a\nb"}', input: "a\nb", why: "a line break as it is" },
  { args: '{"input":"a\\qb"}', input: "a\\qb", why: "an unknown escape" },
  { args: '{"input":"\\u12gh"}', input: "\\u12gh", why: "an escape that is none" },
  { args: '{"input":"\\u12\\n"}', input: "\\u12\n", why: "an escape in an escape" },
  { args: '{"input":"a', input: "a", why: "cut in the input" },
  { args: '{"input":"a\\u00', input: "a", why: "cut in an escape" },
  { args: '{"input":"\\ud83d"}', input: "\ud83d", why: "half a character" },
  ...[
    "*** Begin Patch\n",
    '{"patch":"a"}',
    '{"input":1}',
    '{"input":{"input":"a"}}',
    '{"input":null}',
    '{"a":"b","input"',
    '{"a":[1,2',
    '["input","a"]',
    '"input"',
    "{}",
    "",
    "{input:'a'}",
    '{"input" "a"}',
    '{"in\\put":"a"}',
    '{"a":1]}',
  ].map((args) => ({ args, input: args, why: `as it is: ${args}` })),
];

for (const { args, input, why } of ARGUMENTS) {
  Deno.test(`the input of a custom tool: ${why}`, () => {
    assertEquals(inputOf([args]), input);
    assertEquals(inputOf([...args.split("")]), input, "one character at a time");
    for (let at = 0; at <= args.length; at++) {
      assertEquals(inputOf([args.slice(0, at), "", args.slice(at)]), input, `cut at ${at}`);
    }
  });
}

/** JSON text with escapes for whatever can have one. */
function escaped(json: string): string {
  const escape = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return json.replace(/[^ -~]/g, escape);
}

Deno.test("the input of a custom tool is what JSON.parse finds, however it is cut", () => {
  const value = fc.jsonValue(sized({ maxDepth: 2 }, {}));
  const other = fc.dictionary(fc.string({ unit: "binary" }), value, sized({ maxKeys: 4 }, {}));
  fc.assert(
    fc.property(
      fc.string({ unit: "binary" }),
      other,
      other,
      fc.array(fc.nat(200)),
      fc.boolean(),
      (input, before, after, places, isEscaped) => {
        delete before.input;
        delete after.input;
        const plain = JSON.stringify({ ...before, input, ...after });
        const args = isEscaped ? escaped(plain) : plain;
        assertEquals(inputOf(cut(args, places)), JSON.parse(args).input);
      },
    ),
    { numRuns: sized(40, 500) },
  );
});

Deno.test("any arguments give the same input however they are cut, and as they come in", () => {
  const args = fc.oneof(
    fc.string({
      unit: fc.constantFrom(
        "{",
        "}",
        '"',
        ":",
        ",",
        "\\",
        "u",
        "0",
        "d",
        "input",
        '"input":"',
        " ",
      ),
    }),
    fc.string({ unit: fc.constantFrom('"', "\\", "u", "d83d", "n", "a") }).map((rest) =>
      `{"input":"${rest}`
    ),
  );
  fc.assert(
    fc.property(args, fc.array(fc.nat(200)), (text, places) => {
      assertEquals(inputOf(cut(text, places)), inputOf([text]));
    }),
    { numRuns: sized(80, 1_000) },
  );
});

Deno.test("the input of a custom tool is sent on while it comes in", () => {
  const input = new CustomInput();
  assertEquals(
    ['{"in', 'put":"*** ', "Begin\\", "nx", '"}'].map((piece) => input.add(piece)),
    ["", "*** ", "Begin", "\nx", ""],
  );
});

Deno.test("a growing text sends no half characters, and loses nothing", () => {
  fc.assert(
    fc.property(
      fc.string({
        unit: fc.oneof(
          fc.string({ unit: "binary", maxLength: 1 }),
          fc.constantFrom("\ud83d", "\ude00"),
        ),
        maxLength: 600,
      }),
      fc.array(fc.nat(600), { maxLength: 700 }),
      (text, places) => {
        const growing = new GrowingText();
        const sent = cut(text, places).map((piece) => growing.add(piece));
        sent.push(growing.end());
        for (const piece of sent) assert(piece.isWellFormed(), "half a character");
        assertEquals(sent.join(""), text.toWellFormed());
        assertEquals(growing.text, text.toWellFormed());
      },
    ),
  );
});
