/** Replies with random faults in them, of every dialect to every client: each is a reply or a refusal, and never a fault of the gateway's. */

import {
  bridgeBetween,
  countedUsage,
  type JsonObject,
  SseDecoder,
  wholeOfStream,
  wholeReplyStream,
} from "../../../src/wire/dialects/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { sized } from "../../tier.ts";
import { contextOf, parseChat, parseMessages, parseResponses } from "./ends.ts";
import { eventsOfWhole, plainReply, type Reply } from "./reply_forms.ts";

const DIALECTS = ["chat", "messages", "responses"] as const;
const BACKS = [...DIALECTS, "generate"] as const;
const messages = [{ role: "user", content: "Hi" }];
const REQUESTS = {
  chat: parseChat({ model: "m", stream: true, messages, logprobs: true }),
  messages: parseMessages({
    model: "m",
    stream: true,
    max_tokens: 2_000,
    messages,
    thinking: { type: "enabled", budget_tokens: 1_024 },
  }),
  responses: parseResponses({
    model: "m",
    stream: true,
    input: "Hi",
    include: ["message.output_text.logprobs", "reasoning.encrypted_content"],
    reasoning: { effort: "low" },
    tools: [{ type: "custom", name: "g" }],
  }),
};
const COUNTED = countedUsage(3, 3);

/** A reply of everything that a dialect has. */
function richReply(dialect: typeof BACKS[number]): Reply {
  if (dialect === "generate") return generateReply();
  const reply = plainReply(dialect);
  if (dialect === "chat") {
    Object.assign(reply.choices[0], { finish_reason: "tool_calls", logprobs: { content: [{}] } });
    const names = ["f", "g"];
    Object.assign(reply.choices[0].message, {
      reasoning_content: "Hm",
      reasoning_details: [{ type: "reasoning.encrypted", data: "x", index: 0 }],
      refusal: null,
      annotations: [{ type: "url_citation", url_citation: { url: "https://a.example" } }],
      tool_calls: names.map((name, at) => ({
        id: `c${at}`,
        type: "function",
        function: { name, arguments: '{"a":1}' },
      })),
    });
  } else if (dialect === "messages") {
    reply.stop_reason = "tool_use";
    reply.content = [
      { type: "thinking", thinking: "Hm", signature: "s" },
      { type: "redacted_thinking", data: "x" },
      ...reply.content,
      { type: "tool_use", id: "c", name: "f", input: { a: 1 } },
    ];
  } else {
    reply.output = [
      {
        type: "reasoning",
        id: "rs_1",
        summary: [{ type: "summary_text", text: "Hm" }],
        encrypted_content: "x",
      },
      ...reply.output,
      { type: "function_call", id: "fc_1", call_id: "c", name: "f", arguments: '{"a":1}' },
      { type: "function_call", id: "fc_2", call_id: "d", name: "g", arguments: '{"input":"x"}' },
    ];
  }
  return reply;
}

function generateReply(): Reply {
  const functionCall = { id: "c", name: "f", args: { a: 1 } };
  const parts = [
    { text: "Hm", thought: true },
    { text: "Yes", thoughtSignature: "c2lnbmVk" },
    { functionCall, thoughtSignature: "c2lnbmVk" },
    { functionCall: { ...functionCall, id: "d", name: "g" } },
  ];
  return {
    candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }],
    usageMetadata: {
      promptTokenCount: 9,
      thoughtsTokenCount: 2,
      candidatesTokenCount: 3,
      totalTokenCount: 14,
      promptTokensDetails: [{ modality: "TEXT", tokenCount: 9 }],
    },
    promptFeedback: { safetyRatings: [] },
    modelVersion: "theirs",
  };
}

/** A generate reply as pieces, a part in each. */
function generatePieces({ candidates: [candidate], ...more }: Reply): JsonObject[] {
  const { content: { role, parts }, finishReason, index } = candidate;
  return [
    ...parts.map((part: Reply) => ({
      candidates: [{ content: { role, parts: [part] }, index }],
      ...structuredClone(more),
    })),
    { candidates: [{ finishReason, index }], ...structuredClone(more) },
  ];
}

