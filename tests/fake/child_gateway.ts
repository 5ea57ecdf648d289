import { openStore } from "../../src/assemble/mod.ts";
import { loadConfig } from "../../src/settings/config/mod.ts";
import { PROGRAM, type RunningCommand, startCommand } from "./command.ts";
import { isProof, sized } from "../tier.ts";
import { WIDE_TIERS } from "./gateway.ts";
import { DEADLINE_MS, sleep, tempDir } from "./temp.ts";

/** A gateway in a process of its own, as an operator runs it. */
export interface ChildGateway extends AsyncDisposable {
  readonly url: string;
  /** Keys of two accounts that have nothing to do with each other. */
  readonly keys: readonly [string, string];
  readonly process: RunningCommand;
  /** Whether the process runs. */
  alive(): boolean;
  /** POSTs JSON. Gives up after `withinMs`. */
  post(path: string, body: BodyInit, options?: ChildPost): Promise<Response>;
  /** Asks for a small chat completion, and reads its response to the end. Throws if it fails. */
  smallChat(key: string): Promise<void>;
  /** The most memory that the process ever had resident, in bytes. */
  peakBytes(): Promise<number>;
  /** How long the process has computed, in seconds: says what it did, however busy the machine is. */
  cpuSeconds(): Promise<number>;
  /** Lines of the log with level error. */
  errors(): string[];
  /** The text of `/metrics`. */
  metrics(): Promise<string>;
}

export interface ChildPost {
  readonly key?: string;
  readonly withinMs?: number;
}

/** How a test's gateway departs from the defaults. */
export interface ChildOptions {
  /** Not typed as settings: a test may say what only a later schema knows. */
  readonly settings?: Readonly<Record<string, unknown>> & { readonly routes?: object };
  /** File descriptors that the process may have. */
  readonly descriptors?: number;
}

/** Starts one. Disposing kills it. */
export async function startChild({ settings, descriptors }: ChildOptions = {}): Promise<
  ChildGateway
