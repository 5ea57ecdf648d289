import fc from "fast-check";
import { DIALECT_NAMES, DIALECTS, type JsonObject } from "../../../src/wire/dialects/mod.ts";
import {
  chatToGenerate,
  chatToMessages,
  chatToResponses,
  messagesToChat,
  messagesToGenerate,
  parseChat,
  parseMessages,
  SEALER,
} from "./ends.ts";
import { plainBody } from "./shared_fields.ts";
import { assert, assertEquals } from "../../assert.ts";
import { checkGenerateRequest } from "../../fake/generate.ts";
import { sized } from "../../tier.ts";

const OPTIONS = { model: "m", upstream: "up", permittedOutput: 500, shaping: {} };

/** A chat request as a messages upstream gets it. */
function toMessages(body: JsonObject): JsonObject {
  return chatToMessages.request(parseChat(body), OPTIONS).body;
}

/** A messages request as a chat upstream gets it. */
function toChat(body: JsonObject): JsonObject {
  return messagesToChat.request(parseMessages(body), OPTIONS).body;
}

const word = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 })
  .filter((one) => one.trim() === one && one !== "");
const name = fc.stringMatching(/^[a-z_]{1,12}$/);
const values = fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), fc.oneof(word, fc.integer()));
const image = fc.constantFrom("https://host.example/a.png", "data:image/png;base64,AAAA");

/** What both dialects can say in one exchange: a user's turn, calls with their results, an answer. */
const exchange = fc.record({
  text: word,
  image: fc.option(image, { nil: undefined }),
  reasoning: fc.option(word, { nil: undefined }),
  saying: fc.option(word, { nil: undefined }),
  calls: fc.array(fc.record({ name, args: values, result: word }), { maxLength: 3 }),
  answer: word,
});
const request = fc.record({
  system: fc.option(word, { nil: undefined }),
  exchanges: fc.array(exchange, { minLength: 1, maxLength: 4 }),
  tools: fc.uniqueArray(fc.record({ name, description: word, schema: values }), {
    selector: (tool) => tool.name,
    maxLength: 3,
  }),
  choice: fc.constantFrom("auto", "none", "required", "named", undefined),
  parallel: fc.constantFrom(false, undefined),
  stop: fc.array(word, { maxLength: 4 }),
  temperature: fc.double({ min: 0, max: 1, noNaN: true }),
  topP: fc.double({ min: 0, max: 1, noNaN: true }),
  schema: fc.option(values, { nil: undefined }),
});
type Generated = typeof request extends fc.Arbitrary<infer T> ? T : never;

const schemaOf = (schema: Record<string, unknown>) => ({
  type: "object",
  properties: schema as JsonObject,
});

/** The request in the words of chat. */
function chatBody(asked: Generated): JsonObject {
  const messages: JsonObject[] = asked.system === undefined
    ? []
    : [{ role: "system", content: asked.system }];
  asked.exchanges.forEach(({ text, image: url, reasoning, saying, calls, answer }, at) => {
    messages.push({
      role: "user",
      content: url === undefined
        ? text
        : [{ type: "text", text }, { type: "image_url", image_url: { url } }],
    });
    if (calls.length > 0) {
      messages.push({
        role: "assistant",
        content: saying ?? null,
        ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
        tool_calls: calls.map((call, index) => ({
          id: `call_${at}_${index}`,
          type: "function",
          function: { name: call.name, arguments: JSON.stringify(call.args) },
        })),
      });
      calls.forEach(({ result }, index) =>
        messages.push({ role: "tool", tool_call_id: `call_${at}_${index}`, content: result })
      );
    }
    messages.push({ role: "assistant", content: answer });
  });
  const [first] = asked.tools;
  return {
    model: "m",
    messages,
    max_tokens: 500,
    temperature: asked.temperature,
    top_p: asked.topP,
    ...(first === undefined ? {} : {
      tools: asked.tools.map((tool) => ({
        type: "function",
        function: {
          name: tool.name,
          description: tool.description,
          parameters: schemaOf(tool.schema),
        },
      })),
      ...(asked.choice === undefined ? {} : {
        tool_choice: asked.choice === "named"
          ? { type: "function", function: { name: first.name } }
          : asked.choice,
      }),
      ...(asked.parallel === undefined || asked.choice === undefined || asked.choice === "none"
        ? {}
        : { parallel_tool_calls: asked.parallel }),
    }),
    ...(asked.stop.length === 0 ? {} : { stop: asked.stop }),
    ...(asked.schema === undefined ? {} : {
      response_format: {
        type: "json_schema",
        json_schema: { name: "response", strict: true, schema: schemaOf(asked.schema) },
      },
    }),
  };
}

