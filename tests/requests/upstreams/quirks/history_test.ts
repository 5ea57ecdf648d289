/** How earlier turns are sent to upstreams of the chat dialect: reasoning by its names, and beginnings that are continued. */

import {
  withBothNames,
  withContinuation,
  withReasonedCalls,
} from "../../../../src/requests/upstreams/quirks/history.ts";
import type { JsonObject, JsonValue } from "../../../../src/wire/dialects/mod.ts";
import { assertEquals } from "../../../assert.ts";
import { check } from "./check.ts";

const user: JsonObject = { role: "user", content: "Hi", reasoning: "not a reply's" };

/** What each turn of an assistant becomes, after one of a user that stays as it is; undefined if it stays the same object. */
function checkTurns(
  change: (body: JsonObject) => JsonObject,
  turns: readonly (readonly [turn: JsonObject, sent?: JsonObject])[],
): void {
  for (const [more, sent] of turns) {
    const turn: JsonObject = { role: "assistant", content: "A", ...more };
    const body = { messages: [user, null, turn], model: "m" };
    const { messages, model } = change(body);
    const expected = sent === undefined ? turn : { role: "assistant", content: "A", ...sent };
    assertEquals([messages, model], [[user, null, expected], "m"]);
    assertEquals((messages as JsonValue[])[2] === turn, sent === undefined, JSON.stringify(turn));
  }
  const other = { input: "Hi" };
  assertEquals(change(other) === other, true);
}

Deno.test("reasoning is sent under both of its names (table)", () => {
  checkTurns(withBothNames, [
    [{}],
    [{ reasoning: "", reasoning_content: "" }],
    [{ reasoning: 7 }],
    [{ reasoning: "a" }, { reasoning: "a", reasoning_content: "a" }],
    [{ reasoning_content: "b" }, { reasoning: "b", reasoning_content: "b" }],
    [{ reasoning: "", reasoning_content: "b" }, { reasoning: "b", reasoning_content: "b" }],
    [{ reasoning: "a", reasoning_content: "" }, { reasoning: "a", reasoning_content: "a" }],
    [{ reasoning: "a", reasoning_content: "b" }, { reasoning: "a", reasoning_content: "b" }],
  ]);
});

Deno.test("a turn that calls tools has reasoning, an empty one if need be (table)", () => {
  const calls = { tool_calls: [{ id: "a" }] };
  checkTurns(withReasonedCalls, [
    [{}],
    [{ tool_calls: [] }],
    [{ reasoning: "a" }],
    [{ ...calls, reasoning_content: "" }],
    [calls, { ...calls, reasoning_content: "" }],
    [{ ...calls, reasoning: "a" }, { ...calls, reasoning: "a", reasoning_content: "a" }],
    [{ ...calls, reasoning_content: null }, { ...calls, reasoning_content: "" }],
  ]);
});

Deno.test("a reply that has begun is continued, unless the client says how (table)", () => {
  const begun = { role: "assistant", content: "A" };
  const going = { continue_final_message: true, add_generation_prompt: false };
  const of = (message: JsonObject, more = {}) => ({ messages: [user, message], ...more });
  check(withContinuation, [
    [of(begun), of(begun, going)],
    [of(user)],
    [{ messages: [begun, user] }],
    [{ messages: [] }],
    [of({ ...begun, content: " \n" })],
    [of({ ...begun, content: [{ type: "text", text: "A" }] })],
    [of({ ...begun, tool_calls: [{ id: "a" }] })],
    [of({ ...begun, tool_calls: [] }), of({ ...begun, tool_calls: [] }, going)],
    [of(begun, { continue_final_message: false })],
    [of(begun, { add_generation_prompt: true })],
  ]);
});
