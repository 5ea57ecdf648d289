import { fromFileUrl } from "../../src/ground/std/mod.ts";
import { until } from "./temp.ts";

const ROOT = fromFileUrl(new URL("../../", import.meta.url));

/** The arguments that run the program as `deno task start` does. */
export const PROGRAM = [
  "run",
  "--quiet",
  "--v8-flags=--expose-gc",
  "--allow-net",
  "--allow-read",
  "--allow-write",
  "--allow-env",
  "--allow-ffi",
  "--allow-sys",
  "--allow-run",
  `--config=${ROOT}deno.json`,
  `${ROOT}main.ts`,
];

/** The arguments that run a script of this folder, whatever it may do. */
export function scriptArgs(name: string, flags: readonly string[] = []): string[] {
  const config = `--config=${ROOT}deno.json`;
  return ["run", "--quiet", "--allow-all", ...flags, config, `${ROOT}tests/fake/${name}`];
}

/**
 * The arguments that run TypeScript files of `directory`, which may import all that tests may: the import
 * map and the lock file are copied there.
 */
export async function exampleArgs(directory: string): Promise<string[]> {
  const config = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`));
  const imports = { ...config.imports, ...config.scopes["./tests/"] };
  await Deno.writeTextFile(`${directory}/deno.json`, JSON.stringify({ imports }));
  await Deno.copyFile(`${ROOT}tests/deno.lock`, `${directory}/deno.lock`);
  return ["run", "--quiet", "-A", `--config=${directory}/deno.json`];
}

/** Prints a line at once: what a script of this folder tells the test that runs it. */
export function say(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}

/** What a finished command left. */
export interface Finished {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** The address of a gateway that is not there: at the default port another one may answer (`tests/gate/grouped.ts`). */
export const NO_GATEWAY = { SLUICE_PORT: "1" };

/** Nothing can be read or written there: a file is no directory. */
const NOWHERE = `${ROOT}LICENSE/home`;

/**
 * The surroundings that a program of ours gets: nothing of the tests' own settings, nor of this user's. State is
 * kept in `./data`; with `SLUICE_DATA: ""` it is kept where a user's is, which the test then has to name.
 */
export function environment(more: Record<string, string> = {}): Record<string, string> {
  const kept = Object.entries(Deno.env.toObject()).filter(([name]) => !name.startsWith("SLUICE_"));
  const workers = Deno.env.get("SLUICE_TEST_WORKERS"); // tests/fake/gateway.ts
  return {
    ...Object.fromEntries(kept),
    ...(workers === undefined ? {} : { SLUICE_WORKERS: workers }),
    NO_COLOR: "1",
    SLUICE_DATA: "data",
    XDG_STATE_HOME: NOWHERE,
    XDG_CONFIG_HOME: NOWHERE,
    ...more,
  };
}

/** A user's own home directory, for tests of what is kept there. */
export function homeIn(directory: string): Record<string, string> {
  return {
    SLUICE_DATA: "",
    XDG_STATE_HOME: `${directory}/state`,
    XDG_CONFIG_HOME: `${directory}/config`,
  };
}

/** Runs `sluice ARGS` to its end, in `directory`. */
export async function sluice(
  args: readonly string[],
  { directory, env = {} }: { directory: string; env?: Record<string, string> },
): Promise<Finished> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...PROGRAM, ...args],
    cwd: directory,
    clearEnv: true,
    env: environment(env),
  }).output();
  const decoder = new TextDecoder();
  return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
}

/** A program that is running. */
export interface RunningCommand extends AsyncDisposable {
  readonly pid: number;
  /** Standard output so far. */
  readonly out: () => string;
  /** Standard error so far. */
  readonly err: () => string;
  readonly status: Promise<Deno.CommandStatus>;
  signal(signal: Deno.Signal): void;
  /** Waits for `pattern` on standard output; answers the match. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
}

/** Waits for `pattern` on the standard output of a command that has not ended; answers the match. */
export async function printed(
  pattern: RegExp,
  { out, err, ended }: { out: () => string; err: () => string; ended: () => boolean },
): Promise<RegExpExecArray> {
  let found: RegExpExecArray | null = null;
  const isOver = () => (found = pattern.exec(out())) !== null || ended();
  await until(isOver, { what: String(pattern) }).catch(() => {});
  if (found !== null) return found;
  throw new Error(`${pattern} was not printed.\nstdout: ${out()}\nstderr: ${err()}`);
}

/** Starts `sluice ARGS`, or another program. Disposing kills it. */
export function startCommand(
  args: readonly string[],
  { directory, env = {}, program = Deno.execPath(), programArgs = PROGRAM }: {
    directory: string;
    env?: Record<string, string>;
    program?: string;
    programArgs?: readonly string[];
  },
): RunningCommand {
  const child = new Deno.Command(program, {
    args: [...programArgs, ...args],
    cwd: directory,
    clearEnv: true,
    env: environment(env),
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let [out, err] = ["", ""];
  let ended = false;
  const read = async (stream: ReadableStream<Uint8Array>, add: (text: string) => void) => {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) add(text);
  };
  const reading = Promise.all([
    read(child.stdout, (text) => out += text),
    read(child.stderr, (text) => err += text),
  ]);
  const status = child.status.then((one) => {
    ended = true;
    return one;
  });
  return {
    pid: child.pid,
    out: () => out,
    err: () => err,
    status,
    signal: (signal) => child.kill(signal),
    waitFor: (pattern) => printed(pattern, { out: () => out, err: () => err, ended: () => ended }),
    async [Symbol.asyncDispose]() {
      if (!ended) child.kill("SIGKILL");
      await status;
      await reading;
    },
  };
}
