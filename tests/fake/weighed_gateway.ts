/**
 * A gateway in a process of its own that weighs its heap. On SIGUSR2 it collects what quick collections
 * collect and prints the bytes that remain, then collects all and prints those that remain of it.
 * Needs `--v8-flags=--expose-gc`.
 *
 * Arguments: the data directory, the address of an upstream.
 */

import { assemble } from "../../src/assemble/mod.ts";
import { loadConfig } from "../../src/settings/config/mod.ts";
import { SILENT } from "../../src/ground/telemetry/mod.ts";
import { say } from "./command.ts";
import { sleep } from "./temp.ts";

const { gc } = globalThis as unknown as { gc: (how?: { type: "minor" }) => void };
const [directory = "", upstream = ""] = Deno.args;
const config = await loadConfig({
  env: { SLUICE_PORT: "0", SLUICE_UPSTREAM_URL: upstream },
  directory,
  file: `${directory}/sluice.jsonc`,
});
const gateway = await assemble(config, { log: SILENT });
const { url } = await gateway.listen();
Deno.addSignalListener("SIGUSR2", async () => {
  for (let times = 0; times < 3; times++) {
    gc({ type: "minor" });
    await sleep(10);
  }
  const { heapUsed } = Deno.memoryUsage();
  gc();
  const { heapUsed: all, external } = Deno.memoryUsage();
  say(`weight ${heapUsed} ${all} ${external}`);
});
say(`ready ${url} ${gateway.firstKey}`);
