import fc from "fast-check";
import {
  decodeVector,
  encodeVector,
  readEmbeddings,
  writeEmbeddings,
} from "../../../src/wire/embeddings/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "../../assert.ts";

const finite = { noNaN: true, noDefaultInfinity: true };
const EXPECTED = { inputs: 2, requestedDimensions: undefined, promisedDimensions: undefined };

Deno.test("a vector comes back from base64 as 32-bit floats (property)", () => {
  fc.assert(
    fc.property(fc.float32Array({ ...finite, maxLength: 50 }), (vector) => {
      assertEquals(decodeVector(encodeVector(vector)), vector);
      assertEquals(encodeVector(Float64Array.from(vector)), encodeVector(vector));
    }),
    { numRuns: 300 },
  );
});

for (
  const text of ["A", "AAAA", "AACAPw", "AAC APw==", "AACA\nPw==", "-_-_AACA", "AACAPw==AACAPw=="]
) {
  Deno.test(`decodeVector() rejects ${JSON.stringify(text)}`, () => {
    assertEquals(decodeVector(text), undefined);
  });
}

const item = (embedding: unknown, index: number | undefined, more = {}) => ({
  object: "embedding",
  index,
  embedding,
  ...more,
});
const TAKEN = [new Float64Array([1, 2]), new Float64Array([3, 4])];

Deno.test("readEmbeddings() puts vectors in the order of their indexes, in either encoding", () => {
  const read = (data: unknown[]) =>
    readEmbeddings({ data }, TAKEN, EXPECTED).items.map(({ vector }) => [...vector]);
  const right = [[1, 2], [3, 4]];
  assertEquals(read([item([0], 0), item([1], 1)]), right);
  assertEquals(read([item([1], 1), item([0], 0)]), right);
  assertEquals(read([item([0], undefined), item([1], undefined)]), right);
  assertEquals(read([item(encodeVector(TAKEN[1]!), 1), item([0], 0)]), right);
});

/** Bodies that are no reply to two inputs, and why. */
const WRONG: Readonly<Record<string, readonly [unknown, string]>> = {
  "no object": ["ok", "not a JSON object"],
  "no data": [{}, "no embeddings"],
  "one vector": [{ data: [item([0], 0)] }, "1 embeddings instead of 2"],
  "three vectors": [{ data: [item([0], 0), item([1], 1), item([1], 2)] }, "3 embeddings"],
  "an index twice": [{ data: [item([0], 0), item([1], 0)] }, "indexes"],
  "an index beyond": [{ data: [item([0], 0), item([1], 2)] }, "indexes"],
  "an index as text": [{ data: [item([0], 0), { ...item([1], 1), index: "1" }] }, "indexes"],
  "one index only": [{ data: [item([0], 0), item([1], undefined)] }, "indexes"],
  "an item that is none": [{ data: [item([0], 0), 7] }, "not an object"],
  "no vector": [{ data: [item([0], 0), item(null, 1)] }, "not a vector"],
  "an empty vector": [{ data: [item([], 0), item([1], 1)] }, "not a vector"],
  "a vector of vectors": [{ data: [item([[0]], 0), item([1], 1)] }, "not a vector"],
  "bad base64": [{ data: [item("AAA", 0), item([1], 1)] }, "not a vector"],
  "not a number in base64": [{ data: [item("AADAfwAAwH8=", 0), item([1], 1)] }, "out of range"],
  "other lengths": [{ data: [item([0], 0), item("AACAPw==", 1)] }, "differ in length"],
};

for (const [name, [body, says]] of Object.entries(WRONG)) {
  Deno.test(`readEmbeddings() rejects ${name}`, () => {
    const refusal = assertThrows(() => readEmbeddings(body, TAKEN, EXPECTED), Refusal);
    assertEquals(refusal.reason, "upstream_unavailable");
    assertStringIncludes(refusal.message, says);
  });
}

Deno.test("readEmbeddings() rejects numbers that no 32-bit float holds", () => {
  const data = [item([0], 0), item([1], 1)];
  for (const huge of [1e39, -1e308, Infinity]) {
    const taken = [new Float64Array([1, huge]), TAKEN[1]!];
    assertThrows(() => readEmbeddings({ data }, taken, EXPECTED), Refusal);
  }
});

Deno.test("readEmbeddings() rejects another length than was asked for, or than the settings promise", () => {
  const body = { data: [item([0], 0), item([1], 1)] };
  const read = (requestedDimensions?: number, promisedDimensions?: number) =>
    readEmbeddings(body, TAKEN, { inputs: 2, requestedDimensions, promisedDimensions });
  assertEquals(read(2, 9).items.length, 2);
  assertEquals(read(undefined, 2).items.length, 2);
  const asked = assertThrows(() => read(3), Refusal);
  assertEquals([asked.reason, asked.param], ["request_invalid", "dimensions"]);
  assertEquals(
    assertThrows(() => read(undefined, 3), Refusal).reason,
    "upstream_unavailable",
  );
});

Deno.test("an upstream's report is used, zeros included; one that is none is not", () => {
  const usage = (reported: unknown) =>
    readEmbeddings({ data: [item([0], 0), item([1], 1)], usage: reported }, TAKEN, EXPECTED).usage;
  assertEquals(usage({ prompt_tokens: 7, total_tokens: 9 })?.inputTokens, 7);
  assertEquals(usage({ prompt_tokens: 0, total_tokens: 0 })?.inputTokens, 0);
  assertEquals(usage({ total_tokens: 9 })?.inputTokens, 9);
  assertEquals(usage({ prompt_tokens: "7" }), { inputTokens: 7, fields: { prompt_tokens: 7 } });
  for (const none of [undefined, null, {}, { prompt_tokens: -1 }, { prompt_tokens: "x" }, 7]) {
    assertEquals(usage(none), undefined);
  }
});

Deno.test("writeEmbeddings() keeps what it does not know, and replaces what is the gateway's", () => {
  const reply = readEmbeddings(
    {
      object: "x",
      model: "upstream-model",
      data: [item([0], 0, { note: "kept" }), item([1], 1)],
      vendor: { shape: [1] },
      usage: { prompt_tokens: 7, total_tokens: 7, extra: 1 },
    },
    TAKEN,
    EXPECTED,
  );
  const write = (encoding: "float" | "base64") =>
    JSON.parse(
      [...writeEmbeddings({ model: "mine", encoding }, reply, {
        inputTokens: 7,
        fields: reply.usage?.fields,
      })].join(""),
    );
  assertEquals(write("float"), {
    object: "list",
    data: [
      { object: "embedding", index: 0, embedding: [1, 2], note: "kept" },
      { object: "embedding", index: 1, embedding: [3, 4] },
    ],
    model: "mine",
    usage: { prompt_tokens: 7, total_tokens: 7, extra: 1 },
    vendor: { shape: [3, 4] },
  });
  const [first] = write("base64").data;
  assertEquals(decodeVector(first.embedding), new Float32Array([1, 2]));
  assert(JSON.stringify(write("float")).endsWith("}"));
});
