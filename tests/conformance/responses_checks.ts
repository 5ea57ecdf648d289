import { z } from "zod";
import { assert, assertEquals, assertMatch } from "../assert.ts";
import { eventsOf } from "../wire/dialects/legal_streams.ts";
import type { Check } from "./checks.ts";
import { compactionObject, responseObject, streamEvent } from "./responses_schema.ts";
import { type Answered, type Json, responses, says, send, type Target } from "./target.ts";

export const WEATHER = {
  type: "function",
  name: "get_weather",
  description: "Get the current weather for a location",
  parameters: {
    type: "object",
    properties: { location: { type: "string", description: "City, e.g. San Francisco, CA" } },
    required: ["location"],
  },
};
/** A simulated model calls a tool when it is told so; others take it for noise. */
const ASK_WEATHER = says(
  'What\'s the weather like in San Francisco? [[call get_weather {"location":"San Francisco"}]]',
);

const PNG = btoa(String.fromCharCode(
  ...await Deno.readFile(new URL("../requests/images/files/rgb.png", import.meta.url)),
));

function ok({ status, text, json }: Answered): Json {
  assertEquals(status, 200, `status ${status}: ${text.slice(0, 160)}`);
  return json;
}

/** Holds an object against a schema; the error names what is wrong and where. */
export function conform(schema: z.ZodType, value: unknown): void {
  const { error } = schema.safeParse(value);
  assert(error === undefined, error && z.prettifyError(error));
}

/** Holds a response against its schema and the model as asked, complete, with output. */
function complete(target: Target, response: Json): void {
  conform(responseObject, response);
  assertEquals([response.status, response.model], ["completed", target.models.responses]);
  assert(response.output.length > 0, "output");
  assert(response.usage !== null && response.completed_at !== null, "usage and completed_at");
}

async function completed(target: Target, body: Record<string, unknown>): Promise<Json> {
  const response = ok(await responses(target, body));
  complete(target, response);
  return response;
}

/** Holds the events of a response against their schema, and returns the response at their end. */
export function conformingEvents(target: Target, events: readonly Json[]): Json {
  for (const event of events) conform(streamEvent, event);
  assertEquals(events.map((one) => one.sequence_number), events.map((_, at) => at), "numbers");
  assertEquals(events.slice(0, 2).map(({ type }) => type), [
    "response.created",
    "response.in_progress",
  ]);
  const { type, response } = events.at(-1);
  assertEquals(type, "response.completed", JSON.stringify(response?.error));
  complete(target, response);
  const ids = events.flatMap((one) => one.response?.id ?? []);
  assertEquals(new Set(ids).size, 1, "one response id");
  for (const kind of ["added", "done"]) {
    const items = events.filter((one) => one.type === `response.output_item.${kind}`);
    assertEquals(items.map(({ item }) => item.id), response.output.map(({ id }: Json) => id), kind);
  }
  return response;
}

async function streamed(target: Target, body: Record<string, unknown>): Promise<Json> {
  const answered = await responses(target, { ...body, stream: true });
  ok(answered);
  assertMatch(answered.headers.get("content-type") ?? "none", /^text\/event-stream/);
  const events = eventsOf(answered.text);
  assertEquals(events.at(-1)?.data, "[DONE]");
  for (const { event, data } of events.slice(0, -1)) assertEquals(event, data.type);
  return conformingEvents(target, events.slice(0, -1).map(({ data }) => data));
}

export const messageOf = ({ output }: Json): Json =>
  output.find(({ type }: Json) => type === "message");

/**
 * What clients of `POST /v1/responses` rely on. Those with a name in front ask what the Open Responses compliance suite asks
 * under that name.
 */
