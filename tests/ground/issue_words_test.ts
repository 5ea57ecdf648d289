import * as z from "zod";
import { issueWords } from "../../src/ground/issue_words.ts";
import { OPERATIONS } from "../../src/operating/operations/mod.ts";
import { assertEquals } from "../assert.ts";

const VALUES = [undefined, null, true, -1, 0, 5.5, 1e300, "", "x", "x".repeat(5_000), [], [1], {}];

Deno.test("whatever is wrong with a parameter is said in words of this house", () => {
  const others = OPERATIONS.flatMap(({ name, input }) =>
    Object.entries((input as z.ZodObject).shape).flatMap(([param, schema]) =>
      VALUES.flatMap((value) => {
        const { error } = (schema as z.ZodType).safeParse(value, { error: issueWords });
        return (error?.issues ?? []).filter(({ message }) =>
          /^(Too (small|big)|Invalid (input|option))|expected|received/.test(message)
        ).map(({ message }) =>
          `${name} ${param} ${JSON.stringify(value)?.slice(0, 20)}: ${message}`
        );
      })
    )
  );
  assertEquals(others, []);
});

Deno.test("issueWords says what would be right", () => {
  const said = ([schema, value]: readonly [z.ZodType, unknown]) =>
    schema.safeParse(value, { error: issueWords }).error?.issues[0]?.message;
  assertEquals(
    ([
      [z.int(), 1.5],
      [z.object({}), 1],
      [z.string(), undefined],
      [z.number().min(2), 1],
      [z.number().positive(), 0],
      [z.number().max(2), 3],
      [z.number().lt(2), 2],
      [z.string().min(1), ""],
      [z.array(z.string()).min(2), []],
      [z.string().max(2), "abc"],
      [z.enum(["a", "b", "c"]), "d"],
      [z.union([z.string(), z.number()]), true],
    ] as const).map(said),
    [
      "must be a whole number",
      "must be an object",
      "is missing: must be a string",
      "must be at least 2",
      "must be above 0",
      "must be at most 2",
      "must be below 2",
      "must not be empty",
      "must have at least 2 items",
      "must have at most 2 characters",
      'must be "a", "b" or "c"',
      "does not match any accepted shape",
    ],
  );
});
