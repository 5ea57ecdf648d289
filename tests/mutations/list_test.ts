import ts from "typescript";
import { fromFileUrl } from "../../src/ground/std/mod.ts";
import { assert, assertEquals } from "../assert.ts";
import { MUTATIONS } from "./list.ts";
import { mutated } from "./mutation.ts";

const ROOT = new URL("../../", import.meta.url);

Deno.test("every mutation finds its text once, and leaves a text that parses", async () => {
  const wrong: string[] = [];
  for (const mutation of MUTATIONS) {
    const { name, file } = mutation;
    try {
      const text = mutated(await Deno.readTextFile(new URL(file, ROOT)), mutation);
      const { diagnostics = [] } = ts.transpileModule(text, {
        fileName: fromFileUrl(new URL(file, ROOT)),
        reportDiagnostics: true,
        compilerOptions: { jsx: ts.JsxEmit.ReactJSX, target: ts.ScriptTarget.ESNext },
      });
      for (const { messageText } of diagnostics) wrong.push(`${name}: ${messageText}`);
    } catch (error) {
      wrong.push(String(error));
    }
  }
  assertEquals(wrong, []);
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
