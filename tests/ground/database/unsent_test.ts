import fc from "fast-check";
import { Unsent } from "../../../src/ground/database/file/unsent.ts";
import { joinedItems } from "../../../src/ground/database/pieces.ts";
import type { Writing } from "../../../src/ground/database/group_writer.ts";
import { assert, assertEquals } from "../../assert.ts";
import { until } from "../../fake/temp.ts";
import { sized } from "../../tier.ts";

const WRITES = ["one", "other"].map((name) => ({ name, statements: [] }) as unknown as Writing);

Deno.test("what is gathered is sent in the order in which it came, each item once, and 64 of them at once", () => {
  const steps = fc.array(fc.oneof(
    fc.record({ write: fc.constantFrom(...WRITES), count: fc.integer({ min: 1, max: 90 }) }),
    fc.constant("send" as const),
  ));
  fc.assert(
    fc.property(steps, (all) => {
      const sent: [name: string, item: number][] = [];
      const added: typeof sent = [];
      const unsent = new Unsent(({ name }, items, count) => {
        const parsed = JSON.parse(items) as number[];
        assertEquals(parsed.length, count);
        assert(count > 0);
        sent.push(...parsed.map((item) => [name, item] as [string, number]));
      });
      for (const step of all) {
        if (step === "send") unsent.send();
        else {
          const items = Array.from({ length: step.count }, (_, at) => added.length + at);
          added.push(...items.map((item) => [step.write.name, item] as [string, number]));
          unsent.add(step.write, joinedItems(items.map((item) => `[${item}]`)), step.count);
        }
        assert(added.length - sent.length < (step === "send" ? 1 : 64));
      }
      unsent.send();
      assertEquals(sent, added);
    }),
    { numRuns: sized(200, 5_000) },
  );
});

Deno.test("what is gathered is sent in time, and what was dropped is not", async () => {
  const sent: string[] = [];
  const unsent = new Unsent((_, items) => sent.push(items));
  unsent.add(WRITES[0]!, "[1]", 1);
  unsent.drop();
  for (const round of [2, 3]) {
    unsent.add(WRITES[0]!, `[${round}]`, 1);
    await until(() => sent.length === round - 1, { what: "the items" });
  }
  assertEquals(sent, ["[2]", "[3]"]);
});
