/** Upstreams and clients that mean harm, or know no better. */

import { encodeVector } from "../../src/wire/embeddings/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { assertLedgerClean } from "../fake/customer.ts";
import { embeddingsReply, embeddingsSettings } from "../fake/embeddings.ts";
import { startGateway, type TestGateway, usageRecords } from "../fake/gateway.ts";
import { fakeUpstream } from "../fake/upstream.ts";
import { sized } from "../tier.ts";

const embed = (gateway: TestGateway, body: Record<string, unknown> = {}) =>
  gateway.post("/v1/embeddings", { model: "e", input: "Hi", ...body });

const item = (embedding: unknown, index: unknown = 0) => ({
  object: "embedding",
  index,
  embedding,
});
const json = (value: unknown) => new Response(JSON.stringify(value));

/** Replies to one input, none of which is one. */
const REPLIES: Readonly<Record<string, () => Response>> = {
  "no body": () => new Response(null),
  "a list": () => json([item([1])]),
  "numbers only": () => json([1, 2, 3]),
  "two vectors for one input": () => json({ data: [item([1], 0), item([2], 1)] }),
  "index 1 for one input": () => json({ data: [item([1], 1)] }),
  "a negative index": () => json({ data: [item([1], -1)] }),
  "an index as text": () => json({ data: [item([1], "0")] }),
  "an index called __proto__": () => json({ data: [item([1], "__proto__")] }),
  "an index beyond 2^53": () =>
    new Response('{"data":[{"index":12345678901234567890,"embedding":[1]}]}'),
  "an empty vector": () => json({ data: [item([])] }),
  "null in a vector": () => json({ data: [item([1, null])] }),
  "text in a vector": () => json({ data: [item([1, "2"])] }),
  "a vector in a vector": () => json({ data: [item([[1, 2]])] }),
  "a vector as an object": () => json({ data: [item({ 0: 1 })] }),
  "1e999 in a vector": () => new Response('{"data":[{"index":0,"embedding":[1e999]}]}'),
  "1e300 in a vector": () => new Response('{"data":[{"index":0,"embedding":[1e300]}]}'),
  "NaN in a vector": () => new Response('{"data":[{"index":0,"embedding":[NaN]}]}'),
  "a vector without an end": () => new Response('{"data":[{"index":0,"embedding":[1,2'),
  "text behind the reply": () => new Response('{"data":[{"index":0,"embedding":[1,2]}]} x'),
  "a reference to a vector elsewhere": () =>
    new Response('{"a":[5],"data":[{"index":0,"embedding":"[0]"}]}'),
  "bad base64": () => json({ data: [item("!!!!")] }),
  "base64 of three bytes": () => json({ data: [item("AAAA")] }),
  "base64 of NaN": () => json({ data: [item(encodeVector(new Float64Array([NaN])))] }),
  "bytes that are not UTF-8": () => new Response(new Uint8Array([123, 255, 254, 125])),
  "nesting without end": () => new Response(`{"data":${"[".repeat(100_000)}`),
  "a million objects": () => new Response(`{"data":[${"{},".repeat(1_000_000)}{}]}`),
  "an event stream": () => new Response('data: {"data":[]}\n\n'),
};

Deno.test("a reply that is none is a 503 and costs nothing", async (t) => {
  let reply = () => new Response();
  await using upstream = fakeUpstream(() => reply());
  await using gateway = await startGateway({ settings: embeddingsSettings(upstream.url) });
  for (const [name, bad] of Object.entries(REPLIES)) {
    await t.step(name, async () => {
      reply = bad;
      const response = await embed(gateway);
      const { error } = await response.json();
      assertEquals([response.status, error.code], [503, "upstream_unavailable"]);
      assert(!error.message.includes(upstream.url), error.message);
      assert(response.headers.has("retry-after"));
    });
  }
  const records = await usageRecords(gateway);
  assertEquals(records.length, Object.keys(REPLIES).length);
  for (const { charged_credits, ending } of records) {
    assertEquals([charged_credits, ending], [0, "upstream_failed"]);
  }
  await assertLedgerClean(gateway);
});

