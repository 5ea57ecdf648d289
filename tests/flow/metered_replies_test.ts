/**
 * What is delivered is counted: every field of both wire formats' replies that may hold text, those of the
 * SDKs' types and invented ones, costs what the same words do as content, carried and translated alike.
 */

import {
  bridgeBetween,
  DIALECT_NAMES,
  type DialectName,
  DIALECTS,
  type JsonObject,
  type ParsedRequest,
} from "../../src/wire/dialects/mod.ts";
import { contextOf, parseChat, parseMessages, parseResponses } from "../wire/dialects/ends.ts";
import { responseOf } from "../wire/dialects/responses_streams.ts";
import { Refusal } from "../../src/ground/refusal.ts";
import { assert, assertEquals } from "../assert.ts";
import { assertLedgerClean, customer } from "../fake/customer.ts";
import { startGateway, usageRecords } from "../fake/gateway.ts";
import { Random, testSeed } from "../fake/random.ts";
import { until } from "../fake/temp.ts";
import { chunk, eventStream, fakeUpstream, pacedStream, sse } from "../fake/upstream.ts";
import { isProof } from "../tier.ts";
import { MARK, readFields } from "../wire/formats/fields.ts";

const LEAST = 0.6;
const MOST = 1.7;

type Name = DialectName;

const messages = [{ role: "user", content: "Hi" }];
const ASKED: Readonly<Record<Name, ParsedRequest>> = {
  chat: parseChat({ model: "m", messages }),
  messages: parseMessages({ model: "m", messages, max_tokens: 9 }),
  responses: parseResponses({ model: "m", input: "Hi" }),
};

/** Words in which one stands for the rest. */
const WORDS = ["river", "table", "seven", "green", "under", "paper", "music", "quick", "zebra"];
const word = (at: number) => WORDS[(at * 7 + (at >> 4)) % WORDS.length]!;
const wordsOf = (count: number, separator = " ") =>
  Array.from({ length: count }, (_, at) => `${word(at)}${separator}`).join("");
const zebras = (text: string) => (text.match(/zebra/g) ?? []).length;

/** Events of a stream that says these texts, and the whole reply that says them. */
interface Case {
  readonly name: string;
  readonly from: Name;
  stream?(texts: readonly string[]): JsonObject[];
  whole?(text: string): JsonObject;
}

const fill = (body: unknown, text: string): JsonObject =>
  JSON.parse(JSON.stringify(body).replace(JSON.stringify(MARK), () => JSON.stringify(text)));

const delta = (one: JsonObject, more: JsonObject = {}): JsonObject => ({
  ...JSON.parse(chunk(one)),
  ...more,
});
const chatFinish: JsonObject = JSON.parse(chunk({}, "stop"));

const START: JsonObject = {
  type: "message_start",
  message: { id: "m", type: "message", role: "assistant", content: [] },
};
const FINISH: readonly JsonObject[] = [
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" } },
  { type: "message_stop" },
];
const block = (content: JsonObject): JsonObject => ({
  type: "content_block_start",
  index: 0,
  content_block: content,
});
const blockDelta = (one: JsonObject): JsonObject => ({
  type: "content_block_delta",
  index: 0,
  delta: one,
});

const fields = await readFields();

/** What says the same as, or is no more than a description of, what is counted elsewhere. */
const isRepeated = (path: string) => /logprobs|usage|obfuscation/.test(path);

