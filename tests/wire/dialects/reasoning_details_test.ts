/** OpenRouter's `reasoning_details` come back to it unchanged, through clients of the other dialects. */

import type { JsonObject, ParsedRequest } from "../../../src/wire/dialects/mod.ts";
import { assertEquals } from "../../assert.ts";
import {
  clientStream,
  contextOf,
  messagesToChat,
  parseMessages,
  parseResponses,
  responsesToChat,
} from "./ends.ts";

const DETAILS = [
  { type: "reasoning.text", text: "Let me see", signature: "c2ln", index: 0, format: "x" },
  { type: "reasoning.encrypted", data: "ZW5j", id: "r", index: 1 },
];
/** The same in pieces. */
const PIECES: JsonObject[][] = [
  [{ type: "reasoning.text", text: "Let me ", index: 0, format: "x" }],
  [{ type: "reasoning.text", text: "see", index: 0 }],
  [{ type: "reasoning.text", signature: "c2ln", index: 0 }],
  [DETAILS[1]!],
];
const OPTIONS = { model: "m", upstream: "up", permittedOutput: 500, shaping: {} };
const USER = { role: "user", content: "Hi" };
const REPLIES: Readonly<Record<string, readonly JsonObject[]>> = {
  "before the text": [...PIECES.map((one) => ({ reasoning_details: one })), { content: "Hello" }],
  "after the text": [
    ...PIECES.slice(0, 2).map((one) => ({ reasoning_details: one })),
    { content: "Hello" },
    ...PIECES.slice(2).map((one) => ({ reasoning_details: one })),
  ],
};

const messagesWith = (turns: readonly JsonObject[]) =>
  parseMessages({
    model: "m",
    max_tokens: 100,
    thinking: { type: "enabled", budget_tokens: 1_024 },
    messages: [USER, ...turns],
  });
const responsesWith = (turns: readonly JsonObject[]) =>
  parseResponses({
    model: "m",
    include: ["reasoning.encrypted_content"],
    reasoning: { effort: "low" },
    input: [USER, ...turns],
  });
const ask = (bridge: typeof messagesToChat, request: ParsedRequest) =>
  (bridge.request(request, OPTIONS).body.messages as JsonObject[])
    .filter(({ role }) => role === "assistant").map((one) => one.reasoning_details);

Deno.test("reasoning_details come back through messages and responses, whole and from pieces", async (t) => {
  for (const [when, deltas] of Object.entries(REPLIES)) {
    const message = { role: "assistant", content: "Hello", reasoning_details: DETAILS };
    const whole = { choices: [{ index: 0, message, finish_reason: "stop" }], usage: {} };
    const lines = [...deltas.map((delta) => ({ delta })), { delta: {}, finish_reason: "stop" }]
      .map((choice) => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`);
    const usage = {
      inputTokens: 1,
      cachedTokens: 0,
      cacheWrittenTokens: 0,
      outputTokens: 1,
      reasoningTokens: 0,
    };
    await t.step(`messages, ${when}`, () => {
      const context = contextOf(messagesWith([]));
      const { content } = messagesToChat.reply(whole, context).withUsage(usage);
      const turns = [{ role: "assistant", content: content! }, USER];
      assertEquals<unknown>(ask(messagesToChat, messagesWith(turns)), [DETAILS]);
      const text = clientStream(
        messagesToChat.stream(context),
        lines.join("") + "data: [DONE]\n\n",
      );
      const blocks: JsonObject[] = [];
      for (const [, data] of text.matchAll(/^data: (.*)$/gm)) {
        const { content_block: block, delta } = JSON.parse(data!);
        if (block !== undefined) blocks.push(block);
        for (const name of ["text", "thinking", "signature"]) {
          if (delta?.[name] !== undefined) {
            blocks.at(-1)![name] = (blocks.at(-1)![name] ?? "") + delta[name];
          }
        }
      }
      const streamed = [{ role: "assistant", content: blocks }, USER];
      assertEquals<unknown>(ask(messagesToChat, messagesWith(streamed)), [DETAILS]);
    });
    await t.step(`responses, ${when}`, () => {
      const context = contextOf(responsesWith([]), { id: "resp_1" });
      const { output } = responsesToChat.reply(whole, context).withUsage(usage);
      const items = output as JsonObject[];
      assertEquals<unknown>(ask(responsesToChat, responsesWith([...items, USER])), [DETAILS]);
      const text = clientStream(
        responsesToChat.stream(context),
        lines.join("") + "data: [DONE]\n\n",
      );
      const [, last] = [...text.matchAll(/^data: (\{.*)$/gm)].at(-1)!;
      const streamed = JSON.parse(last!).response.output as JsonObject[];
      assertEquals<unknown>(ask(responsesToChat, responsesWith([...streamed, USER])), [DETAILS]);
    });
  }
});
