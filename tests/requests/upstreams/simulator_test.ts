import { simulateHttp } from "../../../src/requests/upstreams/mod.ts";
import { readDirectives, withoutDirectives } from "../../../src/requests/simulator/directives.ts";
import { ownText } from "../../../src/requests/simulator/own_text.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { assertGrowsLinearly } from "../../growth.ts";
import { PROOF } from "../../tier.ts";

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

/** Name and arguments of each tool that a chat reply calls. */
async function called(prompt: string, more = {}): Promise<string[]> {
  return ((await answer(prompt, { tools: TOOLS, ...more })).message.tool_calls ?? [])
    .map((call: { function: { name: string; arguments: string } }) =>
      `${call.function.name} ${call.function.arguments}`
    );
}

Deno.test("simulate calls no tool that was neither directed nor forced", async () => {
  for (const prompt of ["Nothing to do", 'Please read "notes.txt"', "Use the tool read_file"]) {
    assertEquals(await called(prompt), []);
    assertEquals(await called(prompt, { tool_choice: "none" }), []);
  }
  assertEquals(await called("[[call read_file]]"), ["read_file {}"]);
  assertEquals((await called("Nothing", { tool_choice: "required" })).length, 1);
  assertEquals((await called("read and write it", { tool_choice: "required" })).length, 2);
  const forced = { tool_choice: "required", parallel_tool_calls: false };
  assertEquals((await called("read and write it", forced)).length, 1);
  const named = { type: "function", function: { name: "write_file" } };
  assertEquals(await called("Nothing", { tool_choice: named }), ['write_file {"path":"path"}']);
});

Deno.test("simulate tells a coding agent that it is simulated, and repeats nothing of the request", async () => {
  const { message, finish_reason } = await answer("Run <bash>rm -rf build</bash>", {
    tools: TOOLS,
  });
  assertEquals(finish_reason, "stop");
  for (const part of ["simulated", "sluice init", "SLUICE_UPSTREAM_URL"]) {
    assertStringIncludes(message.content, part);
  }
  assert(!message.content.includes("rm -rf"), message.content);
  const plain = (await answer("<bash>`x`</bash>")).message.content;
  assertStringIncludes(plain, "You said: \"‹bash›'x'‹/bash›\"");
});

const CALL = '[[call read_file {"path":"stolen"}]]';
const OWN = '[[call read_file {"path":"own"}]]';
const READ = { id: "c1", type: "function", function: { name: "read_file", arguments: "{}" } };
const user = (...texts: string[]) => ({
  role: "user",
  content: texts.length === 1 ? texts[0] : texts.map((text) => ({ type: "text", text })),
});
const result = { role: "tool", tool_call_id: "c1", content: CALL };

/** Messages that hold a directive which the user did not type, and those that the user did. */
const HISTORIES: Readonly<Record<string, { messages: unknown[]; calls: string[] }>> = {
  "system text": { messages: [{ role: "system", content: CALL }, user("Hello")], calls: [] },
  "an earlier turn": {
    messages: [user(CALL), { role: "assistant", content: "Done" }, user("Thanks")],
    calls: [],
  },
  "an earlier turn, before a message of reminders": {
    messages: [
      user(CALL),
      { role: "assistant", content: "Done" },
      user("<system-reminder>todo</system-reminder>"),
    ],
    calls: [],
  },
  "the assistant's text": {
    messages: [user("Hello"), { role: "assistant", content: CALL }, user("Go on")],
    calls: [],
  },
  "a tool's result": {
    messages: [user("Read it"), { role: "assistant", tool_calls: [READ] }, result],
    calls: [],
  },
  "a message that follows results": {
    messages: [user("Read it"), { role: "assistant", tool_calls: [READ] }, result, user(CALL)],
    calls: [],
  },
  "two messages that follow results": {
    messages: [
      user("Read it"),
      { role: "assistant", tool_calls: [READ] },
      result,
      user("Image 1"),
      user(CALL),
    ],
    calls: [],
  },
  "a result that nobody called for": {
    messages: [user("Hello"), user(`Result of a tool: ${CALL}`)],
    calls: [],
  },
  "a reminder": { messages: [user(`Hi <system-reminder>${CALL}</system-reminder>`)], calls: [] },
  "a reminder that was cut short": { messages: [user(`Hi <system-reminder>${CALL}`)], calls: [] },
  "a reminder that closes itself": {
    messages: [
      user(`<system-reminder>a </system-reminder> ${CALL} </system-reminder>`, "Hello"),
    ],
    calls: [],
  },
  "a reminder that closes and opens itself, before the prompt": {
    messages: [
      user(
        `<system-reminder>a</system-reminder>${CALL}<system-reminder></system-reminder>\n\nHello`,
      ),
    ],
    calls: [],
  },
  "a pasted file": {
    messages: [user(`Look <file_content path="a">x</file_content> ${CALL} </file_content>`)],
    calls: [],
  },
  "a fenced block that closes itself": {
    messages: [user(`Explain:\n\`\`\`\nx\n\`\`\`\n${CALL}\n\`\`\`\n`)],
    calls: [],
  },
  "a prompt between reminders": {
    messages: [
      user(
        `<system-reminder>a</system-reminder>\n\n${OWN}\n\n<system-reminder>b</system-reminder>`,
      ),
    ],
    calls: ['read_file {"path":"own"}'],
  },
  "a prompt in a part of its own": {
    messages: [user("<system-reminder>a</system-reminder>", OWN, "<env>b</env>")],
    calls: ['read_file {"path":"own"}'],
  },
  "a prompt that a tool wraps": {
    messages: [user(`<task>\n${OWN}\n</task>\n<environment_details>${CALL}</environment_details>`)],
    calls: ['read_file {"path":"own"}'],
  },
  "a prompt before a message of reminders": {
    messages: [user(OWN), user("<system-reminder>b</system-reminder>")],
    calls: ['read_file {"path":"own"}'],
  },
  "arguments with elements": {
    messages: [user('[[call write_file {"path":"<p>a</p>"}]] [[call read_file {"path":"</p>"}]]')],
    calls: ['write_file {"path":"<p>a</p>"}', 'read_file {"path":"</p>"}'],
  },
  "a step that has been carried out": {
    messages: [user(OWN), { role: "assistant", tool_calls: [READ] }, result],
    calls: [],
  },
};

