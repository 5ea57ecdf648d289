/** What generate upstreams reply besides text and calls: images, sources, probabilities. Whole and streamed, to each client. */

import { Buffer } from "node:buffer";
import fc from "fast-check";
import { BACKS, bridgeBetween, countedUsage, isOpenEnded } from "../../../src/wire/dialects/mod.ts";
import type { DialectName, JsonObject, ParsedRequest } from "../../../src/wire/dialects/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { checkGenerateRequest } from "../../fake/generate.ts";
import { sse } from "../../fake/upstream.ts";
import { sized } from "../../tier.ts";
import {
  chatToChat,
  chatToGenerate,
  clientStream,
  contextOf,
  countInput,
  messagesToGenerate,
  parseChat,
  parseMessages,
  parseResponses,
  responsesToChat,
  responsesToGenerate,
} from "./ends.ts";
import { checkResponseObject, checkResponsesStream } from "./legal_responses.ts";
import { checkChatStream, checkMessagesStream } from "./legal_streams.ts";
import { wholeOf } from "./reply_forms.ts";

// deno-lint-ignore no-explicit-any -- bodies of several dialects
type Json = any;

const OPTIONS = {
  model: "gemini-3-pro",
  upstream: "up",
  permittedOutput: 2_000,
  shaping: { ownSampling: true },
};
const USERS = [{ role: "user", content: "Hi" }];
const runs = { numRuns: sized(25, 500) };
const usageMetadata = { promptTokenCount: 4, candidatesTokenCount: 9, totalTokenCount: 13 };

const CLIENTS: Readonly<Record<DialectName, (more: JsonObject) => ParsedRequest>> = {
  chat: (more) => parseChat({ model: "m", messages: USERS, ...more }),
  messages: (more) => parseMessages({ model: "m", max_tokens: 9, messages: USERS, ...more }),
  responses: (more) => parseResponses({ model: "m", input: "Hi", ...more }),
};
const CHECKS: Readonly<Record<DialectName, (stream: string) => unknown>> = {
  chat: checkChatStream,
  messages: checkMessagesStream,
  responses: checkResponsesStream,
};

/** A reply as a client of each dialect has it: whole, and put together from a stream of these pieces. */
function heard(pieces: readonly Json[], client: DialectName, more: JsonObject = {}): Json[] {
  const bridge = bridgeBetween(client, "generate");
  const context = contextOf(CLIENTS[client](more));
  const whole = bridge.reply(structuredClone(pieces), context).withUsage(countedUsage(1, 1));
  const text = pieces.map((one) => sse(JSON.stringify(one))).join("");
  const stream = clientStream(bridge.stream(context), text);
  CHECKS[client](stream);
  if (client === "responses") checkResponseObject(whole);
  return [whole, wholeOf(client, stream)];
}

const piece = (parts: Json[], more: JsonObject = {}): Json => ({
  candidates: [{ content: { role: "model", parts }, index: 0, ...more }],
  usageMetadata,
});
const END = piece([], { finishReason: "STOP" });
const messageOf = ({ output }: Json) => output.find(({ type }: Json) => type === "message");

/** Words with characters of one to four bytes. */
const words = fc.array(fc.stringMatching(/^[a zäßж漢😀]{1,9}$/u), { minLength: 1, maxLength: 9 });

