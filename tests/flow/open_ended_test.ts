/** Requests whose price nobody knows before: what they may cost is held, so that many at once cost no more than there is. */

import type { DialectName, JsonObject, JsonValue } from "../../src/wire/dialects/mod.ts";
import { creditsOf } from "../../src/money/ledger/mod.ts";
import { assert, assertEquals } from "../assert.ts";
import { assertLedgerClean, customer } from "../fake/customer.ts";
import { startGateway, type TestGateway, usageRecords } from "../fake/gateway.ts";
import { until } from "../fake/temp.ts";
import { chunk, completion, eventStream, fakeUpstream, sse } from "../fake/upstream.ts";

/** A credit for a hundred tokens of input, and for each of output. */
const ROUTE = {
  context: 100_000,
  maxInput: 90_000,
  maxOutput: 1_000,
  minimum: 1,
  images: "remote" as const,
  prices: { input: 10_000, cached: 10_000, output: 1_000_000 },
};
/** What a document may turn out to have. */
const DOCUMENT_TOKENS = 80_000;
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

const chat = (part: JsonObject): [string, JsonObject] => [
  "/v1/chat/completions",
  { messages: [{ role: "user", content: [{ type: "text", text: "Hi" }, part] }] },
];
const messages = (part: JsonObject): [string, JsonObject] => ["/v1/messages", chat(part)[1]];
const responses = (part: JsonObject): [string, JsonObject] => [
  "/v1/responses",
  { input: [{ role: "user", content: [{ type: "input_text", text: "Hi" }, part] }] },
];

/** Of one page, as far as anybody can see. */
const PDF = btoa("%PDF-1.7 a page /Type /Page ");
const PDF_URL = `data:application/pdf;base64,${PDF}`;

/** A gateway whose model `token` speaks a dialect. */
async function start(url: string, dialect: DialectName = "chat"): Promise<TestGateway> {
  return await startGateway({
    settings: {
      upstreams: { one: { url, dialect } },
      routes: { token: { ...ROUTE, targets: [{ upstream: "one", model: "m" }] } },
    },
  });
}

Deno.test("what a document turned out to have raises no hold for text", async () => {
  const [words, credits] = [20_000, 1_200];
  await using upstream = fakeUpstream(({ raw }) => {
    const tokens = raw.includes(PDF) ? DOCUMENT_TOKENS : words;
    return completion("well", { usage: { prompt_tokens: tokens, completion_tokens: 1 } });
  });
  await using gateway = await start(upstream.url);
  const { keys: [key], balance } = await customer(gateway, credits);
  const text = "word ".repeat(words);
  const ask = async (content: JsonValue) => {
    const body = { model: "token", max_tokens: 16, messages: [{ role: "user", content }] };
    const response = await gateway.post("/v1/chat/completions", body, { key: key! });
    await response.body?.cancel();
    return response.status;
  };
  const document = { type: "file", file: { filename: "a.pdf", file_data: PDF_URL } };
  assertEquals(await ask([{ type: "text", text: text.slice(0, text.length / 10) }, document]), 200);
  const left = credits - DOCUMENT_TOKENS / 100 - 1;
  assertEquals(await balance(), left);
  assert(4 * words / 100 > left, "four times the count would be too much");
  assertEquals(await ask(text), 200);
});

/** Who sends twenty documents at once: credits, keys, the budget of each, and how many of them run at once. */
const CROWDS = {
  "one key": { credits: 5_300, keys: 1, budget: undefined, atOnce: 5 },
  "keys with small budgets": { credits: 80_000, keys: 20, budget: 25, atOnce: 1 },
  "a small balance": { credits: 300, keys: 2, budget: undefined, atOnce: 1 },
} as const;

for (const [who, { credits, keys, budget, atOnce }] of Object.entries(CROWDS)) {
  for (const stream of [false, true]) {
    Deno.test(`documents at once cost no more than there is: ${who} (stream: ${stream})`, async () => {
      const usage = {
        prompt_tokens: DOCUMENT_TOKENS,
        completion_tokens: 5,
        total_tokens: DOCUMENT_TOKENS + 5,
      };
      let admitted = 0;
      const all = Promise.withResolvers<void>();
      await using upstream = fakeUpstream(async () => {
        admitted++;
        await all.promise;
        return stream
          ? eventStream(sse(
            chunk({ content: "well" }),
            chunk({}, "stop"),
            JSON.stringify({ choices: [], usage }),
            "[DONE]",
          ))
          : completion("well", { usage });
      });
      await using gateway = await start(upstream.url);
      const crowd = await customer(gateway, credits, { keys, budget });
      const [path, body] = chat({ type: "file", file: { filename: "a.pdf", file_data: PDF_URL } });
      let rejected = 0;
      const ask = async (key: string) => {
        const asked = { model: "token", max_tokens: 5, stream, ...body };
        const reply = await gateway.post(path, asked, { key });
        if (reply.status !== 200) rejected++;
        return [reply.status, await reply.text()] as const;
      };
      const asked = Array.from({ length: 20 }, (_, at) => ask(crowd.keys[at % keys]!));
      await until(() => admitted + rejected === 20, { what: "be decided on" });
      all.resolve();
      const replies = await Promise.all(asked);
      assertEquals(admitted, atOnce);
      const others = replies.filter(([status]) => status !== 200);
      assertEquals(others.length, 20 - atOnce);
      for (const [status, text] of others) {
        assert(status === 429 || status === 403 && credits < 1_000, `${status} ${text}`);
      }
      const charges = Math.min(credits, atOnce * 805);
      assertEquals(await crowd.balance(), credits - charges);
      await assertLedgerClean(gateway);
    });
  }
}