export const responsesChecks: readonly Check[] = [
  {
    holds: "basic-response: a response has every field of its schema, and output",
    async run(target) {
      const response = await completed(target, { input: says("Say hello in exactly 3 words.") });
      assert(messageOf(response).content[0].text.length > 0, "text");
    },
  },
  {
    holds: "assistant-phase: messages of earlier turns may have a phase",
    async run(target) {
      const said = (phase: string, text: string) => ({
        type: "message",
        role: "assistant",
        phase,
        content: [{ type: "output_text", text, annotations: [] }],
      });
      await completed(target, {
        input: [
          { type: "message", role: "user", content: "Say hi." },
          said("commentary", "I will greet you."),
          said("final_answer", "Hi!"),
          { type: "message", role: "user", content: "Once more." },
        ],
      });
    },
  },
  {
    holds: "response-output-phase-schema: a message with a phase fits the schema",
    run() {
      const message = { id: "msg_1", type: "message", status: "completed", role: "assistant" };
      const part = { type: "output_text", text: "Hi", annotations: [] };
      for (const phase of ["commentary", "final_answer"]) {
        conform(streamEvent, {
          type: "response.output_item.done",
          sequence_number: 0,
          output_index: 0,
          item: { ...message, content: [part], phase },
        });
      }
      return Promise.resolve();
    },
  },
  {
    holds: "streaming-response: every event fits its schema, and the last has the whole response",
    async run(target) {
      const response = await streamed(target, { input: says("Count from 1 to 5.") });
      assert(messageOf(response).content[0].text.length > 0, "text");
    },
  },
  {
    holds: "system-prompt: a system message is taken",
    async run(target) {
      await completed(target, {
        input: [
          { type: "message", role: "system", content: "You are a pirate." },
          { type: "message", role: "user", content: "Say hello." },
        ],
      });
    },
  },
  {
    holds: "tool-calling: a tool is called unforced, and repeated with all its fields",
    async run(target) {
      for (const run of [completed, streamed]) {
        const { output, tools } = await run(target, { input: ASK_WEATHER, tools: [WEATHER] });
        const call = output.find(({ type }: Json) => type === "function_call");
        assert(call !== undefined, "a function_call");
        assertEquals([call.name, call.status], ["get_weather", "completed"]);
        assertEquals(typeof JSON.parse(call.arguments).location, "string");
        assertEquals(tools, [{ ...WEATHER, strict: tools[0].strict }]);
      }
    },
  },
  {
    holds: "image-input: an image as a data URL is taken",
    async run(target) {
      const content = [
        { type: "input_text", text: "What do you see? Answer in one sentence." },
        { type: "input_image", image_url: `data:image/png;base64,${PNG}` },
      ];
      await completed(target, { input: [{ type: "message", role: "user", content }] });
    },
  },
  {
    holds: "multi-turn: the assistant's earlier messages may be strings",
    async run(target) {
      await completed(target, {
        input: [
          { type: "message", role: "user", content: "My name is Alice." },
          { type: "message", role: "assistant", content: "Hello Alice!" },
          { type: "message", role: "user", content: "What is my name?" },
        ],
      });
    },
  },
  {
    holds: "compact-response: a conversation is compacted to an item that a later request may hold",
    async run(target) {
      const compacted = ok(
        await send(target, "/v1/responses/compact", {
          body: {
            model: target.models.responses,
            input: says("Remember: the launch code is 42."),
            prompt_cache_key: "compact-check",
          },
        }),
      );
      conform(compactionObject, compacted);
      assert(compacted.output.some(({ type }: Json) => type === "compaction"), "compaction");
      await completed(target, { input: [...compacted.output, ...says("Go on.")], tools: [] });
    },
  },
  {
    holds: "compact-missing-model: without a model it is 400 or 422",
    async run(target) {
      const { status } = await send(target, "/v1/responses/compact", { body: { input: "Hi" } });
      assert([400, 422].includes(status), `status ${status}`);
    },
  },
  {
    holds: "a string is input, and instructions come back",
    async run(target) {
      const response = await completed(target, { input: "Hello", instructions: "Be brief." });
      assertEquals(response.instructions, "Be brief.");
    },
  },
  {
    holds: "the output of parallel calls is taken back in any order, as text or parts",
    async run(target) {
      const call = (id: string) => ({
        type: "function_call",
        call_id: id,
        name: "get_weather",
        arguments: '{"location":"Paris"}',
      });
      await completed(target, {
        tools: [WEATHER],
        input: [
          ...says("Weather here and there?"),
          call("call_0"),
          call("call_1"),
          { type: "function_call_output", call_id: "call_1", output: "rain" },
          {
            type: "function_call_output",
            call_id: "call_0",
            output: [{ type: "input_text", text: "sun" }],
          },
        ],
      });
    },
  },
  {
    holds: "a response that meets max_output_tokens is incomplete, and says why",
    async run(target) {
      const response = ok(
        await responses(target, {
          input: says("Count from one to three hundred in words."),
          max_output_tokens: 16,
        }),
      );
      conform(responseObject, response);
      assertEquals([response.status, response.incomplete_details], ["incomplete", {
        reason: "max_output_tokens",
      }]);
    },
  },
  {
    holds: "a JSON schema is answered with JSON of it",
    async run(target) {
      const format = {
        type: "json_schema",
        name: "capital",
        strict: true,
        schema: {
          type: "object",
          properties: { city: { type: "string" } },
          required: ["city"],
          additionalProperties: false,
        },
      };
      const response = await completed(target, {
        input: says("The capital of France as JSON."),
        text: { format },
      });
      assertEquals(typeof JSON.parse(messageOf(response).content[0].text).city, "string");
    },
  },
  {
    holds: "unknown fields and options of other services are taken",
    async run(target) {
      await completed(target, {
        input: says("Hello"),
        x_unknown: { deep: [1] },
        client_metadata: { session: "s" },
        include: ["reasoning.encrypted_content", "web_search_call.results"],
        reasoning: { effort: "low", summary: "auto" },
        store: false,
        truncation: "auto",
        metadata: { a: "b" },
        safety_identifier: "someone",
      });
    },
  },
  {
    holds: "errors have message, type, code and param: 401, 404, 400 for the right causes",
    async run(target) {
      const strange = { ...target, key: "sk-00000000000000000000000000000000" };
      const output = { type: "function_call_output", call_id: "call_none", output: "x" };
      const wrong: [Answered, number][] = [
        [await responses(strange, {}), 401],
        [await responses(target, { model: "no-such-model" }), 404],
        [await responses(target, { input: undefined }), 400],
        [await responses(target, { input: [] }), 400],
        [await responses(target, { input: [output] }), 400],
        [await responses(target, { temperature: 9 }), 400],
        [await responses(target, { background: true }), 400],
        [await responses(target, { previous_response_id: "resp_none" }), 400],
        [await send(target, "/v1/responses", { body: "{not json" }), 400],
      ];
      for (const [{ status, json, text }, expected] of wrong) {
        assertEquals(status, expected, text.slice(0, 160));
        assertEquals(Object.keys(json.error).sort(), ["code", "message", "param", "type"]);
        assert(json.error.message.length > 0, "message");
      }
    },
  },
];