const CHAT_CHUNKS: Readonly<Record<string, (text: string) => JsonObject>> = {
  "content": (content) => delta({ content }),
  "content parts": (text) => delta({ content: [{ type: "text", text }] }),
  "reasoning_content": (text) => delta({ reasoning_content: text }),
  "reasoning": (text) => delta({ reasoning: text }),
  "reasoning three times": (text) =>
    delta({
      reasoning: text,
      reasoning_content: text,
      reasoning_details: [{ type: "reasoning.text", text }],
    }),
  "reasoning_details": (text) =>
    delta({ reasoning_details: [{ type: "reasoning.text", text, format: "x", index: 0 }] }),
  "reasoning summary": (summary) =>
    delta({ reasoning_details: [{ type: "reasoning.summary", summary }] }),
  "refusal": (refusal) => delta({ refusal }),
  "audio transcript": (transcript) => delta({ audio: { id: "a", transcript } }),
  "custom tool input": (input) =>
    delta({ tool_calls: [{ index: 0, id: "c", type: "custom", custom: { name: "f", input } }] }),
  "arguments": (text) =>
    delta({ tool_calls: [{ index: 0, id: "c", function: { name: "f", arguments: text } }] }),
  "function_call": (text) => delta({ function_call: { name: "f", arguments: text } }),
  "annotations": (title) =>
    delta({ annotations: [{ type: "url_citation", url_citation: { title, url: "https://x" } }] }),
  "an unknown field": (text) => delta({ invented: text }),
  "an unknown object": (text) => delta({ invented: { deep: [{ a: text }] } }),
  "a key": (text) => delta({ invented: { [text]: 1 } }),
  "an unknown field of the choice": (text) => ({
    ...chatFinish,
    choices: [{ index: 0, delta: {}, invented: text, finish_reason: null }],
  }),
  "an unknown field of the chunk": (text) => delta({}, { citations: [text] }),
  "usage of the delta": (text) => delta({ usage: text }),
  "token_ids that are text": (text) => delta({ token_ids: [text] }),
  "index that is text": (text) => delta({ invented: [{ index: text }] }),
};

/** A field in each chunk by which some upstreams repeat the whole answer so far. */
const CUMULATIVE: Case = {
  name: "a message so far beside each delta",
  from: "chat",
  stream: (texts) =>
    texts.map((content, at) => ({
      ...chatFinish,
      choices: [{
        index: 0,
        delta: { role: "assistant", content },
        message: { role: "assistant", content: texts.slice(0, at + 1).join("") },
        finish_reason: null,
      }],
    })),
};

const EVENTS: Readonly<Record<string, (text: string) => JsonObject>> = {
  "text_delta": (text) => blockDelta({ type: "text_delta", text }),
  "thinking_delta": (thinking) => blockDelta({ type: "thinking_delta", thinking }),
  "input_json_delta": (text) => blockDelta({ type: "input_json_delta", partial_json: text }),
  "compaction_delta": (content) => blockDelta({ type: "compaction_delta", content }),
  "signature_delta": (signature) => blockDelta({ type: "signature_delta", signature }),
  "an unknown delta": (text) => blockDelta({ type: "invented_delta", invented: text }),
  "an unknown event": (text) => ({ type: "invented", invented: { deep: text } }),
  "a key": (text) => ({ type: "invented", invented: { [text]: 1 } }),
  "ping": (text) => ({ type: "ping", text }),
  "content_block_start text": (text) => block({ type: "text", text }),
  "content_block_start unknown": (text) => block({ type: "invented", invented: text }),
  "beside content in message_start": (text) => ({
    type: "message_start",
    message: { ...(START.message as JsonObject), invented: text },
  }),
  "beside the message in message_start": (text) => ({ ...START, invented: text }),
  "usage": (text) => ({ type: "message_delta", delta: {}, usage: { invented: text } }),
  "usage in an unknown delta": (text) => blockDelta({ type: "invented_delta", usage: text }),
  "message_delta": (text) => ({ type: "message_delta", delta: { invented: text } }),
  "stop_sequence": (text) => ({ type: "message_delta", delta: { stop_sequence: text } }),
  "citations_delta": (text) =>
    blockDelta({ type: "citations_delta", citation: { type: "char_location", cited_text: text } }),
};

const inItem = (type: string, item_id: string, more: JsonObject): JsonObject => ({
  type: `response.${type}`,
  item_id,
  output_index: Number(item_id.split("_")[1]),
  ...more,
});
const inPart = (type: string, more: JsonObject) =>
  inItem(type, "msg_0", { content_index: 0, ...more });
const CALL = { id: "fc_2", type: "function_call", call_id: "call_1", name: "f", arguments: "" };
const MESSAGE = { id: "msg_0", type: "message", role: "assistant", status: "completed" };

