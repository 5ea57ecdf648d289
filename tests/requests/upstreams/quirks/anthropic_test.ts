/** What of a body Anthropic's service refuses, and what is sent instead: each rule by itself, at its edges. */

import {
  withOneSampling,
  withoutEmptyTexts,
  withoutForcedThinking,
  withTakenSchemas,
  withThinkingInTurn,
  withTrimmedPrefill,
} from "../../../../src/requests/upstreams/quirks/anthropic.ts";
import type { JsonObject, JsonValue } from "../../../../src/wire/dialects/mod.ts";
import { assertEquals } from "../../../assert.ts";
import { type Case, check } from "./check.ts";

const textOf = (text?: string): JsonObject => (
  text === undefined ? { type: "text" } : { type: "text", text }
);
const user = (content: JsonValue): JsonObject => ({ role: "user", content });
const assistant = (content: JsonValue): JsonObject => ({ role: "assistant", content });
const CALL = { type: "tool_use", id: "a", name: "f", input: {} };
const RESULT = { type: "tool_result", tool_use_id: "a", content: "1" };
const HI = user("Hi");
const ENABLED = { type: "enabled", budget_tokens: 1_024 };

Deno.test("thinking is off where a tool is forced (table)", () => {
  const forced = { tool_choice: { type: "any" }, max_tokens: 9 };
  check(withoutForcedThinking, [
    [{ ...forced, thinking: ENABLED }, forced, "thinking=disabled"],
    [{ ...forced, thinking: { type: "adaptive" } }, forced, "thinking=disabled"],
    [{ ...forced, thinking: { type: "disabled" } }],
    [{ ...forced, thinking: null }],
    [forced],
    [
      { tool_choice: { type: "tool", name: "f" }, thinking: ENABLED },
      { tool_choice: { type: "tool", name: "f" } },
      "thinking=disabled",
    ],
    [{ tool_choice: { type: "auto" }, thinking: ENABLED }],
    [{ tool_choice: "any", thinking: ENABLED }],
    [{ thinking: ENABLED }],
  ]);
});

Deno.test("thinking is off where the last turn does not begin with it (table)", () => {
  const lacking = [HI, assistant([CALL]), user([RESULT])];
  const begun = [HI, assistant([{ type: "thinking", thinking: "" }, CALL]), user([RESULT])];
  const turns: readonly (readonly [messages: readonly JsonObject[], isLacking: boolean])[] = [
    [[HI], false],
    [[], false],
    [lacking, true],
    [begun, false],
    [[HI, assistant([{ type: "redacted_thinking", data: "" }, CALL]), user([RESULT])], false],
    [[HI, assistant([textOf("a"), CALL]), user([RESULT])], true],
    // what was called in a turn before counts no more
    [[...lacking, assistant("a"), HI], false],
    [[...lacking, HI], false],
    [[...lacking.slice(0, 2), user([RESULT, textOf("And?")])], false],
    [[...lacking.slice(0, 2), user([RESULT, RESULT])], true],
    [[user([textOf("Hi")]), assistant([CALL]), user([RESULT])], true],
    // of a turn that called nothing only the end is the beginning of one
    [[HI, assistant([textOf("a")]), user([RESULT])], false],
    [[HI, assistant("a")], true],
    [[HI, assistant([textOf("a")])], true],
    [[HI, assistant([{ type: "thinking", thinking: "" }, textOf("a")])], false],
  ];
  for (const [messages, isLacking] of turns) {
    check(withThinkingInTurn, [
      isLacking
        ? [
          { messages: [...messages], thinking: ENABLED },
          { messages: [...messages] },
          "thinking=disabled",
        ]
        : [{ messages: [...messages], thinking: ENABLED }],
      [{ messages: [...messages], thinking: { type: "adaptive" } }],
      [{ messages: [...messages] }],
    ]);
  }
});

Deno.test("with thinking sampling is the model's own, without it there is one of two (table)", () => {
  const thinking = ENABLED;
  check(withOneSampling, [
    [{ thinking }],
    [{ thinking, temperature: 1, top_p: 0.95 }],
    [{ thinking, temperature: null, top_p: null, top_k: null }],
    [{ thinking, temperature: 0.9 }, { thinking }, "temperature=default"],
    [{ thinking, top_p: 0.94 }, { thinking }, "temperature=default"],
    [{ thinking, top_k: 5 }, { thinking }, "temperature=default"],
    [{ thinking, temperature: 1, top_k: 0 }, { thinking }, "temperature=default"],
    [{ temperature: 0.5 }],
    [{ top_p: 0.5, top_k: 5 }],
    [{ temperature: null, top_p: 0.5 }],
    [{ temperature: 0.5, top_p: null }],
    [
      { temperature: 0, top_p: 0, max_tokens: 9 },
      { temperature: 0, max_tokens: 9 },
      "top_p=default",
    ],
    [{ temperature: 0.5, top_p: 1 }, { temperature: 0.5 }],
    [{ temperature: 0.5, top_p: 1, top_k: 5 }, { temperature: 0.5, top_k: 5 }],
    [{ temperature: 0.5, top_p: 1, top_k: null }, { temperature: 0.5 }],
  ]);
});

