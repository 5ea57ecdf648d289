/** Tools of a responses request: what upstreams are offered, under which names, and what clients called them. */

import fc from "fast-check";
import { type JsonObject } from "../../../src/wire/dialects/mod.ts";
import { toolTable } from "../../../src/wire/dialects/responses/request/tools.ts";
import { assert, assertEquals, assertMatch } from "../../assert.ts";
import { sized } from "../../tier.ts";
import { parseResponses, responsesToChat, responsesToMessages } from "./ends.ts";

const OPTIONS = { model: "m", upstream: "up", permittedOutput: 500, shaping: {} };
const HI = { model: "m", input: "Hi" };
const PARAMETERS = { type: "object", properties: { a: { type: "string" } } };

const fn = (name: string, more: JsonObject = {}): JsonObject => ({
  type: "function",
  name,
  description: `Does ${name}.`,
  parameters: PARAMETERS,
  ...more,
});
const space = (name: string, tools: JsonObject[], description = ""): JsonObject => ({
  type: "namespace",
  name,
  description,
  tools,
});

interface OfferedFunction {
  readonly name: string;
  readonly description?: string;
  readonly parameters: JsonObject;
}

function offered(body: JsonObject): OfferedFunction[] {
  const { body: written } = responsesToChat.request(parseResponses({ ...HI, ...body }), OPTIONS);
  return ((written.tools ?? []) as unknown as { function: OfferedFunction }[])
    .map((tool) => tool.function);
}

const names = (body: JsonObject) => offered(body).map(({ name }) => name);

Deno.test("responses tools: a custom tool is a function with one text, its grammar in the description", () => {
  const format = { type: "grammar", syntax: "lark", definition: 'start: "x"' };
  const tools = [{ type: "custom", name: "apply_patch", description: "Patches.", format }];
  assertEquals<unknown>(offered({ tools }), [{
    name: "apply_patch",
    description: 'Patches.\n\nThe input must match this lark grammar:\nstart: "x"',
    parameters: {
      type: "object",
      properties: {
        input: { type: "string", description: "The tool's whole input, as plain text." },
      },
      required: ["input"],
      additionalProperties: false,
    },
  }]);
  const [tool] = responsesToMessages.request(parseResponses({ ...HI, tools }), OPTIONS).body
    .tools as JsonObject[];
  assertEquals((tool!.input_schema as JsonObject).required, ["input"]);
});

Deno.test("responses tools: a custom tool without a grammar keeps its description", () => {
  for (const format of [undefined, null, { type: "text" }]) {
    const tools = [{ type: "custom", name: "c", description: "D.", format } as JsonObject];
    assertEquals(offered({ tools })[0]!.description, "D.");
  }
});

Deno.test("responses tools: a function without parameters or description", () => {
  const tools = [{ type: "function", name: "f", parameters: null, strict: null }];
  assertEquals<unknown>(offered({ tools }), [
    { name: "f", parameters: { type: "object", properties: {} } },
  ]);
});

Deno.test("responses tools: namespaces are flattened, and say once what they are about", () => {
  const tools = [
    space("mail", [fn("send"), { type: "custom", name: "raw" }], "Mail of the user."),
    space("chat", [fn("send")]),
    fn("send"),
  ];
  assertEquals(names({ tools }), ["mail__send", "mail__raw", "chat__send", "send"]);
  const [first, second] = offered({ tools });
  assertEquals(
    first!.description,
    "Does send.\n\nTools whose names begin with mail: Mail of the user.",
  );
  assertEquals(second!.description, undefined);
  assertEquals([...toolTable({ tools })], [
    ["send", { kind: "function", name: "send", namespace: undefined }],
    ["mail__send", { kind: "function", name: "send", namespace: "mail" }],
    ["mail__raw", { kind: "custom", name: "raw", namespace: "mail" }],
    ["chat__send", { kind: "function", name: "send", namespace: "chat" }],
  ]);
});

Deno.test("responses tools: a function that is called like a flattened name keeps its own, in any order", () => {
  const clash = [space("a", [fn("b")]), fn("a__b")];
  for (const tools of [clash, clash.toReversed()]) {
    const table = toolTable({ tools });
    assertEquals(table.get("a__b"), { kind: "function", name: "a__b", namespace: undefined });
    const [, other] = [...table].find(([name]) => name !== "a__b")!;
    assertEquals(other, { kind: "function", name: "b", namespace: "a" });
  }
});

