import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { cosineSimilarity, embed, embedMany } from "ai";
import OpenAI from "openai";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../assert.ts";
import { startGateway, type TestGateway, usageRecords } from "../fake/gateway.ts";
import { simulateServer } from "../fake/simulate.ts";

const MODEL = "text-embedding-3-small";
const TEXTS = [
  "How do I reset my password?",
  "The invoice is due in May.",
  "Reset your password on the account page.",
];

/** Gateways that reach the simulator in the process, and over a socket. */
for (const way of ["in the process", "over a socket"]) {
  Deno.test(`openai SDK: embeddings, the simulator ${way}`, async (t) => {
    await using server = simulateServer();
    await using gateway = await startGateway({
      settings: way === "over a socket"
        ? {
          upstreams: { up: { url: server.url } },
          routes: { [MODEL]: { targets: [{ upstream: "up", model: MODEL }] } },
        }
        : { routes: { [MODEL]: { kind: "embeddings" } } },
    });
    const client = new OpenAI({
      baseURL: `${gateway.url}/v1`,
      apiKey: gateway.key,
      maxRetries: 0,
    });
    const create = (more: Partial<OpenAI.EmbeddingCreateParams> = {}) =>
      client.embeddings.create({ model: MODEL, input: TEXTS, ...more });

    await t.step("by default, the SDK asks for base64 and decodes it", async () => {
      const { data, model, usage, object } = await create();
      assertEquals([object, model, data.length], ["list", MODEL, 3]);
      assertEquals(data.map(({ index }) => index), [0, 1, 2]);
      for (const { embedding } of data) {
        assertEquals(embedding.length, 1_536);
        const length = Math.hypot(...embedding);
        assert(Math.abs(length - 1) < 1e-5, `${length}`);
      }
      assert(usage.prompt_tokens > 5 && usage.total_tokens === usage.prompt_tokens);
      if (way === "over a socket") assertEquals(server.bodies.at(-1).encoding_format, "base64");
    });

    await t.step("floats are the same numbers", async () => {
      const [packed, plain] = [await create(), await create({ encoding_format: "float" })];
      assertEquals(packed.data[1]!.embedding, plain.data[1]!.embedding);
    });

    await t.step("texts that share words are closer", async () => {
      const [ask, invoice, page] = (await create()).data.map(({ embedding }) => embedding);
      const near = cosineSimilarity(ask!, page!);
      const far = cosineSimilarity(ask!, invoice!);
      assert(near > far + 0.2, `${near} and ${far}`);
      const [again] = (await create({ input: TEXTS[0]! })).data;
      assertEquals(again!.embedding, ask);
    });

    await t.step("dimensions and tokens", async () => {
      const { data } = await create({ input: [[1, 2], [3]], dimensions: 256 });
      assertEquals(data.map(({ embedding }) => embedding.length), [256, 256]);
    });

    await t.step("errors are the SDK's own", async () => {
      const long = await assertRejects(
        () => create({ input: "word ".repeat(20_000) }),
        OpenAI.BadRequestError,
      );
      assertEquals([long.code, long.param], ["context_length_exceeded", "input"]);
      const chat = await assertRejects(() => create({ model: "svc-k2" }), OpenAI.APIError);
      assertStringIncludes(chat.message, "'svc-k2' does not make embeddings");
      await assertRejects(
        () => create({ input: "[[status 503]] [[retry-after 1]]" }),
        OpenAI.InternalServerError,
      );
    });

    await t.step("the list of models has it", async () => {
      const { data } = await client.models.list();
      assert(data.some(({ id }) => id === MODEL));
    });
  });
}

Deno.test("Vercel AI SDK: embed and embedMany", {
  // in Deno 2.9 nobody can clear a timer of Node's that was refreshed in its own callback
  sanitizeOps: false,
  sanitizeResources: false,
}, async () => {
  await using gateway: TestGateway = await startGateway({
    settings: { routes: { [MODEL]: { kind: "embeddings" } } },
  });
  const { embeddingModel } = createOpenAICompatible({
    name: "sluice",
    baseURL: `${gateway.url}/v1`,
    apiKey: gateway.key,
  });
  const model = embeddingModel(MODEL);
  const one = await embed({ model, value: TEXTS[0]!, maxRetries: 0 });
  assertEquals(one.embedding.length, 1_536);
  assert(one.usage.tokens > 3);
  const values = Array.from({ length: 3_000 }, (_, at) => `Text number ${at}`);
  const { embeddings } = await embedMany({
    model,
    values,
    maxRetries: 0,
    providerOptions: { sluice: { dimensions: 16 } },
  });
  assertEquals([embeddings.length, embeddings[0]!.length], [3_000, 16]);
  const [last] = (await embedMany({ model, values: [values[2_999]!], maxRetries: 0 })).embeddings;
  assertEquals(last!.length, 1_536);
  const records = await usageRecords(gateway);
  assert(records.length >= 4, `${records.length}`); // a call has up to 2,048 inputs
});
