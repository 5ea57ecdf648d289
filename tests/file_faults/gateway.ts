import { openStore } from "../../src/assemble/mod.ts";
import { loadConfig, type SettingsInput } from "../../src/settings/config/mod.ts";
import { compileLibrary } from "../fake/c_library.ts";
import { type RunningCommand, startCommand } from "../fake/command.ts";
import { WIDE_TIERS } from "../fake/gateway.ts";
import { inTime } from "../fake/temp.ts";
import type { CallersKeys } from "./callers.ts";

const SOURCE = new URL("faulty.c", import.meta.url);
const ACCOUNTS = 4;
/** A gateway that is asked to stop has no request that lasts longer. */
const STOP_MS = 25_000;

/** One credit by the token of output, so that a charge says which answer it is for. */
const SETTINGS = {
  port: 0,
  tiers: WIDE_TIERS,
  log: "json",
  routes: {
    small: {
      targets: [{ upstream: "simulator", model: "small" }],
      context: 10_000,
      maxOutput: 200,
      minimum: 1,
      prices: { input: 0, cached: 0, output: 1_000_000 },
    },
  },
};

/** Compiles the library that makes calls fail. Returns a value of `LD_PRELOAD`. */
export function compileFaulty(directory: string): Promise<string> {
  return compileLibrary(SOURCE, `${directory}/faulty.so`);
}

/**
 * Writes the settings and makes accounts with more credits than they will spend; returns a key of each, and one of an operator.
 *
 * @param more Further settings.
 */
export async function prepare(directory: string, more: SettingsInput = {}): Promise<CallersKeys> {
  const file = `${directory}/sluice.jsonc`;
  await Deno.writeTextFile(file, JSON.stringify({ ...SETTINGS, ...more }));
  const config = await loadConfig({ env: {}, directory, file });
  await using parts = await openStore(config);
  const callers: string[] = [];
  for (let at = 0; at < ACCOUNTS; at++) {
    const account = await parts.accounts.create({ email: `account${at}@example.com` });
    await parts.sales.grant(account, { credits: 1_000_000_000 });
    callers.push((await parts.keys.issue(account, {})).secret);
  }
  const operator = await parts.keys.issue(await parts.owner(), { scopes: ["admin"] });
  return { callers, operator: operator.secret };
}

/**
 * The real program, whose calls on its database's files can be made to fail; started again as often as needed. What it
 * logged is in `gateway.log`, one life after the other.
 */
export class FaultyGateway implements AsyncDisposable {
  readonly #options: { readonly directory: string; readonly env: Record<string, string> };
  #process: RunningCommand | undefined;
  #url: string | undefined;
  #ended: number | undefined;

  /**
   * @param directory Where its settings and its `data` are.
   * @param library Has the compiled `faulty.c` loaded, by `LD_PRELOAD`.
   * @param control The file of its `FaultControl`.
   */
  constructor(directory: string, library: string, control: string) {
    const env = { LD_PRELOAD: library, FAULTY_CONTROL: control, SLUICE_LOG_LEVEL: "warn" };
    this.#options = { directory, env };
  }

  /** Its address; undefined while it does not run. */
  get url(): string | undefined {
    return this.#ended === undefined ? this.#url : undefined;
  }

  /** The exit code of a process that has ended by itself; undefined while it runs, and when it was ended here. */
  get ended(): number | undefined {
    return this.#ended;
  }

  async start(): Promise<void> {
    this.#ended = undefined;
    const process = startCommand([], this.#options);
    this.#process = process;
    process.status.then(({ code }) => {
      if (this.#process === process) this.#ended = code;
    });
    [, this.#url] = await process.waitFor(/listening on (http:\S+)/);
  }

  /** Kills it at once. Resolves with what it had logged. */
  async kill(): Promise<string> {
    return (await this.#end("SIGKILL", STOP_MS)).log;
  }

  /** Asks it to stop. Answers its exit code, undefined if it had to be killed, and what it had logged. */
  async stop(): Promise<{ code: number | undefined; log: string }> {
    return await this.#end("SIGTERM", STOP_MS);
  }

  async #end(signal: Deno.Signal, withinMs: number) {
    const process = this.#process;
    this.#url = undefined;
    this.#process = undefined;
    if (process === undefined) return { code: undefined, log: "" };
    if (this.#ended === undefined) process.signal(signal);
    this.#ended = undefined;
    const status = await inTime(process.status, withinMs, undefined);
    await process[Symbol.asyncDispose]();
    const log = `${process.out()}\n${process.err()}`;
    await Deno.writeTextFile(`${this.#options.directory}/gateway.log`, log, { append: true });
    return { code: status?.code, log };
  }

  /** What the process that runs has logged. */
  get log(): string {
    return this.#process === undefined ? "" : `${this.#process.out()}\n${this.#process.err()}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}
