import type { Mutation } from "../mutation.ts";

const PUMP = "src/relay/pump.ts";
const EVENTS = "src/relay/event_source.ts";
const FIRST = "tests/relay/settles_first_test.ts";
const BOUNDS = "tests/relay/reply_bounds_test.ts";
const MONEY = "tests/flow/money_test.ts";
const EMBEDDINGS_MONEY = "tests/flow/embeddings_money_test.ts";

/** How a stream settles a reply that is charged. */
const SETTLES =
  `this.#options.life.settle({ ending: "complete", status: 200, usage, usageSource })`;

/** Settling, and what is taken from upstreams. */
export const RELAY: readonly Mutation[] = [
  {
    name: "stream-ends-before-its-charge",
    file: PUMP,
    find: `await ${SETTLES};
    return await this.#closing(usage);`,
    replace: `void ${SETTLES};
    return await this.#closing(usage);`,
    tests: [{ file: FIRST, filter: "chat/completions: the last event of a complete" }],
    why: "A gateway that is killed then would have answered without a charge.",
  },
  {
    name: "cut-off-stream-ends-before-its-charge",
    file: PUMP,
    find: `await ${SETTLES};
    return this.#reader.reply.truncate()`,
    replace: `void ${SETTLES};
    return this.#reader.reply.truncate()`,
    tests: [{ file: FIRST, filter: "chat/completions: the last event of a cut off" }],
    why: "A gateway that is killed then would have answered without a charge.",
  },
  {
    name: "embeddings-before-their-charge",
    file: "src/relay/embedding.ts",
    find: "const settled = await this.#life.settle({",
    replace:
      "const settled = { charged: 0, balance: 0, uncollected: 0 };\n    void this.#life.settle({",
    tests: [{ file: EMBEDDINGS_MONEY, filter: "the reply comes after its charge" }],
    why: "A gateway that is killed then would have answered without a charge.",
  },
  {
    name: "embeddings-held-for-nothing",
    file: "src/relay/embed.ts",
    find: "inputTokens: Math.ceil(inputTokens * parts.estimates.factor(route)),",
    replace: "inputTokens: 0,",
    tests: [{ file: EMBEDDINGS_MONEY, filter: "200 requests at once" }],
    why: "Concurrent requests could spend more than the balance.",
  },
  {
    name: "embeddings-charged-for-a-part",
    file: "src/embeddings/read_reply.ts",
    find: "if (data.length !== inputs) {",
    replace: "if (data.length > inputs) {",
    tests: [{ file: "tests/embeddings/vectors_test.ts", filter: "one vector" }],
    why: "A client would pay for vectors that it did not get.",
  },
  {
    name: "embeddings-out-of-order",
    file: "src/embeddings/read_reply.ts",
    find: "byIndex.set(isIndexed ? item.index : at, item);",
    replace: "byIndex.set(at, item);",
    tests: [{ file: "tests/embeddings/vectors_test.ts", filter: "in the order of their indexes" }],
    why: "A text would have the vector of another one.",
  },
  {
    name: "embeddings-of-any-length",
    file: "src/embeddings/meter.ts",
    find: "if (tokens > maxInput) {",
    replace: "if (tokens < 0) {",
    tests: [{ file: "tests/embeddings/parse_test.ts", filter: "over the context" }],
    why: "An upstream would cut a text off without a word.",
  },
  {
    name: "embeddings-for-any-key",
    file: "src/relay/embed.ts",
    find: "checkPermission(caller, route);",
    replace: "",
    tests: [{ file: "tests/flow/embeddings_test.ts", filter: "a key for other models" }],
    why: "A key could use models that it is not for.",
  },
  {
    name: "whole-response-before-its-charge",
    file: "src/relay/generation.ts",
    find: "const settled = await this.#life.settle({",
    replace:
      "const settled = { charged: 0, balance: 0, uncollected: 0 };\n    void this.#life.settle({",
    tests: [{ file: FIRST, filter: "not streamed" }],
    why: "A gateway that is killed then would have answered without a charge.",
  },
  {
    name: "leaver-charged-before-output",
    file: PUMP,
    find: "const delivered = this.#hasDelivered ?",
    replace: "const delivered = true ?",
    tests: [{ file: FIRST, filter: "chat/completions: a caller who leaves" }],
    why: "A caller who leaves before any output would be charged.",
  },
  {
    name: "leaver-charged-for-what-was-not-given",
    file: PUMP,
    find: "this.#hasDelivered ||= reader.reply.hasOutput;",
    replace: "this.#hasDelivered = true;",
    tests: [{ file: FIRST, filter: "chat/completions: a caller who leaves" }],
    why: "A caller who leaves before any output would be charged.",
  },
  {
    name: "leaver-not-charged",
    file: PUMP,
    find: "this.#hasDelivered ||= reader.reply.hasOutput;",
    replace: "",
    tests: [{ file: MONEY, filter: "pays for what was delivered (abort)" }],
    why: "Who leaves just before the end of a stream would have it for nothing.",
  },
  {
    name: "upstream-not-cancelled-for-leaver",
    file: PUMP,
    find: "    this.#release(isComplete);\n    if (!isComplete) life.abort();",
    replace: "",
    tests: [{ file: MONEY, filter: "pays for what was delivered (abort)" }],
    why: "The upstream would go on generating for nobody.",
  },
  {
    name: "failed-stream-charged",
    file: PUMP,
    find: `const isClients = this.#keptWaiting && this.#hasDelivered &&
      refusal.reason === "upstream_unavailable";`,
    replace: "const isClients = true;",
    tests: [{ file: MONEY, filter: "dies in mid-stream" }],
    why: "A stream that the upstream broke off would be charged.",
  },
  {
    name: "overshoot-free",
    file: PUMP,
    find: "const { usage, usageSource } = this.#options.usage.counted(this.#metered);",
    replace: `const { usage, usageSource } = this.#options.usage.counted({
      ...this.#metered,
      countedOutput: Math.min(this.#metered.countedOutput, this.#granted / 2),
    });`,
    tests: [{ file: MONEY, filter: "is not followed far beyond" }],
    why: "What an upstream that ignores max_tokens delivers beyond them would be free.",
  },
  {
    name: "implausible-usage-believed",
    file: "src/relay/charged_usage.ts",
    find: "|| Math.max(usage.inputTokens, usage.outputTokens) > maxTokens",
    replace: "",
    tests: [{ file: "tests/flow/hostile_test.ts", filter: "more tokens than there can be" }],
    why: "An upstream could empty a balance by reporting absurd figures.",
  },
  {
    name: "failed-settlement-charges-later",
    file: "src/relay/settlement.ts",
    find: `record.ending === "complete" ? this.#record(`,
    replace: `record.ending === "refused" ? this.#record(`,
    tests: [{ file: "tests/flow/faults_test.ts", filter: "is made void" }],
    why: "A caller who was told 503 would be charged behind its back.",
  },
  {
    name: "settles-with-each-end",
    file: "src/relay/settlement.ts",
    find: "this.#settled ??= this.#settle(end);",
    replace: "this.#settled = this.#settle(end);",
    tests: [{ file: FIRST, filter: "ends in one way" }],
    why: "A request that ends in two ways would be counted and logged twice.",
  },
  {
    name: "dropped-fields-of-the-first-only",
    file: "src/relay/generation.ts",
    find: "...all.flatMap((one) => one.opened.dropped),",
    replace: "...all.slice(-1).flatMap((one) => one.opened.dropped),",
    tests: [{ file: "tests/flow/plans_test.ts", filter: "what was dropped" }],
    why: "A client would not learn that one of its choices was generated without a field.",
  },
  {
    name: "whole-reply-unbounded",
    file: "src/relay/read_whole.ts",
    find: "if (size > maxBytes) throw",
    replace: "if (size < 0) throw",
    tests: [{ file: "tests/relay/whole_test.ts" }],
    why: "One reply could take all memory.",
  },
  {
    name: "reply-values-unbounded",
    file: "src/relay/read_whole.ts",
    find: "  checkReplyJson(text, values);\n",
    replace: "",
    tests: [{ file: BOUNDS, filter: "a whole reply has a bound" }],
    why: "A reply of millions of empty objects would take gigabytes.",
  },
  {
    name: "reply-depth-unbounded",
    file: "src/relay/reply_limits.ts",
    find: "const MAX_DEPTH = 200;",
    replace: "const MAX_DEPTH = 2_000_000;",
    tests: [{ file: BOUNDS, filter: "the depth of an event" }],
    why: "Nested JSON would overflow the stack, which counts as our bug.",
  },
  {
    name: "reply-choices-unbounded",
    file: "src/dialects/chat/read_reply.ts",
    find: "const MAX_CHOICES = 128;",
    replace: "const MAX_CHOICES = Infinity;",
    tests: [{ file: BOUNDS, filter: "the choices of a chunk" }],
    why: "A million choices would keep the event loop busy for seconds.",
  },
  {
    name: "whole-reply-choices-unbounded",
    file: "src/dialects/chat/carry.ts",
    find: "  checkChoiceCount(reply);\n",
    replace: "",
    tests: [{ file: BOUNDS, filter: "a whole reply has a bound" }],
    why: "A million choices would keep the event loop busy for seconds.",
  },
  {
    name: "stream-events-unbounded",
    file: EVENTS,
    find: "if (this.#events > maxEvents) throw",
    replace: "if (maxEvents < 0) throw",
    tests: [{ file: BOUNDS, filter: "a bound: events" }],
    why: "A stream could go on with small events forever.",
  },
  {
    name: "stream-bytes-unbounded",
    file: EVENTS,
    find: "if (this.#bytes > streamBytes) throw",
    replace: "if (streamBytes < 0) throw",
    tests: [{ file: BOUNDS, filter: "a bound: streamBytes" }],
    why: "A compressed stream could decode to terabytes.",
  },
  {
    name: "stream-silence-unbounded",
    file: EVENTS,
    find: "if (this.#silentBytes > silentBytes) {",
    replace: "if (silentBytes < 0) {",
    tests: [{ file: BOUNDS, filter: "a bound: silentBytes" }],
    why: "A stream of comments would be read forever.",
  },
  {
    name: "stream-silence-never-broken",
    file: EVENTS,
    find: "this.#silentBytes = events.length > 0 ? 0 : this.#silentBytes + bytes;",
    replace: "this.#silentBytes += bytes;",
    tests: [{ file: BOUNDS, filter: "a bound: silentBytes" }],
    why: "A long stream would be ended although it says something.",
  },
  {
    name: "event-values-unbounded",
    file: EVENTS,
    find: "for (const { data } of events) checkReplyJson(data, eventValues);",
    replace: "",
    tests: [{ file: BOUNDS, filter: "a bound: eventValues" }],
    why: "One event of millions of values would keep the event loop busy for seconds.",
  },
];
