import fc from "fast-check";
import { countTokens as o200k } from "gpt-tokenizer/encoding/o200k_base";
import { countTokens, TokenCounter } from "../../src/tokens/mod.ts";
import { assert, assertEquals } from "../assert.ts";

const read = (path: string) => Deno.readTextFileSync(new URL(`../../${path}`, import.meta.url));
const times = (text: string) => text.repeat(20);

/** Texts, and by how much of the tokeniser's count ours may be off. */
const TEXTS: readonly { what: string; text: string; within: number }[] = [
  { what: "English", text: read("CONTRIBUTING.md"), within: 0.1 },
  { what: "TypeScript", text: read("src/relay/relay.ts"), within: 0.1 },
  { what: "a JSON file", text: read("deno.json"), within: 0.2 },
  {
    what: "German",
    text: times("Der schnelle braune Fuchs springt über den faulen Hund, während es regnet. "),
    within: 0.25,
  },
  {
    what: "French",
    text: times(
      "Le gouvernement a annoncé hier soir plusieurs mesures d'économie; l'opposition réclame. ",
    ),
    within: 0.25,
  },
  {
    what: "Chinese",
    text: times("今天天气很好，我们一起去公园散步，然后在附近的餐厅吃午饭。"),
    within: 0.2,
  },
  {
    what: "Japanese",
    text: times("吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。"),
    within: 0.2,
  },
  {
    what: "Russian",
    text: times("Быстрая коричневая лиса перепрыгивает через ленивую собаку. "),
    within: 0.2,
  },
  { what: "emoji", text: times("👋🏽 hello 🎉🎉 world 🚀 "), within: 0.2 },
  {
    what: "numbers",
    text: times("7919.13, 15838.26, 23757.39, 31676.52, 39595.65, "),
    within: 0.2,
  },
];

for (const { what, text, within } of TEXTS) {
  Deno.test(`countTokens is within ${within * 100} % of o200k_base: ${what}`, () => {
    const [ours, theirs] = [countTokens(text), o200k(text)];
    assert(Math.abs(ours / theirs - 1) <= within, `${ours} for ${theirs}`);
  });
}

Deno.test("TokenCounter gives the same count however a text is cut (property)", () => {
  fc.assert(fc.property(fc.array(fc.string({ unit: "grapheme" })), (pieces) => {
    const counter = new TokenCounter();
    for (const piece of pieces) counter.add(piece);
    assertEquals(counter.tokens, countTokens(pieces.join("")));
  }));
});
