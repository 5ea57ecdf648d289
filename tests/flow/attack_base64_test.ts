import { assert, assertEquals } from "../assert.ts";
import { startChild, whileServing } from "../fake/child_gateway.ts";
import { Random, testSeed } from "../fake/random.ts";
import { isProof } from "../tier.ts";

/**
 * Not base64, where base64 is expected: `Buffer.from(text, "base64")` leaves its fast path at the first
 * such character and takes 0.3 to 1 microseconds and some 50 bytes of heap for each of the others.
 */
const ODD = [":", "é"];
const MB = 1_000_000;

const PLACES: readonly {
  where: string;
  path: string;
  mb: number;
  body: (data: string) => string;
}[] = [
  {
    where: "file_data of chat",
    path: "/v1/chat/completions",
    mb: 8,
    body: (data) => chat(`{"type":"file","file":{"file_data":"${data}"}}`),
  },
  {
    where: "a document of messages, counted only",
    path: "/v1/messages/count_tokens",
    mb: 8,
    body: (data) =>
      messages(
        `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"${data}"}}`,
      ),
  },
  {
    where: "one inline image",
    path: "/v1/chat/completions",
    mb: 7,
    body: (data) =>
      chat(`{"type":"image_url","image_url":{"url":"data:image/png;base64,${data}"}}`, "seeing"),
  },
  {
    where: "the heads of 900 images, counted before their number is looked at",
    path: "/v1/chat/completions",
    mb: 29,
    body: (data) => {
      const one = `{"type":"image_url","image_url":{"url":"data:image/png;base64,${
        data.slice(0, data.length / 900)
      }"}}`;
      return chat(new Array(900).fill(one).join(","), "seeing");
    },
  },
];

const ROUTE = {
  targets: [{ upstream: "simulator", model: "x" }],
  context: 2_000_000,
  maxOutput: 100,
  minimum: 1,
  prices: { input: 1, cached: 1, output: 1 },
  images: "inline",
};

function chat(part: string, model = "seeing"): string {
  return `{"model":"${model}","messages":[{"role":"user","content":[${part}]}]}`;
}

function messages(block: string): string {
  return `{"model":"seeing","max_tokens":9,"messages":[{"role":"user","content":[${block}]}]}`;
}

Deno.test("what is no base64 costs nobody else anything", async (t) => {
  await using gateway = await startChild({ settings: { routes: { seeing: ROUTE } } });
  await gateway.smallChat(gateway.keys[1]);
  const all = PLACES.flatMap((place) => ODD.map((odd) => ({ ...place, odd })));
  const seed = testSeed();
  const random = new Random(seed);
  for (const { where, path, mb, body, odd } of isProof ? all : [random.pick(all)]) {
    await t.step(`${odd} in ${where} (SLUICE_TEST_SEED=${seed})`, async () => {
      const sent = body(odd.repeat(mb * MB / new TextEncoder().encode(odd).length));
      await whileServing(gateway, { worst: 500 }, async () => {
        await (await gateway.post(path, sent)).text();
      });
      assert(gateway.alive());
      assertEquals(gateway.errors(), []);
    });
  }
});
