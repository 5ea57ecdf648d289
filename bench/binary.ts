/**
 * How large, how soon, how much memory? `deno task compile && deno run -A bench/binary.ts [ROUNDS]`
 *
 * Starts dist/sluice on a directory that has been started on before, measures the time from the
 * process's start to its first answer, then its memory after three idle seconds (Linux).
 */

import { median, say, startOnce } from "./harness.ts";

const BINARY = new URL("../dist/sluice", import.meta.url).pathname;
const rounds = Number(Deno.args[0] ?? 7);
const directory = await Deno.makeTempDir({ prefix: "sluice-bench-" });

const starts: number[] = [];
const resident: number[] = [];
const own: number[] = [];
for (let round = 0; round <= rounds; round++) {
  const { firstMs, residentMb, ownMb } = await startOnce(BINARY, {
    args: ["--port", "0"],
    cwd: directory,
    env: { HOME: directory, XDG_STATE_HOME: "", XDG_CONFIG_HOME: "" }, // the state of no other gateway
  });
  if (round === 0) continue; // it makes the database
  starts.push(firstMs);
  resident.push(residentMb);
  own.push(ownMb);
}
await Deno.remove(directory, { recursive: true });
const { size } = await Deno.stat(BINARY);
say(`  size            ${(size / 1e6).toFixed(1)} MB`);
say(
  `  first answer    median ${median(starts).toFixed(0)} ms, slowest ${
    Math.max(...starts).toFixed(0)
  } ms`,
);
say(
  `  idle, resident  median ${median(resident).toFixed(0)} MB, of its own ${
    median(own).toFixed(0)
  } MB`,
);
