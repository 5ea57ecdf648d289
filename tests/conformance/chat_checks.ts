import { assert, assertEquals, assertMatch } from "../assert.ts";
import { checkChatStream, eventsOf } from "../wire/dialects/legal_streams.ts";
import type { Check } from "./checks.ts";
import { type Answered, chat, type Json, says, send, type Target } from "./target.ts";

const SCHEMA = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
const TOOLS = ["get_weather", "get_population"].map((name) => ({
  type: "function",
  function: { name, description: "About a city", parameters: SCHEMA },
}));
const ASK = says("Use the tool: what is the weather in Paris?");

function ok(answered: Answered): Answered {
  assertEquals(answered.status, 200, `status ${answered.status}: ${answered.text.slice(0, 160)}`);
  return answered;
}

async function stream(target: Target, body: Record<string, unknown>): Promise<Json[]> {
  const { headers, text } = ok(await chat(target, { ...body, stream: true }));
  assertMatch(headers.get("content-type") ?? "none", /^text\/event-stream/);
  checkChatStream(text);
  return eventsOf(text).map(({ data }) => data).filter((data) => data !== "[DONE]");
}

const textOf = (chunks: readonly Json[]) =>
  chunks.map(({ choices }) => choices[0]?.delta?.content ?? "").join("");

