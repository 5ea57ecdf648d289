/** Calls as chat upstreams are known to send them, mixed at random: every client gets the calls that were meant. */

import fc from "fast-check";
import {
  bridgeBetween,
  type DialectName,
  type JsonObject,
  SseDecoder,
  wholeOfStream,
} from "../../../src/wire/dialects/mod.ts";
import { assertEquals } from "../../assert.ts";
import { hear } from "../../flow/heard.ts";
import { sized } from "../../tier.ts";
import { clientStream, contextOf, parseChat, parseMessages, parseResponses } from "./ends.ts";
import { eventsOfWhole, plainReply, type Reply, streamText, wholeOf } from "./reply_forms.ts";

/** Each begins with the one before, but the last. */
const NAMES = ["a", "ab", "abcab", "b"];
const messages = [{ role: "user", content: "Hi" }];
const REQUESTS = {
  chat: parseChat({ model: "m", stream: true, messages }),
  messages: parseMessages({ model: "m", stream: true, max_tokens: 100, messages }),
  responses: parseResponses({ model: "m", stream: true, input: "Hi" }),
};
const USAGE = { prompt_tokens: 3, completion_tokens: 1 };
const written = { offered: NAMES };

/** A call, and how it is sent. */
const CALL = fc.record({
  name: fc.constantFrom(...NAMES),
  args: fc.dictionary(
    fc.constantFrom("", "a", "{", '"', "é\\"),
    fc.oneof(fc.string(), fc.constantFrom('{"', '"}', "\\", "{}", "[]", "null"), fc.integer()),
    { maxKeys: 3 },
  ),
  nameInPieces: fc.boolean(),
  begin: fc.constantFrom("", "{}", "[]", "null", {}, undefined),
  form: fc.constantFrom(
    "pieces",
    "pieces",
    "growing",
    "again",
    "again with name",
    "encoded",
    "object",
  ),
  isFlat: fc.boolean(),
});
type Call = typeof CALL extends fc.Arbitrary<infer T> ? T : never;

/** In pieces of two characters the second piece is the first once more, and yet goes on: chance finds it in few runs. */
const SELF_LIKE: Call = {
  name: "a",
  args: { "{": 1 },
  nameInPieces: false,
  begin: undefined,
  form: "pieces",
  isFlat: false,
};
const TOLD = { repeatsId: false, hasEnd: true, isObject: false };

/** A text in pieces of a few characters. */
const cut = (text: string, size: number) =>
  Array.from(
    { length: Math.ceil(text.length / size) },
    (_, at) => text.slice(at * size, (at + 1) * size),
  );

/** Functions of the pieces of a call. */
function piecesOf({ name, args, nameInPieces, begin, form }: Call, size: number): JsonObject[] {
  const text = JSON.stringify(args);
  const names = nameInPieces
    ? [...name].map((one): JsonObject => ({ name: one, arguments: "" }))
    : [{ name } as JsonObject];
  if (begin !== undefined) names.at(-1)!.arguments = begin;
  const pieces = cut(form === "encoded" ? JSON.stringify(text) : text, size);
  const rest = form === "object"
    ? [args]
    : form === "growing"
    ? ["{", ...pieces.map((_, at) => pieces.slice(0, at + 1).join(""))]
    : pieces;
  const all = [...names, ...rest.map((one): JsonObject => ({ arguments: one as JsonObject }))];
  if (form === "again") all.push({ arguments: text });
  return form === "again with name" ? [...all, { name, arguments: text }] : all;
}

const expected = (calls: readonly Call[]) =>
  calls.map(({ name, args }) => name + JSON.stringify(args));

async function heardOf(front: DialectName, text: string, back: "chat" | "messages" = "chat") {
  const context = contextOf(REQUESTS[front], { written });
  const sent = clientStream(bridgeBetween(front, back).stream(context), text);
  const headers = { "content-type": "text/event-stream" };
  const whole = wholeOfStream(front, back, context);
  for (const one of new SseDecoder().push(new TextEncoder().encode(text))) {
    if (!whole.done) whole.push(one);
  }
  return {
    streamed: (await hear(front, new Response(sent, { headers })))[0].calls,
    "stream as whole": (await hear(front, Response.json(whole.reply().body)))[0].calls,
  };
}