> {
  await using started = new AsyncDisposableStack();
  const directory = started.use(await tempDir()).path;
  const keys = await makeAccounts(directory);
  const file = {
    port: 0,
    tiers: WIDE_TIERS,
    log: "json",
    ...settings,
    routes: { small: SMALL_ROUTE, ...settings?.routes },
  };
  await Deno.writeTextFile(`${directory}/sluice.jsonc`, JSON.stringify(file));
  const bounded = ["-c", `ulimit -n ${descriptors}; exec "$@"`, "sh", Deno.execPath(), ...PROGRAM];
  const process = started.use(
    startCommand([], {
      directory,
      ...(descriptors === undefined ? {} : { program: "sh", programArgs: bounded }),
    }),
  );
  let ended = false;
  process.status.then(() => ended = true);
  const [, url = ""] = await process.waitFor(/listening on (http:\S+)/);
  const owned = started.move();

  const post = (
    path: string,
    body: BodyInit,
    { key = keys[0], withinMs = DEADLINE_MS }: ChildPost = {},
  ) =>
    fetch(`${url}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body,
      signal: AbortSignal.timeout(withinMs),
    });
  return {
    url,
    keys,
    process,
    alive: () => !ended,
    post,
    async smallChat(key) {
      const reply = await post("/v1/chat/completions", SMALL_CHAT, { key });
      const text = await reply.text();
      if (reply.status !== 200) throw new Error(`a small chat: ${reply.status} ${text}`);
    },
    async peakBytes() {
      // a program of the system reads it: Deno's permission to read leaves /proc out
      const args = ["VmHWM", `/proc/${process.pid}/status`];
      const { stdout } = await new Deno.Command("grep", { args }).output();
      return Number(/(\d+) kB/.exec(new TextDecoder().decode(stdout))?.[1]) * 1_024;
    },
    async cpuSeconds() {
      const args = [`/proc/${process.pid}/stat`];
      const { stdout } = await new Deno.Command("cat", { args }).output();
      const fields = new TextDecoder().decode(stdout).split(") ")[1]!.split(" ");
      return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
    },
    errors: () =>
      `${process.out()}\n${process.err()}`.split("\n").filter((line) =>
        line.includes('"level":"error"')
      ),
    async metrics() {
      return await (await fetch(`${url}/metrics`)).text();
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Of times in /proc. */
const TICKS_PER_SECOND = 100;

/** Answered by the simulator, whatever other upstreams a test has. */
const SMALL_ROUTE = {
  targets: [{ upstream: "simulator", model: "small" }],
  context: 10_000,
  maxOutput: 100,
  minimum: 1,
  prices: { input: 1, cached: 1, output: 1 },
};
const SMALL_CHAT = JSON.stringify({
  model: "small",
  messages: [{ role: "user", content: "Hi [[say hello]]" }],
});

/** Two accounts with a key each, in the database that the gateway will open. */
async function makeAccounts(directory: string): Promise<[string, string]> {
  const config = await loadConfig({ env: {}, directory, file: `${directory}/sluice.jsonc` })
    .catch(() => loadConfig({ env: {}, directory }));
  await using parts = await openStore(config);
  const make = async (email: string) => {
    const account = await parts.accounts.create({ email });
    await parts.sales.grant(account, { credits: 1_000_000 });
    return (await parts.keys.issue(account, {})).secret;
  };
  return [await make("one@example.com"), await make("other@example.com")];
}

/** How long the other account may wait for its small chats, as a multiple of what they take while nothing else goes on. */
export interface Bounds {
  readonly worst: number;
  readonly median?: number;
}

/** Shorter chats are noise. */
const MIN_CALM_MS = 10;
const CALM_CHATS = 20;
/** Between two small chats; the proofs measure how long each waits, and the gate spares the processor. */
const PAUSE_MS = sized(100, 5);
const TRIES = 3;

/**
 * Carries out `attack` while the second account asks for small chats, one after the other, each of which must be answered.
 *
 * The proofs also fail if that account waits for longer than the bounds. They do so up to three times: what the gateway does
 * wrong holds up the other account each time, while a machine that is busy elsewhere does so now and then.
 *
 * @param attack Is passed a function that returns the number of small chats that were answered since it began.
 * @returns what the last attack resolved with.
 */
export async function whileServing<T>(
  gateway: ChildGateway,
  bounds: Bounds,
  attack: (served: () => number) => Promise<T>,
): Promise<T> {
  if (!isProof) return (await measured(gateway, attack)).result;
  const { medianMs: calmMs } = await measured(gateway, async (served) => {
    while (served() < CALM_CHATS) await sleep(5);
  });
  const unitMs = Math.max(MIN_CALM_MS, calmMs);
  for (let tries = 1;; tries++) {
    const { result, worstMs, medianMs } = await measured(gateway, attack);
    const [worst, median] = [worstMs / unitMs, medianMs / unitMs];
    if (worst < bounds.worst && median < (bounds.median ?? Infinity)) return result;
    if (tries < TRIES) continue;
    throw new Error(
      `another account waited ${Math.round(median)} times as long as before as a rule, ${
        Math.round(worst)
      } times at worst`,
    );
  }
}

/** Kills the process if it hangs: what it is busy with would keep the machine from other tests. */
async function measured<T>(
  gateway: ChildGateway,
  attack: (served: () => number) => Promise<T>,
): Promise<{ result: T; worstMs: number; medianMs: number }> {
  let over = false;
  const end = () => void (over = true);
  const taken: number[] = [];
  const attacking = attack(() => taken.length);
  attacking.then(end, end);
  try {
    while (!over) {
      const startTick = performance.now();
      await gateway.smallChat(gateway.keys[1]);
      taken.push(performance.now() - startTick);
      await sleep(PAUSE_MS);
    }
  } catch (cause) {
    const peak = gateway.alive() ? await gateway.peakBytes() : undefined;
    if (gateway.alive()) gateway.process.signal("SIGKILL");
    await attacking.catch(() => {});
    const state = peak === undefined ? "has ended" : `has had ${peak >> 20} MB`;
    throw new Error(`another account was not served; the process ${state}`, { cause });
  }
  const result = await attacking;
  taken.sort((one, other) => one - other);
  return {
    result,
    worstMs: taken.at(-1) ?? 0,
    medianMs: taken[Math.floor(taken.length / 2)] ?? 0,
  };
}
