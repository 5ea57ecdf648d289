/** What a reply says arrives in the client's place for it, whole and streamed, and comes back to the upstream as it was said. */

import { Buffer } from "node:buffer";
import fc from "fast-check";
import {
  bridgeBetween,
  DIALECT_NAMES,
  type DialectName,
  DIALECTS,
  type JsonObject,
  SseDecoder,
  wholeOfStream,
} from "../../../src/wire/dialects/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { sized } from "../../tier.ts";
import { clientStream, contextOf, SEALER } from "./ends.ts";
import { eventsOfWhole, plainReply, type Reply, streamText, wholeOf } from "./reply_forms.ts";
import { args, type Body, plainBody, word } from "./shared_fields.ts";

const runs = { numRuns: sized(15, 200) };

/** Something that replies of several dialects say. */
interface SharedReply {
  readonly name: string;
  readonly value: fc.Arbitrary<unknown>;
  /** What of the request it needs. */
  readonly asks?: Partial<Readonly<Record<DialectName, JsonObject>>>;
  // deno-lint-ignore no-explicit-any -- each row's own value
  readonly say: Partial<Readonly<Record<DialectName, (reply: Reply, value: any) => void>>>;
  readonly hear: Partial<Readonly<Record<DialectName, (reply: Reply) => unknown>>>;
  /** By the upstream's dialect and the client's, what is not heard as it was said, and why. */
  readonly but?: Readonly<Record<string, Departure>>;
}

interface Departure {
  readonly why: string;
  // deno-lint-ignore no-explicit-any -- each row's own value
  readonly as: (value: any) => unknown;
  readonly hear?: (reply: Reply) => unknown;
}

const message = (reply: Reply) => reply.choices[0].message;
const ofType = (list: Reply[], type: string) => list.find((one) => one.type === type);
const textPart = (reply: Reply) => ofType(reply.output, "message").content[0];
const FUNCTION = {
  chat: { tools: [{ type: "function", function: { name: "f" } }] },
  messages: { tools: [{ name: "f", input_schema: { type: "object" } }] },
  responses: { tools: [{ type: "function", name: "f", parameters: null, strict: null }] },
};
const imagePart = (data: string) => ({
  type: "image_url",
  image_url: { url: `data:image/webp;base64,${data}` },
});
const CUSTOM = {
  chat: { tools: [{ type: "custom", custom: { name: "patch" } }] },
  responses: { tools: [{ type: "custom", name: "patch" }] },
};

interface Call {
  readonly id: string;
  readonly args: string;
}
const callOf = fc.record({ id: fc.stringMatching(/^call_[A-Za-z0-9]{1,20}$/), args })
  .map(({ id, args }) => ({ id, args: JSON.stringify(args) }));
const sayCall: SharedReply["say"] = {
  chat: (reply, { id, args }: Call) => {
    message(reply).tool_calls = [
      { id, type: "function", function: { name: "f", arguments: args } },
    ];
    reply.choices[0].finish_reason = "tool_calls";
  },
  messages: (reply, { id, args }: Call) => {
    reply.content.push({ type: "tool_use", id, name: "f", input: JSON.parse(args) });
    reply.stop_reason = "tool_use";
  },
  responses: (reply, { id, args }: Call) =>
    reply.output.push({
      id: "fc_1",
      type: "function_call",
      status: "completed",
      call_id: id,
      name: "f",
      arguments: args,
    }),
};

interface Counts {
  readonly input: number;
  readonly cached: number;
  readonly written: number;
  readonly output: number;
  readonly reasoning: number;
}

/** Ends of a reply, in each dialect's words. */
const ENDS: Readonly<Record<string, Readonly<Record<DialectName, string>>>> = {
  stop: { chat: "stop", messages: "end_turn", responses: "completed" },
  length: { chat: "length", messages: "max_tokens", responses: "max_output_tokens" },
  filtered: { chat: "content_filter", messages: "refusal", responses: "content_filter" },
};
const endOf = (dialect: DialectName, said: string) =>
  Object.keys(ENDS).find((one) => ENDS[one]![dialect] === said) ?? said;
