/**
 * Sluice: arguments to a command. The only place that exits.
 *
 * @module
 */

import { assemble, openStore, waitingStart } from "./src/assemble/mod.ts";
import { runCommand } from "./src/doors/cli/mod.ts";
import { endAtOnce } from "./src/ground/platform/mod.ts";
import { exportVariables, isPlatformsOn, limitLastExport } from "./src/ground/telemetry/mod.ts";
import { exceptingThisMachine } from "./src/ground/ways_out/mod.ts";

const encoder = new TextEncoder();

/**
 * Writes all that it is given, however little the other end takes at a time. If that reads no more, as `head` does, the rest is
 * dropped without a word: what the command does besides is done to its end.
 *
 * @returns A function that returns whether all was read.
 */
function write(
  target: { writeSync(bytes: Uint8Array): number },
): (text: string | Uint8Array) => boolean {
  let isClosed = false;
  return (text) => {
    let bytes = typeof text === "string" ? encoder.encode(text) : text;
    try {
      while (bytes.length > 0 && !isClosed) bytes = bytes.subarray(target.writeSync(bytes));
    } catch (error) {
      if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
      isClosed = true;
    }
    return !isClosed;
  };
}

/** Resolves at the first signal to stop; the second one ends the process at once. */
function stopRequested(): Promise<string> {
  const signals: Deno.Signal[] = Deno.build.os === "windows"
    ? ["SIGINT", "SIGBREAK"]
    : ["SIGINT", "SIGTERM"];
  return new Promise((resolve) => {
    let asked = false;
    for (const signal of signals) {
      Deno.addSignalListener(signal, () => {
        if (asked) endAtOnce(130);
        asked = true;
        resolve(signal);
      });
    }
    onHangup((isTerminalOpen) => isTerminalOpen || resolve("SIGHUP"));
  });
}

/** Resolves when a process that has taken over says so. */
function handOverRequested(): Promise<undefined> {
  return new Promise((resolve) => {
    if (Deno.build.os !== "windows") Deno.addSignalListener("SIGUSR2", () => resolve(undefined));
  });
}

/** SIGHUP asks for a reload, and is also what a terminal sends that is being closed. */
function onHangup(listener: (isTerminalOpen: boolean) => void): void {
  if (Deno.build.os === "windows") return;
  const onTerminal = Deno.stdin.isTerminal();
  Deno.addSignalListener("SIGHUP", () => listener(!onTerminal || terminalIsOpen()));
}

function terminalIsOpen(): boolean {
  try {
    Deno.consoleSize(); // fails once the terminal is gone
    return true;
  } catch {
    return false;
  }
}

/** Runs a program on this terminal. What the terminal sends reaches it, and is its to answer. */
async function runProgram(
  program: string,
  args: readonly string[],
  env: Record<string, string>,
): Promise<number> {
  const child = new Deno.Command(program, {
    args: [...args],
    env,
    stdin: "inherit",
    stdout: "inherit",
    stderr: "inherit",
  }).spawn();
  const forward = () => child.kill("SIGTERM");
  const leaveToChild = () => {};
  Deno.addSignalListener("SIGINT", leaveToChild);
  if (Deno.build.os !== "windows") Deno.addSignalListener("SIGTERM", forward);
  const { code } = await child.status;
  Deno.removeSignalListener("SIGINT", leaveToChild);
  if (Deno.build.os !== "windows") Deno.removeSignalListener("SIGTERM", forward);
  return code;
}

/** Asks on this terminal; anything but a yes is a no. */
function confirm(question: string): boolean | undefined {
  if (!Deno.stdin.isTerminal()) return undefined;
  write(Deno.stdout)(`${question} [y/N] `);
  const line = new Uint8Array(1_024);
  const length = Deno.stdin.readSync(line) ?? 0;
  return /^y(es)?$/i.test(new TextDecoder().decode(line.subarray(0, length)).trim());
}

/** Characters of standard input that are read. */
const MAX_INPUT_CHARS = 64 * 1_024;

/** Reads standard input to its end, as far as it is worth reading. */
async function input(prompt: string): Promise<string> {
  if (Deno.stdin.isTerminal()) write(Deno.stderr)(prompt);
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of Deno.stdin.readable) {
    text += decoder.decode(bytes, { stream: true });
    if (text.length > MAX_INPUT_CHARS) break;
  }
  return text;
}

if (import.meta.main) {
  const env = Deno.env.toObject();
  for (const [name, list] of Object.entries(exceptingThisMachine(env))) Deno.env.set(name, list);
  const status = await runCommand(Deno.args, {
    env,
    directory: Deno.cwd(),
    now: Date.now,
    out: write(Deno.stdout),
    outBytes: Deno.stdout.isTerminal() ? undefined : write(Deno.stdout),
    err: write(Deno.stderr),
    colour: Deno.stdout.isTerminal() && !Deno.noColor,
    openParts: (config) => openStore(config, { besideGateway: true }),
    openGateway: (config, log, options) =>
      waitingStart(config, {
        log,
        now: Date.now,
        waits: options?.waits === true,
        start: (config, environment) =>
          assemble(config, {
            log,
            ...options,
            ...environment,
            exporting: options?.isWithoutExport ? undefined : exportVariables(env),
          }),
      }),
    stopRequested,
    handOverRequested,
    reloadRequested: (reload) => onHangup((isTerminalOpen) => isTerminalOpen && reload()),
    signal: (pid, signal) => Deno.kill(pid, signal),
    runProgram,
    input,
    confirm,
  });
  if (isPlatformsOn(env)) await limitLastExport(status);
  Deno.exit(status);
}
