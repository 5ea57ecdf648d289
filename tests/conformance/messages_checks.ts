import { assert, assertEquals, assertMatch } from "../assert.ts";
import { checkMessagesStream, eventsOf, type Rebuilt } from "../wire/dialects/legal_streams.ts";
import type { Check } from "./checks.ts";
import { type Answered, type Json, messages, says, send, type Target } from "./target.ts";

const TOOLS = ["get_weather", "get_population"].map((name) => ({
  name,
  description: "About a city",
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
}));
const ASK = says("Use the tool: what is the weather in Paris?");

function ok(answered: Answered): Answered {
  assertEquals(answered.status, 200, `status ${answered.status}: ${answered.text.slice(0, 160)}`);
  return answered;
}

async function stream(
  target: Target,
  body: Record<string, unknown>,
): Promise<Rebuilt & { datas: Json[] }> {
  const { headers, text } = ok(await messages(target, { ...body, stream: true }));
  assertMatch(headers.get("content-type") ?? "none", /^text\/event-stream/);
  return { ...checkMessagesStream(text), datas: eventsOf(text).map(({ data }) => data) };
}

const textOf = (content: readonly Json[]) => content.map((block) => block.text ?? "").join("");

/** What clients of `POST /v1/messages` rely on. */
export const messagesChecks: readonly Check[] = [
  {
    holds: "a message has id, type, role, the model as asked, content, stop_reason and usage",
    async run(target) {
      const { json } = ok(await messages(target, { system: "Be brief." }));
      assertEquals([json.type, json.role, json.model], [
        "message",
        "assistant",
        target.models.messages,
      ]);
      assert(textOf(json.content).length > 0, "content");
      assert(["end_turn", "max_tokens"].includes(json.stop_reason), json.stop_reason);
      assertEquals(json.stop_sequence, null);
      assert(json.usage.input_tokens > 0 && json.usage.output_tokens > 0, "usage");
    },
  },
  {
    holds: "a stream is well-formed: one message_start, dense blocks, deltas that fit, one stop",
    async run(target) {
      const { blocks, failed, datas } = await stream(target, {});
      assertEquals(failed, false);
      assert(textOf(blocks).length > 0, "text");
      const start = datas.find(({ type }) => type === "message_start");
      assertEquals(start.message.model, target.models.messages);
    },
  },
  {
    holds: "a stream's last message_delta has the output tokens",
    async run(target) {
      const { datas } = await stream(target, {});
      const last = datas.findLast(({ type }) => type === "message_delta");
      assert(last.usage.output_tokens > 0, JSON.stringify(last.usage));
    },
  },
  {
    holds: "a demanded tool is used, with an object as input",
    async run(target) {
      const { json } = ok(
        await messages(target, { messages: ASK, tools: TOOLS, tool_choice: { type: "any" } }),
      );
      const use = json.content.find(({ type }: Json) => type === "tool_use");
      assertEquals(json.stop_reason, "tool_use");
      assert(use.id.length > 0 && typeof use.input.city === "string", JSON.stringify(use));
    },
  },
  {
    holds: "a streamed tool's input_json_delta pieces join to JSON",
    async run(target) {
      const { blocks, stopReason } = await stream(target, {
        messages: ASK,
        tools: TOOLS,
        tool_choice: { type: "tool", name: "get_weather" },
      });
      const use = blocks.find(({ type }) => type === "tool_use")!;
      assertEquals([use.name, stopReason], ["get_weather", "tool_use"]);
      assertEquals(typeof JSON.parse(use.text).city, "string");
    },
  },
  {
    holds: "results of parallel tools are taken back: text, blocks, errors, in any order",
    async run(target) {
      const use = (id: string, name: string) => ({
        type: "tool_use",
        id,
        name,
        input: { city: "Paris" },
      });
      const { json } = ok(
        await messages(target, {
          tools: TOOLS,
          messages: [
            ...says("Weather and population of Paris?"),
            {
              role: "assistant",
              content: [use("toolu_0", "get_weather"), use("toolu_1", "get_population")],
            },
            {
              role: "user",
              content: [
                { type: "tool_result", tool_use_id: "toolu_1", content: "gone", is_error: true },
                {
                  type: "tool_result",
                  tool_use_id: "toolu_0",
                  content: [{ type: "text", text: "sunny" }],
                },
                { type: "text", text: "Go on." },
              ],
            },
          ],
        }),
      );
      assert(json.content.length > 0, "content");
    },
  },
  {
    holds: "an answer that meets max_tokens ends with max_tokens",
    async run(target) {
      const { json } = ok(
        await messages(target, {
          messages: says("Count from one to three hundred in words."),
          max_tokens: 16,
        }),
      );
      assertEquals(json.stop_reason, "max_tokens");
      assert(json.usage.output_tokens <= 16, "usage");
    },
  },
  {
    holds: "an answer that meets a stop sequence names it",
    async run(target) {
      const { json } = ok(
        await messages(target, {
          messages: says("Repeat exactly: one STOP two"),
          stop_sequences: ["STOP"],
        }),
      );
      assert(!textOf(json.content).includes("STOP"), textOf(json.content));
      assertEquals([json.stop_reason, json.stop_sequence], ["stop_sequence", "STOP"]);
    },
  },
  {
    holds: "system blocks, cache markers, metadata and unknown fields are taken",
    async run(target) {
      ok(
        await messages(target, {
          system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
          metadata: { user_id: "someone" },
          x_unknown: { deep: [1] },
        }),
      );
    },
  },
  {
    holds: "bytes beyond ASCII survive a stream",
    async run(target) {
      const { blocks } = await stream(target, {
        system: "Repeat what you are given, nothing else.",
        messages: says("héllo wörld 世界 🎈"),
      });
      const text = textOf(blocks);
      assert(!text.includes("\ufffd"), "replacement characters");
      assert(text.includes("世界") && text.includes("🎈"), text);
    },
  },
  {
    holds: "count_tokens counts system, tools and messages",
    async run(target) {
      const count = async (body: Json): Promise<number> => {
        const { json } = ok(
          await send(target, "/v1/messages/count_tokens", {
            body: { model: target.models.messages, messages: says("Hello"), ...body },
          }),
        );
        return json.input_tokens;
      };
      const plain = await count({});
      assert(plain > 0, `${plain}`);
      assert(await count({ system: "You are a helpful machine." }) > plain, "system");
      assert(await count({ tools: TOOLS }) > plain, "tools");
    },
  },
  {
    holds: "query strings do not change routing; either key header is taken",
    async run(target) {
      const body = { model: target.models.messages, max_tokens: 20, messages: says("Hi") };
      ok(await send(target, "/v1/messages?beta=true", { body }));
      const { status } = await send({ ...target, key: "" }, "/v1/messages", {
        body,
        headers: { authorization: "", "x-api-key": target.key },
      });
      assertEquals(status, 200);
    },
  },
  {
    holds: "errors have type, error.type and error.message: 401, 404, 400 for the right causes",
    async run(target) {
      const strange = { ...target, key: "sk-00000000000000000000000000000000" };
      const wrong: [Answered, number, string][] = [
        [await messages(strange, {}), 401, "authentication_error"],
        [await messages(target, { model: "no-such-model" }), 404, ""],
        [await messages(target, { max_tokens: undefined }), 400, "invalid_request_error"],
        [await messages(target, { messages: [] }), 400, "invalid_request_error"],
        [await send(target, "/v1/messages", { body: "{not json" }), 400, "invalid_request_error"],
      ];
      for (const [{ status, json, text }, expected, type] of wrong) {
        assertEquals(status, expected, text.slice(0, 160));
        assertEquals(json.type, "error");
        if (type !== "") assertEquals(json.error.type, type);
        assert(json.error.message.length > 0, "message");
      }
    },
  },
];
