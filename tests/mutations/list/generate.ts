import type { Mutation } from "../mutation.ts";

const READER = "src/wire/dialects/generate/read_reply.ts";
const WRITER = "src/wire/dialects/generate/write.ts";
const USAGE = "src/wire/dialects/usage_names.ts";
const TEST = "tests/wire/dialects/generate_test.ts";
const SIGNATURES = "tests/flow/signatures_test.ts";
const FLOW = "tests/flow/generate_test.ts";

/** Gemini's own dialect, as upstreams speak it. */
export const GENERATE: readonly Mutation[] = [
  {
    name: "prompt-of-googles-tools-is-free",
    file: USAGE,
    find: "parts.prompt + tools;",
    replace: "parts.prompt;",
    tests: [{ file: TEST, filter: "usage: thoughts are output" }],
    why: "What tools found would be charged as output, or not at all.",
  },
  {
    name: "thoughts-without-text-are-free",
    file: USAGE,
    find: "parts.output ?? (reasoning === undefined ? undefined : 0);",
    replace: "parts.output;",
    tests: [{ file: TEST, filter: "usage: thoughts are output" }],
    why: "A reply that reached its limit in its thoughts would cost nothing.",
  },
  {
    name: "malformed-call-is-an-end",
    file: READER,
    find: "    checkFinish(finishReason);\n",
    replace: "",
    tests: [{ file: TEST, filter: "every reason to end" }],
    why: "A call that nobody could read would be charged as a reply.",
  },
  {
    name: "blocked-prompt-has-no-end",
    file: READER,
    find: 'return isBlocked ? this.#end("filtered") : [];',
    replace: "return [];",
    tests: [{ file: TEST, filter: "every reason to end" }],
    why: "A prompt that a filter stopped would look like a fault of the upstream.",
  },
  {
    name: "results-in-the-order-they-came",
    file: WRITER,
    find: "pairResults(foldSystemMessages(kept));",
    replace: "foldSystemMessages(kept);",
    tests: [{ file: TEST, filter: "tools, the choice among them" }],
    why: "The service rejects results that are not of the calls before them.",
  },
  {
    name: "signatures-for-any-model",
    file: WRITER,
    find: "ownSeals(turn, options).flatMap",
    replace: "(turn.sealed ?? []).flatMap",
    tests: [{ file: TEST, filter: "a signature goes back" }],
    why: "A model would get the signature of another one.",
  },
  {
    name: "sealed-signatures-go-to-chat-upstreams",
    file: "src/wire/dialects/chat/carry.ts",
    find: "  sent.messages = withoutSeals(sent.messages);\n",
    replace: "",
    tests: [{ file: SIGNATURES, filter: "chat to generate, stream false" }],
    why: "Another provider would get what the gateway sealed for one.",
  },
  {
    name: "images-of-replies-count-as-text",
    file: "src/wire/dialects/meter.ts",
    find: '"results images logprobs',
    replace: '"results logprobs',
    tests: [{
      file: "tests/wire/dialects/generate_replies_test.ts",
      filter: "an image arrives in the client's place",
    }],
    why:
      "The next request of a conversation with one would be held for hundreds of thousands of tokens.",
  },
  {
    name: "wait-in-the-details-is-ignored",
    file: "src/requests/upstreams/failure.ts",
    find: "retryAfterMs ?? said.retryAfterMs",
    replace: "retryAfterMs",
    tests: [{ file: FLOW, filter: "errors of Google" }],
    why: "Clients would come back before the quota does.",
  },
];
