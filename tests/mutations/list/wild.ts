import type { Mutation } from "../mutation.ts";

const COUNTS = "tests/flow/own_counts_test.ts";
const CUTTING = "tests/requests/relay/cutting_test.ts";
const RULES = "tests/requests/upstreams/quirks_rules_test.ts";
const WORDS = "tests/wire/dialects/context_words_test.ts";
const ANTHROPIC = "src/requests/upstreams/quirks/anthropic.ts";
const CHAT = "src/requests/upstreams/quirks/chat_rules.ts";

/** What clients and upstreams really send. */
export const WILD: readonly Mutation[] = [
  {
    name: "own-count-cuts-streams",
    file: "src/requests/admission/hold.ts",
    find: "return this.#paid >= this.maxCharged ? this.maxDelivered : this.outputTokens;",
    replace: "return this.outputTokens;",
    tests: [{ file: COUNTS, filter: "at its limit a reply is whole" }],
    why: "Text would be lost where the gateway counts more than the upstream.",
  },
  {
    name: "own-count-charged-without-bound",
    file: "src/requests/relay/charged_usage.ts",
    find: "    const outputTokens = Math.min(\n      maxOutput,",
    replace: "    const outputTokens = Math.min(\n      Infinity,",
    tests: [{ file: COUNTS, filter: "a reply far beyond its limit" }],
    why: "A caller would pay for what it did not ask for.",
  },
  {
    name: "runaway-streams-not-cut",
    file: "src/requests/admission/hold.ts",
    find: "return Math.floor(COUNT_ERROR * this.maxCharged);",
    replace: "return Infinity * COUNT_ERROR;",
    tests: [{ file: COUNTS, filter: "a reply far beyond its limit" }],
    why: "An upstream that does not keep limits would go on without end.",
  },
  {
    name: "own-count-refuses-prompts",
    file: "src/requests/relay/relay.ts",
    find: "const overcount = isExact ? 1 : MAX_OVERCOUNT;",
    replace: "const overcount = isExact ? 1 : 1;",
    tests: [{ file: COUNTS, filter: "a prompt is refused" }],
    why: "What fits would not be sent.",
  },
  {
    name: "first-failure-seen-after-a-read",
    file: "src/requests/relay/reply_reader.ts",
    find: "if (this.#failure !== undefined && !this.reply.hasOutput) throw this.#failure.error;",
    replace: "",
    tests: [{ file: CUTTING, filter: "a stream is the same" }],
    why: "An error in the same piece as the first event would lose the failover.",
  },
  {
    name: "last-event-needs-a-blank-line",
    file: "src/requests/relay/event_source.ts",
    find: "bytes === undefined ? this.#decoder.end() : this.#decoder.push(bytes)",
    replace: "bytes === undefined ? [] : this.#decoder.push(bytes)",
    tests: [{ file: "tests/flow/wild_test.ts", filter: "what comes in the wild" }],
    why: "A reply that is whole would fail.",
  },
  {
    name: "error-field-skipped",
    file: "src/wire/dialects/sse/decoder.ts",
    find: 'field === "error"',
    replace: 'field === "never"',
    tests: [{ file: CUTTING, filter: "a field of SSE named error" }],
    why: "The client's fault would become one that is tried again.",
  },
  {
    name: "thinking-with-a-forced-tool",
    file: ANTHROPIC,
    find: 'if (!thinks(body) || choice !== "any" && choice !== "tool") return body;',
    replace: "return body;",
    tests: [{ file: RULES, filter: "a forced tool and thinking" }],
    why: "The service refuses both together.",
  },
  {
    name: "thinking-without-its-blocks",
    file: ANTHROPIC,
    find: "if (!lacks) return body;",
    replace: "return body;",
    tests: [{ file: RULES, filter: "thinking is off where" }],
    why: "The service refuses a turn of tools that does not begin with its thinking.",
  },
  {
    name: "white-space-after-a-prefill",
    file: ANTHROPIC,
    find: 'if (last?.role !== "assistant") return body;',
    replace: "return body;",
    tests: [{ file: RULES, filter: "a prefill does not end" }],
    why: "The service refuses it.",
  },
  {
    name: "developer-role-everywhere",
    file: CHAT,
    find: 'message.role === "developer" ? { ...message, role: "system" } : message',
    replace: "message",
    tests: [{ file: RULES, filter: "the role developer" }],
    why: "Services that do not know the role refuse it.",
  },
  {
    name: "long-call-ids-differ",
    file: CHAT,
    find: "return { ...message, tool_call_id: shortId(text(message.tool_call_id)!) };",
    replace: "return message;",
    tests: [{ file: RULES, filter: "ids of calls have 64" }],
    why: "A result would belong to no call.",
  },
  {
    name: "any-number-is-of-tokens",
    file: "src/wire/dialects/context_words.ts",
    find: "return isCoded || OTHER_WORDS.test(message) ? {} : undefined;",
    replace: "return {};",
    tests: [{ file: WORDS, filter: "other errors are not" }],
    why: "Coding tools would compact for any error.",
  },
  {
    name: "empty-finish-reason-ends",
    file: "src/wire/dialects/chat/departures.ts",
    find: 'if (reason === "") return null;',
    replace: 'if (reason === "") return reason;',
    tests: [{ file: "tests/flow/wild_test.ts", filter: "what comes in the wild" }],
    why: "A stream that breaks off would be complete, and charged.",
  },
  {
    name: "half-a-report-is-not-charged",
    file: "src/requests/relay/generation.ts",
    find: "      partialUsage: reply.partialUsage,\n",
    replace: "",
    tests: [{ file: "tests/flow/wild_test.ts", filter: "what comes in the wild" }],
    why: "A reply would be charged by a count although its output was reported.",
  },
  {
    name: "empty-error-fails",
    file: "src/wire/dialects/upstream_error.ts",
    find: "Object.values(error).some(Boolean)",
    replace: "true",
    tests: [{ file: "tests/wire/dialects/reported_errors_test.ts", filter: "all empty" }],
    why: "Replies that succeeded would be errors.",
  },
  {
    name: "error-in-a-choice-is-final",
    file: "src/wire/dialects/chat/read_reply.ts",
    find: "reportedError({ error: choice.error })",
    replace: "reportedError({})",
    tests: [{ file: "tests/flow/wild_test.ts", filter: "what comes in the wild" }],
    why: "A failure that OpenRouter reports would lose the failover.",
  },
];