Deno.test("probabilities arrive with the tokens that they are of, where a client asks for them", () => {
  const { body, dropped } = chatToGenerate.request(
    CLIENTS.chat({ logprobs: true, top_logprobs: 2 }),
    OPTIONS,
  ) as Json;
  checkGenerateRequest(body);
  assertEquals(dropped, []);
  const { responseLogprobs, logprobs } = body.generationConfig;
  assertEquals([responseLogprobs, logprobs], [true, 2]);
  const alone = chatToGenerate.request(CLIENTS.chat({ logprobs: true }), OPTIONS).body as Json;
  checkGenerateRequest(alone);
  assertEquals(alone.generationConfig.logprobs, undefined);
  const unasked = chatToGenerate.request(CLIENTS.chat({}), OPTIONS).body as Json;
  assertEquals(unasked.generationConfig.responseLogprobs, undefined);
  fc.assert(
    fc.property(words, fc.boolean(), (tokens, isLate) => {
      const result = (said: readonly string[]) => ({
        logprobsResult: {
          // a number that is zero is left out
          chosenCandidates: said.map((token, at) => ({
            token,
            ...(at > 0 && { logProbability: -at }),
          })),
          topCandidates: said.map((token) => ({
            candidates: [{ token, logProbability: -0.5 }, { token: "no", logProbability: -2 }],
          })),
        },
      });
      const parts = (text: string) => text === "" ? [] : [{ text }];
      const pieces = isLate
        ? [piece(parts(tokens.join(""))), piece([{ text: "" }], result(tokens)), END]
        : [...tokens.map((token) => piece([{ text: token }], result([token]))), END];
      const expected = tokens.map((token, at) => {
        const bytes = [...Buffer.from(token)];
        return {
          token,
          logprob: isLate && at > 0 ? -at : 0,
          bytes,
          top_logprobs: [
            { token, logprob: -0.5, bytes },
            { token: "no", logprob: -2, bytes: [110, 111] },
          ],
        };
      });
      for (const reply of heard(pieces, "chat", { logprobs: true, top_logprobs: 2 })) {
        assertEquals(reply.choices[0].logprobs.content, expected);
        assertEquals(reply.choices[0].message.content, tokens.join(""));
      }
      const include = ["message.output_text.logprobs"];
      for (const reply of heard(pieces, "responses", { include, top_logprobs: 2 })) {
        assertEquals(messageOf(reply).content[0].logprobs, expected);
      }
      for (const reply of heard(pieces, "chat")) assertEquals(reply.choices[0].logprobs, null);
      for (const reply of heard(pieces, "responses")) {
        assertEquals(messageOf(reply).content[0].logprobs, []);
      }
      heard(pieces, "messages");
    }),
    runs,
  );
  // those of a call are of no text
  const call = { functionCall: { name: "f", args: {} } };
  const chosen = { logprobsResult: { chosenCandidates: [{ token: "f" }] } };
  const [whole] = heard([piece([{ text: "So" }]), piece([call], chosen), END], "chat", {
    logprobs: true,
  });
  assertEquals(whole.choices[0].logprobs, null);
});

/** A reply with places of its text that sources support, in bytes of a part, as the service counts. */
const cited = fc.record({
  texts: words,
  thought: fc.boolean(),
  cuts: fc.array(fc.tuple(fc.nat(), fc.nat(), fc.nat(2)), { maxLength: 5 }),
  quote: fc.option(fc.tuple(fc.nat(), fc.nat())),
}).map(({ texts, thought, cuts, quote }) => {
  const text = texts.join("");
  const chars = [...text];
  const span = (one: number, other: number) => {
    const [from, to] = [one, other].map((at) => at % (chars.length + 1)).toSorted((a, b) => a - b);
    const [before, said] = [chars.slice(0, from).join(""), chars.slice(from, to).join("")];
    const startIndex = Buffer.byteLength(before);
    const endIndex = startIndex + Buffer.byteLength(said);
    return {
      said,
      start: before.length,
      place: { ...(startIndex > 0 && { startIndex }), endIndex },
    };
  };
  const spans = cuts.map(([one, other, source]) => ({ ...span(one, other), source }));
  const quoted = quote === null ? undefined : span(...quote);
  return { texts, text, thought, spans, quoted };
});
const SOURCES: readonly JsonObject[] = [
  { web: { uri: "https://a.example/1", title: "A", domain: "a.example" } },
  { maps: { uri: "https://maps.example/2", title: "B", placeId: "places/1" } },
  { retrievedContext: { uri: "https://c.example/3", title: "C", text: "…" } },
];
const URLS = ["https://a.example/1", "https://maps.example/2", "https://c.example/3"];

