import { assert, assertEquals } from "../../assert.ts";

const SRC = new URL("../../../src/", import.meta.url);

async function* sources(folder: URL): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) yield* sources(new URL(`${name}/`, folder));
    else if (/\.tsx?$/.test(name)) yield await Deno.readTextFile(new URL(name, folder));
  }
}

Deno.test("each use of the key of the seals has a key of its own, by a purpose that no other has", async () => {
  const purposes: string[] = [];
  for await (const text of sources(SRC)) {
    const literals = [
      ...text.matchAll(/new BoundCipher\(\s*[\w.#]+,\s*([^)]+?),?\s*\)/g),
      // of a secret that is the key of the seals, and no other: alerts' receivers have their own
      ...text.matchAll(
        /createHmac\("sha256", (?:await )?this\.#(?:key\(\)|secret)\)\.update\((.+?)\)/g,
      ),
    ].map(([, purpose]) => purpose!);
    for (const one of literals) {
      const constant = new RegExp(`const ${one} = ("[^"]+")`).exec(text)?.[1];
      purposes.push((constant ?? one).replace(/^["\`]|["\`]$/g, "").split("\\n")[0]!);
    }
  }
  assert(purposes.length >= 6, purposes.join("; "));
  assertEquals(purposes.length, new Set(purposes).size, purposes.join("; "));
  assertEquals(purposes.filter((one) => !/^sluice [a-z ]+$/.test(one)), []);
});
