import { residentBytes } from "../../../src/ground/platform/mod.ts";
import { assert } from "../../assert.ts";

Deno.test("resident memory is what the platform tells", () => {
  const held: Uint8Array[] = [];
  for (let round = 0; round < 3; round++) {
    const apart = Math.abs(residentBytes() - Deno.memoryUsage().rss);
    assert(apart < 16 * 1_048_576, `${apart} bytes`);
    held.push(new Uint8Array(64 * 1_048_576).fill(1));
  }
  assert(held.every((bytes) => bytes[0] === 1));
});