Deno.test("no text is empty, and no message without content (table)", () => {
  const results = (...content: JsonValue[]) => ({ ...RESULT, content });
  const { content: _, ...empty } = RESULT;
  check(withoutEmptyTexts, [
    [{ messages: [HI, assistant([textOf("a"), CALL]), user([RESULT])], system: "x" }],
    [{ messages: [HI, user(["not a block", null, textOf(), results(textOf("1"))])] }],
    [{ messages: [user("")] }],
    [{ messages: [HI, user(" \n"), user([])], system: "x" }, { messages: [HI], system: "x" }],
    [{ messages: [user([textOf(" "), textOf("a")])] }, { messages: [user([textOf("a")])] }],
    [{ messages: [user([textOf("a"), textOf("")])] }, { messages: [user([textOf("a")])] }],
    [{ messages: [HI, user([textOf("")])] }, { messages: [HI] }],
    [
      { messages: [user([results(textOf(""), textOf("1"))])] },
      { messages: [user([results(textOf("1"))])] },
    ],
    [{ messages: [user([results(textOf(" "))])] }, { messages: [user([empty])] }],
    [{ messages: [user([{ ...RESULT, type: "other", content: [textOf("")] }])] }],
    [{ messages: [user([{ ...RESULT, content: " " }])] }],
    [{ messages: [HI], system: " ", max_tokens: 9 }, { messages: [HI], max_tokens: 9 }],
    [{ messages: [HI], system: [textOf(""), textOf("x")] }, {
      messages: [HI],
      system: [textOf("x")],
    }],
    [{ messages: [HI], system: null }],
  ]);
});

Deno.test("a prefill does not end in white space (table)", () => {
  const prefills: readonly (readonly [content: JsonValue, sent?: JsonValue | "none"])[] = [
    ["A"],
    ["A \n", "A"],
    [" \n", "none"],
    [7],
    [[]],
    [[textOf("A")]],
    [[textOf("A ")], [textOf("A")]],
    [[textOf("A"), textOf(" ")], [textOf("A")]],
    [[textOf("A "), textOf("\n"), textOf("")], [textOf("A")]],
    [[textOf(" "), textOf("")], "none"],
    [[CALL]],
    [[textOf("A "), CALL]],
    [[CALL, textOf(" ")], [CALL]],
    [["not a block", textOf(" ")], ["not a block"]],
    [[null, textOf(" ")], [null]],
    [[textOf()]],
    [[{ ...textOf("A "), type: "other" }]],
  ];
  check(withTrimmedPrefill, [
    [{ messages: [HI, assistant("A "), HI] }],
    [{ messages: [] }],
    ...prefills.map(([content, sent]): Case => {
      const body = { messages: [HI, assistant(content)] };
      if (sent === undefined) return [body];
      return [body, { messages: sent === "none" ? [HI] : [HI, assistant(sent)] }];
    }),
  ]);
});

Deno.test("schemas are changed to what is taken, and it is noted which were (table)", () => {
  const object = { type: "object", properties: { a: { type: "string", pattern: "^a" } } };
  const strict = {
    type: "object",
    properties: { a: { type: "string", description: '{pattern: "^a"}' } },
    additionalProperties: false,
  };
  const union = { anyOf: [{ properties: { a: {} } }] };
  const tool = (input_schema: JsonValue, more: JsonObject = {}) => (
    { name: "f", input_schema, ...more }
  );
  const formatOf = (schema: JsonValue) => ({
    output_config: { effort: "low", format: { type: "json_schema", schema } },
  });
  const adjusted = (body: JsonObject) => {
    const notes: string[] = [];
    return { sent: withTakenSchemas(body, (change) => notes.push(change)), notes };
  };
  const none: readonly JsonObject[] = [
    {},
    { tools: null },
    { tools: ["not a tool", null, { name: "web_search" }] },
    { tools: [tool(object), tool(object, { strict: false })] },
    { output_config: { effort: "low" } },
    { output_config: { format: null } },
    { output_config: "low" },
    formatOf(true),
    formatOf(strict),
    { tools: [tool(strict, { strict: true })] },
  ];
  for (const body of none) {
    assertEquals(adjusted(body), { sent: body, notes: [] }, JSON.stringify(body));
  }
  assertEquals(adjusted({ tools: [tool(object, { strict: true })], ...formatOf(object) }), {
    sent: { tools: [tool(strict, { strict: true })], ...formatOf(strict) },
    notes: ["tools.input_schema", "output_config.format.schema"],
  });
  const { sent, notes } = adjusted({ tools: [tool(union)] });
  assertEquals(notes, ["tools.input_schema.anyOf"]);
  const [{ input_schema: schema } = {} as JsonObject] = sent.tools as JsonObject[];
  assertEquals(Object.keys((schema as JsonObject).properties as JsonObject), ["a"]);
});
