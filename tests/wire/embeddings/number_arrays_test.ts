import { assertGrowsLinearly } from "../../growth.ts";
import fc from "fast-check";
import { NumberArrays } from "../../../src/wire/embeddings/mod.ts";
import { assertEquals, assertThrows } from "../../assert.ts";
import { PROOF, sized } from "../../tier.ts";

/** A value as it was before its arrays of numbers were taken out. */
function restored(value: unknown, taken: readonly Float64Array[]): unknown {
  if (Array.isArray(value)) {
    return typeof value[0] === "number"
      ? [...taken[value[0]]!]
      : value.map((one) => restored(one, taken));
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, restored(one, taken)]),
  );
}

/** JSON whose arrays hold numbers only, or none. */
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 4 },
    fc.string({ unit: "binary" }),
    fc.constant('a"[1,2]\\"'),
    fc.boolean(),
    fc.constant(null),
    fc.integer(),
    fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), { maxLength: 40 }),
    fc.array(tie("notNumber"), { maxLength: 5 }),
    fc.dictionary(fc.string(), tie("any"), { maxKeys: 5 }),
  ),
  notNumber: fc.oneof(
    { maxDepth: 4 },
    fc.string(),
    fc.constant(null),
    fc.array(fc.integer(), { maxLength: 9 }),
    fc.dictionary(fc.string(), tie("any"), { maxKeys: 5 }),
  ),
})).any;

Deno.test("NumberArrays: however a text is cut, all of it comes back (property)", () => {
  fc.assert(
    fc.property(
      value,
      fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }),
      fc.constantFrom(undefined, 2, "\n\t "),
      (original, sizes, space) => {
        const json = JSON.stringify(original, null, space);
        const arrays = new NumberArrays();
        for (let [at, turn] = [0, 0]; at < json.length; turn++) {
          const size = sizes[turn % sizes.length]!;
          arrays.push(json.slice(at, at + size));
          at += size;
        }
        const back = restored(JSON.parse(arrays.text), arrays.taken);
        assertEquals(JSON.stringify(back), JSON.stringify(original).replaceAll("-0,", "0,"));
      },
    ),
    { numRuns: sized(40, 500) },
  );
});

for (
  const text of ["[1,]", "[1,,2]", "[1 2]", "[-]", "[01]", "[1,[2]]", '[1,"a"]', "[1,null]", "[1"]
) {
  Deno.test(`NumberArrays rejects ${text}, whole and one character at a time`, () => {
    for (const size of [1, text.length]) {
      assertThrows(() => {
        const arrays = new NumberArrays();
        for (let at = 0; at < text.length; at += size) arrays.push(text.slice(at, at + size));
        return arrays.text;
      }, SyntaxError);
    }
  });
}

Deno.test("NumberArrays: white space without end, and a number without end, take no time or memory", () => {
  const arrays = new NumberArrays();
  arrays.push("[1");
  for (let times = 0; times < 10_000; times++) arrays.push(" ".repeat(10_000));
  arrays.push(",2]");
  assertEquals([arrays.text, arrays.taken], ["[0]", [new Float64Array([1, 2])]]);
  const long = new NumberArrays();
  long.push("[");
  assertThrows(() => {
    for (let times = 0; times < 1_000; times++) long.push("1".repeat(100));
  }, SyntaxError);
});

const spaced = (size: number) => () =>
  void assertThrows(() => new NumberArrays().push(`[1${" ".repeat(size)}2`), SyntaxError);

Deno.test("NumberArrays: a number with a million spaces in it is none", spaced(1_000_000));

Deno.test("NumberArrays: white space within a number takes no time", PROOF, () => {
  assertGrowsLinearly(1_000_000, spaced);
});