Deno.test("a reply without end is given up, with bounded memory, while others are served", async () => {
  let sent = 0;
  const encoder = new TextEncoder();
  const numbers = encoder.encode("0.123456789,".repeat(10_000));
  await using upstream = fakeUpstream(() =>
    new Response(
      new ReadableStream<Uint8Array>({
        start: (controller) =>
          controller.enqueue(encoder.encode('{"data":[{"index":0,"embedding":[')),
        pull(controller) {
          sent += numbers.length;
          controller.enqueue(numbers);
          if (sent > 50_000_000) controller.close();
        },
      }, { highWaterMark: 0 }),
      { headers: { "content-type": "application/json" } },
    )
  );
  await using gateway = await startGateway({
    settings: {
      ...embeddingsSettings(upstream.url),
      replies: { bytes: 1_000_000, values: 10_000 },
    },
  });
  const response = await embed(gateway);
  const { error } = await response.json();
  assertEquals(response.status, 503);
  assertStringIncludes(error.message, "cannot be used: it has more than");
  assert(sent < 20_000_000, `${sent} bytes`);
});

Deno.test("hundreds of vectors of floats come back in order, each number as it was", async () => {
  const [inputs, dimensions] = [sized(200, 1_000), 1_536];
  const vector = (index: number) =>
    Array.from({ length: dimensions }, (_, at) => Math.fround(Math.sin(index * dimensions + at)));
  await using upstream = fakeUpstream(() =>
    new Response(JSON.stringify(
      {
        data: Array.from({ length: inputs }, (_, index) => item(vector(index), index)).toReversed(),
      },
      null,
      1, // one number on each line, as some upstreams write them
    ))
  );
  await using gateway = await startGateway({ settings: embeddingsSettings(upstream.url) });
  const response = await embed(gateway, { input: new Array(inputs).fill("a") });
  const { data } = await response.json();
  assertEquals(data.length, inputs);
  for (const index of [0, 1, inputs / 2, inputs - 1]) {
    assertEquals([data[index].index, data[index].embedding], [index, vector(index)]);
  }
});

Deno.test("megabytes of tokens, of empty arrays and of digits: refused at once, as a 400", async () => {
  await using upstream = fakeUpstream((request) => embeddingsReply(request));
  await using gateway = await startGateway({
    settings: {
      ...embeddingsSettings(upstream.url),
      limits: { unbilledBytesPerMinute: 1e12 },
    },
  });
  const MB = sized(32_768, 262_144); // in the proofs, bodies of a quarter of the limit
  for (
    const [name, input] of Object.entries({
      "tokens": `[${"1,".repeat(31 * MB)}1]`,
      "arrays": `[${"[],".repeat(20 * MB)}[]]`,
      "objects": `[${"{},".repeat(20 * MB)}{}]`,
      "one number": "1".repeat(60 * MB),
      "white space": `[1,${" ".repeat(60 * MB)}"a"]`,
      "one text": `"${"word ".repeat(12 * MB)}"`,
      "one base64 text": `"${"QUJD".repeat(15 * MB)}"`,
    })
  ) {
    const response = await gateway.post("/v1/embeddings", `{"model":"e","input":${input}}`);
    const { error } = await response.json();
    assertEquals([response.status, name, error.type], [400, name, "invalid_request_error"]);
  }
  assertEquals(upstream.received.length, 0);
});

Deno.test("the simulator makes no more numbers than an upstream would", async () => {
  await using gateway = await startGateway({ settings: { routes: { e: { kind: "embeddings" } } } });
  const input = Array.from({ length: 2_048 }, () => "a");
  const reply = await gateway.post("/v1/embeddings", { model: "e", input, dimensions: 65_536 });
  assertEquals([reply.status, (await reply.json()).error.code], [400, "invalid_request"]);
});
