import { simulateHttp } from "../../src/upstreams/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";

function ask(prompt: string, more: Record<string, unknown> = {}): Promise<Response> {
  return simulateHttp(
    new Request("http://simulator/v1/chat/completions", {
      method: "POST",
      body: JSON.stringify({ model: "m", messages: [{ role: "user", content: prompt }], ...more }),
    }),
  );
}

async function answer(prompt: string, more: Record<string, unknown> = {}) {
  const reply = await (await ask(prompt, more)).json();
  return { ...reply.choices[0], usage: reply.usage };
}

const TOOLS = ["read_file", "write_file"].map((name) => ({
  type: "function",
  function: {
    name,
    parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  },
}));

Deno.test("simulate says the same for the same request, ids included", async () => {
  for (const stream of [false, true]) {
    const [first, second] = [await ask("Hello", { stream }), await ask("Hello", { stream })];
    assertEquals(await first.text(), await second.text());
    assertEquals(first.headers.get("x-sluice-simulated"), "true");
  }
  assert(await (await ask("Hello")).text() !== await (await ask("Bye")).text());
});

Deno.test("simulate streams what it answers whole", async () => {
  const whole = await answer("Hello [[pace 0ms]] [[reason]]");
  const text = await (await ask("Hello [[pace 0ms]] [[reason]]", { stream: true })).text();
  const chunks = text.split("\n\n").filter((one) => one.startsWith("data: {"))
    .map((one) => JSON.parse(one.slice(6)).choices[0].delta);
  const joined = (field: string) => chunks.map((delta) => delta[field] ?? "").join("");
  assertEquals(joined("content"), whole.message.content);
  assertEquals(joined("reasoning_content"), whole.message.reasoning_content);
});

Deno.test("simulate sizes its answer by max_tokens and [[tokens]]", async () => {
  for (
    const [tokens, limit, finish] of [[10, 20, "stop"], [20, 20, "stop"], [
      21,
      20,
      "length",
    ]] as const
  ) {
    const one = await answer(`[[tokens ${tokens}]]`, { max_tokens: limit });
    assertEquals([one.finish_reason, one.usage.completion_tokens], [
      finish,
      Math.min(tokens, limit),
    ]);
  }
});

Deno.test("simulate stops before a stop sequence", async () => {
  const one = await answer("[[say one two STOP three]]", { stop: ["STOP"] });
  assertEquals([one.message.content, one.finish_reason], ["one two ", "stop"]);
});

Deno.test("simulate calls the tools that the prompt speaks of, or that are demanded", async () => {
  const called = async (prompt: string, more = {}) =>
    ((await answer(prompt, { tools: TOOLS, ...more })).message.tool_calls ?? [])
      .map((call: { function: { name: string; arguments: string } }) =>
        `${call.function.name} ${call.function.arguments}`
      );
  assertEquals(await called("Nothing to do"), []);
  assertEquals(await called('Please read "notes.txt"'), ['read_file {"path":"notes.txt"}']);
  assertEquals((await called("read and write it")).length, 2);
  assertEquals((await called("read and write it", { parallel_tool_calls: false })).length, 1);
  assertEquals((await called("Nothing", { tool_choice: "required" })).length, 1);
  const named = { type: "function", function: { name: "write_file" } };
  assertEquals(await called("Nothing", { tool_choice: named }), ['write_file {"path":"path"}']);
  assertEquals(await called("read it", { tool_choice: "none" }), []);
});

Deno.test("simulate follows the steps of a script", async () => {
  const prompt =
    '[[call read_file {"path":"a"}]] [[then]] [[call write_file {"path":"b"}]] [[then]] [[say done]]';
  const messages: unknown[] = [{ role: "user", content: prompt }];
  const said = [];
  for (let step = 0; step < 3; step++) {
    const { message } = await answer(prompt, { messages, tools: TOOLS });
    said.push(message.tool_calls?.[0].function.name ?? message.content);
    messages.push(message, {
      role: "tool",
      tool_call_id: message.tool_calls?.[0].id,
      content: "ok",
    });
  }
  assertEquals(said, ["read_file", "write_file", "done"]);
});

Deno.test("simulate tells kind and size of images", async () => {
  const png = new Uint8Array(33);
  png.set([
    0x89,
    80,
    78,
    71,
    13,
    10,
    26,
    10,
    0,
    0,
    0,
    13,
    73,
    72,
    68,
    82,
    0,
    0,
    2,
    128,
    0,
    0,
    1,
    224,
  ]);
  const url = `data:image/png;base64,${btoa(String.fromCharCode(...png))}`;
  const content = [{ type: "text", text: "What is this?" }, {
    type: "image_url",
    image_url: { url },
  }];
  const { message } = await answer("", { messages: [{ role: "user", content }] });
  assertStringIncludes(message.content, "PNG of 640 × 480 pixels");
});

Deno.test("simulate reports usage as it is told to", async () => {
  assertEquals((await answer("[[usage none]]")).usage, undefined);
  assertEquals((await answer("[[usage zero]]")).usage.total_tokens, 0);
});
