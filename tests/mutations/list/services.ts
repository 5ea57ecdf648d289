import type { Mutation } from "../mutation.ts";

const RULES = "tests/requests/upstreams/quirks_of_services_test.ts";

/** What single services refuse, and the coding of replies. */
export const SERVICES: readonly Mutation[] = [
  {
    name: "long-ids-to-mistral",
    file: "src/requests/upstreams/quirks/mistral.ts",
    find: "if (LEGAL.test(own)) return own;",
    replace: 'if (own !== "") return own;',
    tests: [{ file: RULES, filter: "mistral" }],
    why: "The second request of each conversation with tools would be refused.",
  },
  {
    name: "dashscope-forced-while-thinking",
    file: "src/requests/upstreams/quirks/forced_tools.ts",
    find: "off: { enable_thinking: false },",
    replace: "off: {},",
    tests: [{ file: RULES, filter: "dashscope" }],
    why: "The service refuses both together.",
  },
  {
    name: "first-marks-kept",
    file: "src/requests/upstreams/quirks/anthropic_marks.ts",
    find: "marked.slice(0, marked.length - most)",
    replace: "marked.slice(most)",
    tests: [{ file: RULES, filter: "the last four marks" }],
    why: "The end of a conversation would be read without the cache at each turn.",
  },
  {
    name: "identity-is-a-coding",
    file: "src/ground/http1/decoded_body.ts",
    find: ' && one !== "identity"',
    replace: "",
    tests: [{ file: "tests/flow/wild_test.ts", filter: "what comes in the wild" }],
    why: "A reply whose coding is given as `gzip, identity` would be a 503.",
  },
];
