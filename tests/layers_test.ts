import { assert, assertEquals } from "./assert.ts";

/**
 * The wings of `src/` with the rows of their rooms, from the top down. Who may import whom: a wing those below it, a room of a wing those
 * of the rows below it, and all only a room's `mod.ts`.
 */
const WINGS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  assemble: [],
  doors: [["http", "console", "cli"], ["oauth", "tools"]],
  operating: [["operations"], ["alerts", "importers", "provisioning"]],
  requests: [["relay"], ["admission", "upstreams", "images"], ["simulator"]],
  money: [["billing", "usage"], ["payments"], ["ledger"]],
  people: [["operation_log", "sign_in"], ["scim"], ["accounts"]],
  settings: [["catalog"], ["config"], ["known_models", "known_providers"], ["known_prices"]],
  wire: [
    ["kept_items"],
    ["sealing", "embeddings", "extras"],
    ["dialects"],
    ["large_bodies"],
    ["json", "tokens", "pixels"],
  ],
  ground: [
    ["database"],
    ["fair_share", "rate_limits", "web", "ways_out", "telemetry"],
    ["files", "amounts", "sql", "http1"],
    ["refusal.ts", "issue_words.ts", "row.ts", "finding.ts"],
    ["time.ts"],
    ["platform"],
    ["std"],
  ],
};

const SRC = new URL("../src/", import.meta.url);

/** Every file below `src/`, as a path from there. */
async function* files(folder = ""): AsyncGenerator<string> {
  for await (const entry of Deno.readDir(new URL(folder, SRC))) {
    if (entry.isDirectory) yield* files(`${folder}${entry.name}/`);
    else if (/\.tsx?$/.test(entry.name)) yield `${folder}${entry.name}`;
  }
}

/** Every import of a file, as a path below `src/`. Examples in comments are not imports. */
async function importsOf(file: string): Promise<string[]> {
  const text = await Deno.readTextFile(new URL(file, SRC));
  const code = text.replaceAll(/\/\*\*[\s\S]*?\*\//g, "");
  return [...code.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)].map(([, target]) =>
    new URL(target!, new URL(file, SRC)).pathname.slice(SRC.pathname.length)
  );
}

/** Where a file is: its wing, its room, and how far down both are. */
function placeOf(file: string) {
  const [wing = "", room = ""] = file.split("/");
  const rows = WINGS[wing];
  assert(rows !== undefined, `src/${wing} is no wing: add it to tests/layers_test.ts`);
  const row = rows.findIndex((rooms) => rooms.includes(room));
  const isRoom = rows.length > 0;
  assert(!isRoom || row >= 0, `src/${wing}/${room} is in no row: add it to tests/layers_test.ts`);
  return { wing, room: isRoom ? room : "", depth: Object.keys(WINGS).indexOf(wing), row };
}

Deno.test("imports point down: from wing to wing, within a wing from row to row, at a room's mod.ts", async () => {
  const faults: string[] = [];
  for await (const file of files()) {
    const from = placeOf(file);
    for (const path of await importsOf(file)) {
      const to = placeOf(path);
      if (to.wing === from.wing && to.room === from.room) continue;
      const isDown = to.depth > from.depth || to.depth === from.depth && to.row > from.row;
      if (!isDown) faults.push(`${file} imports ${path}, which is not below it`);
      else if (path !== `${to.wing}/${to.room}` && path !== `${to.wing}/${to.room}/mod.ts`) {
        faults.push(`${file} imports ${path}, past mod.ts`);
      }
    }
  }
  assertEquals(faults, []);
});

Deno.test("no files import each other in a circle", async () => {
  const graph = new Map<string, readonly string[]>();
  for await (const file of files()) graph.set(file, await importsOf(file));
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, above: readonly string[]) => {
    if (above.includes(file)) {
      circles.push([...above.slice(above.indexOf(file)), file].join(" → "));
    } else if (!done.has(file)) {
      for (const next of graph.get(file) ?? []) visit(next, [...above, file]);
      done.add(file);
    }
  };
  for (const file of graph.keys()) visit(file, []);
  assertEquals(circles, []);
});

