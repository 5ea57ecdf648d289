/** What an upstream says that it did is what is charged, and stands on the record: from each dialect through each other. */

import { calcPrice, findProvider } from "@pydantic/genai-prices";
import { requestRecord } from "../../src/money/usage/mod.ts";
import type { JsonObject } from "../../src/wire/dialects/mod.ts";
import { assertEquals } from "../assert.ts";
import { assertLedgerClean, customer } from "../fake/customer.ts";
import { startGateway, usageRecords } from "../fake/gateway.ts";
import { eventStream, fakeUpstream, sse } from "../fake/upstream.ts";

/** A credit is a millionth of a dollar. */
const PER_USD = 1_000_000;

interface Back {
  readonly provider: string;
  /** The same in the words of genai-prices, if not its own ID. */
  readonly maker?: string;
  readonly model: string;
  readonly usage: JsonObject;
  /** The same in the words of genai-prices. */
  readonly units: Readonly<Record<string, number>>;
  reply(usage: JsonObject, stream: boolean): Response;
}

const json = (...events: JsonObject[]) => events.map((event) => JSON.stringify(event));

const BACKS: Record<string, Back> = {
  chat: {
    provider: "openai",
    model: "gpt-audio",
    usage: {
      prompt_tokens: 900,
      completion_tokens: 40,
      total_tokens: 940,
      prompt_tokens_details: { audio_tokens: 70 },
      completion_tokens_details: { reasoning_tokens: 5, audio_tokens: 12 },
    },
    units: {
      input_tokens: 900,
      output_tokens: 40,
      input_audio_tokens: 70,
      output_audio_tokens: 12,
    },
    reply: (usage, stream) => {
      const of = { id: "x", model: "gpt-audio-2026", service_tier: "default", created: 1 };
      const message = { role: "assistant", content: "well" };
      return stream
        ? eventStream(sse(
          ...json(
            { ...of, choices: [{ index: 0, delta: message }] },
            { ...of, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
            { ...of, choices: [], usage },
          ),
          "[DONE]",
        ))
        : Response.json({ ...of, choices: [{ index: 0, message, finish_reason: "stop" }], usage });
    },
  },
  messages: {
    provider: "anthropic",
    model: "claude-opus-4-6",
    usage: {
      input_tokens: 300,
      cache_read_input_tokens: 150,
      cache_creation_input_tokens: 450,
      cache_creation: { ephemeral_5m_input_tokens: 250, ephemeral_1h_input_tokens: 200 },
      output_tokens: 40,
      service_tier: "standard",
      inference_geo: "us",
    },
    units: {
      input_tokens: 900,
      cache_read_tokens: 150,
      cache_write_tokens: 450,
      cache_write_1h_tokens: 200,
      output_tokens: 40,
    },
    reply: (usage, stream) => {
      const message: JsonObject = {
        id: "x",
        type: "message",
        role: "assistant",
        model: "claude-opus-4-6-2026",
        content: [{ type: "text", text: "well" }],
        stop_reason: "end_turn",
        stop_sequence: null,
        usage,
      };
      const { output_tokens: output } = usage;
      return stream
        ? eventStream(sse(...json(
          { type: "message_start", message: { ...message, content: [], stop_reason: null } },
          { type: "content_block_start", index: 0, content_block: { type: "text", text: "well" } },
          { type: "content_block_stop", index: 0 },
          {
            type: "message_delta",
            delta: { stop_reason: "end_turn" },
            usage: { output_tokens: output! },
          },
          { type: "message_stop" },
        )))
        : Response.json(message);
    },
  },
  responses: {
    provider: "openai",
    model: "gpt-5.2",
    usage: {
      input_tokens: 900,
      input_tokens_details: { cached_tokens: 400 },
      output_tokens: 40,
      output_tokens_details: { reasoning_tokens: 20 },
      total_tokens: 940,
    },
    units: { input_tokens: 900, cache_read_tokens: 400, output_tokens: 40 },
    reply: (usage, stream) => {
      const item: JsonObject = {
        type: "message",
        id: "msg_1",
        status: "completed",
        role: "assistant",
        content: [{ type: "output_text", text: "well", annotations: [] }],
      };
      const response: JsonObject = {
        id: "x",
        object: "response",
        status: "completed",
        model: "gpt-5.2-2026",
        service_tier: "default",
        output: [item],
        usage,
      };
      return stream
        ? eventStream(sse(...json(
          {
            type: "response.created",
            response: { ...response, status: "in_progress", output: [] },
          },
          { type: "response.output_item.added", output_index: 0, item },
          { type: "response.output_item.done", output_index: 0, item },
          { type: "response.completed", response },
        )))
        : Response.json(response);
    },
  },
};

// what the model thought is beside its candidates, and a number that is zero is left out
BACKS.generate = {
  provider: "gemini",
  maker: "google",
  model: "gemini-2.5-flash",
  usage: {
    promptTokenCount: 900,
    cachedContentTokenCount: 400,
    thoughtsTokenCount: 25,
    candidatesTokenCount: 15,
    totalTokenCount: 940,
    promptTokensDetails: [{ modality: "TEXT", tokenCount: 830 }, {
      modality: "AUDIO",
      tokenCount: 70,
    }],
    trafficType: "ON_DEMAND",
  },
  units: { input_tokens: 900, cache_read_tokens: 400, output_tokens: 40 },
  reply: (usage, stream) => {
    const of = { modelVersion: "gemini-2.5-flash-2026", responseId: "x" };
    const said = { content: { role: "model", parts: [{ text: "well" }] }, index: 0 };
    const early = { ...usage, candidatesTokenCount: 3, totalTokenCount: 928 };
    return stream
      ? eventStream(sse(...json(
        { ...of, candidates: [said], usageMetadata: early },
        { ...of, candidates: [{ finishReason: "STOP", index: 0 }], usageMetadata: usage },
      )))
      : Response.json({
        ...of,
        candidates: [{ ...said, finishReason: "STOP" }],
        usageMetadata: usage,
      });
  },
};

const TEXT = "word ".repeat(600);
const FRONTS: Readonly<Record<string, (more: JsonObject) => readonly [string, JsonObject]>> = {
  chat: (more) => [
    "/v1/chat/completions",
    { max_tokens: 100, messages: [{ role: "user", content: TEXT }], ...more },
  ],
  messages: (more) => [
    "/v1/messages",
    { ...more, max_tokens: 100, messages: [{ role: "user", content: TEXT }] },
  ],
  responses: (more) => ["/v1/responses", { ...more, max_output_tokens: 100, input: TEXT }],
};

/** What asks for the kinds of tokens that the replies of the same dialect report. */
const CAUSES: Readonly<Record<string, JsonObject>> = {
  chat: {
    messages: [{
      role: "user",
      content: [
        { type: "text", text: TEXT },
        { type: "input_audio", input_audio: { data: btoa("a".repeat(3_000)), format: "wav" } },
      ],
    }],
  },
  messages: { cache_control: { type: "ephemeral", ttl: "1h" } },
};

Deno.test("what the upstream says that it did is charged and recorded: each dialect, whole and streamed", async () => {
  const upstreams = Object.entries(BACKS).map(([dialect, { usage, reply }]) => {
    const upstream = fakeUpstream(({ body, path }) => {
      const isStream = body.stream === true || path.endsWith(":streamGenerateContent");
      const response = reply(usage, isStream);
      response.headers.set("request-id", `own-${dialect}`);
      return response;
    });
    return [dialect, upstream] as const;
  });
  await using _all = {
    async [Symbol.asyncDispose]() {
      for (const [, upstream] of upstreams) await upstream[Symbol.asyncDispose]();
    },
  };
  const routes = Object.entries(BACKS).map(([dialect, { model }]) => [`of-${dialect}`, {
    targets: [{ upstream: dialect, model }],
    minimum: 0,
    allow: { tiers: { priority: 2, fast: 6 } },
  }]);
  await using gateway = await startGateway({
    settings: {
      credits: { perUsd: PER_USD },
      upstreams: Object.fromEntries(
        upstreams.map(([dialect, { url }]) => {
          const { provider } = BACKS[dialect]!;
          return [dialect, { provider, url, dialect, key: "k", quirks: "none" }];
        }),
      ) as never,
      routes: Object.fromEntries(routes),
    },
  });
  const { keys: [key] } = await customer(gateway, 100_000_000);
  for (const [back, { provider, maker = provider, model, units }] of Object.entries(BACKS)) {
    for (const [front, request] of Object.entries(FRONTS)) {
      const causes = front === back ? CAUSES[front] : undefined;
      // sound of a text, and a cache for longer than was asked for, are not charged
      const { total_price: usd } = calcPrice(
        causes ? units : { ...units, input_audio_tokens: 0, cache_write_1h_tokens: 0 },
        model,
        { provider: findProvider({ providerId: maker })!, timestamp: new Date() },
      )!;
      for (const stream of [false, true]) {
        // a dearer tier that was asked for and not served is not charged
        const tiers: readonly JsonObject[] = front !== back
          ? [{}]
          : [{}, front === "messages" ? { speed: "fast" } : { service_tier: "priority" }];
        for (const tier of tiers) {
          const what = `${front} to ${back}, ${stream}, ${JSON.stringify(tier)}`;
          const [path, body] = request({ model: `of-${back}`, stream, ...tier, ...causes });
          const reply = await gateway.post(path, body, { key: key! });
          assertEquals([reply.status, (await reply.text()).includes("well")], [200, true], what);
          const { request_id: id } = (await usageRecords(gateway)).at(-1)!;
          const record = (await requestRecord(gateway.gateway.database, String(id)))!;
          // Anthropic says the speed in its usage: this one does not, so that what was asked for is charged
          const factor = "speed" in tier ? 6 : 1;
          assertEquals(record.priceCredits, Math.ceil(usd * PER_USD * factor - 1e-3), what);
          assertEquals(record.upstreamModel, model);
          const { row: _row, extras: _extras, ...told } = record.details;
          assertEquals(told, {
            model: `${model}-2026`,
            id: `own-${back}`,
            tier: "default",
            ...(back === "messages" && { region: "us" }),
          }, what);
        }
      }
    }
  }
  await assertLedgerClean(gateway);
});
