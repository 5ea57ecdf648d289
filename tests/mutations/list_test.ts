import ts from "typescript";
import { assert, assertEquals } from "../assert.ts";
import { MUTATIONS } from "./list.ts";
import { mutated } from "./mutation.ts";
import { mayName } from "./names.ts";

const ROOT = new URL("../../", import.meta.url);

/** What a parser says of a text: a public function that tells it writes JavaScript, too, which takes three times as long. */
function faultsOf(file: string, text: string): readonly ts.Diagnostic[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ESNext);
  const { parseDiagnostics } = source as unknown as { parseDiagnostics: readonly ts.Diagnostic[] };
  return parseDiagnostics;
}

Deno.test("every mutation finds its text once, and leaves a text that parses", async () => {
  const wrong: string[] = [];
  for (const mutation of MUTATIONS) {
    const { name, file } = mutation;
    try {
      const text = mutated(await Deno.readTextFile(new URL(file, ROOT)), mutation);
      for (const { messageText } of faultsOf(file, text)) wrong.push(`${name}: ${messageText}`);
    } catch (error) {
      wrong.push(String(error));
    }
  }
  assertEquals(wrong, []);
});

Deno.test("a text that does not parse is found", () => {
  assertEquals(faultsOf("a.tsx", "const a = <b>{1}</b>;"), []);
  assert(faultsOf("a.ts", "if (x {").length > 0);
});

Deno.test("mutations have names of their own, tests that exist, and a reason", async () => {
  const names = MUTATIONS.map(({ name }) => name);
  assertEquals(names.filter((name, at) => names.indexOf(name) !== at), []);
  for (const { name, tests, why } of MUTATIONS) {
    assert(/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name) && why.endsWith("."), name);
    assert(tests.length > 0, name);
    for (const { file } of tests) await Deno.stat(new URL(file, ROOT));
  }
  assert(MUTATIONS.length >= 45);
});

Deno.test("every filter of a mutation is in the name of a test", async () => {
  const wrong: string[] = [];
  for (const { name, tests } of MUTATIONS) {
    for (const { file, filter, proofs } of tests) {
      if (filter === undefined) continue;
      const url = new URL(file, ROOT);
      const source = await Deno.readTextFile(url);
      const tables = [...source.matchAll(/ from "(\.\/[^"]+)";/g)]
        .map(([, path]) => Deno.readTextFile(new URL(path!, url)));
      const words = [source, ...await Promise.all(tables)].join("\n");
      if (!mayName({ source, words, proofs }, filter)) {
        wrong.push(`${name}: no test of ${file} has "${filter}"`);
      }
    }
  }
  assertEquals(wrong, []);
});

Deno.test("names of tests are read from the source, with sizes that differ between gate and proofs", () => {
  const source = "const AT_ONCE = sized(50, 2_00);\n" +
    'Deno.test("a plain one", () => {});\n' +
    "Deno.test(\n  `${AT_ONCE} of ${who}, whole`, () => {});\n" +
    "Deno.test({\n  name: 'an \"odd\" one',\n});\nfor (const who of ['one', 3_000])";
  for (const text of ["a plain one", "lain", "50 of one, w", "of 3000", ", whole", '"odd" o']) {
    assert(mayName({ source, words: source }, text), text);
  }
  for (const text of ["a plane", "200 of", "50 of two,", "whole 50", "a plain one, then"]) {
    assert(!mayName({ source, words: source }, text), text);
  }
  const proofs = { source, words: source, proofs: true };
  assert(mayName(proofs, "200 of") && !mayName(proofs, "50 of"));
});