Deno.test("what is cited arrives with its place in the text, in the client's units", () => {
  fc.assert(
    fc.property(cited, ({ texts, text, thought, spans, quoted }) => {
      const metadata = {
        ...(spans.length > 0 && {
          groundingMetadata: {
            groundingChunks: [...SOURCES],
            groundingSupports: spans.map(({ said, place, source }) => ({
              segment: { ...(thought && { partIndex: 1 }), ...place, text: said },
              groundingChunkIndices: [source],
            })),
          },
        }),
        ...(quoted && {
          citationMetadata: { citationSources: [{ uri: "https://q.example", ...quoted.place }] },
        }),
      };
      const pieces = [
        ...(thought ? [piece([{ text: "Let me see: ä", thought: true }])] : []),
        ...texts.map((one) => piece([{ text: one }])),
        piece([], metadata),
        piece([{ text: "" }], { ...metadata, finishReason: "STOP" }), // once more
      ];
      const expected = new Set([
        ...spans.map(({ said, start, source }) => JSON.stringify([URLS[source], start, said])),
        ...(quoted ? [JSON.stringify(["https://q.example", quoted.start, quoted.said])] : []),
      ]);
      const check = (annotations: Json[] = []) => {
        const got = annotations.map(({ url, start_index: start, end_index: end }) =>
          JSON.stringify([url, start, text.slice(start, end)])
        );
        assertEquals(got.toSorted(), [...expected].toSorted());
      };
      for (const { choices: [{ message }] } of heard(pieces, "chat")) {
        assertEquals(message.content, text);
        check(message.annotations?.map(({ url_citation: one }: Json) => one));
      }
      for (const reply of heard(pieces, "responses")) {
        check(messageOf(reply).content[0].annotations);
      }
      for (const { content } of heard(pieces, "messages")) {
        assertEquals(content.map((one: Json) => one.text ?? "").join(""), text);
      }
    }),
    runs,
  );
});

Deno.test("sources that are of no place are of the whole text; those without an address are none", () => {
  const chunks = [SOURCES[0]!, { web: { title: "no address" } }, {}, {
    image: { sourceUri: URLS[2] },
  }];
  const grounding = { groundingMetadata: { groundingChunks: chunks } };
  const pieces = [piece([{ text: "Grüße" }], grounding), END];
  for (const { choices: [{ message }] } of heard(pieces, "chat")) {
    assertEquals(message.annotations.map(({ url_citation: one }: Json) => one), [
      { url: URLS[0], title: "A", start_index: 0, end_index: 5 },
      { url: URLS[2], title: "", start_index: 0, end_index: 5 },
    ]);
  }
});

Deno.test("citations of a long text take no longer each, however many there are", () => {
  const text = "ä漢 ".repeat(300_000);
  const supports = Array.from({ length: 5_000 }, (_, at) => ({
    segment: { startIndex: at * 6, endIndex: at * 6 + 5 },
    groundingChunkIndices: [0, 1, 2, 99, -1, "x"],
  }));
  const reader = BACKS.generate.reader({});
  const read = (one: Json) => reader.read(JSON.stringify(one));
  read(piece([{ text }]));
  const metadata = {
    groundingMetadata: { groundingChunks: [...SOURCES], groundingSupports: supports },
  };
  const events = [...read(piece([], metadata)), ...read(piece([], metadata))];
  assertEquals(events.length, 1_024);
  const [, , , fourth] = events as Json[];
  assertEquals([fourth.start, fourth.end], [3, 5]);
});

const PNG = Buffer.from(Array.from({ length: 200 }, (_, at) => at * 7 % 256)).toString("base64");
const IMAGE = { inlineData: { mimeType: "image/webp", data: PNG } };
const URL_OF_IT = `data:image/webp;base64,${PNG}`;