const VALUES = [
  null,
  "",
  0,
  -1,
  1.5,
  2 ** 53,
  "x",
  true,
  false,
  {},
  [],
  [null],
  [[]],
  [{}],
  "toString",
];
const FIELDS = [
  "constructor",
  "toString",
  "index",
  "type",
  "error",
  "content",
  "delta",
  "id",
  "parts",
  "text",
];

/** Every place in a value: an object or list, and the name of one of its fields. */
function placesIn(value: Reply): [Reply, string][] {
  if (typeof value !== "object" || value === null) return [];
  return Object.keys(value).flatMap((name) => [[value, name], ...placesIn(value[name])]);
}

function mutate(random: Random, value: Reply): void {
  const places = placesIn(value);
  if (places.length === 0) return;
  const [of, name] = random.pick(places);
  const how = random.integer(1, 4);
  if (how === 1) Array.isArray(of) ? of.splice(Number(name), 1) : delete of[name];
  else {
    const isNew = how === 2 && !Array.isArray(of);
    of[isNew ? random.pick(FIELDS) : name] = structuredClone(random.pick(VALUES));
  }
}

function moveOne(random: Random, events: JsonObject[]): void {
  if (events.length === 0) return;
  const at = random.integer(0, events.length - 1);
  const isCopied = random.integer(0, 1) === 1;
  const [event] = isCopied ? [structuredClone(events[at]!)] : events.splice(at, 1);
  events.splice(random.integer(0, events.length), 0, event!);
}

Deno.test("a reply with faults is a reply or a refusal, whole and streamed, in every pairing", () => {
  const seed = testSeed();
  const random = new Random(seed);
  for (let run = 0; run < sized(400, 10_000); run++) {
    const [front, back] = [random.pick(DIALECTS), random.pick(BACKS)];
    const context = contextOf(REQUESTS[front]);
    const body = richReply(back);
    const events = back === "generate"
      ? generatePieces(structuredClone(body))
      : eventsOfWhole(back, structuredClone(body));
    for (let count = random.integer(0, 3); count > 0; count--) mutate(random, body);
    for (let count = random.integer(0, 3); count > 0; count--) {
      if (random.integer(0, 1) === 0) moveOne(random, events);
      else mutate(random, events);
    }
    const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
    const decoded = () => {
      const decoder = new SseDecoder();
      return [...decoder.push(new TextEncoder().encode(text)), ...decoder.end()];
    };
    const ways: Record<string, () => void> = {
      whole() {
        const reply = bridgeBetween(front, back).reply(structuredClone(body), context);
        reply.countOutput();
        JSON.stringify(reply.usage === undefined ? reply.withUsage(COUNTED) : reply.body);
        reply.truncated(2);
      },
      "whole, streamed"() {
        const stream = wholeReplyStream(front, back, context);
        stream.push({ event: "message", data: JSON.stringify(body) });
        stream.end();
        stream.close(stream.usage ?? COUNTED);
      },
      streamed() {
        const stream = bridgeBetween(front, back).stream(context);
        for (const event of decoded()) if (!stream.finished) stream.push(event);
        stream.end();
        stream.close(stream.usage ?? COUNTED);
      },
      "streamed, whole"() {
        const whole = wholeOfStream(front, back, context);
        for (const event of decoded()) if (!whole.done) whole.push(event);
        const reply = whole.reply();
        reply.countOutput();
        reply.withUsage(COUNTED);
      },
    };
    for (const [how, read] of Object.entries(ways)) {
      try {
        read();
      } catch (cause) {
        if (cause instanceof Refusal) continue;
        const from = /^whole/.test(how) ? JSON.stringify(body) : text;
        throw new Error(`seed ${seed}, run ${run}, ${back} to ${front}, ${how}:\n${from}`, {
          cause,
        });
      }
    }
  }
});
