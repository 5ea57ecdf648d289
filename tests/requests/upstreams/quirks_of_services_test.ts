/** Rules of single services: IDs of Mistral's calls, forced tools of DashScope, Anthropic's marks. */

import fc from "fast-check";
import { isObject, type JsonObject, objects } from "../../../src/wire/dialects/mod.ts";
import { QUIRKS } from "../../../src/requests/upstreams/quirks.ts";
import { assert, assertEquals } from "../../assert.ts";
import { sized } from "../../tier.ts";

const RUNS = { numRuns: sized(100, 5_000) };

function adjusted(quirk: keyof typeof QUIRKS, body: JsonObject) {
  const notes: string[] = [];
  const before = structuredClone(body);
  const sent = QUIRKS[quirk].adjust!(body, (change) => notes.push(change));
  assertEquals(body, before, "the client's body is left as it is");
  return { sent, notes };
}

const user = { role: "user", content: "Hi" };

Deno.test("mistral: ids of calls have nine letters and digits, the same in call and result (random)", () => {
  const ids = fc.oneof(
    fc.string({ maxLength: 70 }),
    fc.constantFrom("call_0fypS1hVX", "functions.Read:0", "a", ""),
    fc.stringMatching(/^[A-Za-z0-9]{9}$/),
  );
  fc.assert(
    fc.property(fc.uniqueArray(ids, { minLength: 1, maxLength: 6 }), (given) => {
      const calls = given.map((id) => ({ id, type: "function", function: { name: "f" } }));
      const results = given.map((id) => ({ role: "tool", tool_call_id: id, content: id }));
      const messages = [user, { role: "assistant", tool_calls: calls }, ...results];
      const { sent } = adjusted("mistral", { messages });
      const [, asked, ...told] = objects(sent.messages);
      const made = objects(asked!.tool_calls).map(({ id }) => String(id));
      for (const [at, id] of made.entries()) {
        assert(/^[A-Za-z0-9]{9}$/.test(id), `${given[at]} → ${id}`);
        if (/^[A-Za-z0-9]{9}$/.test(given[at]!)) assertEquals(id, given[at]);
      }
      assertEquals(new Set(made).size, made.length);
      assertEquals(told.map((one) => one.tool_call_id), made);
      assertEquals(told.map((one) => one.content), given);
      assertEquals(adjusted("mistral", { messages }).sent, sent, "prompts stay the same");
      assertEquals(adjusted("mistral", sent).sent, sent);
    }),
    RUNS,
  );
  const plain = { messages: [{ role: "developer", content: "x" }, user] };
  assertEquals(objects(adjusted("mistral", plain).sent.messages)[0]!.role, "system");
});

Deno.test("dashscope: a forced tool and thinking do not go together, and what was asked for is noted", () => {
  const forced = ["required", { type: "function", function: { name: "f" } }];
  for (const tool_choice of forced) {
    const of = (more: JsonObject) => {
      const { sent, notes } = adjusted("dashscope", { messages: [user], tool_choice, ...more });
      const { enable_thinking, thinking_budget, reasoning_effort } = sent;
      return [sent.tool_choice, enable_thinking, thinking_budget, reasoning_effort, ...notes];
    };
    const off = [tool_choice, false, undefined, undefined];
    assertEquals(of({ model: "qwen3.5-plus" }), off);
    assertEquals(of({ enable_thinking: false }), off);
    for (const asked of [{ enable_thinking: true }, { thinking_budget: 99 }]) {
      assertEquals(of(asked), [...off, "thinking=disabled"]);
    }
    for (const model of ["qwen3-235b-a22b-thinking-2507", "qwq-plus", "qvq-max"]) {
      const free = ["auto", undefined, undefined, undefined, "tool_choice=auto"];
      assertEquals(of({ model }), free);
    }
  }
  for (const tool_choice of ["auto", "none"]) {
    const body = { messages: [user], tool_choice, enable_thinking: true };
    assertEquals(adjusted("dashscope", body), { sent: body, notes: [] });
  }
});

/** All blocks of a body in the order of a prompt, as a second reading of it. */
function blocksOf(value: unknown): JsonObject[] {
  if (Array.isArray(value)) return value.flatMap(blocksOf);
  if (!isObject(value)) return [];
  const inner = blocksOf(value.content);
  return typeof value.role === "string" ? inner : [...inner, value];
}

Deno.test("anthropic: the last four marks are sent, and nothing else is changed (random)", () => {
  const mark = { cache_control: { type: "ephemeral" } };
  const block = fc.record({ text: fc.stringMatching(/^[a-z]{1,4}$/), isMarked: fc.boolean() });
  const texts = fc.array(block, { minLength: 1, maxLength: 3 }).map((all) =>
    all.map(({ text, isMarked }): JsonObject => ({ type: "text", text, ...(isMarked && mark) }))
  );
  const results = fc.record({ content: texts, isMarked: fc.boolean() }).map((
    { content, isMarked },
  ) => [{ type: "tool_result", tool_use_id: "a", content, ...(isMarked && mark) }] as JsonObject[]);
  const bodies = fc.record({
    system: texts,
    isMarked: fc.boolean(),
    tools: fc.array(fc.boolean(), { maxLength: 3 }),
    turns: fc.array(fc.oneof(texts, results), { minLength: 1, maxLength: 4 }),
  }).map(({ system, isMarked, tools, turns }): JsonObject => ({
    ...(isMarked && mark),
    system,
    tools: tools.map((one, at) => ({
      name: `f${at}`,
      input_schema: { type: "object" },
      ...(one && mark),
    })),
    messages: [user, ...turns.map((content) => ({ role: "user", content }))],
  }));
  fc.assert(
    fc.property(bodies, (body) => {
      const { sent, notes } = adjusted("anthropic", body);
      const read = ({ tools, system, messages }: JsonObject) => blocksOf([tools, system, messages]);
      const places = (one: JsonObject) =>
        read(one).flatMap(({ cache_control }, at) => cache_control === undefined ? [] : [at]);
      const most = body.cache_control === undefined ? 4 : 3;
      const before = places(body);
      assertEquals(places(sent), before.slice(-most));
      assertEquals(
        notes.filter((one) => one.startsWith("cache_control")),
        before.length > most ? [`cache_control=${most} of ${before.length}`] : [],
      );
      const without = (one: JsonObject) =>
        JSON.stringify(one, (key, value) => key === "cache_control" ? undefined : value);
      assertEquals(without(sent), without(body));
      assertEquals(sent.cache_control, body.cache_control);
    }),
    RUNS,
  );
});
