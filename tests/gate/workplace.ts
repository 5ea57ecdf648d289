/** How a process ended. */
export interface Ended {
  readonly code: number;
  readonly seconds: number;
  /** Path of the file that has what it printed. */
  readonly output: string;
  /** Why it was killed, if it was. */
  readonly killed?: string;
  /** Processes that it left running, which were ended. */
  readonly left: readonly string[];
}

/** How often, and with which pauses, a gate looks whether what a command started has ended. */
const LOOKS = 10;
const LOOK_MS = 300;
/** Marks the processes of a gate in their environment. */
const MARK = "SLUICE_GATE_RUN";
const SCRIPTS = new URL("../../.ci/", import.meta.url).pathname;

/**
 * Where a gate runs its commands: each in a session of its own, with a directory for temporary files and one for outputs.
 *
 * What a command leaves running is found and ended. However the gate itself ends, `.ci/reap` ends what runs, as its
 * standard input closes then.
 */
export class Workplace implements AsyncDisposable {
  readonly #id: string;
  readonly #directory: string;
  readonly #reaper: Deno.ChildProcess;
  readonly #sessions: WritableStreamDefaultWriter<Uint8Array>;
  #outputs = 0;

  private constructor(directory: string) {
    this.#id = crypto.randomUUID();
    this.#directory = directory;
    this.#reaper = new Deno.Command("setsid", {
      args: [`${SCRIPTS}reap`, `${MARK}=${this.#id}`, `${directory}/tmp`],
      env: { [MARK]: "" }, // a gate within a gate ends what it has started, also when the outer one ends it
      stdin: "piped",
    }).spawn();
    this.#sessions = this.#reaper.stdin.getWriter();
  }

  /**
   * @param parent Where its directory is made; by default where temporary files are.
   * @throws {Deno.errors.NotFound} Where there is no `setsid`: on Linux, util-linux has it.
   */
  static async open(parent?: string): Promise<Workplace> {
    const place = parent === undefined ? {} : { dir: parent };
    const directory = await Deno.makeTempDir({ ...place, prefix: "sluice-gate-" });
    await Deno.mkdir(`${directory}/tmp`);
    return new Workplace(directory);
  }

  /** Where outputs are kept, also after the gate. */
  get directory(): string {
    return this.#directory;
  }

  /**
   * Runs a command to its end, with no standard input.
   *
   * @param name Of the file for what it prints.
   * @param deadlineMs After it, the command is killed with all that it started.
   */
  async run(
    name: string,
    command: readonly string[],
    { env = {}, deadlineMs = 20 * 60_000 }: RunOptions = {},
  ): Promise<Ended> {
    const output = `${this.#directory}/${++this.#outputs}-${name.replaceAll(/[^\w.]+/g, "-")}.log`;
    const startedTick = performance.now();
    const child = new Deno.Command("setsid", {
      args: ["bash", "-c", 'exec "$@" >"$0" 2>&1', output, ...command],
      env: { TMPDIR: `${this.#directory}/tmp`, ...env, [MARK]: this.#id },
      stdin: "null",
    }).spawn();
    await this.#sessions.write(new TextEncoder().encode(`${child.pid}\n`));
    let killed: string | undefined;
    const timer = setTimeout(() => {
      killed = `killed after ${deadlineMs / 60_000} minutes`;
      kill(child.pid); // what it has started is found as left running
    }, deadlineMs);
    const { code } = await child.status;
    clearTimeout(timer);
    const seconds = (performance.now() - startedTick) / 1_000;
    return {
      code,
      seconds,
      output,
      ...(killed === undefined ? {} : { killed }),
      left: await this.#endRest(child.pid),
    };
  }

  /** What ends by itself within a moment, such as the children of a browser, was not left behind. */
  async #endRest(session: number): Promise<string[]> {
    let left = await this.#processes(session);
    for (let looks = 0; looks < LOOKS && left.length > 0; looks++) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      left = await this.#processes(session);
    }
    for (const line of left) kill(Number(line.split(" ")[0]));
    return left;
  }

  /** What runs of a session, a line each. */
  async #processes(session: number): Promise<string[]> {
    const args = [`${MARK}=${this.#id}`, String(session)];
    const { stdout } = await new Deno.Command(`${SCRIPTS}processes`, { args }).output();
    return new TextDecoder().decode(stdout).split("\n").filter((line) => line !== "");
  }

  /** Files that commands left in the directory for temporary ones. */
  leftFiles(): string[] {
    return [...Deno.readDirSync(`${this.#directory}/tmp`)].map(({ name }) => name).sort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sessions.close();
    await this.#reaper.status;
  }
}

/** Options of `Workplace.run`. */
export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly deadlineMs?: number;
}

function kill(pid: number): void {
  try {
    Deno.kill(pid, "SIGKILL");
  } catch {
    // it has ended meanwhile
  }
}
