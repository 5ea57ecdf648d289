/** A newcomer's first hour: one page, then ten files. */

import { assert, assertEquals } from "../assert.ts";

const ROOT = new URL("../../", import.meta.url);
const read = (path: string) => Deno.readTextFile(new URL(path, ROOT));

Deno.test("CONTRIBUTING.md is one page, and begins with the wings and the life of a request", async () => {
  const text = await read("CONTRIBUTING.md");
  assert(new TextEncoder().encode(text).length < 8_000);
  const page = text.split("\n").slice(0, 60).join("\n");
  for await (const { name } of Deno.readDir(new URL("src/", ROOT))) {
    assert(page.includes(`\n${name}/ `), `CONTRIBUTING.md does not begin with ${name}/`);
  }
  assert(page.indexOf("requests/relay") < page.indexOf("money/ledger  "));
});

Deno.test("the tour is of ten files, in order, which are there; so are its lists and pictures", async () => {
  const text = await read("docs/internals/tour.md");
  const stops = [...text.matchAll(/^(\d+)\. `([^`]+)`: /gm)];
  assertEquals(stops.map(([, number]) => Number(number)), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  const named = [...text.matchAll(/`((?:src|tests|docs)\/[^`]+)`/g)].map(([, path]) => path!);
  for (const path of [...stops.map(([, , path]) => path!), ...named]) {
    assert((await Deno.stat(new URL(path, ROOT))).isFile, path);
  }
});

Deno.test("where the tour says that a picture is, there is one", async () => {
  const [, pictures = ""] = (await read("docs/internals/tour.md")).split("## Pictures");
  const paths = [...pictures.matchAll(/`(src\/[^`]+)`/g)].map(([, path]) => path!);
  assert(paths.length >= 5);
  for (const path of paths) assert(/```text\n|\| -+ \|/.test(await read(path)), path);
});