Deno.test("places that are freed one by one are not taken by documents that nothing is reserved for", async () => {
  let documents = 0;
  const go = Promise.withResolvers<void>();
  await using upstream = fakeUpstream(async ({ raw }, signal) => {
    const isDocument = raw.includes("file_data");
    if (isDocument) documents++;
    const left = new Promise((resolve) => signal.addEventListener("abort", resolve));
    await Promise.race([go.promise, left]);
    const usage = { prompt_tokens: isDocument ? DOCUMENT_TOKENS : 8, completion_tokens: 1 };
    return completion("well", { usage });
  });
  await using gateway = await start(upstream.url);
  const { keys: [key] } = await customer(gateway, 1_000);
  const [path, body] = chat({ type: "file", file: { filename: "a.pdf", file_data: PDF_URL } });
  const fillers = Array.from({ length: 10 }, () => new AbortController());
  const text = { model: "token", max_tokens: 99, messages: [{ role: "user", content: "Hi" }] };
  const filled = fillers.map(({ signal }) =>
    gateway.post(path, text, { key: key!, signal }).then((reply) => reply.text(), () => "left")
  );
  await until(() => upstream.received.length === 10, { what: "fill the balance" });
  const statuses: number[] = [];
  for (const filler of fillers.slice(0, 9)) {
    filler.abort();
    await until(
      () => gateway.gateway.inFlight.count === fillers.filter((one) => !one.signal.aborted).length,
      { what: "end" },
    );
    const reply = await gateway.post(path, { model: "token", max_tokens: 1, ...body }, {
      key: key!,
    });
    statuses.push(reply.status);
    await reply.text();
  }
  go.resolve();
  await Promise.all(filled);
  assertEquals([new Set(statuses), documents], [new Set([429]), 0]);
  await assertLedgerClean(gateway);
});

