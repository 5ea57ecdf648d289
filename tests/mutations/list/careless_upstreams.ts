import type { Mutation } from "../mutation.ts";

const ITEMS = "src/wire/dialects/responses/upstream/output_walk.ts";
const READER = "src/wire/dialects/responses/upstream/output_reader.ts";
const NAMES = "src/wire/dialects/responses/carry/carried_item.ts";
const CARRIED = "src/wire/dialects/responses/carry/carried_output.ts";
const CARRY = "src/wire/dialects/responses/carry/carry.ts";
const CARELESS = "tests/wire/dialects/responses_careless_test.ts";
const CARRY_TEST = "tests/wire/dialects/responses_carry_test.ts";

/** What careless upstreams of the responses dialect may not do to clients. */
export const CARELESS_UPSTREAMS: readonly Mutation[] = [
  {
    name: "items-of-one-id-are-one",
    file: ITEMS,
    find: "known?.type === type && !isOther ? known",
    replace: "known?.type === type ? known",
    tests: [{ file: CARELESS, filter: "one ID for all" }],
    why: "What an upstream says after its first message would be lost, and charged.",
  },
  {
    name: "items-in-one-place-are-one",
    file: ITEMS,
    find: "if (byIndex?.type === type && !isNext) return byIndex;",
    replace: "if (byIndex?.type === type) return byIndex;",
    tests: [{ file: CARELESS, filter: "one place for all items" }],
    why: "What an upstream says after its first message would be lost, and charged.",
  },
  {
    name: "two-items-of-a-whole-response-are-one",
    file: ITEMS,
    find: "!taken.has(one) && is(one)",
    replace: "is(one)",
    tests: [{ file: CARELESS, filter: "a message only at the end" }],
    why: "A message that only the whole response has would be lost, and charged.",
  },
  {
    name: "deltas-after-a-whole-text-count",
    file: READER,
    find: "if (item.isDone || item.state.texts.get(place)?.isEnded) return [];",
    replace: "if (item.isDone) return [];",
    tests: [{ file: CARELESS, filter: "deltas after the text was repeated" }],
    why: "The client would read a text twice.",
  },
  {
    name: "call-begins-without-its-name",
    file: CARRIED,
    find: 'return waits ? "" : this.#begin(known, given);',
    replace: "return this.#begin(known, given);",
    tests: [{ file: CARELESS, filter: "the names of a call only at its end" }],
    why: "The client would run a tool without a name.",
  },
  {
    name: "results-of-two-calls-have-one-id",
    file: NAMES,
    find: "this.#callIds.has(id) ?",
    replace: 'this.#callIds.has("") ?',
    tests: [{ file: CARELESS, filter: "one ID for the results of two calls" }],
    why: "SDKs throw, and the results could not be told apart.",
  },
  {
    name: "text-at-the-end-is-lost",
    file: CARRIED,
    find: "if (end === undefined && !saysAnything(item) && state.parts.size === 0) {",
    replace: "if (end !== undefined && !saysAnything(item) && state.parts.size === 0) {",
    tests: [{ file: CARELESS, filter: "a message ends without its text" }],
    why: "A text that only the whole response has would be lost, and charged.",
  },
  {
    name: "items-of-two-replies-have-one-id",
    file: NAMES,
    find: "const UNIQUE_CHARS = 20;",
    replace: "const UNIQUE_CHARS = 0;",
    tests: [{ file: "tests/flow/kept_items_test.ts", filter: "numbers the items" }],
    why: "A conversation would go on with what the model said in another one.",
  },
  {
    name: "half-a-call-is-done",
    file: NAMES,
    find: 'const isCut = end === "incomplete" && isCutOff(item);',
    replace: 'const isCut = end !== "incomplete" && isCutOff(item);',
    tests: [{ file: CARRY_TEST, filter: "limit cut off is never done" }],
    why: "The client would run half a command.",
  },
  {
    name: "unbelieved-usage-is-shown",
    file: CARRY,
    find: "isSameUsage(usage, this.usage) ? this.#response.usage : undefined",
    replace: "this.#response.usage",
    tests: [{ file: CARELESS, filter: "a report of usage" }],
    why: "The client would read other numbers than those that it is charged by.",
  },
  {
    name: "nothing-is-stored-at-the-upstream",
    file: CARRY,
    find: "    store: false,\n  };",
    replace: "  };",
    tests: [{ file: CARRY_TEST, filter: "a request is carried as it is" }],
    why: "The upstream would keep conversations of clients who were promised that it does not.",
  },
];