for (const chars of [64, 65, 128]) {
  Deno.test(`responses tools: names of ${chars} characters`, () => {
    const long = "n".repeat(chars);
    const tools = [fn(long), fn(`${long}x`), space(long, [fn("a"), fn("b")])];
    const own = names({ tools });
    assertEquals(new Set(own).size, 4);
    for (const name of own) assertMatch(name, /^[A-Za-z0-9_-]{1,64}$/);
    if (chars === 64) assertEquals(own[0], long);
    const table = toolTable({ tools });
    assertEquals(own.map((name) => table.get(name)!.name), [long, `${long}x`, "a", "b"]);
  });
}

Deno.test("responses tools: illegal names become legal ones", () => {
  const tools = [fn("files.read"), fn("files read"), fn("файл"), space("a.b", [fn("c")])];
  const own = names({ tools });
  assertEquals(new Set(own).size, 4);
  for (const name of own) assertMatch(name, /^[A-Za-z0-9_-]{1,64}$/);
});

Deno.test("responses tools: one that is listed twice is offered once; one name of two kinds twice", () => {
  const again = { type: "additional_tools", role: "developer", tools: [fn("f")] };
  const input = [again, { role: "user", content: "Hi" }];
  assertEquals(names({ tools: [fn("f"), fn("f")], input }), ["f"]);
  const both = names({ tools: [fn("f"), { type: "custom", name: "f" }] });
  assertEquals([both[0], new Set(both).size], ["f", 2]);
});

Deno.test("responses tools: those among the items are offered as well, and no message of their own", () => {
  const input = [
    { type: "additional_tools", role: "developer", tools: [space("s", [fn("a")]), fn("b")] },
    { role: "developer", content: "Be brief." },
    { role: "user", content: "Hi" },
  ];
  const { body, dropped } = responsesToChat.request(parseResponses({ model: "m", input }), OPTIONS);
  assertEquals(names({ input }), ["s__a", "b"]);
  assertEquals(body.messages, [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Hi" },
  ]);
  assertEquals(dropped, []);
});

Deno.test("responses tools: the client's search for tools is a function, and what it finds is offered", () => {
  const tools = [{
    type: "tool_search",
    execution: "client",
    description: "Finds tools.",
    parameters: PARAMETERS,
  }];
  const input = [
    { role: "user", content: "Hi" },
    {
      type: "tool_search_call",
      call_id: "c1",
      execution: "client",
      arguments: { query: "mail" },
    },
    { type: "tool_search_output", call_id: "c1", tools: [space("mail", [fn("send")]), fn("g")] },
  ];
  assertEquals(names({ tools, input }), ["tool_search", "mail__send", "g"]);
  const request = parseResponses({ ...HI, tools, input });
  assertEquals((responsesToChat.request(request, OPTIONS).body.messages as JsonObject[]).slice(1), [
    {
      role: "assistant",
      content: null,
      tool_calls: [{
        id: "c1",
        type: "function",
        function: { name: "tool_search", arguments: '{"query":"mail"}' },
      }],
    },
    {
      role: "tool",
      tool_call_id: "c1",
      content: "These tools are now available: mail__send, g.",
    },
  ]);
  assertEquals(toolTable(request.body).get("tool_search")!.kind, "tool_search");
});

/** Choices among tools, and the names that are offered then. */
const CHOICES: readonly { choice: JsonObject[string]; offers: string[]; sent: unknown }[] = [
  { choice: "none", offers: ["f", "c", "s__f", "s__c"], sent: "none" },
  {
    choice: { type: "custom", name: "c" },
    offers: ["f", "c", "s__f", "s__c"],
    sent: { type: "function", function: { name: "c" } },
  },
  {
    choice: { type: "function", name: "f", namespace: "s" },
    offers: ["f", "c", "s__f", "s__c"],
    sent: { type: "function", function: { name: "s__f" } },
  },
  {
    choice: {
      type: "allowed_tools",
      mode: "required",
      tools: [{ type: "function", name: "f", namespace: "s" }],
    },
    offers: ["s__f"],
    sent: "required",
  },
  {
    choice: { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "f" }] },
    offers: ["f", "s__f"],
    sent: "auto",
  },
  {
    choice: {
      type: "allowed_tools",
      mode: "auto",
      tools: [{ type: "namespace", name: "s" }, { type: "web_search" }],
    },
    offers: ["s__f", "s__c"],
    sent: "auto",
  },
];

for (const { choice, offers, sent } of CHOICES) {
  Deno.test(`responses tools: ${JSON.stringify(choice)}`, () => {
    const custom = { type: "custom", name: "c" };
    const tools = [fn("f"), custom, space("s", [fn("f"), custom]), { type: "web_search" }];
    const request = parseResponses({ ...HI, tools, tool_choice: choice });
    const { body, dropped } = responsesToChat.request(request, OPTIONS);
    assertEquals(names({ tools, tool_choice: choice }), offers);
    assertEquals<unknown>(body.tool_choice, sent);
    assertEquals(dropped, ["tools.web_search"]);
  });
}