/** Ends that only messages upstreams name. */
const pauses = (words: Readonly<Record<string, string>>, reason: string, why: string) => ({
  name: `end by ${reason}`,
  value: fc.constant(reason),
  say: { messages: (reply: Reply, value: string) => reply.stop_reason = value },
  hear: { messages: (reply: Reply) => reply.stop_reason },
  but: Object.fromEntries(["chat", "responses"].map((to) => [`messages ${to}`, {
    why,
    as: () => words[to],
    hear: (reply: Reply) => reply.choices?.[0].finish_reason ?? reply.status,
  }])),
});

const REPLIES: readonly SharedReply[] = [
  {
    name: "text",
    value: word,
    say: {
      chat: (reply, text) => message(reply).content = text,
      messages: (reply, text) => reply.content[0].text = text,
      responses: (reply, text) => textPart(reply).text = text,
    },
    hear: {
      chat: (reply) => message(reply).content,
      messages: ({ content }) => ofType(content, "text").text,
      responses: (reply) => textPart(reply).text,
    },
  },
  {
    name: "reasoning",
    value: word,
    say: {
      chat: (reply, text) => message(reply).reasoning_content = text,
      messages: (reply, thinking) =>
        reply.content.unshift({ type: "thinking", thinking, signature: "c2lnbmVk" }),
      responses: (reply, text) =>
        reply.output.unshift({
          id: "rs_1",
          type: "reasoning",
          summary: [{ type: "summary_text", text }],
        }),
    },
    hear: {
      chat: (reply) => message(reply).reasoning_content,
      messages: ({ content }) => ofType(content, "thinking").thinking,
      responses: ({ output }) => ofType(output, "reasoning").summary[0].text,
    },
  },
  {
    name: "refusal",
    value: word,
    say: {
      chat: (reply, refusal) => Object.assign(message(reply), { content: null, refusal }),
      messages: (reply, explanation) =>
        Object.assign(reply, {
          content: [],
          stop_reason: "refusal",
          stop_details: { type: "refusal", category: null, explanation },
        }),
      responses: (reply, refusal) =>
        ofType(reply.output, "message").content = [{ type: "refusal", refusal }],
    },
    hear: {
      chat: (reply) => message(reply).refusal,
      messages: ({ content, stop_reason, stop_details }) =>
        stop_reason === "refusal" && (stop_details?.explanation ?? content[0].text),
      responses: (reply) => textPart(reply).refusal,
    },
  },
  {
    name: "call of a tool",
    value: callOf,
    asks: FUNCTION,
    say: sayCall,
    hear: {
      chat: (reply) => {
        const [{ id, function: own }] = message(reply).tool_calls;
        return { id, args: own.arguments };
      },
      messages: ({ content, stop_reason }) => {
        const { id, input } = ofType(content, "tool_use");
        return stop_reason === "tool_use" && { id, args: JSON.stringify(input) };
      },
      responses: ({ output }) => {
        const { call_id: id, arguments: args } = ofType(output, "function_call");
        return { id, args };
      },
    },
  },
  ...(["as a function's", "as a custom tool's"] as const).map((how): SharedReply => ({
    name: `call of a custom tool, ${how}`,
    value: word.map((text) => `*** "${text}"\n`),
    asks: CUSTOM,
    say: {
      chat: (reply, input) => {
        const own = how === "as a function's"
          ? { function: { name: "patch", arguments: JSON.stringify({ input }) } }
          : { custom: { name: "patch", input } };
        const type = Object.keys(own)[0];
        message(reply).tool_calls = [{ id: "call_1", type, ...own }];
        reply.choices[0].finish_reason = "tool_calls";
      },
      messages: (reply, input) => {
        reply.content.push({ type: "tool_use", id: "call_1", name: "patch", input: { input } });
        reply.stop_reason = "tool_use";
      },
      responses: (reply, input) => {
        const own = how === "as a function's"
          ? { type: "function_call", arguments: JSON.stringify({ input }) }
          : { type: "custom_tool_call", input };
        const call = { id: "c_1", status: "completed", call_id: "call_1", name: "patch", ...own };
        reply.output.push(call);
      },
    },
    hear: {
      chat: (reply) => message(reply).tool_calls[0].custom.input,
      responses: ({ output }) => ofType(output, "custom_tool_call").input,
    },
    // a function is offered across dialects, so that no chat upstream calls anything else
    ...(how === "as a function's" ? {} : {
      but: {
        "chat responses": {
          why: "no custom tool was offered there",
          as: () => 1,
          hear: ({ output }) => output.length,
        },
      },
    }),
  })),
  {
    name: "citation of a source",
    value: fc.record({
      url: fc.webUrl(),
      title: word,
      start_index: fc.nat(1),
      end_index: fc.constant(3),
    }),
    say: {
      chat: (reply, cited) =>
        message(reply).annotations = [{ type: "url_citation", url_citation: cited }],
      responses: (reply, cited) =>
        textPart(reply).annotations = [{ type: "url_citation", ...cited }],
    },
    hear: {
      chat: (reply) => message(reply).annotations[0].url_citation,
      responses: (reply) => {
        const [{ type: _, ...cited }] = textPart(reply).annotations;
        return cited;
      },
    },
    but: Object.fromEntries(["chat messages", "responses messages"].map((pair) => [pair, {
      why: "a citation there names a place in a search of its own upstream's",
      as: () => [{ type: "text", text: "Yes" }],
      hear: ({ content }: Reply) => content,
    }])),
  },
  {
    name: "image that the model made",
    value: fc.uint8Array({ minLength: 60, maxLength: 90 }).map((bytes) =>
      Buffer.from(bytes).toString("base64")
    ),
    say: {
      chat: (reply, data) => message(reply).images = [imagePart(data)],
      responses: (reply, result) =>
        reply.output.push({
          id: "ig_1",
          type: "image_generation_call",
          status: "completed",
          output_format: "webp",
          result,
        }),
    },
    hear: {
      chat: (reply) => {
        const [{ index: _, ...image }] = message(reply).images;
        return image.image_url.url.replace(/^data:image\/webp;base64,/, "");
      },
      responses: ({ output }) => ofType(output, "image_generation_call").result,
    },
    but: Object.fromEntries(["chat messages", "responses messages"].map((pair) => [pair, {
      why: "replies there have no place for one",
      as: () => [{ type: "text", text: "Yes" }],
      hear: ({ content }: Reply) => content,
    }])),
  },
  {
    name: "log probabilities",
    value: fc.array(
      fc.record({ token: word, logprob: fc.double({ min: -9, max: 0, noNaN: true }) })
        .map((one) => ({ ...one, logprob: one.logprob || -1, bytes: [1], top_logprobs: [] })),
      { minLength: 1, maxLength: 3 },
    ),
    asks: {
      chat: { logprobs: true },
      responses: { include: ["message.output_text.logprobs"] },
    },
    say: {
      chat: (reply, content) => reply.choices[0].logprobs = { content, refusal: null },
      responses: (reply, logprobs) => textPart(reply).logprobs = logprobs,
    },
    hear: {
      chat: (reply) => reply.choices[0].logprobs.content,
      responses: (reply) => textPart(reply).logprobs,
    },
    but: Object.fromEntries(["chat messages", "responses messages"].map((pair) => [pair, {
      why: "the dialect has none",
      as: () => [{ type: "text", text: "Yes" }],
      hear: ({ content }: Reply) => content,
    }])),
  },
  {
    name: "end",
    value: fc.constantFrom(...Object.keys(ENDS)),
    say: {
      chat: (reply, end) => reply.choices[0].finish_reason = ENDS[end]!.chat,
      messages: (reply, end) => reply.stop_reason = ENDS[end]!.messages,
      responses: (reply, end) => {
        const reason = ENDS[end]!.responses;
        if (reason === "completed") return;
        Object.assign(reply, { status: "incomplete", incomplete_details: { reason } });
      },
    },
    hear: {
      chat: (reply) => endOf("chat", reply.choices[0].finish_reason),
      messages: (reply) => endOf("messages", reply.stop_reason),
      responses: ({ status, incomplete_details: details }) =>
        endOf("responses", details?.reason ?? status),
    },
  },
  pauses(
    { chat: "stop", responses: "completed" },
    "pause_turn",
    "the client has said all that it can: it goes on with another request, as after any other end",
  ),
  pauses(
    { chat: "stop", responses: "completed" },
    "stop_sequence",
    "a sequence that ends a reply is an ordinary end there",
  ),
  pauses(
    { chat: "length", responses: "incomplete" },
    "model_context_window_exceeded",
    "there is one end for all limits",
  ),
  {
    name: "usage with its details",
    value: fc.record({
      input: fc.integer({ min: 50, max: 99 }),
      cached: fc.integer({ min: 1, max: 20 }),
      written: fc.integer({ min: 1, max: 20 }),
      output: fc.integer({ min: 20, max: 40 }),
      reasoning: fc.integer({ min: 1, max: 9 }),
    }),
    say: {
      chat: (reply, { input, cached, written, output, reasoning }: Counts) =>
        reply.usage = {
          prompt_tokens: input,
          completion_tokens: output,
          total_tokens: input + output,
          prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
          completion_tokens_details: { reasoning_tokens: reasoning },
        },
      messages: (reply, { input, cached, written, output, reasoning }: Counts) =>
        reply.usage = {
          input_tokens: input - cached - written,
          cache_read_input_tokens: cached,
          cache_creation_input_tokens: written,
          output_tokens: output,
          output_tokens_details: { thinking_tokens: reasoning },
        },
      responses: (reply, { input, cached, written, output, reasoning }: Counts) =>
        reply.usage = {
          input_tokens: input,
          input_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
          output_tokens: output,
          output_tokens_details: { reasoning_tokens: reasoning },
          total_tokens: input + output,
        },
    },
    hear: {
      chat: ({ usage }) => ({
        input: usage.prompt_tokens,
        cached: usage.prompt_tokens_details.cached_tokens,
        written: usage.prompt_tokens_details.cache_write_tokens,
        output: usage.completion_tokens,
        reasoning: usage.completion_tokens_details.reasoning_tokens,
      }),
      messages: ({ usage }) => ({
        input: usage.input_tokens + usage.cache_read_input_tokens +
          usage.cache_creation_input_tokens,
        cached: usage.cache_read_input_tokens,
        written: usage.cache_creation_input_tokens,
        output: usage.output_tokens,
        reasoning: usage.output_tokens_details.thinking_tokens,
      }),
      responses: ({ usage }) => ({
        input: usage.input_tokens,
        cached: usage.input_tokens_details.cached_tokens,
        written: usage.input_tokens_details.cache_write_tokens,
        output: usage.output_tokens,
        reasoning: usage.output_tokens_details.reasoning_tokens,
      }),
    },
  },
  {
    name: "model, as the client named it",
    value: fc.constant("m"),
    say: { chat: () => {}, messages: () => {}, responses: () => {} },
    hear: {
      chat: ({ model }) => model,
      messages: ({ model }) => model,
      responses: ({ model }) => model,
    },
  },
];