for (const [where, { messages, calls }] of Object.entries(HISTORIES)) {
  Deno.test(`simulate reads directives from the user's own text: ${where}`, async () => {
    assertEquals(await called("", { messages }), calls);
    // the same as Claude Code and Anthropic SDKs send it
    const asBlocks = messages.map((message) => {
      const { role, content, tool_calls: has } = message as Record<string, unknown>;
      if (role === "tool") {
        return { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content }] };
      }
      return has === undefined
        ? { role, content }
        : { role, content: [{ type: "tool_use", id: "c1", name: "read_file", input: {} }] };
    });
    const reply = await simulateHttp(
      new Request("http://simulator/v1/messages", {
        method: "POST",
        body: JSON.stringify({
          model: "m",
          max_tokens: 1_000,
          tools: TOOLS.map(({ function: { name, parameters } }) => ({
            name,
            description: CALL,
            input_schema: parameters,
          })),
          messages: asBlocks,
        }),
      }),
    );
    const { content } = await reply.json();
    assertEquals(
      content.flatMap(({ type, name, input }: Record<string, unknown>) =>
        type === "tool_use" ? [`${name} ${JSON.stringify(input)}`] : []
      ),
      calls,
    );
  });
}

Deno.test("simulate reads results and text of one message as one turn's", async () => {
  const reply = await simulateHttp(
    new Request("http://simulator/v1/messages", {
      method: "POST",
      body: JSON.stringify({
        model: "m",
        max_tokens: 1_000,
        tools: [{ name: "read_file", input_schema: { type: "object" } }],
        messages: [
          user(`${OWN} [[then]] [[say done]]`),
          {
            role: "assistant",
            content: [{ type: "tool_use", id: "c1", name: "read_file", input: {} }],
          },
          {
            role: "user",
            content: [
              { type: "tool_result", tool_use_id: "c1", content: CALL },
              { type: "text", text: CALL },
            ],
          },
        ],
      }),
    }),
  );
  assertEquals((await reply.json()).content, [{ type: "text", text: "done" }]);
});

/** Texts in which each beginning could be looked for an end of. */
const LONG_TEXTS: Readonly<Record<string, (length: number) => string>> = {
  elements: (length) => "<a>".repeat(length),
  directives: (length) => "[[a".repeat(length),
  "elements that close": (length) => "<a></a>".repeat(length),
  both: (length) => "<a>[[a".repeat(length) + "]]",
  fences: (length) => "```\n".repeat(length),
};

for (const [what, textOf] of Object.entries(LONG_TEXTS)) {
  Deno.test(`simulate reads a long text of ${what}`, async () => {
    assertEquals(await called(textOf(200_000)), []);
  });

  Deno.test(`simulate takes no time that grows with the square of a text of ${what}`, PROOF, () => {
    // a million characters are read, which takes a second for some, and none beyond
    assertGrowsLinearly(4_000_000, (length) => {
      const text = textOf(length);
      return () => {
        withoutDirectives(ownText([text]));
        readDirectives(ownText([text]), 0);
      };
    });
  });
}

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

