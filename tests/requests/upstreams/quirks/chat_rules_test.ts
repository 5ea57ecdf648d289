/** Rules of services that speak OpenAI's dialects: roles, IDs, stop sequences and tools, each at its edges. */

import {
  withFewStops,
  withoutDeveloper,
  withoutEmptyTools,
  withShortIds,
  withShortItemIds,
} from "../../../../src/requests/upstreams/quirks/chat_rules.ts";
import { withMinOutput } from "../../../../src/requests/upstreams/quirks/min_output.ts";
import { withNineCharIds } from "../../../../src/requests/upstreams/quirks/mistral.ts";
import { type JsonObject, MAX_ID_CHARS, shortId } from "../../../../src/wire/dialects/mod.ts";
import { assert, assertEquals } from "../../../assert.ts";
import { type Case, check } from "./check.ts";

const user: JsonObject = { role: "user", content: "Hi" };
const FITS = "x".repeat(MAX_ID_CHARS);
const LONG = `${FITS}x`;
const SHORT = shortId(LONG);

Deno.test("a developer is a system to who does not know the role", () => {
  check(withoutDeveloper, [
    [{ messages: [user, { role: "system", content: "x" }] }],
    [{ input: "Hi" }],
    [{ messages: [user, { role: "developer", content: "x" }] }, {
      messages: [user, { role: "system", content: "x" }],
    }],
  ]);
});

Deno.test("IDs that are too long are shortened, a call's and its result's alike, and others stay (table)", () => {
  const call = (id: string) => ({ id, type: "function", function: { name: "f" } });
  const asked = (...ids: string[]) => ({ role: "assistant", tool_calls: ids.map(call) });
  const told = (tool_call_id: string) => ({ role: "tool", tool_call_id, content: "1" });
  check(withShortIds, [
    [{ messages: [user, asked(FITS), told(FITS)] }],
    [{ messages: [user, asked(LONG), told(LONG)] }, {
      messages: [user, asked(SHORT), told(SHORT)],
    }],
    [{ messages: [user, asked(FITS, LONG), asked("a"), told("a")] }, {
      messages: [user, asked(FITS, SHORT), asked("a"), told("a")],
    }],
    [{ messages: [user, told(LONG)] }, { messages: [user, told(SHORT)] }],
  ]);
  const item = (type: string, ids: JsonObject): JsonObject => ({ type, ...ids });
  check(withShortItemIds, [
    [{ input: "Hi" }],
    [{ input: [item("message", { id: FITS }), item("function_call", { call_id: FITS })] }],
    [
      { input: [item("message", { id: LONG, role: "user" }), item("message", { id: "a" })] },
      { input: [item("message", { role: "user" }), item("message", { id: "a" })] },
    ],
    [{ input: [item("function_call", { id: LONG, call_id: LONG }), item("x", { call_id: "a" })] }, {
      input: [item("function_call", { call_id: SHORT }), item("x", { call_id: "a" })],
    }],
    [{ input: [item("function_call_output", { call_id: LONG, output: "1" })] }, {
      input: [item("function_call_output", { call_id: SHORT, output: "1" })],
    }],
    // reasoning is found by its ID, and a reference is one
    ...["reasoning", "item_reference"].map((type): Case => [
      { input: [item(type, { id: LONG }), item("message", { id: LONG })] },
      { input: [item(type, { id: LONG }), item("message", {})] },
    ]),
  ]);
});

Deno.test("IDs of nine letters and digits stay, all others are replaced, and nothing is added (table)", () => {
  const asked = (id: string) => ({ role: "assistant", tool_calls: [{ id, function: {} }] });
  const told = (tool_call_id: string) => ({ role: "tool", tool_call_id, content: "1" });
  check(withNineCharIds, [
    [{ messages: [user, asked("abcdefgh1"), told("abcdefgh1")] }],
    [{ messages: [user] }],
  ]);
  const body = { messages: [user, asked("call_1"), told("call_1"), asked("abcdefgh1")] };
  const { messages } = withNineCharIds(body, () => {});
  const made = ((messages as JsonObject[])[2]!).tool_call_id as string;
  assert(/^[A-Za-z0-9]{9}$/.test(made));
  assertEquals(messages, [user, asked(made), told(made), asked("abcdefgh1")]);
  const alone = withNineCharIds({ messages: [told("x")] }, () => {}).messages as JsonObject[];
  assertEquals(Object.keys(alone[0]!), ["role", "tool_call_id", "content"]);
});

Deno.test("four stop sequences are sent, and an output limit of sixteen at least (table)", () => {
  check(withFewStops, [
    [{ stop: ["1", "2", "3", "4"] }],
    [{ stop: ["1", "2", "3", "4", "5"] }, { stop: ["1", "2", "3", "4"] }, "stop=4 of 5"],
    [{ stop: "12345" }],
    [{}],
  ]);
  check(withMinOutput, [
    [{ max_output_tokens: 16 }],
    [{ max_output_tokens: 15, model: "m" }, { max_output_tokens: 16, model: "m" }],
    [{ max_output_tokens: null }],
    [{}],
  ]);
});

Deno.test("where no tools are offered none is chosen, unless a stored prompt has some (table)", () => {
  const choice = { tool_choice: "auto", parallel_tool_calls: true };
  const tools = [{ type: "function", name: "f" }];
  check(withoutEmptyTools, [
    [{ tools, ...choice }],
    [{ model: "m" }],
    [{ tools: {}, ...choice }],
    [{ tools: "", ...choice }],
    [{ tools: [], ...choice, model: "m" }, { model: "m" }],
    [{ tools: null, model: "m" }, { model: "m" }],
    [{ ...choice, model: "m" }, { model: "m" }],
    [{ tools: [], prompt: { id: "p" } }],
    [{ ...choice, prompt: { id: "p" } }],
  ]);
});