/** The response has items already, as its deltas need them. */
const RESPONSE_HEAD: readonly JsonObject[] = [
  { type: "response.created", response: responseOf([], { status: "in_progress", usage: null }) },
  { type: "response.output_item.added", output_index: 0, item: { ...MESSAGE, content: [] } },
  {
    type: "response.output_item.added",
    output_index: 1,
    item: { id: "rs_1", type: "reasoning", summary: [] },
  },
];

/** Calls that are open keep back what comes after them from clients that take one thing at a time. */
const OPEN_CALLS: readonly JsonObject[] = [
  { type: "response.output_item.added", output_index: 2, item: CALL },
  {
    type: "response.output_item.added",
    output_index: 3,
    item: { id: "ctc_3", type: "custom_tool_call", call_id: "call_2", name: "g", input: "" },
  },
];

const RESPONSES_EVENTS: Readonly<Record<string, (text: string) => JsonObject>> = {
  "output_text.delta": (delta) => inPart("output_text.delta", { delta }),
  "refusal.delta": (delta) => inPart("refusal.delta", { content_index: 1, delta }),
  "reasoning_summary_text.delta": (delta) =>
    inItem("reasoning_summary_text.delta", "rs_1", { summary_index: 0, delta }),
  "reasoning_text.delta": (delta) =>
    inItem("reasoning_text.delta", "rs_1", { content_index: 0, delta }),
  "function_call_arguments.delta": (delta) =>
    inItem("function_call_arguments.delta", "fc_2", { delta }),
  "custom_tool_call_input.delta": (delta) =>
    inItem("custom_tool_call_input.delta", "ctc_3", { delta }),
  "annotation": (title) =>
    inPart("output_text.annotation.added", {
      annotation_index: 0,
      annotation: { type: "url_citation", title, url: "https://x" },
    }),
  "an unknown field of a delta": (invented) =>
    inPart("output_text.delta", { delta: ".", invented }),
  "an unknown object of a delta": (text) =>
    inPart("output_text.delta", { delta: ".", invented: { deep: [{ a: text }] } }),
  "a key of a delta": (text) =>
    inPart("output_text.delta", { delta: ".", invented: { [text]: 1 } }),
  "an unknown event": (text) => ({ type: "response.invented.delta", delta: text }),
  "an item of another kind": (text) => ({
    type: "response.output_item.done",
    output_index: Number(text.length) + 9,
    item: { id: `x_${text.length}`, type: "invented", text },
  }),
};

const CASES: readonly Case[] = [
  ...Object.entries(RESPONSES_EVENTS).map(([name, say]): Case => ({
    name: `responses: ${name}`,
    from: "responses",
    stream: (texts) => [
      ...OPEN_CALLS.filter(({ item }) => say("").item_id === (item as JsonObject).id),
      ...texts.map(say),
    ],
  })),
  // the response that an event holds is delivered at the end
  ...fields.responsesEvent.filter(({ path }) => !isRepeated(path) && !/\)response\./.test(path))
    .map(({ path, body }): Case => ({
      name: path,
      from: "responses",
      stream: (texts) => texts.map((text) => fill(body, text)),
    })),
  ...fields.responsesReply.filter(({ path }) => !isRepeated(path)).map(({ path, body }): Case => ({
    name: path,
    from: "responses",
    whole: (text) => ({ ...fill(body, text), status: "completed", error: null }),
  })),
  {
    name: "responses: an unknown field of the reply",
    from: "responses",
    whole: (invented) => ({ ...responseOf([]), invented }),
  },
  CUMULATIVE,
  ...Object.entries(CHAT_CHUNKS).map(([name, say]): Case => ({
    name,
    from: "chat",
    stream: (texts) => texts.map(say),
    whole: (text) => {
      const [choice] = say(text).choices as JsonObject[];
      const { delta: said, ...rest } = choice!;
      const { object: _, ...body } = say(text);
      const message = { role: "assistant", content: null, ...(said as JsonObject) };
      return { ...body, choices: [{ ...rest, message, finish_reason: "stop" }] };
    },
  })),
  ...Object.entries(EVENTS).map(([name, say]): Case => ({
    name,
    from: "messages",
    stream: (texts) => texts.map(say),
  })),
  ...fields.chatChunk.filter(({ path }) => !isRepeated(path)).map(({ path, body }): Case => ({
    name: path,
    from: "chat",
    stream: (texts) => texts.map((text) => fill(body, text)),
  })),
  ...fields.messagesEvent.filter(({ path }) => !isRepeated(path)).map(({ path, body }): Case => ({
    name: path,
    from: "messages",
    stream: (texts) => texts.map((text) => fill(body, text)),
  })),
  ...fields.chatReply.filter(({ path }) => !isRepeated(path)).map(({ path, body }): Case => ({
    name: path,
    from: "chat",
    whole: (text) => fill(body, text),
  })),
  ...fields.messagesReply.filter(({ path }) => !isRepeated(path)).map(({ path, body }): Case => ({
    name: path,
    from: "messages",
    whole: (text) => fill(body, text),
  })),
  {
    name: "an unknown field of the reply",
    from: "messages",
    whole: (invented) => ({ type: "message", content: [], stop_reason: "end_turn", invented }),
  },
];

