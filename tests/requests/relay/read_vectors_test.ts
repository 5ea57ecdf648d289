import { Refusal } from "../../../src/ground/refusal.ts";
import { readVectors } from "../../../src/requests/relay/read_vectors.ts";
import { assertEquals, assertRejects } from "../../assert.ts";

/** A reply of one vector of two numbers may have 12 numbers, 172 bytes, and 112 that are no numbers. */
function read(text: string) {
  const left = [text.slice(0, 7), text.slice(7)].map((piece) => new TextEncoder().encode(piece));
  return readVectors(
    { body: { read: () => Promise.resolve(left.shift()) } },
    { bytes: 100, values: 10 },
    { vectors: 1, dimensions: 2 },
  );
}

const numbers = (count: number) => `{"a":[${Array(count).fill(1).join()}]}`;
const blanks = (bytes: number) => `{"a":[1,${"2]}".padStart(bytes - 8)}`;
const words = (bytes: number) => `{"a":"${'"}'.padStart(bytes - 6, "b")}`;

Deno.test("vectors have bounds of numbers, of bytes and of what is kept beside them: each just within, and one beyond", async () => {
  for (
    const [textOf, within, says] of [
      [numbers, 12, "more than 12 numbers"],
      [blanks, 172, "more than 172 bytes"],
      [words, 112, "more than 112 bytes"],
    ] as const
  ) {
    await read(textOf(within));
    const refusal = await assertRejects(() => read(textOf(within + 1)), Refusal, says);
    assertEquals([refusal.reason, refusal.ofThisRequest], ["upstream_unavailable", true]);
  }
  const { json, taken } = await read(numbers(3));
  assertEquals([json, taken], [{ a: [0] }, [new Float64Array([1, 1, 1])]]);
});
