import fc from "fast-check";
import { decodeUtf8, joinBytes } from "../../../src/ground/platform/mod.ts";
import { assertEquals, assertThrows } from "../../assert.ts";

const strict = new TextDecoder("utf-8", { fatal: true });

function outcome(decode: (bytes: Uint8Array) => string, bytes: Uint8Array): string {
  try {
    return decode(bytes);
  } catch (error) {
    return `throws ${(error as Error).name}`;
  }
}

Deno.test("decodeUtf8: the same as the strict decoder, whatever the bytes", () => {
  const some = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.string({ unit: "binary", maxLength: 40 }).map((text) => new TextEncoder().encode(text)),
    fc.constantFrom([0xef, 0xbf, 0xbd], [0xef, 0xbb, 0xbf], [0xed, 0xa0, 0x80], [0xc3], [
      0xf4,
      0x90,
    ])
      .map((bytes) => Uint8Array.from(bytes)),
  );
  fc.assert(fc.property(fc.array(some, { maxLength: 4 }), fc.boolean(), (parts, isLong) => {
    const bytes = joinBytes([new Uint8Array(isLong ? 4_096 : 0), ...parts]);
    assertEquals(outcome(decodeUtf8, bytes), outcome((all) => strict.decode(all), bytes));
  }));
});

Deno.test("decodeUtf8: a replacement character that was sent is kept", () => {
  assertEquals(decodeUtf8(new TextEncoder().encode("a\ufffdb")), "a\ufffdb");
  assertThrows(() => decodeUtf8(Uint8Array.of(0x61, 0xff)), TypeError);
});