/** Cases of each dialect that the gate draws; the proofs take all of them. */
const DRAWN = 8;

/** The cases that a test is about, each time others. */
function drawn(seed: number): readonly Case[] {
  if (isProof) return CASES;
  const random = new Random(seed);
  return DIALECT_NAMES.flatMap((dialect) => {
    const rest = CASES.filter(({ from }) => from === dialect);
    return Array.from(
      { length: DRAWN },
      () => rest.splice(random.integer(0, rest.length - 1), 1)[0]!,
    );
  });
}

const OPENINGS: Readonly<Record<Name, readonly JsonObject[]>> = {
  chat: [],
  messages: [START],
  responses: RESPONSE_HEAD,
};

/** What a stream of these events delivers, and what is counted for it; undefined when it is refused. */
function streamed(one: Case, to: Name, texts: readonly string[]) {
  const stream = bridgeBetween(to, one.from).stream(contextOf(ASKED[to]));
  const opening = OPENINGS[one.from];
  try {
    let delivered = "";
    for (const event of [...opening, ...one.stream!(texts)]) {
      delivered += stream.push({ event: String(event.type), data: JSON.stringify(event) });
    }
    return { delivered, counted: stream.countedOutput, hasOutput: stream.hasOutput };
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

function replied(one: Case, to: Name, text: string) {
  try {
    const answer = bridgeBetween(to, one.from).reply(one.whole!(text), contextOf(ASKED[to]));
    const usage = {
      inputTokens: 1,
      cachedTokens: 0,
      cacheWrittenTokens: 0,
      outputTokens: 1,
      reasoningTokens: 0,
    };
    const delivered = JSON.stringify(answer.withUsage(usage));
    return { delivered, counted: answer.countOutput(), hasOutput: true };
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

function ordinary(separator: string, whole: boolean): number {
  const one = CASES.find(({ name }) => name === "content")!;
  return whole
    ? replied(one, "chat", wordsOf(2_000, separator))!.counted
    : streamed(one, "chat", textsOf(separator))!.counted;
}

/** Two thousand words, ten to an event. */
const textsOf = (separator: string) =>
  Array.from(
    { length: 200 },
    (_, at) =>
      Array.from({ length: 10 }, (_, more) => `${word(10 * at + more)}${separator}`).join(""),
  );

for (const whole of [false, true]) {
  for (const separator of [" ", "\n", "_"]) {
    const what = `${whole ? "whole" : "streamed"}, words with ${JSON.stringify(separator)}`;
    Deno.test(`each text that is delivered is counted: ${what}`, () => {
      const seed = testSeed();
      const faults: string[] = [];
      const all = zebras(wordsOf(2_000));
      const expected = ordinary(separator, whole);
      for (const one of drawn(seed)) {
        if ((whole ? one.whole : one.stream) === undefined) continue;
        for (const to of DIALECT_NAMES) {
          const got = whole
            ? replied(one, to, wordsOf(2_000, separator))
            : streamed(one, to, textsOf(separator));
          if (got === undefined) continue; // refused
          const share = zebras(got.delivered) / all;
          if (share < 0.1) continue; // not delivered; what is counted of it is looked at below
          // an id of a call is delivered escaped, which is longer, and counted so
          const isShortId = !whole && one.name.endsWith("(tool_use).id"); // each begins a call, and is free
          const isEscaped = one.name.endsWith(".id") && separator !== "_";
          if (isShortId || isEscaped || one.name.endsWith("call_id")) continue;
          // lists of single words: their quotes and commas are tokens as well
          if (/url_sources/.test(one.name)) continue;
          // a whole answer that is repeated is paid once
          const ratio = got.counted / (expected * Math.min(1, share));
          const name = `${one.from}→${to} ${one.name}`;
          if (ratio < LEAST || ratio > MOST) faults.push(`${ratio.toFixed(3)} ${name}`);
          if (!got.hasOutput) faults.push(`no output: ${name}`);
        }
      }
      assertEquals(faults, [], `seed ${seed}`);
    });
  }
}

Deno.test("carried and translated agree on what both deliver, and nothing else is charged", () => {
  const seed = testSeed();
  const faults: string[] = [];
  const all = zebras(wordsOf(2_000));
  for (const one of drawn(seed)) {
    for (const whole of [false, true]) {
      if ((whole ? one.whole : one.stream) === undefined) continue;
      const got = (to: Name) =>
        whole ? replied(one, to, wordsOf(2_000)) : streamed(one, to, textsOf(" "));
      const carried = got(one.from);
      for (const to of DIALECT_NAMES) {
        if (to === one.from) continue;
        const translated = got(to);
        if (carried === undefined || translated === undefined) continue;
        const name = `${one.from}→${to} ${whole ? "whole" : "streamed"} ${one.name}`;
        const both = [carried, translated].every(({ delivered }) => zebras(delivered) > 0.9 * all);
        const apart = Math.abs(carried.counted - translated.counted);
        // the input of a custom tool is an argument elsewhere, and short ids are free there
        const isCall = /_call\)|\(tool_use\)\.id$/.test(name);
        if (both && !isCall && apart > 0.15 * Math.max(carried.counted, translated.counted)) {
          faults.push(`${carried.counted} carried, ${translated.counted} translated: ${name}`);
        }
        // arguments that came before the name of their call are counted as they come, and wait for it
        const isUnnamedCall =
          /arguments$|partial_json$|input_json_delta$|\(custom\)\.id$|_call\)/.test(name) ||
          // ids that are too long for a dialect are replaced
          /(arguments|input)\.delta\)delta$|\((function|tool_use)\)\.id$/.test(name);
        // a responses client gets what an upstream sealed, sealed once more: the words are not to be seen
        const isSealed = to === "responses" &&
          /redacted_thinking\)\.data$|signature/.test(one.name) &&
          translated.counted <= 1.5 * Math.max(carried.counted, 2_000);
        if (isSealed) continue;
        if (zebras(translated.delivered) === 0 && translated.counted > 100 && !isUnnamedCall) {
          faults.push(`${translated.counted} for what was not delivered: ${name}`);
        }
      }
    }
  }
  assertEquals(faults, [], `seed ${seed}`);
});