for (
  const type of [
    ...["web_search", "web_search_preview_2025_03_11", "file_search", "code_interpreter"],
    ...["image_generation", "computer", "mcp", "local_shell", "shell", "apply_patch"],
    ...["programmatic_tool_calling", "tool_search", "invented_tomorrow"],
  ]
) {
  Deno.test(`responses tools: ${type} is left out beside others, and named`, () => {
    const inNamespace = space("s", [fn("g"), { type }]);
    const request = parseResponses({ ...HI, tools: [{ type }, fn("f"), inNamespace] });
    for (const bridge of [responsesToChat, responsesToMessages]) {
      const { body, dropped } = bridge.request(request, OPTIONS);
      assertEquals((body.tools as JsonObject[]).length, 2);
      assertEquals(dropped, [`tools.${type}`]);
    }
  });
}

Deno.test("responses tools: a hosted tool alone is left out where no tool may be called", () => {
  const request = parseResponses({ ...HI, tools: [{ type: "web_search" }], tool_choice: "none" });
  assertEquals(responsesToChat.request(request, OPTIONS).dropped, ["tools.web_search"]);
});

Deno.test("responses tools: fields that mean nothing elsewhere are named", () => {
  const tools = [fn("f", { async: true, defer_loading: true, output_schema: {} })];
  const { dropped } = responsesToChat.request(parseResponses({ ...HI, tools }), OPTIONS);
  assertEquals(dropped, ["tools.async", "tools.defer_loading", "tools.output_schema"]);
});

const word = fc.oneof(
  fc.string({ minLength: 1, maxLength: 8 }),
  fc.stringMatching(/^[a-z_]{1,4}$/),
  fc.constantFrom("a", "b", "a__b", "tool_search", "a_", "_b", "n".repeat(65), "n".repeat(128)),
);
const toolOf = (name: string, isCustom: boolean): JsonObject =>
  isCustom ? { type: "custom", name } : fn(name);
const inner = fc.tuple(word, fc.boolean()).map(([name, custom]) => toolOf(name, custom));
const toolList = fc.array(
  fc.oneof(inner, fc.tuple(word, fc.array(inner, { maxLength: 4 })).map(([n, t]) => space(n, t))),
  { maxLength: 8 },
);

/** What the client calls each tool. */
function clientTools(tools: readonly JsonObject[], namespace?: string): string[] {
  return tools.flatMap((tool) =>
    tool.type === "namespace"
      ? clientTools(tool.tools as JsonObject[], tool.name as string)
      : [JSON.stringify([tool.type, tool.name, namespace])]
  );
}

Deno.test("responses tools: names are legal, unique and reversible, whatever tools are called (property)", () => {
  fc.assert(
    fc.property(toolList, toolList, (tools, more) => {
      const history = clientTools(more).map((one, at) => {
        const [type, name, namespace] = JSON.parse(one);
        return type === "custom"
          ? { type: "custom_tool_call", call_id: `c${at}`, name, namespace, input: "x" }
          : { type: "function_call", call_id: `c${at}`, name, namespace, arguments: "{}" };
      });
      const input = [{ role: "user", content: "Hi" }, ...history] as JsonObject[];
      const table = toolTable({ tools, input });
      const found = [...table.values()].map(({ kind, name, namespace }) =>
        JSON.stringify([kind, name, namespace])
      );
      assertEquals(new Set(found).size, table.size);
      assertEquals(
        new Set(found),
        new Set([...clientTools(tools), ...clientTools(more)]),
      );
      for (const name of table.keys()) assertMatch(name, /^[A-Za-z0-9_-]{1,64}$/);
      assertEquals(toolTable({ tools, input }), table);
      // what is offered and called has the names of the table, for both upstreams
      const request = parseResponses({ model: "m", input, tools });
      for (const bridge of [responsesToChat, responsesToMessages]) {
        const { body } = bridge.request(request, OPTIONS);
        const offers = ((body.tools ?? []) as JsonObject[])
          .map((tool) => (tool.function as JsonObject | undefined)?.name ?? tool.name);
        assertEquals(new Set(offers).size, offers.length);
        for (const name of offers) assert(table.has(name as string));
        assertEquals(offers.length, new Set(clientTools(tools)).size);
      }
    }),
    { numRuns: sized(40, 500) },
  );
});
