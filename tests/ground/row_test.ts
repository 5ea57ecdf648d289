import fc from "fast-check";
import * as z from "zod";
import { columnsIn, flag, insertOf, jsonText, rowOf, shownText } from "../../src/ground/row.ts";
import { assertEquals, assertThrows } from "../assert.ts";

Deno.test("rowOf(): columns get the names of the program, in their order, and no others come along", () => {
  const word = fc.stringMatching(/^[a-z][a-z0-9]{0,7}$/);
  const columns = fc.uniqueArray(fc.array(word, { minLength: 1, maxLength: 4 }), {
    maxLength: 8,
    selector: (words) => words.join("_").replaceAll("_", ""),
  });
  fc.assert(fc.property(columns, fc.string(), (all, value) => {
    const names = all.map((words) => words.join("_"));
    const schema = rowOf(Object.fromEntries(names.map((name) => [name, z.string()])));
    assertEquals(columnsIn(schema.transform((row) => row)), names.join(", "));
    const row = Object.fromEntries(names.map((name) => [name, value + name]));
    const read = schema.parse({ ...row, "another column": "x" });
    const [first, ...rest] = [0, 1, 2, 3];
    const camel = all.map((words) =>
      [
        words[first!],
        ...rest.map((at) => words[at] ?? "").map((one) =>
          one.slice(0, 1).toUpperCase() + one.slice(1)
        ),
      ].join("")
    );
    assertEquals(Object.entries(read), camel.map((name, at) => [name, value + names[at]]));
    // what was read is written to the same columns
    assertEquals(insertOf("insert into rows", read), {
      sql: `insert into rows (${names.join(", ")}) values (${names.map(() => "?").join(", ")})`,
      args: names.map((name) => value + name),
    });
  }));
});

Deno.test("insertOf(): what is undefined is null, and the arguments of a condition come last", () => {
  const row = { id: "a", expiresAtMs: undefined, atMs: 5 };
  const onlyIf = { sql: "exists (select 1 from x where id = ?)", args: ["b"] };
  assertEquals(insertOf("insert into rows", row, { onlyIf, then: "returning id" }), {
    sql: "insert into rows (id, expires_at_ms, at_ms) select ?, ?, ? " +
      "where exists (select 1 from x where id = ?) returning id",
    args: ["a", null, 5, "b"],
  });
});

Deno.test("rowOf(): values are read by their columns' schemas, and wrong ones are refused", () => {
  const schema = rowOf({
    note: shownText,
    is_on: flag,
    models: jsonText(z.array(z.string())).nullable(),
  });
  const parse = (row: Readonly<Record<string, unknown>>) =>
    schema.parse({ note: "", is_on: 0, models: null, ...row });
  const read: { note: string; isOn: boolean; models: string[] | null } = parse({ is_on: 1 });
  assertEquals(read, { note: "", isOn: true, models: null });
  assertEquals(parse({ models: '["a"]' }).models, ["a"]);
  assertEquals(parse({ note: "a\u202eb" }).note.includes("\u202e"), false);
  for (const wrong of [{ note: 1 }, { is_on: "1" }, { models: "[1]" }, { models: "{" }]) {
    assertThrows(() => parse(wrong), Error);
  }
});
