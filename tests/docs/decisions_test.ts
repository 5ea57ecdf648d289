import { figures } from "../../bench/many_databases.ts";
import { assert } from "../assert.ts";

/** A table without the spaces and dashes that only line it up. */
const plain = (text: string) => text.replace(/ +/g, " ").replace(/-+/g, "-");

Deno.test("the record of a hundred thousand requests a second has the figures that its script computes", async () => {
  const url = new URL("../../docs/decisions/021-accounts-over-databases.md", import.meta.url);
  const record = plain(await Deno.readTextFile(url));
  for (const [name, table] of Object.entries(figures())) {
    assert(record.includes(plain(table)), `${name}: deno run bench/many_databases.ts\n${table}`);
  }
});
