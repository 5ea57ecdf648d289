import type { Mutation } from "../mutation.ts";

const RESPONSES = "src/wire/dialects/responses";
const ITEMS = "tests/wire/dialects/responses_items_test.ts";
const REQUEST = "tests/wire/dialects/responses_request_test.ts";
const TOOLS = "tests/wire/dialects/responses_tools_test.ts";
const WRITER = "tests/wire/dialects/responses_writer_test.ts";
const KEPT = "tests/wire/kept_items/kept_items_test.ts";

/** What clients of the responses dialect keep for the gateway, may refer to and act on. */
export const RESPONSES_DIALECT: readonly Mutation[] = [
  {
    name: "seals-for-every-account",
    file: "src/wire/sealing/sealing.ts",
    find: `seal: (kind, value) => this.#seal([kind, accountId], value),
      open: (kind, text, param) => this.#open([kind, accountId], text, param),`,
    replace: `seal: (kind, value) => this.#seal([kind, ""], value),
      open: (kind, text, param) => this.#open([kind, ""], text, param),`,
    tests: [{ file: ITEMS, filter: "is rejected" }],
    why: "An account could read reasoning and summaries of another one.",
  },
  {
    name: "seals-of-another-route",
    file: "src/wire/dialects/neutral/sealed_reasoning.ts",
    find: "return Array.isArray(value.parts) && value.route !== route;",
    replace: "return false;",
    tests: [{ file: ITEMS, filter: "another route gets its text" }],
    why: "An upstream would get signatures that another route's upstream made.",
  },
  {
    name: "kept-items-of-everybody",
    file: "src/wire/kept_items/kept_items.ts",
    find: "where account_id = ? and item_id in",
    replace: "where account_id in (?, account_id) and item_id in",
    tests: [{ file: KEPT, filter: "as they were" }, { file: KEPT, filter: "moved to another" }],
    why: "Items of other accounts would be read, and only their encryption would keep them apart.",
  },
  {
    name: "item-twice-in-one-input",
    file: "src/wire/dialects/responses/request/references.ts",
    find: "    left.delete(id!);\n",
    replace: "",
    tests: [{
      file: "tests/wire/dialects/responses_references_test.ts",
      filter: "known items take",
    }],
    why:
      "A small request could become as large as one likes: each reference would be the whole item.",
  },
  {
    name: "kept-items-for-ever",
    file: "src/wire/kept_items/kept_items.ts",
    find: "and expires_at_ms > ?`;",
    replace: "and expires_at_ms > ? - 86400000`;",
    tests: [{ file: KEPT, filter: "items expire by the clock" }],
    why: "Items would outlive the hour that is promised.",
  },
  {
    name: "kept-against-the-clients-will",
    file: `${RESPONSES}/carry/carry.ts`,
    find: "this.keepsItems = body.store !== false;",
    replace: "this.keepsItems = true;",
    tests: [{
      file: "tests/wire/dialects/responses_carry_test.ts",
      filter: "a whole reply is carried",
    }],
    why: "Items of requests with store: false would be in the database.",
  },
  {
    name: "stored-at-the-upstream",
    file: `${RESPONSES}/carry/carry.ts`,
    find: "    store: false,\n  };",
    replace: "  };",
    tests: [{
      file: "tests/wire/dialects/responses_carry_test.ts",
      filter: "a request is carried",
    }],
    why: "An upstream would store prompts that the client believes are stored nowhere.",
  },
  {
    name: "background-in-the-foreground",
    file: `${RESPONSES}/request/parse.ts`,
    find: "if (body.background === true) {",
    replace: "if (body.background === 1) {",
    tests: [{ file: REQUEST, filter: "rejected: set stream to true" }],
    why: "A client would wait for a job that nobody runs.",
  },
  {
    name: "results-without-calls",
    file: `${RESPONSES}/request/parse.ts`,
    find: `callId === "" && kind === "tool_search_output" || callIds.has(callId)`,
    replace: "callId !== undefined",
    tests: [{ file: REQUEST, filter: "comes before it" }, { file: REQUEST, filter: "is rejected" }],
    why: "A result that belongs to no call would be sent, and fail at some upstreams.",
  },
  {
    name: "tools-lose-their-namespace",
    file: `${RESPONSES}/request/tools.ts`,
    find: "const joined = namespace === undefined ? name : `${namespace}__${name}`;",
    replace: "const joined = name;",
    tests: [{ file: TOOLS, filter: "namespaces are flattened" }],
    why: "Tools of two namespaces with one name would be mistaken for each other.",
  },
  {
    name: "allowed-tools-are-advice",
    file: `${RESPONSES}/request/tools.ts`,
    find: `if (!isObject(choice) || choice.type !== "allowed_tools") return [...tools];`,
    replace: "if (tools.length > 0) return [...tools];",
    tests: [{ file: TOOLS, filter: "allowed_tools" }],
    why: "The model could call a tool that the client ruled out.",
  },
  {
    name: "cut-off-call-is-done",
    file: `${RESPONSES}/reply/call_item.ts`,
    find: `if (end === "incomplete" && !this.isComplete) return rest;`,
    replace: "",
    tests: [{ file: WRITER, filter: "incomplete" }, { file: WRITER, filter: "cut off" }],
    why: "A client would run a call whose arguments are missing.",
  },
  {
    name: "empty-summary",
    file: `${RESPONSES}/reply/writer.ts`,
    find:
      `if (this.#summary !== undefined && this.#summary.text === "") return this.fail(noSummary());`,
    replace: "",
    tests: [{ file: WRITER, filter: "a summary that is empty" }],
    why: "A client would replace its conversation by nothing.",
  },
  {
    name: "codex-repeats-refusals",
    file: `${RESPONSES}/errors.ts`,
    find: '{ code: stops ? "invalid_prompt" : code, message },',
    replace: "{ code, message },",
    tests: [{ file: "tests/wire/dialects/responses_errors_test.ts", filter: "has the shapes" }],
    why: "Codex would send a request without credits again and again.",
  },
  {
    name: "encrypted-reasoning-for-anybody",
    file: `${RESPONSES}/carry/carry.ts`,
    find: `return { ...item, encrypted_content: sealer.seal("reasoning", value) };`,
    replace: "return value === undefined ? {} : item;",
    tests: [{
      file: "tests/wire/dialects/responses_carry_test.ts",
      filter: "what was encrypted sealed",
    }],
    why: "What an upstream encrypted for one account could be sent by another one.",
  },
];
