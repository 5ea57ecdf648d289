/** Items of a responses request's input: the messages that upstreams of other dialects get for each. */

import { DIALECTS, type JsonObject } from "../../../src/wire/dialects/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { Sealing } from "../../../src/wire/sealing/mod.ts";
import { assertEquals, assertThrows } from "../../assert.ts";
import { parseResponses, responsesToChat, responsesToMessages, SEALER } from "./ends.ts";

const OPTIONS = { model: "m", upstream: "up", permittedOutput: 500, shaping: {} };

const user = (content: string): JsonObject => ({ role: "user", content });
const call = (call_id: string, more: JsonObject = {}): JsonObject => ({
  type: "function_call",
  id: `fc_${call_id}`,
  status: "completed",
  call_id,
  name: "f",
  arguments: '{"a":1}',
  ...more,
});
const output = (call_id: string, value: JsonObject[string]): JsonObject => ({
  type: "function_call_output",
  call_id,
  output: value,
});
const reasoning = (text: string, more: JsonObject = {}): JsonObject => ({
  type: "reasoning",
  id: "rs_1",
  summary: [{ type: "summary_text", text }],
  ...more,
});
const assistant = (text: string, more: JsonObject = {}): JsonObject => ({
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }],
  ...more,
});

const sent = (id: string, name = "f", args = '{"a":1}') => ({
  id,
  type: "function",
  function: { name, arguments: args },
});
const HI = { role: "user", content: "Hi" };

