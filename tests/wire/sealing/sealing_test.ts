import { Refusal } from "../../../src/ground/refusal.ts";
import { Sealing } from "../../../src/wire/sealing/mod.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";

const SEALER = new Sealing(new Uint8Array(32)).of("acct_1");

Deno.test("a sealed text comes back, and only as the kind that it was sealed as", () => {
  const sealed = SEALER.seal("reasoning", { a: 1 });
  assertEquals(SEALER.open("reasoning", sealed, "input"), { a: 1 });
  assertThrows(() => SEALER.open("compaction", sealed, "input"), Refusal);
});

Deno.test("a text that the gateway did not seal is foreign", () => {
  for (const text of ["", "gAAAA", "sl1", "sl1.", "sl1.AAAA", "sl2.AAAA"]) {
    assertEquals(SEALER.open("reasoning", text, "input"), undefined);
  }
});

for (const end of ["=", "+", "/", " ", "\n", "é", "\ud800", "AAA"]) {
  Deno.test(`a sealed text that ends with ${JSON.stringify(end)} is rejected`, () => {
    const sealed = SEALER.seal("reasoning", { a: 1 });
    const { message } = assertThrows(
      () => SEALER.open("reasoning", sealed + end, "input[0].encrypted_content"),
      Refusal,
    );
    assert(message.startsWith("input[0].encrypted_content was changed"), message);
  });
}

Deno.test("what was sealed and is no object is rejected", () => {
  const list: unknown = [1];
  const sealed = SEALER.seal("reasoning", list as Record<string, never>);
  assertThrows(() => SEALER.open("reasoning", sealed, "input"), Refusal);
});

Deno.test("no text breaks it, on any platform", () => {
  for (let chars = 0; chars < 64; chars++) {
    for (const unit of ["A", "_", "-", "!"]) {
      try {
        assertEquals(SEALER.open("reasoning", `sl1.${unit.repeat(chars)}`, "input"), undefined);
      } catch (error) {
        assert(error instanceof Refusal, String(error));
      }
    }
  }
});