/** What a client gets of what an upstream says: whole, streamed, and whole of a stream that nobody requested. */
function heard(client: DialectName, upstream: DialectName, body: Body, said: Reply): Reply[] {
  const bridge = bridgeBetween(client, upstream);
  const parsed = (stream: boolean) =>
    DIALECTS[client].front.parse(
      { ...structuredClone(body), stream, ...(stream && client === "chat" ? USAGE : {}) },
      () => null,
      SEALER,
    );
  const context = (stream: boolean) =>
    contextOf(parsed(stream), { source: { route: "route", upstream: "up", model: "theirs" } });
  const whole = bridge.reply(structuredClone(said), context(false)).body;
  const text = streamText(upstream, eventsOfWhole(upstream, said));
  const together = wholeOfStream(client, upstream, context(false));
  for (const event of new SseDecoder().push(new TextEncoder().encode(text))) together.push(event);
  return [
    whole,
    wholeOf(client, clientStream(bridge.stream(context(true)), text)),
    together.reply().body,
  ];
}

const USAGE = { stream_options: { include_usage: true } };

for (const { name, value, asks, say, hear, but } of REPLIES) {
  for (const upstream of DIALECT_NAMES) {
    const saying = say[upstream];
    if (saying === undefined) continue;
    for (const client of DIALECT_NAMES) {
      const departure = but?.[`${upstream} ${client}`];
      const hearing = departure?.hear ?? hear[client];
      if (hearing === undefined) continue; // no client of the dialect can ask for it
      const why = departure === undefined ? "" : `, but ${departure.why}`;
      Deno.test(`${name}: said by ${upstream}, heard by ${client}${why}`, () => {
        fc.assert(
          fc.property(value, (one) => {
            const reply = plainReply(upstream);
            saying(reply, one);
            const body = { ...plainBody(client), ...asks?.[client] };
            heard(client, upstream, body, reply).forEach((got, at) => {
              const expected = departure === undefined ? one : departure.as(one);
              assertEquals(hearing(got), expected, ["whole", "streamed", "put together"][at]);
            });
          }),
          runs,
        );
      });
    }
  }
}

