import undiciTimers from "undici/lib/util/timers.js";
import { assemble, openStore } from "../../src/assemble/mod.ts";
import { runCommand } from "../../src/cli/mod.ts";
import { environment, type Finished, sluice as inProcess } from "./command.ts";

/** Commands that start programs, handle signals or leave timers behind. */
const PROCESSES = ["reload", "run", "serve", "simulate", "doctor", "env", "init"];

/**
 * Runs `sluice ARGS` to its end, in this process unless the command needs one of its own: `main.ts` gives
 * commands the same, and a process takes ten times as long.
 */
export async function sluice(
  args: readonly string[],
  options: { directory: string; env?: Record<string, string> },
): Promise<Finished> {
  if (PROCESSES.includes(args[0] ?? "serve")) return await inProcess(args, options);
  let [out, err] = ["", ""];
  const none = () => Promise.reject(new TypeError("Cannot do this in a test's own process"));
  const code = await runCommand(args, {
    env: environment(options.env),
    directory: options.directory,
    now: Date.now,
    out: (text) => out += text,
    err: (text) => err += text,
    colour: false,
    openParts: (config) => openStore(config, { besideGateway: true }),
    openGateway: (config, log, options) => assemble(config, { log, ...options }),
    stopRequested: none,
    handOverRequested: none,
    reloadRequested() {},
    signal() {},
    runProgram: none,
    confirm: () => undefined,
  });
  undiciTimers.reset(); // its clock ticks on for half a second, which Deno 2.4 takes for a leak of the test
  return { code, out, err };
}
