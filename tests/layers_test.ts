import { assert, assertEquals } from "./assert.ts";

/** Who may import whom: a line may import only the lines below it, and only their `mod.ts`. */
const LAYERS = [
  ["assemble"],
  ["http", "console", "cli"],
  ["operations"],
  ["operation_log"],
  ["relay", "importers", "alerts"],
  ["admission", "upstreams", "images", "billing", "usage"],
  ["payments"],
  ["catalog", "ledger", "accounts", "kept_items"],
  ["config"],
  ["simulator", "sealing"],
  ["embeddings"],
  ["dialects", "database"],
  ["large_bodies"],
  ["fair_share", "rate_limits", "web"],
  ["tokens", "pixels", "telemetry", "refusal.ts"],
  ["json", "known_models", "platform", "std"],
];

const SRC = new URL("../src/", import.meta.url);

/** Every file below `src/`, as a path from there. */
async function* files(folder = ""): AsyncGenerator<string> {
  for await (const entry of Deno.readDir(new URL(folder, SRC))) {
    if (entry.isDirectory) yield* files(`${folder}${entry.name}/`);
    else if (/\.tsx?$/.test(entry.name)) yield `${folder}${entry.name}`;
  }
}

function rank(place: string): number {
  const found = LAYERS.findIndex((line) => line.includes(place));
  assert(found >= 0, `src/${place} is in no layer: add it to tests/layers_test.ts`);
  return found;
}

Deno.test("src/ imports point down the list of layers, at a folder's mod.ts", async () => {
  const faults: string[] = [];
  for await (const file of files()) {
    const from = file.split("/")[0]!;
    const text = await Deno.readTextFile(new URL(file, SRC));
    for (const [, target] of text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)) {
      const path = new URL(target!, new URL(file, SRC)).pathname.slice(SRC.pathname.length);
      const to = path.split("/")[0]!;
      if (to === from) continue;
      if (rank(to) <= rank(from)) faults.push(`${file} imports ${path}, which is not below it`);
      else if (to !== path && path !== `${to}/mod.ts`) {
        faults.push(`${file} imports ${path}, past mod.ts`);
      }
    }
  }
  assertEquals(faults, []);
});

Deno.test("each folder of src/ says in its mod.ts what it promises", async () => {
  for await (const entry of Deno.readDir(SRC)) {
    if (!entry.isDirectory) continue;
    const text = await Deno.readTextFile(new URL(`${entry.name}/mod.ts`, SRC));
    assert(/^\/\*\*[\s\S]*@module/.test(text), `src/${entry.name}/mod.ts has no module comment`);
  }
});

Deno.test("nothing holds all of zod's core, which has error messages in 50 languages", async () => {
  const holders: string[] = [];
  for await (const file of files()) {
    const text = await Deno.readTextFile(new URL(file, SRC));
    if (/\bz\.(core\.[a-z]|locales\b)/.test(text)) holders.push(file); // `z.core.$Zod…` are types
  }
  assertEquals(holders, []);
});

Deno.test("only the configuration reads the environment", async () => {
  const readers: string[] = [];
  for await (const file of files()) {
    const text = await Deno.readTextFile(new URL(file, SRC));
    if (/Deno\.env\b|process\.env\b/.test(text)) readers.push(file);
  }
  assertEquals(readers, []);
});