/** What of a reply its upstream wants back as it was. */
interface Returned {
  readonly seal: string;
  readonly id: string;
  readonly args: string;
}

/** Ids and arguments as upstreams of each dialect write them. */
const RETURNED: Readonly<Record<DialectName, fc.Arbitrary<Returned>>> = (() => {
  const seal = fc.stringMatching(/^[A-Za-z0-9+/]{8,40}$/);
  const spaced = args.map((one) => JSON.stringify(one, null, 1));
  const legal = fc.stringMatching(/^[A-Za-z0-9_-]{1,40}$/);
  return {
    chat: fc.record({
      seal,
      id: fc.oneof(legal, fc.stringMatching(/^functions\.[A-Za-z]{1,9}:[0-9]$/)),
      args: spaced,
    }),
    messages: fc.record({ seal, id: legal, args: args.map((one) => JSON.stringify(one)) }),
    responses: fc.record({ seal, id: legal, args: spaced }),
  };
})();

/** The seal, the id and the arguments in a reply of an upstream, and in the history that it gets back. */
const SEALED: Readonly<
  Record<DialectName, {
    readonly say: (reply: Reply, value: Returned) => void;
    readonly hear: (body: Body) => Returned & { readonly result: string };
  }>
> = {
  chat: {
    say(reply, { seal, ...call }) {
      message(reply).reasoning_content = "Hm";
      sayCall.chat!(reply, call);
      message(reply).tool_calls[0].extra_content = { google: { thought_signature: seal } };
    },
    hear({ messages }) {
      const [call] = messages.findLast((one: Body) => one.role === "assistant").tool_calls;
      return {
        seal: call.extra_content?.google.thought_signature,
        id: call.id,
        args: call.function.arguments,
        result: messages.at(-1).tool_call_id,
      };
    },
  },
  messages: {
    say(reply, { seal, ...call }) {
      reply.content.unshift({ type: "thinking", thinking: "Hm", signature: seal });
      sayCall.messages!(reply, call);
    },
    hear({ messages }) {
      const { content } = messages.findLast((one: Body) => one.role === "assistant");
      const { id, input } = ofType(content, "tool_use");
      return {
        seal: ofType(content, "thinking").signature,
        id,
        args: JSON.stringify(input),
        result: messages.at(-1).content[0].tool_use_id,
      };
    },
  },
  responses: {
    say(reply, { seal, ...call }) {
      const summary = [{ type: "summary_text", text: "Hm" }];
      reply.output.unshift({ id: "rs_1", type: "reasoning", summary, encrypted_content: seal });
      sayCall.responses!(reply, call);
    },
    hear({ input }) {
      const { call_id: id, arguments: args } = ofType(input, "function_call");
      const seal = ofType(input, "reasoning").encrypted_content;
      return { seal, id, args, result: ofType(input, "function_call_output").call_id };
    },
  },
};