Deno.test("streamed calls are those that were meant, however their pieces are sent", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(CALL, { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 1, max: 9 }),
      fc.record({ repeatsId: fc.boolean(), hasEnd: fc.boolean(), isObject: fc.boolean() }),
      async (calls, size, { repeatsId, hasEnd, isObject }) => {
        const chunks = calls.flatMap((call, index) =>
          piecesOf(call, size).map((own, at): JsonObject => {
            const id = at === 0 || repeatsId ? { id: `c${index}`, type: "function" } : {};
            const piece = { index, ...id, ...(call.isFlat ? own : { function: own }) };
            return { delta: { tool_calls: isObject ? piece : [piece] } };
          })
        );
        if (hasEnd) chunks.push({ delta: {}, finish_reason: "stop" });
        const text =
          chunks.map((one) => `data: ${JSON.stringify({ choices: [{ index: 0, ...one }] })}\n\n`)
            .join("") +
          `data: ${JSON.stringify({ choices: [], usage: USAGE })}\n\ndata: [DONE]\n\n`;
        // a text within a text is known to be whole at the end only
        fc.pre(hasEnd || calls.every(({ form }) => form !== "encoded"));
        for (const front of ["chat", "messages", "responses"] as const) {
          for (const [how, heard] of Object.entries(await heardOf(front, text))) {
            assertEquals(heard, expected(calls), `${front} ${how}: ${text}`);
          }
        }
      },
    ),
    { numRuns: sized(100, 5_000), examples: [[[SELF_LIKE], 2, TOLD]] },
  );
});

