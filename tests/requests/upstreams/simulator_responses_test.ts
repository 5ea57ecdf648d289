/** The simulated upstream in the responses dialect. */

import { simulateHttp } from "../../../src/requests/upstreams/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { checkResponsesStream } from "../../wire/dialects/legal_responses_stream.ts";

// deno-lint-ignore no-explicit-any -- the wire's objects
type Wire = any;

function ask(input: unknown, more: Record<string, unknown> = {}): Promise<Response> {
  return simulateHttp(
    new Request("http://simulator/v1/responses", {
      method: "POST",
      body: JSON.stringify({ model: "m", input, ...more }),
    }),
  );
}

const whole = async (input: unknown, more = {}): Promise<Wire> => (await ask(input, more)).json();
const streamed = async (input: unknown, more = {}) =>
  checkResponsesStream(await (await ask(input, { stream: true, ...more })).text());
const textOf = ({ output }: Wire) =>
  output.filter(({ type }: Wire) => type === "message").map(({ content }: Wire) => content[0].text)
    .join("");

const TOOLS = [
  {
    type: "function",
    name: "read_file",
    parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  },
  { type: "custom", name: "apply_patch", format: { type: "text" } },
  { type: "web_search" },
  { type: "namespace", name: "n", tools: [{ type: "function", name: "inner", parameters: {} }] },
];

Deno.test("simulate, responses: a stream is legal and says what the whole reply says", async () => {
  const prompts = ["Hello", "Hello [[reason]]", '[[call read_file {"path":"a"}]]', "[[tokens 40]]"];
  for (const prompt of prompts) {
    const paced = `${prompt} [[pace 0ms]]`;
    const more = { tools: TOOLS, max_output_tokens: 30 };
    const one = await streamed(paced, more);
    const other = await whole(paced, more);
    assertEquals([one.status, textOf(one)], [other.status, textOf(other)]);
    assertEquals(one.response.usage, other.usage);
    assertEquals(one.output.map(({ type }) => type), other.output.map(({ type }: Wire) => type));
  }
});

Deno.test("simulate, responses: limits, usage, reasoning and failures on demand", async () => {
  const cut = await whole("[[tokens 21]]", { max_output_tokens: 20 });
  assertEquals([cut.status, cut.incomplete_details, cut.usage.output_tokens], [
    "incomplete",
    { reason: "max_output_tokens" },
    20,
  ]);
  assertEquals((await whole("Hi [[usage none]]")).usage, null);
  assertEquals((await whole("Hi [[usage zero]]")).usage.total_tokens, 0);
  const reasoned = await whole("Hi", {
    reasoning: { effort: "low" },
    include: ["reasoning.encrypted_content"],
  });
  assertEquals(reasoned.output[0].type, "reasoning");
  assert(reasoned.output[0].encrypted_content.length > 0);
  assertEquals((await whole("Hi", { reasoning: { effort: "none" } })).output[0].type, "message");
  const refused = await ask("[[status 429]] [[retry-after 2]]");
  assertEquals([refused.status, refused.headers.get("retry-after")], [429, "2"]);
  const failing = await (await ask("Hi [[error after 3]]", { stream: true })).text();
  assert(failing.includes("event: error\n"), failing);
  const ended = await (await ask("Hi [[end after 3]]", { stream: true })).text();
  assert(!ended.includes("response.completed"));
});

Deno.test("simulate, responses: calls no tool that was neither directed nor forced", async () => {
  const calls = async (prompt: unknown, more = {}) =>
    (await whole(prompt, { tools: TOOLS, ...more })).output.filter(({ type }: Wire) =>
      /_call$/.test(type)
    ).map(({ type, name, arguments: args, input }: Wire) => [type, name, args ?? input]);
  assertEquals(await calls("Use the tool read_file"), []);
  assertEquals(await calls('[[call read_file {"path":"a"}]]'), [
    ["function_call", "read_file", '{"path":"a"}'],
  ]);
  assertEquals(await calls('[[call apply_patch {"input":"*** Begin"}]]'), [
    ["custom_tool_call", "apply_patch", "*** Begin"],
  ]);
  assertEquals((await calls("x", { tool_choice: "required" })).length, 1);
  assertEquals(await calls("x", { tool_choice: { type: "custom", name: "apply_patch" } }), [
    ["custom_tool_call", "apply_patch", "input"],
  ]);
  const rounds = (more: Wire[]) => [
    { role: "user", content: '[[call read_file {"path":"a"}]][[then]][[say done]]' },
    ...more,
  ];
  const call = { type: "function_call", call_id: "c", name: "read_file", arguments: "{}" };
  const result = { type: "function_call_output", call_id: "c", output: "[[call read_file]]" };
  assertEquals((await calls(rounds([]))).length, 1);
  assertEquals(await calls(rounds([call, result])), []);
  assertEquals(textOf(await whole(rounds([call, result]))), "done");
  const lite = [{ type: "additional_tools", role: "developer", tools: TOOLS }, {
    role: "user",
    content: [{ type: "input_text", text: "[[call inner]]" }],
  }];
  assertEquals(await calls(lite, { tools: undefined }), [["function_call", "inner", "{}"]]);
});

Deno.test("simulate, responses: images, schemas and what is no request", async () => {
  const png = "data:image/png;base64," +
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const seen = await whole([{ role: "user", content: [{ type: "input_image", image_url: png }] }]);
  assertEquals(textOf(seen), "Image 1 is a PNG of 1 × 1 pixels.");
  const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
  const json = await whole("Weather in Paris", {
    text: { format: { type: "json_schema", name: "x", schema } },
  });
  assertEquals(JSON.parse(textOf(json)), { city: "Paris" });
  assertEquals(
    (await simulateHttp(new Request("http://s/responses", { method: "POST", body: "[]" }))).status,
    400,
  );
});