/** Adds a reply and the result of its call to a conversation, as clients do. */
const RESENT: Readonly<Record<DialectName, (body: Body, reply: Reply) => void>> = {
  chat(body, reply) {
    const { role, content, tool_calls, reasoning_content } = message(reply);
    body.messages.push({ role, content, tool_calls, reasoning_content }, {
      role: "tool",
      tool_call_id: tool_calls[0].id,
      content: "ok",
    });
  },
  messages(body, { content }) {
    const { id } = ofType(content, "tool_use");
    body.messages.push({ role: "assistant", content }, {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: id, content: "ok" }],
    });
  },
  responses(body, { output }) {
    const { call_id } = ofType(output, "function_call");
    body.input.push(...output, { type: "function_call_output", call_id, output: "ok" });
  },
};

for (const upstream of DIALECT_NAMES) {
  for (const client of DIALECT_NAMES) {
    Deno.test(`there and back: ${upstream} gets what it said from a client of ${client}`, () => {
      fc.assert(
        fc.property(RETURNED[upstream], (value) => {
          const body = { ...plainBody(client), ...FUNCTION[client] };
          if (client === "messages") body.thinking = { type: "adaptive" };
          if (client === "responses") body.include = ["reasoning.encrypted_content"];
          const said = plainReply(upstream);
          SEALED[upstream].say(said, value);
          for (const reply of heard(client, upstream, body, said)) {
            const next = structuredClone(body);
            RESENT[client](next, structuredClone(reply));
            const { front } = DIALECTS[client];
            const parsed = front.parse(next, () => null, SEALER);
            const route = { id: "route", reasoning: "effort", efforts: ["low"] } as const;
            const { request } = front.applyReasoning(parsed, route);
            const { body: sent } = bridgeBetween(client, upstream).request(request, {
              model: "theirs",
              upstream: "up",
              permittedOutput: 900,
              shaping: { ownSampling: true },
            });
            const got = SEALED[upstream].hear(sent);
            assertEquals([got.id, got.result], [value.id, value.id]);
            // a call's input is an object for messages clients: its text is written again
            if (client === "messages") assertEquals(JSON.parse(got.args), JSON.parse(value.args));
            else assertEquals(got.args, value.args);
            // chat clients have no place for what seals reasoning, but return what came beside a call
            if (client !== "chat") assertEquals(got.seal, value.seal);
            assert(JSON.stringify(sent).includes("Hm"), "its reasoning");
          }
        }),
        runs,
      );
    });
  }
}