Deno.test("calls of one tool under one index, or none, stay apart where each begins without arguments", async () => {
  for (const place of [{ index: 0 }, {}]) {
    for (const args of ['{"q":1}', "{}"]) {
      const pieces = ["c0", "c1"].flatMap((id) => [
        { ...place, id, type: "function", function: { name: "a", arguments: "" } },
        ...cut(args, 3).map((one) => ({ ...place, function: { arguments: one } })),
      ]);
      const deltas = [...pieces.map((piece) => ({ tool_calls: [piece] })), {}];
      const text = deltas.map((delta, at) => {
        const finish_reason = at === pieces.length ? "tool_calls" : null;
        return `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
      }).join("") +
        `data: ${JSON.stringify({ choices: [], usage: USAGE })}\n\ndata: [DONE]\n\n`;
      for (const front of ["chat", "messages", "responses"] as const) {
        for (const [how, heard] of Object.entries(await heardOf(front, text))) {
          assertEquals(heard, [`a${args}`, `a${args}`], `${front} ${how}: ${text}`);
        }
      }
    }
  }
});

Deno.test("calls of a whole reply are those that were meant, in whatever form", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(CALL, { minLength: 1, maxLength: 3 }),
      fc.boolean(),
      async (calls, isObject) => {
        const all = calls.map(({ name, args, form, isFlat }, at): JsonObject => {
          const text = JSON.stringify(args);
          const own = {
            name,
            arguments: form === "object" ? args : form === "encoded" ? JSON.stringify(text) : text,
          };
          return { id: `c${at}`, type: "function", ...(isFlat ? own : { function: own }) };
        });
        for (const front of ["chat", "messages", "responses"] as const) {
          const body = structuredClone({
            choices: [{ message: { tool_calls: isObject ? { ...all } : all } }],
            usage: USAGE,
          });
          const context = contextOf(REQUESTS[front], { written });
          const reply = bridgeBetween(front, "chat").reply(body, context).body;
          assertEquals((await hear(front, Response.json(reply)))[0].calls, expected(calls), front);
        }
      },
    ),
    { numRuns: sized(100, 5_000) },
  );
});

Deno.test("calls of a messages stream are those that were meant, however their input is sent", async () => {
  const event = (type: string, more: JsonObject = {}) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
  await fc.assert(
    fc.asyncProperty(
      fc.array(CALL, { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 1, max: 9 }),
      fc.boolean(),
      async (calls, size, isInStart) => {
        const blocks = calls.map((call, index) => {
          const input = isInStart || call.form === "object" ? call.args : {};
          const block = { type: "tool_use", id: `t${index}`, name: call.name, input };
          const [, ...rest] = piecesOf({ ...call, nameInPieces: false }, size);
          const begin = typeof call.begin === "string" ? [call.begin] : [];
          const pieces = [...begin, ...rest.map(({ arguments: args }) => args!)]
            .filter((one) => typeof one === "string");
          return event("content_block_start", { index, content_block: block }) +
            pieces.map((partial_json) =>
              event("content_block_delta", {
                index,
                delta: { type: "input_json_delta", partial_json },
              })
            ).join("") + event("content_block_stop", { index });
        });
        const message = { id: "m", type: "message", role: "assistant", model: "m", content: [] };
        const usage = { input_tokens: 1, output_tokens: 1 };
        const text = event("message_start", { message: { ...message, usage } }) + blocks.join("") +
          event("message_delta", { delta: { stop_reason: "tool_use" }, usage }) +
          event("message_stop");
        for (const front of ["chat", "messages", "responses"] as const) {
          for (const [how, heard] of Object.entries(await heardOf(front, text, "messages"))) {
            assertEquals(heard, expected(calls), `${front} ${how}: ${text}`);
          }
        }
      },
    ),
    { numRuns: sized(100, 5_000) },
  );
});

Deno.test("the last call of a reply that was cut off before its arguments has none, which no client runs; others have empty ones", () => {
  const calls = ["a", "b"];
  const reply = (dialect: "chat" | "messages" | "responses", isCut: boolean): Reply => {
    const plain = plainReply(dialect);
    switch (dialect) {
      case "chat": {
        const tool_calls = calls.map((name) => ({
          id: `call_${name}`,
          type: "function",
          function: { name, arguments: "" },
        }));
        const message = { role: "assistant", content: null, tool_calls };
        const finish_reason = isCut ? "length" : "tool_calls";
        return { ...plain, choices: [{ ...plain.choices[0], message, finish_reason }] };
      }
      case "messages": {
        const content = calls.map((name) => ({ type: "tool_use", id: name, name, input: {} }));
        return { ...plain, content, stop_reason: isCut ? "max_tokens" : "tool_use" };
      }
      case "responses": {
        const output = calls.map((name, at) => ({
          id: `fc_${name}`,
          type: "function_call",
          status: isCut && at === 1 ? "incomplete" : "completed",
          call_id: `call_${name}`,
          name,
          arguments: "",
        }));
        const incomplete_details = { reason: "max_output_tokens" };
        return { ...plain, output, ...(isCut && { status: "incomplete", incomplete_details }) };
      }
    }
  };
  const argsOf = ({ choices: [{ message, finish_reason }] }: Reply) => [
    message.tool_calls.map(({ function: own }: Reply) => own.arguments),
    finish_reason,
  ];
  for (const dialect of ["chat", "messages", "responses"] as const) {
    for (const isCut of [true, false]) {
      const whole = reply(dialect, isCut);
      const events = eventsOfWhole(dialect, whole)
        .filter(({ delta }) => (delta as JsonObject)?.type !== "input_json_delta");
      const bridge = bridgeBetween("chat", dialect);
      const expected = isCut ? [["{}", ""], "length"] : [["{}", "{}"], "tool_calls"];
      const stream = bridge.stream(contextOf(REQUESTS.chat, { written }));
      const streamed = clientStream(stream, streamText(dialect, events));
      assertEquals(argsOf(wholeOf("chat", streamed)), expected, `${dialect}, streamed`);
      const { body } = bridge.reply(whole, contextOf(REQUESTS.chat, { written }));
      assertEquals(argsOf(body), expected, `${dialect}, whole`);
    }
  }
});