Deno.test("a chat request → messages → chat is the same request (property)", () => {
  fc.assert(
    fc.property(request, (asked) => {
      const body = chatBody(asked);
      assertEquals<unknown>(toChat(toMessages(body)), body);
    }),
    { numRuns: sized(40, 500) },
  );
});

Deno.test("a messages request → chat → messages is the same request (property)", () => {
  fc.assert(
    fc.property(request, (asked) => {
      const body = toMessages(chatBody(asked));
      assertEquals<unknown>(toMessages(toChat(body)), body);
    }),
    { numRuns: sized(40, 500) },
  );
});

Deno.test("a request is one that Gemini takes, and the same from chat and from messages (property)", () => {
  fc.assert(
    fc.property(request, (asked) => {
      const body = chatBody(asked);
      const written = chatToGenerate.request(parseChat(body), OPTIONS);
      checkGenerateRequest(written.body);
      const ofMessages = messagesToGenerate.request(parseMessages(toMessages(body)), OPTIONS);
      assertEquals<unknown>(ofMessages.body, written.body);
      // nothing that was said is missing, but thoughts that Gemini did not have
      const sent = JSON.stringify(written.body);
      const said = asked.exchanges.flatMap(({ text, saying, calls, answer }) => [
        text,
        answer,
        ...(calls.length === 0 ? [] : [saying ?? ""]),
        ...calls.flatMap(({ name, args, result }) => [name, JSON.stringify(args), result]),
      ]);
      for (const one of said) {
        assert(sent.includes(one.startsWith("{") ? one : JSON.stringify(one).slice(1, -1)), one);
      }
      const reasons = asked.exchanges.some(({ reasoning, calls }) => reasoning && calls.length > 0);
      const names = [
        ...(asked.tools.length > 0 && body.parallel_tool_calls === false
          ? ["parallel_tool_calls"]
          : []),
        ...(reasons ? ["messages.reasoning_content"] : []),
      ];
      assertEquals(written.dropped.toSorted(), names.toSorted());
    }),
    { numRuns: sized(60, 1_000) },
  );
});

Deno.test("two ids of a user stay what they are between chat and responses", () => {
  const ids = { user: "ada", safety_identifier: "hash" };
  const asked = parseChat({ model: "m", messages: [{ role: "user", content: "Hi" }], ...ids });
  const { body, dropped } = chatToResponses.request(asked, OPTIONS);
  assertEquals([body.user, body.safety_identifier, dropped], ["ada", "hash", []]);
});

Deno.test("names of tools go on as they are where the dialect is carried: which are legal is the provider's affair", () => {
  const name = `a.server/tool:${"x".repeat(130)}`;
  const tools = {
    chat: { type: "function", function: { name } },
    messages: { name, input_schema: { type: "object" } },
    responses: { type: "function", name, parameters: null, strict: null },
  };
  for (const dialect of DIALECT_NAMES) {
    const { front, carry } = DIALECTS[dialect];
    const body = { ...plainBody(dialect), tools: [tools[dialect]] };
    const request = front.parse(body, () => null, SEALER);
    const options = { model: "up", upstream: "up", permittedOutput: 100, shaping: {} };
    const written = carry.request(request, options);
    assertEquals<unknown>([written.body.tools, written.toolNames], [[tools[dialect]], undefined]);
  }
});
