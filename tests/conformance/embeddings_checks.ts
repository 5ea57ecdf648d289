import { assert, assertEquals } from "../assert.ts";
import type { Check } from "./checks.ts";
import { embeddings, type Json } from "./target.ts";

/** What clients of embeddings rely on. */
export const embeddingsChecks: readonly Check[] = [
  {
    holds: "a text gets a list of one vector, with the model and the usage",
    async run(target) {
      const { status, json } = await embeddings(target, {});
      assertEquals([status, json.object, json.data.length], [200, "list", 1]);
      const [one] = json.data;
      assertEquals([one.object, one.index], ["embedding", 0]);
      assert(one.embedding.every((value: Json) => typeof value === "number"), "numbers");
      assertEquals(json.model, target.models.embeddings);
      assert(json.usage.prompt_tokens > 0, "usage");
      assertEquals(json.usage.total_tokens, json.usage.prompt_tokens);
    },
  },
  {
    holds: "several texts get a vector each, in their order, the same as by themselves",
    async run(target) {
      const texts = ["The cat sleeps.", "Stocks fell today.", "The cat sleeps."];
      const { data } = (await embeddings(target, { input: texts })).json;
      assertEquals(data.map(({ index }: Json) => index), [0, 1, 2]);
      assertEquals(new Set(data.map((one: Json) => one.embedding.length)).size, 1);
      assert(cosine(data[0].embedding, data[2].embedding) > 0.999, "the same text, another vector");
      assert(cosine(data[0].embedding, data[1].embedding) < 0.999, "another text, the same vector");
    },
  },
  {
    holds: "base64 holds the same numbers as 32-bit floats, little-endian",
    async run(target) {
      const [plain, packed] = await Promise.all([
        embeddings(target, { encoding_format: "float" }),
        embeddings(target, { encoding_format: "base64" }),
      ]);
      const base64 = packed.json.data[0].embedding;
      assert(typeof base64 === "string", "a string");
      const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
      const view = new DataView(bytes.buffer);
      const { embedding } = plain.json.data[0];
      assertEquals(bytes.length, 4 * embedding.length);
      embedding.forEach((value: number, at: number) => {
        const unpacked = view.getFloat32(4 * at, true);
        assert(Math.abs(unpacked - value) < 1e-3, `${unpacked} at ${at} instead of ${value}`);
      });
    },
  },
  {
    holds: "an empty input is a 400 that names the field",
    async run(target) {
      for (const input of ["", [], [""]]) {
        const { status, json } = await embeddings(target, { input });
        assertEquals(status, 400);
        assert(typeof json.error.message === "string", "a message");
      }
    },
  },
  {
    holds: "a model for replies is no model for embeddings",
    async run(target) {
      const { status, json } = await embeddings(target, { model: target.models.chat });
      assert(status >= 400 && status < 500, `status ${status}`);
      assert(typeof json.error.message === "string", "a message");
    },
  },
];

function cosine(a: readonly number[], b: readonly number[]): number {
  const dot = (x: readonly number[], y: readonly number[]) =>
    x.reduce((sum, value, at) => sum + value * y[at]!, 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}