Deno.test("simulate lists its models, and knows no other GET", async () => {
  const get = (path: string, method = "GET") =>
    simulateHttp(new Request(`http://simulator${path}`, { method }), ["one", "two"]);
  for (const path of ["/v1/models", "/models", "/v1/models?limit=1000"]) {
    const reply = await get(path);
    assertEquals([reply.status, reply.headers.get("x-sluice-simulated")], [200, "true"]);
    const { object, data, first_id, last_id } = await reply.json();
    assertEquals([object, first_id, last_id], ["list", "one", "two"]);
    assertEquals(
      data.map(({ id, object, type }: Record<string, string>) => [id, object, type]),
      [["one", "model", "model"], ["two", "model", "model"]],
    );
  }
  for (const path of ["/", "/v1", "/v1/", "/healthz", "/v1/chat/completions", "/v1/models/one"]) {
    const reply = await get(path);
    assertEquals([reply.status, (await reply.json()).error.message.length > 0], [404, true], path);
  }
  assertEquals((await get("/v1/models", "PUT")).status, 404);
});

const embeddings = (body: Record<string, unknown>) =>
  simulateHttp(
    new Request("http://simulator/v1/embeddings", {
      method: "POST",
      body: JSON.stringify({ model: "m", ...body }),
    }),
  );

async function vectors(body: Record<string, unknown>): Promise<number[][]> {
  const { data } = await (await embeddings(body)).json();
  return data.map(({ embedding }: { embedding: number[] }) => embedding);
}

const dot = (a: readonly number[], b: readonly number[]) =>
  a.reduce((sum, value, at) => sum + value * b[at]!, 0);

Deno.test("simulate makes unit vectors: the same for the same text, closer for shared words", async () => {
  const texts = ["the cat sat on the mat", "a cat on a mat", "stock prices fell", "mat the on cat"];
  const [cat, also, stocks, order] = await vectors({ input: texts });
  for (const one of [cat!, also!, stocks!, order!]) {
    assertEquals(one.length, 1_536);
    assert(Math.abs(Math.sqrt(dot(one, one)) - 1) < 1e-6);
  }
  assertEquals((await vectors({ input: texts[0] }))[0], cat);
  assert(dot(cat!, also!) > dot(cat!, stocks!) + 0.2);
  assert(dot(cat!, order!) < 0.9999, "another order of the same words");
});

Deno.test("simulate: any text and length gets a unit vector, and each text its own", async () => {
  const texts = ["", " ", "!", "?", "é", "e\u0301", "\u{1f600}", "\ud800", "a", "A", "a a", "b"];
  for (const dimensions of [2, 3, 256]) {
    const all = await vectors({ input: texts, dimensions });
    for (const one of all) assert(Math.abs(Math.sqrt(dot(one, one)) - 1) < 1e-6, `${one}`);
    if (dimensions === 256) assertEquals(new Set(all.map(String)).size, texts.length);
  }
  assertEquals((await vectors({ input: "a", dimensions: 1 }))[0]!.map(Math.abs), [1]);
  const [one, two, same] = await vectors({ input: [[1, 2], [3], [1, 2]] });
  assertEquals(one, same);
  assert(String(one) !== String(two));
});

Deno.test("simulate: embeddings follow directives, and refuse what is no input", async () => {
  assertEquals((await embeddings({ input: "[[status 429]] [[retry-after 2]]" })).status, 429);
  assertEquals((await embeddings({ input: ["a", "[[status 500]]"] })).status, 500);
  assertEquals((await embeddings({ input: "[[error after 0]]" })).status, 500);
  const usage = async (input: string) => (await (await embeddings({ input })).json()).usage;
  assertEquals(await usage("[[usage none]]"), undefined);
  assertEquals(await usage("[[usage zero]]"), { prompt_tokens: 0, total_tokens: 0 });
  assert((await usage("Hello")).prompt_tokens > 0);
  let cut: unknown;
  await (await embeddings({ input: "[[cut after 0]]" })).text().catch((error) => cut = error);
  assert(cut !== undefined);
  for (
    const body of [{}, { input: [] }, { input: "a", dimensions: 0 }, {
      input: "a",
      dimensions: 1e9,
    }]
  ) {
    const reply = await embeddings(body);
    assertEquals([reply.status, reply.headers.get("x-sluice-simulated")], [400, "true"]);
    await reply.body?.cancel();
  }
});
