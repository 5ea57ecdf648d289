import fc from "fast-check";
import { firstFault } from "../../../src/wire/dialects/first_fault.ts";
import { requestSchemas } from "../../../src/wire/dialects/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { sized } from "../../tier.ts";

const scalar = fc.constantFrom<unknown>(
  ...["", "text", "user", "assistant", "tool", "function", "base64", "auto", "json_schema", "m"],
  ...[0, 1, -1, 0.5, 3, 1e9, true, false, null, [], {}],
);
const key = fc.constantFrom(
  ...["type", "role", "content", "text", "name", "id", "function", "arguments", "source", "data"],
  ...["media_type", "tool_call_id", "url", "input", "tool_use_id", "json_schema", "schema"],
);
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    scalar,
    fc.array(tie("tree"), { maxLength: 3 }),
    fc.dictionary(key, tie("tree"), { maxKeys: 4 }),
  ),
}));

for (const [name, schema] of Object.entries(requestSchemas)) {
  const fields = Object.keys(schema.shape);
  const body = fc.record(
    Object.fromEntries(fields.map((field) => [field, fc.oneof(scalar, fc.array(tree), tree)])),
    { requiredKeys: [] },
  );
  Deno.test(`firstFault: ${name} is valid for it where it is for the schema library, and only there`, () => {
    fc.assert(
      fc.property(fc.oneof(body, tree), (value) => {
        const parsed = schema.safeParse(value);
        const fault = firstFault(schema, value);
        assertEquals(fault === undefined, parsed.success, JSON.stringify([fault, parsed.error]));
        if (fault === undefined) return;
        const { path } = fault;
        assert(
          parsed.error!.issues.some((issue) => issue.path.join() === path.join()),
          `${path} is none of ${parsed.error!.issues.map((issue) => issue.path)}`,
        );
      }),
      { numRuns: sized(150, 2_000) },
    );
  });
}

Deno.test("firstFault: looks at no element behind the first bad one", () => {
  const seen = new Set<number>();
  const messages = Array.from({ length: 1_000 }, (_, at) => ({
    get role() {
      seen.add(at);
      return at < 3 ? "user" : undefined;
    },
    content: "Hi",
  }));
  const fault = firstFault(requestSchemas.chat, { model: "m", messages });
  assertEquals(fault?.path, ["messages", 3, "role"]);
  assertEquals(seen.size, 4);
});

Deno.test("firstFault: tells the same fault in whatever order the keys of a value are", () => {
  const { shape } = requestSchemas.chat;
  const fields = Object.keys(shape);
  const bodies = fc.record(
    Object.fromEntries(fields.map((field) => [field, fc.oneof(scalar, tree)])),
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(bodies, fc.integer(), (body, seed) => {
      const entries = Object.entries(body);
      const mixed = entries.toSorted(([one], [other]) =>
        (one.length * seed) % 7 - (other.length * seed) % 7
      );
      const [ordered, shuffled] = [entries, mixed].map((all) =>
        firstFault(requestSchemas.chat, Object.fromEntries(all))?.path[0]
      );
      assertEquals(shuffled, ordered);
      const faulty = fields.filter((field) =>
        !(shape as Record<string, { safeParse(value: unknown): { success: boolean } }>)[field]!
          .safeParse(body[field]).success
      );
      assertEquals(ordered, faulty[0]);
    }),
    { numRuns: sized(150, 2_000) },
  );
});
