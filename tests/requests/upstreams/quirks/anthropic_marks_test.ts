import { withFewMarks } from "../../../../src/requests/upstreams/quirks/anthropic_marks.ts";
import type { JsonObject, JsonValue } from "../../../../src/wire/dialects/mod.ts";
import { check } from "./check.ts";

const cache_control = { type: "ephemeral" };
const block = (name: string, isMarked: boolean): JsonObject => (
  { name, ...(isMarked && { cache_control }) }
);

/** A body with these blocks marked, of t(ools), s(ystem), m(essage), r(esult) and what is in it. */
function bodyOf(marked: string, more: JsonObject = {}): JsonObject {
  const of = (name: string) => block(name, marked.includes(name));
  return {
    tools: [of("t")],
    system: [of("s")],
    messages: [
      { role: "user", content: "Hi" },
      { role: "user", content: [of("m"), { ...of("r"), content: [of("i"), of("j")] }] },
    ],
    ...more,
  };
}

Deno.test("of the marks of a prompt the last four stay, the request's own among them (table)", () => {
  const own = { cache_control };
  check(withFewMarks, [
    [bodyOf("")],
    [bodyOf("tsmr")],
    [bodyOf("tsmri"), bodyOf("smri"), "cache_control=4 of 5"],
    [bodyOf("tsmrij"), bodyOf("mrij"), "cache_control=4 of 6"],
    [bodyOf("smr", own)],
    [bodyOf("tsmr", own), bodyOf("smr", own), "cache_control=3 of 4"],
    [bodyOf("tsmr", { cache_control: null })],
    // what is in a result comes before its end
    [bodyOf("mrij", own), bodyOf("ijr", own), "cache_control=3 of 4"],
  ]);
});

Deno.test("what has no marks stays as it is, and nothing is added (table)", () => {
  const marks = (count: number): JsonValue[] =>
    Array.from({ length: 5 }, (_, at) => block(`${at}`, at >= 5 - count));
  check(withFewMarks, [
    [{ messages: [{ role: "user", content: marks(5) }] }, {
      messages: [{ role: "user", content: marks(4) }],
    }, "cache_control=4 of 5"],
    [{ messages: [{ role: "user", content: marks(5) }], system: "x" }, {
      messages: [{ role: "user", content: marks(4) }],
      system: "x",
    }, "cache_control=4 of 5"],
    [{ tools: marks(5), messages: [{ role: "user", content: "Hi" }] }, {
      tools: marks(4),
      messages: [{ role: "user", content: "Hi" }],
    }, "cache_control=4 of 5"],
  ]);
});