/** What clients of `POST /v1/chat/completions` rely on. */
export const chatChecks: readonly Check[] = [
  {
    holds: "a completion has id, object, created, the model as asked, a message and usage",
    async run(target) {
      const { json } = ok(await chat(target, {}));
      assertEquals([json.object, json.model], ["chat.completion", target.models.chat]);
      assert(typeof json.id === "string" && json.id !== "", "id");
      assert(Number.isInteger(json.created), "created");
      const [choice] = json.choices;
      assertEquals([choice.index, choice.message.role], [0, "assistant"]);
      assert(choice.message.content.length > 0, "content");
      assert(["stop", "length"].includes(choice.finish_reason), choice.finish_reason);
      const { prompt_tokens, completion_tokens, total_tokens } = json.usage;
      assert(prompt_tokens > 0 && completion_tokens > 0, "usage");
      assertEquals(total_tokens, prompt_tokens + completion_tokens);
    },
  },
  {
    holds: "a stream is well-formed: role first, one finish, [DONE] last, one id, no usage unasked",
    async run(target) {
      const chunks = await stream(target, {});
      assert(textOf(chunks).length > 0, "text");
      assertEquals(new Set(chunks.map(({ id }) => id)).size, 1);
      assertEquals(new Set(chunks.map(({ model }) => model)), new Set([target.models.chat]));
      assert(chunks.every(({ object }) => object === "chat.completion.chunk"), "object");
      assert(chunks.every(({ usage }) => usage === undefined || usage === null), "usage unasked");
    },
  },
  {
    holds: "usage in a stream comes once, when asked for, in a last chunk without choices",
    async run(target) {
      const chunks = await stream(target, { stream_options: { include_usage: true } });
      const last = chunks.pop();
      assertEquals(last.choices, []);
      assert(last.usage.total_tokens > 0, "usage");
      assert(chunks.every(({ usage }) => usage === undefined || usage === null), "usage earlier");
    },
  },
  {
    holds: "a demanded tool is called with JSON arguments",
    async run(target) {
      const { json } = ok(
        await chat(target, { messages: ASK, tools: TOOLS, tool_choice: "required" }),
      );
      const [choice] = json.choices;
      assertEquals(choice.finish_reason, "tool_calls");
      const [call] = choice.message.tool_calls;
      assertEquals(call.type, "function");
      assert(call.id.length > 0, "id");
      assert(typeof JSON.parse(call.function.arguments).city === "string", "arguments");
    },
  },
  {
    holds: "a streamed call has id, type and name in its first piece only, and whole arguments",
    async run(target) {
      const chunks = await stream(target, {
        messages: ASK,
        tools: TOOLS,
        tool_choice: { type: "function", function: { name: "get_weather" } },
      });
      const pieces = chunks.flatMap(({ choices }) => choices[0]?.delta?.tool_calls ?? [])
        .filter(({ index }) => index === 0);
      assertEquals(pieces[0].function.name, "get_weather");
      const args = pieces.map((piece) => piece.function.arguments ?? "").join("");
      assert(typeof JSON.parse(args).city === "string", args);
    },
  },
  {
    holds: "the results of two parallel calls are taken back",
    async run(target) {
      const calls = ["get_weather", "get_population"].map((name, at) => ({
        id: `call_${at}`,
        type: "function",
        function: { name, arguments: '{"city":"Paris"}' },
      }));
      const { json } = ok(
        await chat(target, {
          tools: TOOLS,
          messages: [
            ...says("Weather and population of Paris?"),
            { role: "assistant", content: null, tool_calls: calls },
            { role: "tool", tool_call_id: "call_1", content: "2 million" },
            { role: "tool", tool_call_id: "call_0", content: "sunny" },
          ],
        }),
      );
      assert(json.choices[0].message.content.length > 0, "content");
    },
  },
  {
    holds: "an answer that meets max_tokens or max_completion_tokens ends with length",
    async run(target) {
      for (const limit of ["max_tokens", "max_completion_tokens"]) {
        const { json } = ok(
          await chat(target, {
            messages: says("Count from one to three hundred in words."),
            max_tokens: undefined,
            [limit]: 16,
          }),
        );
        assertEquals(json.choices[0].finish_reason, "length", limit);
        assert(json.usage.completion_tokens <= 16, limit);
      }
    },
  },
  {
    holds: "an answer ends before a stop sequence, with stop",
    async run(target) {
      const { json } = ok(
        await chat(target, { messages: says("Repeat exactly: one STOP two"), stop: ["STOP"] }),
      );
      const [choice] = json.choices;
      assert(!String(choice.message.content).includes("STOP"), choice.message.content);
      assertEquals(choice.finish_reason, "stop");
    },
  },
  {
    holds: "n: 2 gives two choices, streamed and not",
    async run(target) {
      const { json } = ok(await chat(target, { n: 2 }));
      assertEquals(json.choices.map(({ index }: Json) => index), [0, 1]);
      const { text } = ok(await chat(target, { n: 2, stream: true }));
      const ended = eventsOf(text).flatMap(({ data }) => data.choices ?? [])
        .filter(({ finish_reason }: Json) => finish_reason !== null)
        .map(({ index }: Json) => index);
      assertEquals(ended.sort(), [0, 1]);
    },
  },
  {
    holds: "a JSON schema is answered with JSON of it",
    async run(target) {
      const { json } = ok(
        await chat(target, {
          messages: says("The capital of France as JSON."),
          response_format: {
            type: "json_schema",
            json_schema: { name: "capital", strict: true, schema: SCHEMA },
          },
        }),
      );
      assertEquals(typeof JSON.parse(json.choices[0].message.content).city, "string");
    },
  },
  {
    holds: "system, developer and content parts are taken; bytes beyond ASCII survive a stream",
    async run(target) {
      const chunks = await stream(target, {
        messages: [
          { role: "system", content: "You repeat." },
          { role: "developer", content: "Repeat what you are given, nothing else." },
          { role: "user", content: [{ type: "text", text: "héllo wörld 世界 🎈" }] },
        ],
      });
      const text = textOf(chunks);
      assert(!text.includes("\ufffd"), "replacement characters");
      assert(text.includes("世界") && text.includes("🎈"), text);
    },
  },
  {
    holds: "errors have message, type, code and param: 401, 404, 400 for the right causes",
    async run(target) {
      const strange = { ...target, key: "sk-00000000000000000000000000000000" };
      const wrong: [Answered, number][] = [
        [await chat(strange, {}), 401],
        [await chat(target, { model: "no-such-model" }), 404],
        [await chat(target, { messages: undefined }), 400],
        [await chat(target, { temperature: 9 }), 400],
        [await send(target, "/v1/chat/completions", { body: "{not json" }), 400],
      ];
      for (const [{ status, json, text }, expected] of wrong) {
        assertEquals(status, expected, text.slice(0, 160));
        assertEquals(Object.keys(json.error).sort(), ["code", "message", "param", "type"]);
        assert(json.error.message.length > 0, "message");
      }
    },
  },
];
