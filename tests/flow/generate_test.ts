/** Errors and lists of models in Google's form, through a whole gateway. */

import { Buffer } from "node:buffer";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { assert, assertEquals } from "../assert.ts";
import { startGateway, usageRecords } from "../fake/gateway.ts";
import { checkGenerateRequest, failed, generateServer } from "../fake/generate.ts";
import { completion, eventStream, fakeUpstream, sse } from "../fake/upstream.ts";

const LONG =
  "The input token count (1500000) exceeds the maximum number of tokens allowed (1048575).";
const UNKNOWN = "models/gone is not found for API version v1beta, or is not supported for " +
  "generateContent. Call ListModels to see the list of available models and their supported methods.";

/** What the upstream replies for a model. */
const REPLIES: Readonly<Record<string, () => Response>> = {
  busy: () => failed(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.", "7.2s"),
  away: () => failed(503, "UNAVAILABLE", "The model is overloaded.", "3s"),
  gone: () => failed(404, "NOT_FOUND", UNKNOWN),
  long: () => failed(400, "INVALID_ARGUMENT", LONG),
  key: () => failed(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
  wrong: () => failed(400, "INVALID_ARGUMENT", "* GenerateContentRequest.contents: wrong"),
  "in-a-stream": () => {
    const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "9s" }];
    const error = { code: 429, message: "Quota", status: "RESOURCE_EXHAUSTED", details };
    return eventStream(sse(JSON.stringify({ error })));
  },
};

Deno.test("errors of Google: what they mean, and how long they say to wait", async () => {
  await using upstream = fakeUpstream(({ path }) => REPLIES[path.split(/[/:]/)[3]!]!());
  await using second = fakeUpstream(() => completion("Hi"));
  const names = Object.keys(REPLIES);
  await using gateway = await startGateway({
    settings: {
      upstreams: {
        // each has a circuit of its own
        ...Object.fromEntries(
          names.map((name) => [name, { url: upstream.url, dialect: "generate" as const }]),
        ),
        second: { url: second.url },
      },
      routes: {
        ...Object.fromEntries(
          names.map((name) => [name, { targets: [{ upstream: name, model: name }], ...BOUNDS }]),
        ),
        two: {
          targets: [{ upstream: "key", model: "key" }, { upstream: "second", model: "m" }],
          ...BOUNDS,
        },
      },
    },
    firstWaitMs: 1,
  });
  const ask = async (model: string, stream = false) => {
    const response = await gateway.post("/v1/chat/completions", {
      model,
      stream,
      messages: [{ role: "user", content: "Hi" }],
    });
    const text = await response.text();
    return { status: response.status, after: response.headers.get("retry-after"), text };
  };
  const busy = await ask("busy");
  assertEquals([busy.status, busy.after], [429, "8"], busy.text);
  const away = await ask("away");
  assertEquals([away.status, away.after], [503, "3"], away.text);
  const streamed = await ask("in-a-stream", true);
  assertEquals([streamed.status, streamed.after], [429, "9"], streamed.text);
  const gone = await ask("gone");
  assertEquals([gone.status, JSON.parse(gone.text).error.code], [404, "model_not_found"]);
  const long = await ask("long");
  assertEquals(long.status, 400);
  assert(/prompt is too long: 1500000 tokens > 1048575 maximum/.test(long.text), long.text);
  const wrong = await ask("wrong");
  assertEquals([wrong.status, wrong.text.includes("contents: wrong")], [400, true]);
  // a key that only the operator can change
  assertEquals((await ask("key")).status, 503);
  const two = await ask("two");
  assertEquals([two.status, two.text.includes("Hi")], [200, true], two.text);
  const charged = (await usageRecords(gateway)).filter(({ status }) => Number(status) >= 400);
  assertEquals(charged.filter(({ price_credits: price }) => Number(price) > 0), []);
});

const BOUNDS = { context: 100_000, maxOutput: 1_000 };

Deno.test("models that Gemini lists are served by their own names, with their limits", async () => {
  await using upstream = generateServer();
  await using gateway = await startGateway({
    settings: { upstreams: { gemini: { url: upstream.url, dialect: "generate", discover: true } } },
  });
  const listed = await (await fetch(`${gateway.url}/v1/models`)).json();
  const ids = listed.data.map(({ id }: { id: string }) => id);
  assertEquals(["svc-k2", "svc-k3"].filter((one) => !ids.includes(one)), []);
  const reply = await gateway.post("/v1/chat/completions", {
    model: "svc-k3",
    messages: [{ role: "user", content: "Hello" }],
  });
  assertEquals(reply.status, 200, await reply.text());
  assertEquals(upstream.requests, 1);
});

