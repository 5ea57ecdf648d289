/** What a conversation is recognized by. */

import { identifyConversation } from "../../../src/wire/dialects/mod.ts";
import { assertEquals, assertNotEquals } from "../../assert.ts";

const SCOPE = ["account", "route"];

function identify(body: unknown, headers: Record<string, string> = {}, scope = SCOPE) {
  const lookup = new Headers(headers);
  // deno-lint-ignore no-explicit-any -- bodies as clients send them
  return identifyConversation(scope, (name) => lookup.get(name), body as any);
}

const user = (content: unknown) => ({ role: "user", content });
const assistant = (content: unknown) => ({ role: "assistant", content });
const HI = { messages: [user("Hi")] };

const NAMED: readonly { headers?: Record<string, string>; body?: unknown }[] = [
  { headers: { "X-Claude-Code-Session-Id": "s" } },
  { headers: { session_id: "s" } },
  { headers: { "session-id": "s" } },
  { headers: { "thread-id": "s" } },
  { headers: { "x-opencode-session": "s" } },
  { headers: { "x-session-affinity": "s" } },
  { headers: { "x-session-id": "s" } },
  { body: { prompt_cache_key: "s" } },
  { body: { metadata: { user_id: "s" } } },
];

for (const { headers = {}, body = {} } of NAMED) {
  const name = JSON.stringify({ ...headers, ...body as object });
  Deno.test(`identifyConversation() takes ${name}, whatever is said`, () => {
    const first = identify({ ...HI, ...body as object }, headers);
    const other = identify({ messages: [user("Bye")], ...body as object }, headers);
    assertEquals(first, other);
    assertEquals(first.begins, false);
    assertNotEquals(first.id, identify(HI).id);
  });
}

Deno.test("identifyConversation(): the same name in another account, route or place is another conversation", () => {
  const all = [
    identify(HI, { "x-session-id": "s" }),
    identify(HI, { "x-session-id": "s" }, ["other", "route"]),
    identify(HI, { "x-session-id": "s" }, ["account", "other"]),
    identify(HI, { "thread-id": "s" }),
    identify({ ...HI, prompt_cache_key: "s" }),
    identify(HI),
    identify(HI, {}, ["other", "route"]),
    // what one part ends with is not what the next begins with
    identify(HI, { "x-session-id": "s" }, ["accountr", "oute"]),
  ];
  assertEquals(new Set(all.map(({ id }) => id)).size, all.length);
});

Deno.test("identifyConversation(): turns are added, the identity stays", () => {
  const chat = [{ role: "system", content: "Be brief." }, user("Hi"), assistant("Ho"), user("Hm")];
  const begun = identify({ messages: chat.slice(0, 2) });
  const later = identify({ messages: chat });
  assertEquals([begun.begins, later.begins], [true, false]);
  assertEquals(begun.id, later.id);
});

Deno.test("identifyConversation(): marks for the prompt cache and the form of a text do not count", () => {
  const marked = { type: "text", text: "Hi", cache_control: { type: "ephemeral" } };
  const forms = ["Hi", [{ type: "text", text: "Hi" }], [marked]];
  const ids = forms.map((content) =>
    identify({
      system: [{ ...marked, text: "Be brief." }],
      messages: [user(content), assistant("Ho"), user("Hm")],
    }).id
  );
  assertEquals(new Set(ids).size, 1);
});

Deno.test("identifyConversation(): another beginning is another conversation", () => {
  const bodies = [
    HI,
    { messages: [user("Hi!")] },
    { system: "Be brief.", ...HI },
    { messages: [{ role: "system", content: "Be brief." }, user("Hi")] },
    { tools: [{ name: "read" }], ...HI },
    { tools: [{ name: "write" }], ...HI },
  ];
  assertEquals(new Set(bodies.map((body) => identify(body).id)).size, bodies.length);
});

Deno.test("identifyConversation(): a responses conversation keeps its identity in every form of its first text", () => {
  const part = { type: "input_text", text: "Hi", prompt_cache_breakpoint: {} };
  const more = [
    { type: "reasoning", id: "rs_1", summary: [] },
    { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
    { type: "function_call_output", call_id: "c", output: "Ho" },
    user("Hm"),
  ];
  const first = [
    "Hi",
    [user("Hi")],
    [{ type: "message", id: "msg_1", status: "completed", ...user("Hi") }],
    [user([part])],
  ].map((input) => identify({ instructions: "Be brief.", input }));
  const later = identify({ instructions: "Be brief.", input: [user([part]), ...more] });
  assertEquals(new Set([...first, later].map(({ id }) => id)).size, 1);
  assertEquals(first.map(({ begins }) => begins), [true, true, true, true]);
  assertEquals(later.begins, false);
});

for (
  const type of ["reasoning", "function_call", "custom_tool_call", "compaction", "item_reference"]
) {
  Deno.test(`identifyConversation(): an item of type ${type} shows that the conversation has begun`, () => {
    assertEquals(identify({ input: [user("Hi"), { type }] }).begins, false);
  });
}

Deno.test("identifyConversation(): tools and settings among the items do not show that a conversation has begun", () => {
  const tools = { type: "additional_tools", role: "developer", tools: [{ name: "read" }] };
  const begun = identify({ input: [tools, user("Hi"), { type: "configuration_update" }] });
  assertEquals(begun.begins, true);
  assertNotEquals(begun.id, identify({ input: [user("Hi")] }).id);
});

Deno.test("identifyConversation(): another beginning of a responses conversation is another one", () => {
  const bodies = [
    { input: "Hi" },
    { input: "Ho" },
    { input: "Hi", instructions: "Be brief." },
    { input: "Hi", tools: [{ type: "function", name: "f" }] },
    { input: [{ role: "developer", content: "Be brief." }, user("Hi")] },
  ];
  assertEquals(new Set(bodies.map((body) => identify(body).id)).size, bodies.length);
});

Deno.test("identifyConversation() takes anything", () => {
  const deep: unknown[] = [];
  for (let at = 0, inner = deep; at < 90; at++) inner.push(inner = []);
  const bodies = [
    {},
    { messages: "no list" },
    { messages: [null, 5, "text", [], user(null)] },
    { metadata: "text", prompt_cache_key: 5 },
    { prompt_cache_key: "", metadata: { user_id: "" }, ...HI },
    { system: deep, ...HI },
  ];
  for (const body of bodies) assertEquals(identify(body).id.length, 22);
});

Deno.test("identifyConversation() looks at the first 4,096 characters of a text, and at 5,000 values", () => {
  const tools = Array.from({ length: 100_000 }, (_, at) => ({ name: `tool ${at}` }));
  const large = (end: string, lastTool: string) => {
    const system = "x".repeat(60e6) + end;
    return identify({ system, tools: [...tools, { name: lastTool }], ...HI }).id;
  };
  assertEquals(large("a", "b"), large("c", "d"));
  const ids = [identify({ system: "a", tools, ...HI }), identify({ system: "c", tools, ...HI })];
  assertNotEquals(ids[0]!.id, ids[1]!.id);
});