/** Items after a first message, and the messages that a chat upstream gets for them. */
const CHAT: readonly {
  name: string;
  items: JsonObject[];
  messages: JsonObject[];
  dropped?: string[];
}[] = [
  {
    name: "an assistant's message as text, as parts and with a phase",
    items: [
      { role: "assistant", content: "One" },
      user("Go on"),
      assistant("Two", { phase: "final_answer" }),
      user("Go on"),
    ],
    messages: [
      { role: "assistant", content: "One" },
      { role: "user", content: "Go on" },
      { role: "assistant", content: "Two" },
      { role: "user", content: "Go on" },
    ],
  },
  {
    name: "commentary and final answer of one reply",
    items: [
      assistant("Let me look.", { phase: "commentary" }),
      assistant("Found.", { phase: "final_answer" }),
      user("Thanks"),
    ],
    messages: [
      { role: "assistant", content: "Let me look.\n\nFound." },
      { role: "user", content: "Thanks" },
    ],
  },
  {
    name: "a refusal",
    items: [
      { ...assistant(""), content: [{ type: "refusal", refusal: "No." }] },
      user("Why?"),
    ],
    messages: [{ role: "assistant", content: "", refusal: "No." }, {
      role: "user",
      content: "Why?",
    }],
  },
  {
    name: "a later instruction as a reminder",
    items: [{ role: "developer", content: [{ type: "input_text", text: "Be brief." }] }],
    messages: [],
  },
  {
    name: "parallel calls with the reasoning and the text before them, results in any order",
    items: [
      reasoning("Hm"),
      assistant("Let me look."),
      call("c1"),
      call("c2", { arguments: "" }),
      output("c2", "two"),
      output("c1", "one"),
      assistant("Done."),
    ],
    messages: [
      {
        role: "assistant",
        content: "Let me look.",
        reasoning_content: "Hm",
        tool_calls: [sent("c1"), sent("c2", "f", "{}")],
      },
      { role: "tool", tool_call_id: "c1", content: "one" },
      { role: "tool", tool_call_id: "c2", content: "two" },
      { role: "assistant", content: "Done." },
    ],
  },
  {
    name: "reasoning between parallel calls",
    items: [
      reasoning("A"),
      call("c1"),
      reasoning("B"),
      call("c2"),
      output("c1", "1"),
      output("c2", "2"),
    ],
    messages: [
      {
        role: "assistant",
        content: null,
        reasoning_content: "A\n\nB",
        tool_calls: [sent("c1"), sent("c2")],
      },
      { role: "tool", tool_call_id: "c1", content: "1" },
      { role: "tool", tool_call_id: "c2", content: "2" },
    ],
  },
  {
    name: "a result that comes after other items",
    items: [
      call("c1"),
      call("c2"),
      output("c1", "1"),
      call("c3"),
      output("c3", "3"),
      output("c2", "2"),
    ],
    messages: [
      { role: "assistant", content: null, tool_calls: [sent("c1"), sent("c2")] },
      { role: "tool", tool_call_id: "c1", content: "1" },
      { role: "tool", tool_call_id: "c2", content: "2" },
      { role: "assistant", content: null, tool_calls: [sent("c3")] },
      { role: "tool", tool_call_id: "c3", content: "3" },
    ],
  },
  {
    name: "an id that is used again in a later turn",
    items: [call("c1"), output("c1", "1"), call("c1"), output("c1", "2")],
    messages: [
      { role: "assistant", content: null, tool_calls: [sent("c1")] },
      { role: "tool", tool_call_id: "c1", content: "1" },
      { role: "assistant", content: null, tool_calls: [sent("c1")] },
      { role: "tool", tool_call_id: "c1", content: "2" },
    ],
  },
  {
    name: "a result of parts: texts, an image, a file",
    items: [
      call("c1"),
      output("c1", [
        { type: "input_text", text: "a" },
        { type: "input_image", image_url: "https://a.example/b.png", detail: "high" },
        { type: "input_file", file_data: "data:application/pdf;base64,JVBE", filename: "a.pdf" },
      ]),
    ],
    messages: [
      { role: "assistant", content: null, tool_calls: [sent("c1")] },
      {
        role: "tool",
        tool_call_id: "c1",
        content: "a\n[image 1, see below]\n[document 2, see below]",
      },
      {
        role: "user",
        content: [
          { type: "image_url", image_url: { url: "https://a.example/b.png", detail: "high" } },
          {
            type: "file",
            file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBE" },
          },
        ],
      },
    ],
  },
  {
    name: "a call of a custom tool",
    items: [
      { type: "custom_tool_call", call_id: "c1", name: "apply_patch", input: '*** "a"\n' },
      { type: "custom_tool_call_output", call_id: "c1", output: "ok" },
    ],
    messages: [
      {
        role: "assistant",
        content: null,
        tool_calls: [sent("c1", "apply_patch", '{"input":"*** \\"a\\"\\n"}')],
      },
      { role: "tool", tool_call_id: "c1", content: "ok" },
    ],
  },
  {
    name: "a call of a tool in a namespace that is not offered any more",
    items: [call("c1", { namespace: "mail" }), output("c1", "ok")],
    messages: [
      { role: "assistant", content: null, tool_calls: [sent("c1", "mail__f")] },
      { role: "tool", tool_call_id: "c1", content: "ok" },
    ],
  },
  {
    name: "reasoning by its text, where that is there",
    items: [
      reasoning("Short", { content: [{ type: "reasoning_text", text: "Long" }] }),
      assistant("So"),
    ],
    messages: [{ role: "assistant", content: "So", reasoning_content: "Long" }],
    dropped: ["input.reasoning.summary"],
  },
  {
    name: "reasoning that another service sealed",
    items: [reasoning("Short", { encrypted_content: "gAAAA" }), assistant("So")],
    messages: [{ role: "assistant", content: "So", reasoning_content: "Short" }],
    dropped: ["input.reasoning.encrypted_content"],
  },
  {
    name: "reasoning of which nothing can be read",
    items: [{ type: "reasoning", summary: [], encrypted_content: "gAAAA" }, assistant("So")],
    messages: [{ role: "assistant", content: "So" }],
    dropped: ["input.reasoning.encrypted_content"],
  },
  {
    name: "a summary that another service sealed",
    items: [{ type: "compaction", id: "cmp_1", encrypted_content: "gAAAA" }],
    messages: [],
    dropped: ["input.compaction"],
  },
  {
    name: "tools that a search of the server's found",
    items: [{ type: "tool_search_output", call_id: null, execution: "server", tools: [] }],
    messages: [],
    dropped: ["input.tool_search_output"],
  },
  ...[
    ...["web_search_call", "file_search_call", "computer_call", "code_interpreter_call"],
    ...["mcp_call", "mcp_list_tools", "mcp_approval_request"],
    ...["mcp_approval_response", "local_shell_call", "shell_call", "apply_patch_call"],
    ...["program", "program_output", "invented_tomorrow"],
  ].map((type) => ({
    name: `an item of type ${type}`,
    items: [{ type, id: "x_1", call_id: "h1", status: "completed" }],
    messages: [],
    dropped: [`input.${type}`],
  })),
  {
    name: "a picture that was not made",
    items: [{ type: "image_generation_call", id: "ig_1", status: "failed", result: null }],
    messages: [],
    dropped: ["image_generation_call"],
  },
  {
    name: "a result of a call that cannot be said",
    items: [{ type: "local_shell_call", call_id: "c1", action: {} }, output("c1", "ok")],
    messages: [{ role: "user", content: "Result of a tool: ok" }],
    dropped: ["input.local_shell_call"],
  },
  {
    name: "fields of items that mean nothing elsewhere",
    items: [
      { ...user("Go on"), invented: 1 },
      call("c1", { async: true, caller: { type: "direct" } }),
      output("c1", "ok"),
    ],
    messages: [
      { role: "user", content: "Go on" },
      { role: "assistant", content: null, tool_calls: [sent("c1")] },
      { role: "tool", tool_call_id: "c1", content: "ok" },
    ],
    dropped: ["input.message.invented", "input.function_call.async", "input.function_call.caller"],
  },
  {
    name: "fields of parts that mean nothing elsewhere",
    items: [
      assistant("So", {
        content: [{ type: "output_text", text: "So", annotations: [{ type: "url_citation" }] }],
      }),
      {
        role: "user",
        content: [{ type: "input_text", text: "Go on", prompt_cache_breakpoint: { a: 1 } }],
      },
      { role: "assistant", content: [{ type: "input_image", image_url: "https://a.example/b" }] },
    ],
    messages: [{ role: "assistant", content: "So" }, { role: "user", content: "Go on" }],
    dropped: [
      "output_text.annotations",
      "input_text.prompt_cache_breakpoint",
      "input.input_image",
    ],
  },
];

