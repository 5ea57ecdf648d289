import ts from "typescript";
import { assert, assertEquals } from "../assert.ts";
import { MUTATIONS } from "./list.ts";
import { mutated } from "./mutation.ts";

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