Deno.test("a messages client gets the same blocks of a responses upstream's parts, whole and streamed", () => {
  const text = (text: string) => ({ type: "output_text", text, annotations: [], logprobs: [] });
  const said = plainReply("responses");
  said.output = [
    {
      id: "rs_1",
      type: "reasoning",
      summary: ["one", "two"].map((text) => ({ type: "summary_text", text })),
      encrypted_content: "c2ln",
    },
    { ...said.output[0], content: [text("A"), text("B")] },
    { ...said.output[0], id: "msg_2", content: [text("C")] },
  ];
  const body = { ...plainBody("messages"), thinking: { type: "adaptive" } };
  for (const { content } of heard("messages", "responses", body, said)) {
    assertEquals(
      content.map(({ thinking, text }: Reply) => thinking ?? text),
      ["one\n\ntwo", "AB\n\nC"],
    );
    assert(content[0].signature !== "sluice.1", "what the upstream encrypted is in it");
  }
});

Deno.test("a responses upstream gets its ids of calls back from a messages client, also those that are not legal there", () => {
  for (const call_id of ["functions.Read:0", "sl-x", "call_1"]) {
    const said = plainReply("responses");
    sayCall.responses!(said, { id: call_id, args: '{"q":1}' });
    const body = { ...plainBody("messages"), ...FUNCTION.messages };
    for (const reply of heard("messages", "responses", body, said)) {
      assert(/^[A-Za-z0-9_-]+$/.test(ofType(reply.content, "tool_use").id));
      const next = structuredClone(body);
      RESENT.messages(next, structuredClone(reply));
      const request = DIALECTS.messages.front.parse(next, () => null, SEALER);
      const { body: sent } = bridgeBetween("messages", "responses").request(request, {
        model: "theirs",
        upstream: "up",
        permittedOutput: 900,
        shaping: {},
      });
      const ids = (sent.input as Reply[]).flatMap(({ call_id: id }) => id ?? []);
      assertEquals(ids, [call_id, call_id]);
    }
  }
});
