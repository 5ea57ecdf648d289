/** What a translation adds to a responses request, and what the gateway's own seals open to, is counted. */

import {
  bridgeBetween,
  type JsonObject,
  type ParsedRequest,
} from "../../../src/wire/dialects/mod.ts";
import { TokenCounter } from "../../../src/wire/tokens/mod.ts";
import { assert } from "../../assert.ts";
import { countInput, parseCompact, parseResponses, SEALER } from "./ends.ts";

const LEAST = 0.6;
const MOST = 1.7;

const times = <T>(count: number, make: (at: number) => T) =>
  Array.from({ length: count }, (_, at) => make(at));
/** A name of many tokens. */
const nameOf = (chars: number) => "qXzKvJ7Wd2HpYb9RfTm4".repeat(4).slice(0, chars);
const user = { role: "user", content: "Hello" };
const CALL = { type: "function_call", call_id: "a", name: nameOf(64), arguments: "{}" };

const CASES: Readonly<Record<string, () => ParsedRequest>> = {
  "custom tools": () =>
    parseResponses({
      model: "m",
      input: "Hello",
      tools: times(500, (at) => ({ type: "custom", name: `f${at}` })),
    }),
  "custom tools with grammars": () =>
    parseResponses({
      model: "m",
      input: "Hello",
      tools: times(500, (at) => ({
        type: "custom",
        name: `f${at}`,
        format: { type: "grammar", syntax: "lark", definition: "a" },
      })),
    }),
  "functions without parameters": () =>
    parseResponses({
      model: "m",
      input: "Hello",
      tools: times(500, (at) => ({ type: "function", name: `f${at}` })),
    }),
  "a namespace with a long name": () => {
    const tools = times(500, (at) => ({ type: "function", name: `f${at}` }));
    const space = { type: "namespace", name: nameOf(58), tools };
    return parseResponses({ model: "m", input: "Hello", tools: [space] });
  },
  "tools in an item": () => {
    const tools = times(500, (at) => ({ type: "custom", name: `f${at}` }));
    return parseResponses({ model: "m", input: [user, { type: "additional_tools", tools }] });
  },
  "a summary of almost nothing": () => parseCompact({ model: "m", input: "Hi" }),
  "a summary of many results of one call": () => {
    const output = { type: "function_call_output", call_id: "a", output: "x" };
    return parseCompact({ model: "m", input: [user, CALL, ...times(500, () => output)] });
  },
  "a summary of many calls": () => {
    const calls = times(500, (at) => ({ ...CALL, call_id: `a${at}` }));
    return parseCompact({ model: "m", input: [user, ...calls] });
  },
  ...Object.fromEntries(
    Object.entries({
      English: "The river runs under the old bridge, and the paper boat goes with it. ",
      digits: " 7 3 9 1 0 4",
      symbols: "!#%^&*(){}[];:<>?/|~",
      capitals: "QXZJKVWQ",
    }).flatMap(([kind, text]) => [
      [`sealed summaries in ${kind}`, () => {
        const sealed = SEALER.seal("compaction", { text: text.repeat(40) });
        const items = times(20, () => ({ type: "compaction", encrypted_content: sealed }));
        return parseResponses({ model: "m", input: [...items, user] });
      }],
      [`sealed reasoning in ${kind}`, () => {
        const parts = [{ text: text.repeat(40) }];
        const source = { route: "m", upstream: "up", model: "m" };
        const sealed = SEALER.seal("reasoning", { ...source, parts });
        const item = { type: "reasoning", summary: [], encrypted_content: sealed };
        return parseResponses({ model: "m", input: [user, ...times(20, () => item)] });
      }],
    ]),
  ),
};

/** Tokens of what an upstream gets: texts, and tools as their JSON. */
function tokensIn(body: JsonObject): number {
  const counter = new TokenCounter();
  const walk = (value: unknown, key = ""): void => {
    if (key === "tools" && Array.isArray(value)) {
      for (const tool of value) counter.add(`${JSON.stringify(tool)}\n`);
    } else if (typeof value === "string") {
      if (!/^(role|type|model|id|signature)$/.test(key)) counter.add(`${value}\n`);
    } else if (Array.isArray(value)) { for (const one of value) walk(one); }
    else if (typeof value === "object" && value !== null) {
      for (const [name, one] of Object.entries(value)) walk(one, name);
    }
  };
  walk(body);
  return counter.tokens;
}

for (const [name, make] of Object.entries(CASES)) {
  for (const to of ["chat", "messages", "responses"] as const) {
    Deno.test(`counted as it is sent to a ${to} upstream: ${name}`, () => {
      const request = make();
      const { body, addedTokens = 0 } = bridgeBetween("responses", to).request(request, {
        model: "m",
        upstream: "up",
        permittedOutput: 100,
        shaping: {},
      });
      const counted = countInput(request) + addedTokens;
      const sent = tokensIn(body);
      const ratio = counted / sent;
      assert(ratio > LEAST && ratio < MOST, `${counted} counted, ${sent} sent`);
    });
  }
}