for (const { name, items, messages, dropped = [] } of CHAT) {
  Deno.test(`responses → chat: ${name}`, () => {
    const request = parseResponses({ model: "m", input: [user("Hi"), ...items] });
    const written = responsesToChat.request(request, OPTIONS);
    const isReminder = name.includes("reminder");
    const first = isReminder
      ? { ...HI, content: "Hi\n\n<system-reminder>\nBe brief.\n</system-reminder>" }
      : HI;
    assertEquals(written.body.messages, [first, ...messages]);
    assertEquals(written.dropped, dropped);
  });
}

Deno.test("responses → messages: a whole exchange", () => {
  const input = [
    { role: "developer", content: "Be brief." },
    user("Hi"),
    reasoning("Hm"),
    assistant("Let me look."),
    call("c1"),
    call("c2", { arguments: "" }),
    output("c2", [{ type: "input_image", image_url: "https://a.example/b.png" }]),
    output("c1", "one"),
    { role: "user", content: [{ type: "input_file", file_data: "JVBE", filename: "a.pdf" }] },
  ];
  const { body, dropped } = responsesToMessages.request(
    parseResponses({ model: "m", input }),
    OPTIONS,
  );
  assertEquals(dropped, []);
  assertEquals(body.system, "Be brief.");
  const [first, second, third] = body.messages as JsonObject[];
  assertEquals(first, { role: "user", content: [{ type: "text", text: "Hi" }] });
  const [thinking, ...rest] = second!.content as JsonObject[];
  assertEquals([thinking!.type, thinking!.thinking], ["thinking", "Hm"]);
  assertEquals(rest, [
    { type: "text", text: "Let me look." },
    { type: "tool_use", id: "c1", name: "f", input: { a: 1 } },
    { type: "tool_use", id: "c2", name: "f", input: {} },
  ]);
  assertEquals(third, {
    role: "user",
    content: [
      { type: "tool_result", tool_use_id: "c1", content: [{ type: "text", text: "one" }] },
      {
        type: "tool_result",
        tool_use_id: "c2",
        content: [{ type: "image", source: { type: "url", url: "https://a.example/b.png" } }],
      },
      {
        type: "document",
        source: { type: "base64", media_type: "application/pdf", data: "JVBE" },
        title: "a.pdf",
      },
    ],
  });
});