/** A picture of 2 MB as the service has it. */
const LARGE = new Uint8Array(2_000_000).map((_, at) => at * 7_919 % 251);
LARGE.set([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]);
const DATA = Buffer.from(LARGE).toString("base64");

Deno.test("a large image, its source and probabilities arrive through SDKs, cost what is reported, and go back", async () => {
  const usageMetadata = {
    promptTokenCount: 10,
    candidatesTokenCount: 1_300,
    totalTokenCount: 1_310,
    candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 1_290 }],
  };
  const web = { uri: "https://zoo.example", title: "Zoo" };
  const piece = (parts: unknown[], more: Record<string, unknown> = {}) => ({
    candidates: [{ content: { role: "model", parts }, index: 0, ...more }],
    usageMetadata,
  });
  const said = piece([{ text: "Löwe" }, { inlineData: { mimeType: "image/png", data: DATA } }], {
    logprobsResult: { chosenCandidates: [{ token: "Löwe", logProbability: -0.25 }] },
    groundingMetadata: {
      groundingChunks: [{ web }],
      groundingSupports: [{ segment: { endIndex: 5 }, groundingChunkIndices: [0] }],
    },
    finishReason: "STOP",
  });
  await using upstream = fakeUpstream(({ path, body }) => {
    checkGenerateRequest(body);
    return path.includes("stream") ? eventStream(sse(JSON.stringify(said))) : Response.json(said);
  });
  await using gateway = await startGateway({
    settings: {
      upstreams: { up: { url: upstream.url, dialect: "generate" } },
      routes: {
        lion: {
          targets: [{ upstream: "up", model: "gemini-3-image" }],
          context: 100_000,
          maxOutput: 2_000,
          prices: { input: 1_000_000, cached: 0, output: 2_000_000 },
        },
      },
    },
  });
  const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
  const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
  const messages = [{ role: "user" as const, content: "A lion" }];
  const asked = { model: "lion", messages, logprobs: true };

  const cited = { url: web.uri, title: "Zoo", start_index: 0, end_index: 4 };
  const image = {
    type: "image_url",
    image_url: { url: `data:image/png;base64,${DATA}` },
    index: 0,
  };
  const { choices: [choice] } = await openai.chat.completions.create(asked);
  const message = choice!.message as OpenAI.ChatCompletionMessage & { images: unknown };
  assertEquals([message.content, message.images], ["Löwe", [image]]);
  assertEquals(message.annotations?.[0]?.url_citation, cited);
  assertEquals(choice!.logprobs?.content?.map(({ logprob }) => logprob), [-0.25]);
  const deltas = [];
  for await (const chunk of await openai.chat.completions.create({ ...asked, stream: true })) {
    deltas.push(...chunk.choices.map(({ delta }) => delta as { images?: unknown[] }));
  }
  assertEquals(deltas.flatMap(({ images = [] }) => images), [image]);

  const whole = await openai.responses.create({ model: "lion", input: "A lion" });
  const streamed = await openai.responses.stream({ model: "lion", input: "A lion" })
    .finalResponse();
  for (const { output } of [whole, streamed]) {
    const made = output.flatMap((item) => item.type === "image_generation_call" ? [item] : []);
    assertEquals(made.map(({ status, result }) => [status, result === DATA]), [[
      "completed",
      true,
    ]]);
  }
  const plain = await anthropic.messages.stream({ model: "lion", max_tokens: 2_000, messages })
    .finalMessage();
  assertEquals(plain.content.map(({ type }) => type), ["text"]);

  // the next turn, with the reply as it came, and by the ID of its items
  const back = await openai.chat.completions.create({
    ...asked,
    messages: [...messages, message, ...messages],
  });
  assertEquals(back.choices[0]!.message.content, "Löwe");
  await openai.responses.create({
    model: "lion",
    input: [...whole.output.map(({ id }) => ({ type: "item_reference" as const, id: id! })), {
      role: "user",
      content: "Bluer",
    }],
  });
  const sent = upstream.received.slice(-2).map(({ body }) =>
    body.contents.flatMap(({ role, parts }: { role: string; parts: { inlineData?: unknown }[] }) =>
      role === "model" ? parts.flatMap(({ inlineData }) => inlineData ?? []) : []
    )
  );
  const blob = { mimeType: "image/png", data: DATA };
  assertEquals(sent.map((one) => JSON.stringify(one) === JSON.stringify([blob])), [true, true]);
  const prices = (await usageRecords(gateway)).map(({ price_credits: price }) => price);
  assertEquals(prices, Array.from({ length: 7 }, () => 10 + 2 * 1_300));
});