Deno.test("an image in a reply counts as an image", () => {
  const url = `data:image/png;base64,${"iVBORw0KGgo".repeat(10_000)}`;
  const body = delta({ images: [{ type: "image_url", image_url: { url } }] });
  const one: Case = { name: "images", from: "chat", stream: () => [body] };
  const { counted } = streamed(one, "chat", [])!;
  assert(counted > 0 && counted <= 4_000, `${counted} tokens`);
});

/** A token costs a credit, so that charges are tokens. */
const BY_THE_TOKEN = {
  context: 1_000_000,
  maxOutput: 100_000,
  minimum: 1,
  prices: { input: 0, cached: 0, output: 1_000_000 },
};

const data = (from: Name, event: JsonObject) =>
  from === "chat"
    ? sse(JSON.stringify(event))
    : `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

const ENDS: Readonly<Record<Name, readonly JsonObject[]>> = {
  chat: [chatFinish],
  messages: FINISH,
  responses: [{ type: "response.completed", response: responseOf([], { usage: null }) }],
};
const USUAL: Readonly<Record<Name, string>> = {
  chat: "content",
  messages: "text_delta",
  responses: "responses: output_text.delta",
};

/** Of each kind of place some, through the whole gateway: in the gate one of each dialect. */
const SAMPLE = [
  "responses: output_text.delta",
  "responses: reasoning_summary_text.delta",
  "responses: refusal.delta",
  "responses: custom_tool_call_input.delta",
  "responses: an unknown field of a delta",
  "responses: an unknown event",
  "content",
  "content parts",
  "reasoning_details",
  "custom tool input",
  "audio transcript",
  "an unknown object",
  "an unknown field of the chunk",
  "text_delta",
  "content_block_start text",
  "compaction_delta",
  "an unknown delta",
];

for (const [setting, ways] of [["abort", ["left", "whole"]], ["drain", ["left"]]] as const) {
  // Proves P5.
  Deno.test(`what is delivered is charged, ${setting} when the caller leaves: a sample through the gateway`, async () => {
    const seed = testSeed();
    const random = new Random(seed);
    const faults: string[] = [];
    for (const from of DIALECT_NAMES) {
      let saying: Case = CASES[0]!;
      let way: string = "whole";
      await using upstream = fakeUpstream(() => {
        const texts = textsOf(" ");
        const events = (from: Name, some: readonly JsonObject[]) =>
          some.map((one) => data(from, one)).join("");
        const head = events(from, OPENINGS[from]);
        const tail = events(from, ENDS[from]) + (from === "chat" ? sse("[DONE]") : "");
        const most = events(from, saying.stream!(texts.slice(0, 199)));
        const last = events(from, saying.stream!(texts.slice(199)));
        return way === "left"
          ? pacedStream(150, [head + most, last, tail])
          : eventStream(head + most, last, tail);
      });
      await using gateway = await startGateway({
        settings: {
          upstream: { url: upstream.url, dialect: from },
          routes: { token: BY_THE_TOKEN },
          onClientDisconnect: setting,
        },
      });
      const { keys: [key] } = await customer(gateway, 1_000_000);
      const ask = async (one: Case, to: Name): Promise<{ charged: number; share: number }> => {
        saying = one;
        const known = new Set((await usageRecords(gateway)).map(({ request_id: id }) => id));
        const leaving = new AbortController();
        const reply = await gateway.post(
          DIALECTS[to].front.path,
          {
            model: "token",
            stream: true,
            ...(to === "responses"
              ? { max_output_tokens: 20_000, input: "Hi" }
              : { max_tokens: 20_000, messages }),
          },
          { key: key!, signal: leaving.signal },
        );
        const reader = reply.body!.getReader();
        const decoder = new TextDecoder();
        let got = "";
        while (way === "whole" || zebras(got) < 0.95 * zebras(wordsOf(2_000))) {
          const { value, done } = await reader.read();
          if (done) break; // of what is not delivered, nothing tells the caller when to leave
          got += decoder.decode(value, { stream: true });
        }
        leaving.abort();
        await reader.cancel().catch(() => {});
        await until(() => gateway.gateway.inFlight.count === 0);
        await until(async () => (await usageRecords(gateway)).length > known.size);
        const record = (await usageRecords(gateway)).find(({ request_id: id }) => !known.has(id))!;
        // the end of a responses stream repeats all of it
        const share = Math.min(1, zebras(got) / zebras(wordsOf(2_000)));
        return { charged: Number(record.charged_credits), share };
      };
      for (way of ways) {
        const usual = USUAL[from];
        const expected = await ask(CASES.find(({ name }) => name === usual)!, from);
        const sample = SAMPLE.map((name) => CASES.find((one) => one.name === name)!)
          .filter((one) => one.from === from);
        for (const one of isProof ? sample : [random.pick(sample)]) {
          for (const to of isProof ? DIALECT_NAMES : [random.pick(DIALECT_NAMES)]) {
            const { charged, share } = await ask(one, to);
            if (share < 0.1) continue;
            const ratio = charged / (expected.charged * share);
            if (ratio >= LEAST && ratio <= MOST) continue;
            faults.push(`${ratio.toFixed(3)} ${way} ${from}→${to} ${one.name}`);
          }
        }
      }
      await assertLedgerClean(gateway);
    }
    assertEquals(faults, [], `seed ${seed}`);
  });
}