for (const onClientDisconnect of ["drain", "abort"] as const) {
  Deno.test(`leaving before a document's size is told costs what it is, or all that it may be (${onClientDisconnect})`, async () => {
    const ending = Promise.withResolvers<void>();
    const usage = { prompt_tokens: DOCUMENT_TOKENS, completion_tokens: 2, total_tokens: 80_002 };
    await using upstream = fakeUpstream(() => {
      const encoder = new TextEncoder();
      const text = (...events: string[]) => encoder.encode(sse(...events));
      const body = new ReadableStream<Uint8Array>({
        async start(controller) {
          controller.enqueue(text(chunk({ content: "well" })));
          await ending.promise;
          const end = text(chunk({}, "stop"), JSON.stringify({ choices: [], usage }), "[DONE]");
          try {
            controller.enqueue(end);
            controller.close();
          } catch { /* it was cancelled */ }
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    });
    await using gateway = await startGateway({
      settings: {
        upstreams: { one: { url: upstream.url } },
        routes: { token: { ...ROUTE, targets: [{ upstream: "one", model: "m" }] } },
        onClientDisconnect,
        limits: { followedReplies: 1 },
      },
    });
    const [path, body] = chat({ type: "file", file: { filename: "a.pdf", file_data: PDF_URL } });
    const { keys: [key] } = await customer(gateway, 10_000);
    for (let times = 0; times < 2; times++) {
      const reply = await gateway.post(path, {
        model: "token",
        max_tokens: 10,
        stream: true,
        ...body,
      }, { key: key! });
      const reader = reply.body!.getReader();
      await reader.read();
      await reader.cancel();
      // the first is followed, the second is one too many
      if (times === 1) await until(() => gateway.gateway.inFlight.count === 1, { what: "end" });
    }
    ending.resolve();
    await until(() => gateway.gateway.inFlight.count === 0, { what: "end" });
    const prices = (await usageRecords(gateway)).map((one) => Number(one.price_credits));
    assertEquals(prices.toSorted((a, b) => a - b), [802, 1_002]);
  });
}

for (const stream of [false, true]) {
  Deno.test(`output comes before what is reserved: all that was asked for and is there (stream: ${stream})`, async () => {
    await using upstream = fakeUpstream(() =>
      stream
        ? eventStream(sse(chunk({ content: "well" }), chunk({}, "stop"), "[DONE]"))
        : completion("well")
    );
    await using gateway = await startGateway({
      settings: {
        upstreams: { one: { url: upstream.url } },
        routes: {
          token: {
            ...ROUTE,
            maxOutput: 20_000,
            prices: { ...ROUTE.prices, output: 1_000 },
            targets: [{ upstream: "one", model: "m" }],
          },
        },
      },
    });
    const [path, body] = chat({ type: "file", file: { filename: "a.pdf", file_data: PDF_URL } });
    // 16 credits for a page, a credit for 1,000 tokens of output, up to 900 for what the page may have
    for (const [credits, output] of [[26, 10_000], [60, 20_000], [5_000, 20_000]] as const) {
      const { keys: [key] } = await customer(gateway, credits);
      const asked = { model: "token", max_tokens: 20_000, stream, ...body };
      const reply = await gateway.post(path, asked, { key: key! });
      assertEquals(reply.status, 200, await reply.text());
      const { max_tokens: sent } = upstream.received.at(-1)!.body;
      assert(
        sent >= output && sent <= output * 1.1,
        `${sent} tokens on ${credits} credits`,
      );
    }
  });
}

/** What a request holds while its upstream thinks. */
async function held(gateway: TestGateway, path: string, body: JsonObject, credits: number) {
  const { keys: [key], accountId } = await customer(gateway, credits);
  const limit = path === "/v1/responses" ? "max_output_tokens" : "max_tokens";
  const asked = gateway.post(path, { model: "token", [limit]: 100, ...body }, { key: key! });
  const holds = async () => (await creditsOf(gateway.gateway.database, accountId, Date.now())).held;
  await until(async () => await holds() > 0, { what: "be held" });
  const found = await holds();
  return { found, done: async () => void await (await asked).text() };
}

const IMAGE = `data:image/png;base64,${PNG}`;

/** By dialect, what is open-ended, and what is counted. */
const REQUESTS: Record<
  DialectName,
  Record<"open" | "images" | "counted", [string, JsonObject][]>
> = {
  chat: {
    open: [chat({ type: "file", file: { filename: "a.pdf", file_data: PDF_URL } })],
    images: [chat({ type: "image_url", image_url: { url: IMAGE } })],
    counted: [
      chat({ type: "text", text: "https://example.com/long.pdf" }),
    ],
  },
  messages: {
    open: [
      messages({ type: "document", source: { type: "url", url: "https://example.com/a.pdf" } }),
      messages({
        type: "document",
        source: { type: "base64", media_type: "application/pdf", data: PDF },
      }),
    ],
    images: [
      messages({ type: "image", source: { type: "base64", media_type: "image/png", data: PNG } }),
    ],
    counted: [
      messages({ type: "document", source: { type: "text", media_type: "text/plain", data: "a" } }),
    ],
  },
  responses: {
    open: [responses({ type: "input_file", file_url: "https://example.com/long.pdf" })],
    images: [responses({ type: "input_image", image_url: IMAGE })],
    counted: [responses({ type: "input_text", text: "https://example.com/long.pdf" })],
  },
};

for (const [dialect, { open, images, counted }] of Object.entries(REQUESTS)) {
  Deno.test(`what nobody can count is reserved for, after the output: ${dialect}`, async () => {
    let go = Promise.withResolvers<void>();
    await using upstream = fakeUpstream(async () => {
      await go.promise;
      return Response.json({ error: { message: "no" } }, { status: 400 });
    });
    await using gateway = await start(upstream.url, dialect as DialectName);
    for (
      const [requests, credits, least, most] of [
        [open, 10_000, 1_085, 1_110],
        [open, 300, 300, 300],
        // 48,169 tokens, which gpt-4o-mini bills for the largest
        [images, 10_000, 580, 590],
        [counted, 10_000, 100, 160],
      ] as const
    ) {
      for (const [path, body] of requests) {
        const { found, done } = await held(gateway, path, body, credits);
        const what = `${path} ${JSON.stringify(body).slice(0, 300)}`;
        assert(found >= least && found <= most, `${found} of ${credits}: ${what}`);
        go.resolve();
        await done();
        go = Promise.withResolvers<void>();
      }
    }
    const limits = upstream.received.map(({ body }) => body.max_tokens ?? body.max_output_tokens);
    assertEquals(new Set(limits), new Set([100]), "with little, the output comes first");
    await assertLedgerClean(gateway);
  });
}
