import { assemble, openStore, type Store } from "../../src/assemble/mod.ts";
import { runCommand } from "../../src/doors/cli/mod.ts";
import { keepFileThreads } from "../../src/ground/database/mod.ts";
import { dirname } from "../../src/ground/std/mod.ts";
import { type Config, databaseFile } from "../../src/settings/config/mod.ts";
import {
  environment,
  type Finished,
  printed,
  type RunningCommand,
  sluice as inProcess,
  startCommand,
} from "./command.ts";
import { writeEmptyDatabase } from "./empty_database.ts";
import { exists } from "./temp.ts";
import { sized } from "../tier.ts";

keepFileThreads(4); // each command opens the database again

/** Commands that serve until a signal ends them. */
const PROCESSES = ["serve", "simulate"];

/** What commands take from the shell. */
interface ShellOptions {
  readonly directory: string;
  readonly env?: Record<string, string>;
  /** Opens what commands work with, which by default is done again for each: `keptOpen`. */
  readonly openParts?: (config: Config) => Promise<Store>;
  /** The machine's clock, which that of the database may differ from. */
  readonly now?: () => number;
  /** Called with what is written to standard error, as it comes. */
  readonly seen?: (text: string) => void;
}

/** Gateways of `serveHere`, by the directory that they were started in. */
const served = new Map<string, (signal: string) => void>();

/**
 * Runs `sluice ARGS` to its end, in this process unless the command needs one of its own: `main.ts` gives
 * commands the same, and a process takes ten times as long.
 */
export async function sluice(
  args: readonly string[],
  options: ShellOptions & { readonly input?: string },
): Promise<Finished> {
  const [command = "serve"] = args;
  if (PROCESSES.includes(command) || command.startsWith("--")) {
    return await inProcess(args, options);
  }
  let [out, err] = ["", ""];
  const code = await runCommand(
    args,
    contextOf(options, {
      out: (text) => out += text,
      err: (text) => {
        err += text;
        options.seen?.(text);
      },
    }),
  );
  return { code, out, err };
}

/**
 * Runs `sluice ARGS` in this process, for a command that serves until a signal ends it. It takes `SIGTERM`, `SIGINT` and
 * `SIGHUP`, also from commands of `sluice` in the same directory. What it logs is not kept, nor is the process guarded: tests
 * of that, and of how a process ends, start one with `startCommand`. Disposing stops it.
 */
export function serveHere(args: readonly string[], options: ShellOptions): RunningCommand {
  let [out, err] = ["", ""];
  let ended = false;
  let reload = () => {};
  const stop = Promise.withResolvers<string>();
  const place = Deno.realPathSync(options.directory);
  const signal = (name: string) => {
    if (name === "SIGHUP") reload();
    else if (name === "SIGTERM" || name === "SIGINT") stop.resolve(name);
    else throw new TypeError(`Cannot send ${name} to a command in a test's own process`);
  };
  const context = contextOf(
    { ...options, env: { SLUICE_LOG_LEVEL: "error", ...options.env } }, // it logs where tests print
    { out: (text) => out += text, err: (text) => err += text },
  );
  const run = async (): Promise<Deno.CommandStatus> => {
    const code = await runCommand(args, {
      ...context,
      async openGateway(config, log, more) {
        const gateway = await context.openGateway(config, log, more);
        return Object.create(gateway, { guardProcess: { value() {} } });
      },
      stopRequested() {
        served.set(place, signal);
        return stop.promise;
      },
      handOverRequested: () => new Promise(() => {}),
      reloadRequested: (listener) => reload = listener,
    });
    ended = true;
    if (served.get(place) === signal) served.delete(place);
    return { code, success: code === 0, signal: null };
  };
  const status = run();
  return {
    pid: Deno.pid,
    out: () => out,
    err: () => err,
    status,
    signal,
    waitFor: (pattern) => printed(pattern, { out: () => out, err: () => err, ended: () => ended }),
    async [Symbol.asyncDispose]() {
      stop.resolve("SIGTERM");
      await status;
    },
  };
}

/** The same, by a process of its own in the proofs. */
export const serveByTier: typeof serveHere = sized(serveHere, startCommand);

/** What the shell gives a command, here by a test. */
function contextOf(
  options: ShellOptions & { readonly input?: string },
  { out, err }: { out: (text: string) => void; err: (text: string) => void },
): Parameters<typeof runCommand>[1] {
  const { directory, input = "" } = options;
  const env = environment(options.env);
  const none = () => Promise.reject(new TypeError("Cannot do this in a test's own process"));
  return {
    env,
    directory,
    now: options.now ?? Date.now,
    out,
    outBytes(bytes) {
      out(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
      return true;
    },
    err,
    colour: false,
    async openParts(config) {
      await makeDatabase(config);
      return await (options.openParts?.(config) ?? openStore(config, { besideGateway: true }));
    },
    async openGateway(config, log, options) {
      await makeDatabase(config);
      return await assemble(config, { log, ...options });
    },
    stopRequested: none,
    handOverRequested: none,
    reloadRequested() {},
    signal(pid, signal) {
      if (pid !== Deno.pid) return Deno.kill(pid, signal);
      const send = served.get(Deno.realPathSync(directory));
      if (send === undefined) throw new TypeError("Cannot signal a test's own process");
      send(signal);
    },
    async runProgram(program, args, more) {
      const { code, stdout, stderr } = await new Deno.Command(program, {
        args: [...args],
        cwd: directory,
        clearEnv: true,
        env: { ...env, ...more },
      }).output();
      const decoder = new TextDecoder();
      out(decoder.decode(stdout));
      err(decoder.decode(stderr));
      return code;
    },
    input: () => Promise.resolve(input),
    confirm: () => undefined,
  };
}

/** Makes the database of a first start, which would take the command a while; a directory that is there is left as it is. */
async function makeDatabase({ settings }: Config): Promise<void> {
  const file = databaseFile(settings);
  if (file === undefined || await exists(dirname(file))) return;
  await writeEmptyDatabase(file).catch((error) => {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error; // another command was first
  });
}
