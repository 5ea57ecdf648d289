import undiciTimers from "undici/lib/util/timers.js";
import { assemble, openStore } from "../../src/assemble/mod.ts";
import { runCommand } from "../../src/doors/cli/mod.ts";
import { environment, type Finished, sluice as inProcess } from "./command.ts";

/** Commands that serve until a signal ends them. */
const PROCESSES = ["serve", "simulate"];

/**
 * Runs `sluice ARGS` to its end, in this process unless the command needs one of its own: `main.ts` gives
 * commands the same, and a process takes ten times as long.
 */
export async function sluice(
  args: readonly string[],
  options: { directory: string; env?: Record<string, string>; input?: string },
): Promise<Finished> {
  const [command = "serve"] = args;
  if (PROCESSES.includes(command) || command.startsWith("--")) {
    return await inProcess(args, options);
  }
  const { directory, input = "" } = options;
  const env = environment(options.env);
  let [out, err] = ["", ""];
  const none = () => Promise.reject(new TypeError("Cannot do this in a test's own process"));
  const code = await runCommand(args, {
    env,
    directory,
    now: Date.now,
    out: (text) => out += text,
    err: (text) => err += text,
    colour: false,
    openParts: (config) => openStore(config, { besideGateway: true }),
    openGateway: (config, log, options) => assemble(config, { log, ...options }),
    stopRequested: none,
    handOverRequested: none,
    reloadRequested() {},
    signal(pid, signal) {
      if (pid === Deno.pid) throw new TypeError("Cannot signal a test's own process");
      Deno.kill(pid, signal);
    },
    async runProgram(program, args, more) {
      const { code, stdout, stderr } = await new Deno.Command(program, {
        args: [...args],
        cwd: directory,
        clearEnv: true,
        env: { ...env, ...more },
      }).output();
      const decoder = new TextDecoder();
      out += decoder.decode(stdout);
      err += decoder.decode(stderr);
      return code;
    },
    input: () => Promise.resolve(input),
    confirm: () => undefined,
  });
  undiciTimers.reset(); // its clock ticks on for half a second, which Deno 2.4 takes for a leak of the test
  return { code, out, err };
}