/** What an idle gateway does not load: packages for kinds of credentials, streams and files that most have none of. */
const ON_DEMAND = [
  "aws4fetch",
  "jose",
  "@smithy/eventstream-codec",
  "yaml",
  "@libsql/hrana-client",
  "pg",
];
/** And rooms: what people do in the console and by the operators' API. */
const ROOMS_ON_DEMAND =
  /^(?:doors\/console|operating\/(?:operations|provisioning)|people\/(?:scim|sign_in))\//;
/** And files: what signed-in tools ask for besides models. */
const FILES_ON_DEMAND =
  /^doors\/(?:http\/tool_requests|tools\/(?:managed_settings|telemetry_relay|otlp_resource|usage))\.ts$/;

/** What is loaded with a file before anything is called: modules by the paths of those that import them, and packages. */
async function loadedWith(file: string) {
  const modules = new Map<string, string>();
  const packages = new Set<string>();
  const visit = async (file: string) => {
    const text = await Deno.readTextFile(new URL(file, SRC));
    const code = text.replaceAll(/\/\*\*[\s\S]*?\*\//g, "");
    // types are not loaded, and `import("…")` is when it is called
    for (
      const [, target] of code.matchAll(
        /^(?:import|export)\b(?! type| async| function| const)[^;"]*"([^"]+)"/gm,
      )
    ) {
      if (/^\.\.?$/.test(target!)) continue;
      const path = new URL(target!, new URL(file, SRC)).pathname.slice(SRC.pathname.length);
      if (!target!.startsWith(".")) packages.add(target!);
      else if (!modules.has(path)) await visit(modules.set(path, file) && path);
    }
  };
  await visit(file);
  return { modules, packages };
}

Deno.test("packages of clouds and rare formats, and rooms of operators, are loaded only when they are needed", async () => {
  const { modules: loaded, packages: found } = await loadedWith("../main.ts");
  assert(loaded.size > 400 && found.has("zod"), `${loaded.size} modules`);
  assertEquals(ON_DEMAND.filter((name) => found.has(name)), []);
  const early = [...loaded].filter(([path]) =>
    ROOMS_ON_DEMAND.test(path) || FILES_ON_DEMAND.test(path)
  );
  assertEquals(early.map(([path, by]) => `${path}, by ${by}`), []);
});

Deno.test("a kind of credentials loads its module, what asks for tokens, and at most what signs requests", async () => {
  const folder = "requests/upstreams/credentials";
  const { modules, packages } = await loadedWith("../main.ts");
  const made = await Deno.readTextFile(new URL(`${folder}/make.ts`, SRC));
  const kinds = [...made.matchAll(/import\("\.\/(\w+)\.ts"\)/g)].map(([, kind]) => kind!);
  assertEquals(kinds.toSorted(), ["aws", "azure", "google"]);
  for (const kind of kinds) {
    const file = `${folder}/${kind}.ts`;
    assert(!modules.has(file), `${file} is loaded by all`);
    const own = await loadedWith(file);
    const others = [...own.modules.keys()].filter((one) => !modules.has(one));
    assertEquals(others, [`${folder}/token_endpoint.ts`], kind);
    const more = [...own.packages].filter((one) => !packages.has(one));
    assertEquals(more, kind === "aws" ? ["aws4fetch"] : [], kind);
  }
});

Deno.test("each room says in its mod.ts what it promises, and its wing names it", async () => {
  for await (const wing of Deno.readDir(SRC)) {
    if (WINGS[wing.name]?.length === 0) continue;
    const page = await Deno.readTextFile(new URL(`${wing.name}/README.md`, SRC));
    for await (const room of Deno.readDir(new URL(`${wing.name}/`, SRC))) {
      if (room.name === "README.md") continue;
      assert(
        page.includes(`\`${room.name}`),
        `src/${wing.name}/README.md does not name ${room.name}`,
      );
      if (!room.isDirectory) continue;
      const mod = `${wing.name}/${room.name}/mod.ts`;
      const text = await Deno.readTextFile(new URL(mod, SRC));
      assert(/^\/\*\*[\s\S]*@module/.test(text), `src/${mod} has no module comment`);
    }
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
