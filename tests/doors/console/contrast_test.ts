/** Computes contrast by WCAG 2.2 from the roles of colour in the stylesheet, in both schemes. */

import { assert, assertEquals } from "../../assert.ts";

const CSS = await Deno.readTextFile(
  new URL("../../../src/doors/console/assets/style.css", import.meta.url),
);

type Colours = Readonly<Record<string, string>>;

const ROLES = [...CSS.matchAll(
  /--([\w-]+): light-dark\((#[0-9a-f]{3,6}), (#[0-9a-f]{3,6})\);/g,
)].map(([, name, light, dark]) => ({ name: name!, light: light!, dark: dark! }));
const SCHEMES: Readonly<Record<string, Colours>> = {
  light: Object.fromEntries(ROLES.map(({ name, light }) => [name, light])),
  dark: Object.fromEntries(ROLES.map(({ name, dark }) => [name, dark])),
};

function luminance(colour: string): number {
  const hex = colour.length === 4 ? colour.replaceAll(/[0-9a-f]/g, "$&$&") : colour;
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
    .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

function contrast(a: string, b: string): number {
  const [high, low] = [luminance(a), luminance(b)].toSorted((x, y) => y - x);
  return (high! + 0.05) / (low! + 0.05);
}

const GROUNDS = ["bg", "surface", "sunken"];
const SERIES = ["series-1", "series-2", "series-3", "series-4", "series-5", "series-others", "bad"];

/** Text needs 4.5 to 1. */
const TEXT: readonly (readonly [text: string, ground: string])[] = [
  ...["text", "quiet", "accent"].flatMap((text) =>
    GROUNDS.map((ground) => [text, ground] as const)
  ),
  ["text", "calm-bg"],
  ["quiet", "calm-bg"],
  ["bad", "surface"],
  ["bad", "bg"],
  ["accent-text", "accent"],
  ...["good", "bad", "warn", "calm"].map((state) => [state, `${state}-bg`] as const),
];

/** Borders of fields, the focus ring and what charts draw need 3 to 1. */
const SHAPES: readonly (readonly [shape: string, ground: string])[] = [
  ...["edge", "accent"].flatMap((shape) => GROUNDS.map((ground) => [shape, ground] as const)),
  ...SERIES.map((series) => [series, "surface"] as const),
];

Deno.test("contrast: black on white is 21 to 1", () => {
  assertEquals(contrast("#000", "#ffffff"), 21);
  assert(Math.abs(contrast("#777777", "#fff") - 4.48) < 0.01);
});

for (const [scheme, colours] of Object.entries(SCHEMES)) {
  Deno.test(`contrast of ${scheme} is AA`, () => {
    for (const [pairs, wanted] of [[TEXT, 4.5], [SHAPES, 3]] as const) {
      for (const [front, ground] of pairs) {
        const found = contrast(colours[front]!, colours[ground]!);
        assert(found >= wanted, `${front} on ${ground} has ${found.toFixed(2)}, needs ${wanted}`);
      }
    }
  });
}

Deno.test("colours are written as roles, and nowhere else", () => {
  const rules = CSS.replaceAll(/:root\s*\{[^}]*\}/g, "").replaceAll(/\/\*[\s\S]*?\*\//g, "");
  assertEquals(rules.match(/#[0-9a-f]{3,8}\b/gi), null);
  const used = new Set([...CSS.matchAll(/var\(--([\w-]+)\)/g)].map(([, name]) => name!));
  const defined = new Set([...CSS.matchAll(/^\s+--([\w-]+):/gm)].map(([, name]) => name!));
  assertEquals([...used].filter((name) => !defined.has(name)), [], "used, but not defined");
});