Deno.test("an image arrives in the client's place for one, and goes back with the conversation", () => {
  const pieces = [
    piece([{ text: "Here" }]),
    piece([{ inlineData: IMAGE.inlineData, thought: true }, {
      ...IMAGE,
      thoughtSignature: "c2ln",
    }]),
    piece([{ inlineData: { mimeType: "audio/L16", data: PNG } }]),
    END,
  ];
  const image = { type: "image_url", image_url: { url: URL_OF_IT }, index: 0 };
  for (const { choices: [{ message }] } of heard(pieces, "chat")) {
    assertEquals([message.content, message.images], ["Here", [image]]);
  }
  for (const reply of heard(pieces, "responses")) {
    const [, call, ...more] = reply.output.filter(({ type }: Json) => type !== "reasoning");
    const { id, ...said } = call;
    assert(/^ig_/.test(id));
    const type = "image_generation_call";
    assertEquals(said, { type, status: "completed", output_format: "webp", result: PNG });
    assertEquals(more, []);
  }
  for (const { content } of heard(pieces, "messages")) {
    assertEquals(content.map(({ type }: Json) => type), ["text"]);
  }

  const [{ choices: [{ message }] }] = heard(pieces, "chat");
  const next = { messages: [...USERS, message, ...USERS] };
  const [, { output }] = heard(pieces, "responses");
  const input = [{ role: "user", content: "Hi" }, ...output, { role: "user", content: "Bluer" }];
  for (
    const written of [
      chatToGenerate.request(CLIENTS.chat(next), OPTIONS),
      responsesToGenerate.request(CLIENTS.responses({ input }), OPTIONS),
    ]
  ) {
    checkGenerateRequest(written.body);
    const [, { role, parts }] = (written.body as Json).contents;
    assertEquals(role, "model");
    assertEquals(parts.filter((one: Json) => one.inlineData), [IMAGE]);
    assertEquals(written.dropped, []);
  }
  // it counts as an image that a user sends, and not as its text
  const large = Buffer.from(Array.from({ length: 90_000 }, (_, at) => at * 7919 % 251))
    .toString("base64");
  const enlarged = (body: JsonObject) => JSON.parse(JSON.stringify(body).replaceAll(PNG, large));
  for (const one of [CLIENTS.chat(enlarged(next)), CLIENTS.responses(enlarged({ input }))]) {
    const tokens = countInput(one);
    assert(tokens > 1_600 && tokens < 2_000, `${tokens} tokens`);
    assert(isOpenEnded(one.body, one.images));
  }
  // other upstreams take none in a reply
  const elsewhere = responsesToChat.request(CLIENTS.responses({ input }), OPTIONS);
  assert(!JSON.stringify(elsewhere.body).includes(PNG));
  assertEquals(elsewhere.dropped, ["input.image_generation_call"]);
  const alone = input.filter(({ type }: Json) => type !== "message" && type !== "reasoning");
  const without = responsesToChat.request(CLIENTS.responses({ input: alone }), OPTIONS);
  assertEquals((without.body as Json).messages.map(({ role }: Json) => role), ["user", "user"]);
  // between the same dialect they go on as they are
  const carried = chatToChat.request(CLIENTS.chat(next), OPTIONS).body as Json;
  assertEquals(carried.messages[1].images, [image]);
  // one that is not data is not sent anywhere
  const remote = { ...image, image_url: { url: "https://host.example/lion.png" } };
  const mixed = { messages: [...USERS, { ...message, images: [image, remote] }, ...USERS] };
  const sent = chatToGenerate.request(CLIENTS.chat(mixed), OPTIONS);
  assertEquals(sent.dropped, ["messages.images.image_url"]);
  assert(!JSON.stringify(sent.body).includes("host.example"));
  const fromMessages = messagesToGenerate.request(CLIENTS.messages({}), OPTIONS);
  assertEquals(fromMessages.dropped, []);
});
