import { type RunningCommand, scriptArgs, startCommand } from "../fake/command.ts";
import { inTime } from "../fake/temp.ts";

/** A gateway that is asked to stop has no request that lasts longer. */
const STOP_MS = 30_000;

const SOON_MS = 1_000;

/** A gateway with a clock of its own, which is killed and started. */
export class ClockedGateway implements AsyncDisposable {
  readonly #directory: string;
  #process: RunningCommand | undefined;
  #url: string | undefined;
  #starting: Promise<void> = Promise.resolve();
  /** What it has logged, one life after the other. */
  #log = "";
  #commits = 0;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Its address; undefined while it does not listen. */
  get url(): string | undefined {
    return this.#url;
  }

  /** Starts it; it listens once its database answers. */
  start(offMs: number): void {
    const process = startCommand([], {
      directory: this.#directory,
      programArgs: scriptArgs("../histories/gateway_process.ts", ["--v8-flags=--expose-gc"]).concat(
        this.#directory,
        String(offMs),
      ),
    });
    this.#process = process;
    this.#starting = process.waitFor(/listening on (http:\S+)/).then(([, url]) => {
      if (this.#process === process) this.#url = url;
    });
    this.#starting.catch(() => {}); // it was killed meanwhile, or `started` says so
  }

  /** Resolves when it listens. */
  async started(): Promise<void> {
    await this.#starting;
  }

  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** Asks it to stop; resolves with its exit code, undefined if it had to be killed. */
  async stop(): Promise<number | undefined> {
    return await this.#end("SIGTERM");
  }

  async #end(signal: Deno.Signal): Promise<number | undefined> {
    const [process, url] = [this.#process, this.#url];
    this.#url = undefined;
    this.#process = undefined;
    if (process === undefined) return undefined;
    if (url !== undefined) this.#commits += await commitsOf(url);
    process.signal(signal);
    const status = await inTime(process.status, STOP_MS, undefined);
    await process[Symbol.asyncDispose]();
    this.#log += process.err();
    return status?.code;
  }

  /** How often it has had the database commit something, in all lives but the present one. */
  get commits(): number {
    return this.#commits;
  }

  /** What it has logged so far. */
  get log(): string {
    return this.#log + (this.#process?.err() ?? "");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process !== undefined) await this.kill();
  }
}

/** What a gateway counts; 0 if it does not say so at once. */
async function commitsOf(url: string): Promise<number> {
  const signal = AbortSignal.timeout(SOON_MS);
  const text = await fetch(`${url}/metrics`, { signal }).then((reply) => reply.text(), () => "");
  const counts = text.matchAll(/^sluice_database_commit_seconds_count\S* (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}
