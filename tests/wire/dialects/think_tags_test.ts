import fc from "fast-check";
import { ThinkTags } from "../../../src/wire/dialects/chat/think_tags.ts";
import { assertEquals } from "../../assert.ts";

/** What a text is taken apart to, cut at these places. */
function taken(text: string, cuts: readonly number[]): { reasoning: string; text: string } {
  const tags = new ThinkTags();
  const told = { reasoning: "", text: "" };
  const add = (one: { reasoning: string; text: string }) => {
    told.reasoning += one.reasoning;
    told.text += one.text;
  };
  let at = 0;
  for (
    const cut of [...cuts.map((one) => one % (text.length + 1)).sort((a, b) => a - b), text.length]
  ) {
    add(tags.take(text.slice(at, cut)));
    at = cut;
  }
  add(tags.end());
  return told;
}

Deno.test("ThinkTags takes a text apart however it is cut, and loses nothing (property)", () => {
  const piece = fc.constantFrom("<think>", "</think>", "<", "/", "th", "ink>", "a", " ", "\n", "é");
  fc.assert(fc.property(
    fc.array(piece, { maxLength: 12 }).map((all) => all.join("")),
    fc.array(fc.nat(), { maxLength: 6 }),
    (text, cuts) => {
      const told = taken(text, cuts);
      assertEquals(told, taken(text, []));
      const begun = /^\s*<think>/.exec(text)?.[0];
      if (begun === undefined) return assertEquals(told, { reasoning: "", text });
      const [reasoning = "", ...rest] = text.slice(begun.length).split("</think>");
      assertEquals(told, { reasoning, text: rest.join("</think>").replace(/^\s+/, "") });
    },
  ));
});
