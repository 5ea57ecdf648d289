/** Reasoning that a messages upstream signed, through a responses client and back. */

import { type JsonObject, NO_USAGE, SseDecoder } from "../../../src/wire/dialects/mod.ts";
import { assertEquals } from "../../assert.ts";
import {
  contextOf,
  messagesToMessages,
  parseMessages,
  parseResponses,
  responsesToMessages,
  SEALER,
} from "./ends.ts";

const THINKING = { type: "thinking", thinking: "Let me think.", signature: "c2lnbmF0dXJl" };
const REDACTED = { type: "redacted_thinking", data: "cmVkYWN0ZWQ=" };
const TEXT = { type: "text", text: "Hello" };
const asked = { model: "m", include: ["reasoning.encrypted_content"], store: false };
const OPTIONS = {
  model: "m",
  upstream: "up",
  permittedOutput: 500,
  shaping: { signedReasoning: true },
};

const event = (data: JsonObject) => `data: ${JSON.stringify(data)}\n\n`;

/** The blocks as a messages upstream streams them. */
function streamOf(blocks: readonly JsonObject[]): string {
  const events = blocks.flatMap((block, index): JsonObject[] => {
    const start = (content_block: JsonObject) => ({
      type: "content_block_start",
      index,
      content_block,
    });
    const delta = (one: JsonObject) => ({ type: "content_block_delta", index, delta: one });
    const stop = { type: "content_block_stop", index };
    if (block.type === "thinking") {
      return [
        start({ type: "thinking", thinking: "", signature: "" }),
        delta({ type: "thinking_delta", thinking: block.thinking! }),
        delta({ type: "signature_delta", signature: block.signature! }),
        stop,
      ];
    }
    if (block.type === "redacted_thinking") return [start(block), stop];
    return [
      start({ type: "text", text: "" }),
      delta({ type: "text_delta", text: block.text! }),
      stop,
    ];
  });
  return [
    ...events,
    { type: "message_delta", delta: { stop_reason: "end_turn" } },
    { type: "message_stop" },
  ].map(event).join("");
}

/** The output of a reply of these blocks, as a responses client gets it. */
function outputOf(blocks: readonly JsonObject[], stream: boolean): JsonObject[] {
  const context = contextOf(parseResponses({ ...asked, input: "Hi", stream }), { id: "resp_1" });
  if (!stream) {
    const reply = responsesToMessages.reply(
      { content: [...blocks], stop_reason: "end_turn" },
      context,
    );
    return reply.withUsage(NO_USAGE).output as JsonObject[];
  }
  const reply = responsesToMessages.stream(context);
  let text = "";
  for (const one of new SseDecoder().push(new TextEncoder().encode(streamOf(blocks)))) {
    text += reply.push(one);
  }
  text += reply.close(NO_USAGE);
  const events = new SseDecoder().push(new TextEncoder().encode(text));
  const last = events.map(({ data }) => data).findLast((data) => data !== "[DONE]")!;
  return JSON.parse(last).response.output;
}

/** What the next turn's request says of the reply, to this upstream and model. */
function returned(output: readonly JsonObject[], target: { upstream: string; model: string }) {
  const request = parseResponses({
    ...asked,
    input: [{ role: "user", content: "Hi" }, ...output, { role: "user", content: "Go on" }],
  });
  const { body } = responsesToMessages.request(request, { ...OPTIONS, ...target });
  return (body.messages as JsonObject[])[1]!.content as JsonObject[];
}

const REPLIES: Readonly<Record<string, readonly JsonObject[]>> = {
  "a thinking block": [THINKING, TEXT],
  "a block that is redacted": [REDACTED, TEXT],
  "both": [THINKING, REDACTED, TEXT],
};

for (const [name, blocks] of Object.entries(REPLIES)) {
  for (const stream of [false, true]) {
    Deno.test(`${name} comes back exactly, ${stream ? "streamed" : "whole"}, and to nobody else`, () => {
      const output = outputOf(blocks, stream);
      assertEquals(returned(output, OPTIONS), [...blocks]);
      assertEquals(returned(output, { upstream: "up", model: "other" }), [TEXT]);
      assertEquals(returned(output, { upstream: "other", model: "m" }), [TEXT]);
    });
  }
}

Deno.test("a turn of which an upstream of messages can read nothing is not sent to it", () => {
  const said = (body: JsonObject) => (body.messages as JsonObject[]).map(({ role }) => role);
  const other = { ...OPTIONS, upstream: "other", shaping: {} };
  const request = parseResponses({
    ...asked,
    input: [
      { role: "user", content: "Hi" },
      ...outputOf([REDACTED], false),
      { role: "user", content: "Go on" },
    ],
  });
  assertEquals(said(responsesToMessages.request(request, other).body), ["user"]);
  const data = SEALER.seal("reasoning", { upstream: "up", model: "m", parts: [{ seal: "c2Vh" }] });
  const messages = parseMessages({
    model: "m",
    max_tokens: 9,
    messages: [
      { role: "user", content: "Hi" },
      { role: "assistant", content: [{ type: "redacted_thinking", data }] },
      { role: "user", content: "Go on" },
    ],
  });
  for (const shaping of [{}, { signedReasoning: true }]) {
    const { body } = messagesToMessages.request(messages, { ...other, shaping });
    assertEquals(said(body), ["user", "user"], JSON.stringify(shaping));
  }
});
