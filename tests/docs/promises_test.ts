/** Promises have numbers, which code, tests and READMEs cite (`docs/promises.md`). */

import { PROMISE_OF } from "../../src/money/ledger/audit/check.ts";
import { assert, assertEquals } from "../assert.ts";

const ROOT = new URL("../../", import.meta.url);

/** A citation: in a comment, a page, or a finding of the audit. */
const CITED = /\bP\d{1,2}\b/g;

async function* files(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(new URL(folder, ROOT))) {
    if (isDirectory) yield* files(`${folder}${name}/`);
    else if (/\.(?:tsx?|md)$/.test(name)) yield `${folder}${name}`;
  }
}

/** Who cites what: files by number. */
async function citationsIn(folder: string, which: RegExp): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for await (const path of files(folder)) {
    if (!which.test(path)) continue;
    const text = await Deno.readTextFile(new URL(path, ROOT));
    for (const number of new Set(text.match(CITED) ?? [])) {
      found.set(number, [...found.get(number) ?? [], path]);
    }
  }
  return found;
}

/** The table of the page: what keeps and what proves a promise, by its number. */
const TABLE = new Map(
  (await Deno.readTextFile(new URL("docs/promises.md", ROOT))).split("\n").flatMap((line) => {
    const row = /^\| (P\d+) +\|.*\| `([^`]+)` +\| `([^`]+)` +\|$/.exec(line);
    return row === null ? [] : [[row[1]!, { keeper: row[2]!, proof: row[3]! }] as const];
  }),
);

Deno.test("promises: ten to fifteen, numbered in order", () => {
  assert(TABLE.size >= 10 && TABLE.size <= 15);
  assertEquals([...TABLE.keys()], [...TABLE.keys()].map((_, at) => `P${at + 1}`));
});

Deno.test("promises: each is cited where it is kept and proved, and by a wing; no other number is cited", async () => {
  const code = await citationsIn("src/", /\.tsx?$/);
  const tests = await citationsIn("tests/", /\.ts$/);
  const wings = await citationsIn("src/", /README\.md$/);
  const pages = await citationsIn("docs/", /\.md$/);
  for (const [number, { keeper, proof }] of TABLE) {
    assert(code.get(number)?.includes(keeper), `${keeper} does not cite ${number}`);
    assert(tests.get(number)?.includes(proof), `${proof} does not cite ${number}`);
    assert(wings.has(number), `no wing's README.md cites ${number}`);
  }
  for (const cited of [code, tests, wings, pages]) {
    for (const [number, where] of cited) {
      assert(TABLE.has(number), `${where.join(", ")}: docs/promises.md has no ${number}`);
    }
  }
});

Deno.test("promises: a finding of the audit names the one that is broken", () => {
  for (const number of Object.values(PROMISE_OF)) assert(TABLE.has(number), number);
});