/** What a target sealed, as it comes back. */
const SEALED = {
  route: "r",
  upstream: "up",
  model: "m",
  parts: [{ text: "Thought", seal: "sig" }, { text: "", seal: "hidden" }, { text: "Plain" }],
};

function reasoningTurn(sealed: JsonObject, route: string) {
  const { front } = DIALECTS.responses;
  const encrypted_content = SEALER.seal("reasoning", sealed);
  const input = [user("Hi"), reasoning("Summary", { encrypted_content }), assistant("So")];
  const parsed = parseResponses({ model: "m", input });
  const { request } = front.applyReasoning(parsed, { reasoning: "always", efforts: [], id: route });
  const { turns, dropped } = front.toConversation(request);
  return { turn: turns[1]!, dropped };
}

Deno.test("responses: reasoning that the gateway sealed comes back with its seals on the route that wrote it", () => {
  assertEquals(reasoningTurn(SEALED, "r"), {
    turn: {
      role: "assistant",
      reasoning: "Thought\n\nPlain",
      sealed: [
        { upstream: "up", model: "m", text: "Thought", seal: "sig" },
        { upstream: "up", model: "m", text: "", seal: "hidden" },
      ],
      text: "So",
      calls: [],
    },
    dropped: [],
  });
});

Deno.test("responses: another route gets its text without the seals", () => {
  const { turn } = reasoningTurn(SEALED, "other");
  assertEquals<unknown>(turn, {
    role: "assistant",
    reasoning: "Thought\n\nPlain",
    text: "So",
    calls: [],
  });
});

Deno.test("responses: a sealed value of any shape is no error", () => {
  for (const value of [{}, { parts: 5 }, { route: "r", parts: [null, 5, { text: 5, seal: 5 }] }]) {
    const { turn } = reasoningTurn(value as JsonObject, "r");
    assertEquals<unknown>(turn, { role: "assistant", reasoning: "", text: "So", calls: [] });
  }
});

Deno.test("responses: a summary that the gateway sealed becomes a message that says what it is", () => {
  const encrypted_content = SEALER.seal("compaction", { text: "They read a.txt." });
  const input = [{ type: "compaction", encrypted_content }, user("Go on")];
  const { body, dropped } = responsesToChat.request(parseResponses({ model: "m", input }), OPTIONS);
  const said = "Summary of the conversation so far, which it replaces:\n\nThey read a.txt.";
  assertEquals(body.messages, [
    { role: "user", content: said },
    { role: "user", content: "Go on" },
  ]);
  assertEquals(dropped, []);
});

for (
  const [name, type, seal] of [
    [
      "of another account",
      "reasoning",
      (value: JsonObject) => new Sealing(new Uint8Array(32)).of("acct_2").seal("reasoning", value),
    ],
    ["of another kind", "compaction", (value: JsonObject) => SEALER.seal("reasoning", value)],
    [
      "that was changed",
      "reasoning",
      (value: JsonObject) => SEALER.seal("reasoning", value).slice(0, -4) + "AAAA",
    ],
  ] as const
) {
  Deno.test(`responses: a sealed text ${name} is rejected`, () => {
    const input = [user("Hi"), { type, summary: [], encrypted_content: seal(SEALED) }];
    const refusal = assertThrows(() => parseResponses({ model: "m", input }), Refusal);
    assertEquals([refusal.status, refusal.param], [400, "input[1].encrypted_content"]);
  });
}

Deno.test("responses: one sealed text as two kinds of items is rejected", () => {
  const encrypted_content = SEALER.seal("reasoning", SEALED);
  const input = [
    { type: "reasoning", summary: [], encrypted_content },
    { type: "compaction", encrypted_content },
  ];
  assertThrows(() => parseResponses({ model: "m", input }), Refusal);
});

Deno.test("responses: what was sealed by another installation counts as foreign", () => {
  const secret = new Uint8Array(32).fill(1);
  const encrypted_content = new Sealing(secret).of("acct_1").seal("reasoning", SEALED);
  const input = [user("Hi"), reasoning("Summary", { encrypted_content })];
  const { body, dropped } = responsesToChat.request(parseResponses({ model: "m", input }), OPTIONS);
  assertEquals((body.messages as JsonObject[])[1]!.reasoning_content, "Summary");
  assertEquals(dropped, ["input.reasoning.encrypted_content"]);
});
