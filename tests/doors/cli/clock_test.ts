/** Commands go by the database's clock: that of a server may be minutes from the machine's. */

import { assertEquals } from "../../assert.ts";
import { keptOpen } from "../../fake/kept_open.ts";
import { sluice } from "../../fake/shell.ts";
import { tempDir } from "../../fake/temp.ts";

const NOON = Date.UTC(2031, 4, 6, 12);
const DAY_MS = 86_400_000;
/** Machines whose clocks are years from the database's, so that each comparison with them is wrong. */
const MACHINES = { behind: NOON - 4_000 * DAY_MS, ahead: NOON + 4_000 * DAY_MS };

/** Runs commands on one database, at an instant of its clock, on a machine with another. */
function shell(directory: string) {
  let nowMs = NOON;
  const { openParts, close } = keptOpen({ now: () => nowMs });
  const run = async (args: readonly string[], atMs: number, machineMs: number) => {
    nowMs = atMs;
    const { code, out, err } = await sluice(args, {
      directory,
      env: { SLUICE_PUBLIC_URL: "http://127.0.0.1:1" }, // no other gateway answers there
      now: () => machineMs,
      openParts,
    });
    assertEquals(code, 0, `${args.join(" ")}: ${err}`);
    return out;
  };
  return { run, [Symbol.asyncDispose]: close };
}

/** What is made to last, and where its reply says until when. */
const MADE: readonly { readonly args: readonly string[]; readonly ends: RegExp }[] = [
  { args: ["key", "create", "--expires", "2d"], ends: /"expires_at": "(.*)"/ },
  { args: ["key", "update", "KEY", "--expires", "2d"], ends: /"expires_at": "(.*)"/ },
  { args: ["key", "rotate", "KEY", "--keep", "2d"], ends: /"previous_valid_until": "(.*)"/ },
  {
    args: ["key", "update", "KEY", "--budget", "9", "--raise", "5", "--until", "2d"],
    ends: /"until": "(.*)"/,
  },
];

/** What is listed or counted by a time. */
const READ: readonly (readonly string[])[] = [
  ["key", "list"],
  ["key", "list", "--all"],
  ["account", "show", "owner@localhost"],
  ["credits", "show"],
  ["codes", "list"],
  ["log", "--since", "1d"],
  ["usage"],
];

for (const [name, machineMs] of Object.entries(MACHINES)) {
  Deno.test(`a command on a machine that is ${name} counts by the database's clock`, async () => {
    await using dir = await tempDir();
    await using at = shell(dir.path);
    const { run } = at;
    const key = JSON.parse(await run(["key", "create", "--json"], NOON, machineMs)).id;
    for (const { args, ends } of MADE) {
      const given = args.map((one) => one === "KEY" ? key : one);
      const [, end] = ends.exec(await run([...given, "--json"], NOON, machineMs)) ?? [];
      assertEquals(end, new Date(NOON + 2 * DAY_MS).toISOString(), args.join(" "));
    }
    const env = ["env", "--expires", "2d"];
    const kept = await run(env, NOON, machineMs);
    assertEquals(await run(env, NOON + DAY_MS, machineMs), kept);
    const renewed = await run(env, NOON + 3 * DAY_MS, machineMs);
    assertEquals(renewed === kept, false, "a key that has expired was printed");

    const grant = ["credits", "grant", "--account", "owner@localhost", "--credits", "7"];
    const granted = await run([...grant, "--expires", "2d", "--json"], NOON, machineMs);
    assertEquals(JSON.parse(granted).balance, 1_000_007);
    await run(["codes", "create", "--credits", "5", "--expires", "2d"], NOON, machineMs);
    // before and after what was made has expired, as on a machine whose clock is right
    for (const atMs of [NOON, NOON + 5 * DAY_MS]) {
      for (const args of READ) {
        for (const more of [[], ["--json"]]) {
          const line = [...args, ...more];
          assertEquals(await run(line, atMs, machineMs), await run(line, atMs, atMs), `${line}`);
        }
      }
    }
  });
}

/** Files of commands that read the machine's clock, and of what. */
const ALLOWED: Readonly<Record<string, string>> = {
  "auth.ts": "how long a token is valid that a gateway elsewhere gave",
  "backup.ts": "a file's name and a note, on the machine that has the database",
  "define_command.ts":
    "looks for wrong usage before a database is open; what is done goes by the database's",
  "doctor.ts": "compares it with the clocks of upstreams",
  "import.ts": "keys of another gateway that have expired, before a database is open",
  "init.ts": "requests to upstreams",
  "migrate.ts": "a note, and the lease of gateways elsewhere, with all of them stopped",
  "models_sync.ts": "requests to upstreams",
  "reload.ts": "the gateway on this machine",
  "serve.ts": "the log, and requests to upstreams",
  "served_catalog.ts": "requests to upstreams",
  "upstream.ts": "requests to an upstream",
};

Deno.test("only listed commands read the machine's clock", async () => {
  const folder = new URL("../../../src/doors/cli/", import.meta.url);
  const found: string[] = [];
  for await (const { name } of Deno.readDir(folder)) {
    const text = await Deno.readTextFile(new URL(name, folder));
    if (
      /\bcontext\.now\b|\bDate\.now\b|\bnow\b[^;}]*\}: (?:\w+Context|ServedOptions)\b/.test(text)
    ) {
      found.push(name);
    }
    if (/\bnow\b[^;}]*\} = context\b/.test(text)) found.push(name);
  }
  assertEquals([...new Set(found)].sort(), Object.keys(ALLOWED).sort());
});
