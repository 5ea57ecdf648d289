import type { PasswordCost } from "../people/accounts/mod.ts";
import type { Config } from "../settings/config/mod.ts";
import type { Database } from "../ground/database/mod.ts";
import type { Pages, Peer } from "../doors/http/mod.ts";
import { type ChannelEnd, PortCalls } from "../ground/platform/mod.ts";
import type { InFlightRequest } from "../requests/relay/mod.ts";
import {
  endedMetrics,
  type Log,
  type Metrics,
  type MetricsSnapshot,
} from "../ground/telemetry/mod.ts";
import type { ListsNews, RetryPolicy, UpstreamState } from "../requests/upstreams/mod.ts";
import { releaseThread } from "./bounds.ts";
import { answerPage } from "./forwarded_pages.ts";
import type { OtherThreads } from "./servings.ts";
import { sentConfig } from "./thread_config.ts";
import type {
  MainMethods,
  News,
  SettingsVersion,
  SharedMemory,
  ThreadMethods,
} from "./thread_protocol.ts";
import { ThreadWatchdog } from "./thread_watchdog.ts";

/** How long a thread's answer is waited for where the others' will do. */
const PATIENCE_MS = 2_000;
/** For a thread that closes. */
const CLOSE_PATIENCE_MS = 10_000;
/** Wait before a thread that died is started again; it doubles while threads die soon. */
const FIRST_RESTART_MS = 100;
const MAX_RESTART_MS = 30_000;
/** A thread that lived this long did not die of how it was started. */
const STEADY_MS = 60_000;

/** Requests that the log names of a thread that hangs. */
const MAX_NAMED = 20;

/** Starts a serving thread. */
export type StartThread = (number: number) => ServingWorker;

/** The part of a `Worker` that is used. */
export interface ServingWorker extends ChannelEnd {
  onerror: ((event: ErrorEvent) => void) | null;
  terminate(): void;
}

/** What the serving threads need from the main one. */
export interface ServingThreadsParts {
  readonly memory: SharedMemory;
  /** What the system allows the process, in bytes. */
  readonly memoryBytes: number;
  /** IDs of the gateway's threads, this one's first. */
  readonly gatewayIds: readonly string[];
  readonly sealKey: Uint8Array;
  readonly database: Database;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly traces: boolean;
  readonly retries: RetryPolicy | undefined;
  readonly passwordCost: PasswordCost | undefined;
  readonly lendFrom: number | undefined;
  /** Writes lines of the threads' logs; without, they write to standard error themselves. */
  readonly writeLog: ((text: string) => void) | undefined;
  readonly startThread: StartThread | undefined;
  /** How soon a thread counts as hanging. */
  readonly watchdog?: { readonly lookMs: number; readonly maxLooks: number } | undefined;
  readonly prove: (challenge: string) => Promise<string>;
  /** The console. */
  readonly pages: Pages;
  /** Notes what a thread has learned. */
  readonly onNews: (news: readonly News[]) => void;
  /** The settings in use, and what upstreams list. */
  readonly current: () => { readonly config: Config; readonly lists: ListsNews };
}

interface Thread {
  readonly number: number;
  readonly worker: ServingWorker;
  readonly calls: PortCalls<ThreadMethods>;
  readonly startedTick: number;
  /** The settings that it uses, and those that it has prepared. */
  config: Config;
  prepared: Config | undefined;
  metrics: MetricsSnapshot;
}

/**
 * The threads that serve beside the main one, as the main thread sees them. Each is started again when it dies, with the
 * settings in use; its requests fail, and their holds are released when it starts.
 */
export class ServingThreads implements OtherThreads, AsyncDisposable {
  readonly #parts: ServingThreadsParts;
  readonly #alive = new Map<number, Thread>();
  readonly #restarts = new Map<number, ReturnType<typeof setTimeout>>();
  readonly #restarting = new Set<Promise<void>>();
  #restartMs = FIRST_RESTART_MS;
  #address: { readonly host: string; readonly port: number } | undefined;
  #isGuarded = false;
  #isHandingOver = false;
  #isStopping = false;
  #closed = false;
  readonly #watchdog: ThreadWatchdog<Thread, readonly InFlightRequest[]>;
  /** Counts of threads that have died. */
  #ended: MetricsSnapshot = [];

  private constructor(parts: ServingThreadsParts) {
    this.#parts = parts;
    this.#watchdog = new ThreadWatchdog({
      threads: () => this.#alive.values(),
      ask: ({ calls }) => calls.call("live", null),
      hung: (thread, live) => this.#hung(thread, live),
      ...parts.watchdog,
    });
  }

  /** Starts one thread for each of the gateway's IDs but the first, and waits until all can serve. */
  static async start(parts: ServingThreadsParts): Promise<ServingThreads> {
    const threads = new ServingThreads(parts);
    const started = await Promise.allSettled(
      parts.gatewayIds.slice(1).map((_, at) => threads.#start(at + 2)),
    );
    const failed = started.find((one) => one.status === "rejected");
    if (failed === undefined) return threads;
    await threads[Symbol.asyncDispose]();
    throw new Error(`Cannot start a serving thread: ${failed.reason}`);
  }

  /** How many serve, the main thread included. */
  get count(): number {
    return this.#alive.size + 1;
  }

  async prepare(config: Config, lists: ListsNews): Promise<void> {
    const version = versionOf({ config, lists });
    const prepared = await Promise.allSettled(
      [...this.#alive.values()].map(async (thread) => {
        thread.prepared = undefined;
        await thread.calls.call("prepare", version);
        thread.prepared = config;
      }),
    );
    const failed = prepared.find((one) => one.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  async apply(): Promise<void> {
    await this.#each(async (thread) => {
      if (thread.prepared === undefined) return await this.#catchUp(thread);
      thread.config = thread.prepared;
      thread.prepared = undefined;
      await thread.calls.call("apply", null);
    });
  }

  async discard(): Promise<void> {
    await this.#each(async (thread) => {
      thread.prepared = undefined;
      await thread.calls.call("discard", null);
    });
  }

  listsChanged(lists: ListsNews): void {
    for (const { calls } of this.#alive.values()) calls.tell("lists", lists);
  }

  /** Tells what one thread has learned to the others. */
  send(news: readonly News[], from?: number): void {
    for (const { number, calls } of this.#alive.values()) {
      if (number !== from) calls.tell("onNews", news);
    }
  }

  /** Keeps all threads up from now on when there is a bug. */
  guard(): void {
    this.#isGuarded = true;
    for (const { calls } of this.#alive.values()) calls.tell("guard", null);
  }

  /** Listens in all threads, where the main one does. */
  async listen(address: { readonly host: string; readonly port: number }): Promise<void> {
    this.#address = address;
    await Promise.all(
      [...this.#alive.values()].map(({ calls }) => calls.call("listen", address)),
    );
  }

  /** Replaces the listeners of all threads: that of one of them has ended unnoticed. */
  relisten(): void {
    for (const { calls } of this.#alive.values()) calls.tell("relisten", null);
  }

  /** Notes in all threads that their listeners are about to be ended. */
  async expectEnd(): Promise<void> {
    this.#address = undefined;
    await this.#each(({ calls }) => calls.call("expectEnd", null));
  }

  /** Stops listening in all threads. */
  async stopListening(): Promise<void> {
    await this.#each(({ calls }) => calls.call("stopListening", null));
  }

  /** The metrics of all threads but the main one, those that have died included. */
  async metrics(): Promise<readonly MetricsSnapshot[]> {
    await this.#each(async (thread) => {
      thread.metrics = await thread.calls.call("metrics", null);
    });
    return [this.#ended, ...[...this.#alive.values()].map(({ metrics }) => metrics)];
  }

  /** In-flight requests of all threads but the main one. */
  async live(): Promise<readonly InFlightRequest[]> {
    return (await this.#each(({ calls }) => calls.call("live", null))).flat();
  }

  /** How the upstreams have been doing, by thread. */
  async upstreams(): Promise<readonly (readonly UpstreamState[])[]> {
    return await this.#each(({ calls }) => calls.call("upstreams", null));
  }

  /** Which of these clients' connections are in use in a thread; all of them if one does not say. */
  async busy(peers: readonly Peer[]): Promise<readonly Peer[]> {
    const busy = await this.#each(({ calls }) => calls.call("busy", peers));
    return busy.length < this.#alive.size ? peers : busy.flat();
  }

  /** On which of these clients' connections a request has come in a thread; all of them if one does not say. */
  async claimed(peers: readonly Peer[]): Promise<readonly Peer[]> {
    const claimed = await this.#each(({ calls }) => calls.call("claimed", peers));
    return claimed.length < this.#alive.size ? peers : claimed.flat();
  }

  /** Begins to hand over to another process, or goes on as before. */
  async handOver(isHandingOver: boolean): Promise<void> {
    this.#isHandingOver = isHandingOver;
    await this.#each(({ calls }) => calls.call("handOver", isHandingOver));
  }

  /** Milliseconds since the last request. */
  async quietMs(): Promise<number> {
    return Math.min(Infinity, ...await this.#each(({ calls }) => calls.call("quietMs", null)));
  }

  /** Resolves when no request is in progress. */
  async idle(): Promise<void> {
    await this.#each(({ calls }) => calls.call("idle", null), Infinity);
  }

  /** Rejects new requests from now on. */
  stopTaking(): void {
    this.#isStopping = true;
    for (const { calls } of this.#alive.values()) calls.tell("stopTaking", null);
  }

  /** Lets in-flight requests finish. */
  async finish(patienceMs: number): Promise<{ cutOff: number }> {
    const finished = await this.#each(({ calls }) => calls.call("finish", patienceMs), Infinity);
    return { cutOff: finished.reduce((sum, { cutOff }) => sum + cutOff, 0) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#watchdog.close();
    for (const timer of this.#restarts.values()) clearTimeout(timer);
    await Promise.all(this.#restarting);
    await this.#each(({ calls }) => calls.call("close", null), CLOSE_PATIENCE_MS);
    for (const { worker } of this.#alive.values()) worker.terminate();
    this.#alive.clear();
  }

  async #start(number: number): Promise<void> {
    const {
      database,
      memory,
      memoryBytes,
      gatewayIds,
      sealKey,
      traces,
      retries,
      passwordCost,
      lendFrom,
      writeLog,
      current,
    } = this.#parts;
    const worker = (this.#parts.startThread ?? startThread)(number);
    const calls = new PortCalls<ThreadMethods>(worker, this.#methods(number));
    const { config, lists } = current();
    const startedTick = performance.now();
    const thread: Thread = {
      number,
      worker,
      calls,
      startedTick,
      config,
      prepared: undefined,
      metrics: [],
    };
    worker.onerror = (event) => {
      event.preventDefault();
      this.#died(thread, event.message);
    };
    const line = database.line?.((message) => {
      for (const { calls } of this.#alive.values()) calls.tell("databaseDied", message);
    });
    try {
      await calls.call("open", {
        ...versionOf({ config, lists }),
        thread: number,
        gatewayId: gatewayIds[number - 1]!,
        sealKey,
        line,
        memory,
        memoryBytes,
        traces,
        retries,
        passwordCost,
        lendFrom,
        sendsLog: writeLog !== undefined,
      }, line === undefined ? [] : [line.port]);
      await this.#catchUp(thread);
      if (this.#isGuarded) calls.tell("guard", null);
      if (this.#isStopping) calls.tell("stopTaking", null);
      if (this.#isHandingOver) calls.tell("handOver", true);
      this.#alive.set(number, thread);
      calls.tell("lists", current().lists);
      if (this.#address !== undefined) await calls.call("listen", this.#address);
    } catch (error) {
      this.#alive.delete(number);
      worker.terminate();
      throw error;
    }
  }

  /** Has a thread use the settings in use, which may have changed while it was started. */
  async #catchUp(thread: Thread): Promise<void> {
    const { current } = this.#parts;
    while (thread.config !== current().config) {
      const { config, lists } = current();
      await thread.calls.call("prepare", versionOf({ config, lists }));
      await thread.calls.call("apply", null);
      thread.config = config;
    }
  }

  /** The platform shows the stack of no other thread: its requests say what it was busy with. */
  #hung(thread: Thread, live: readonly InFlightRequest[] = []): void {
    this.#parts.log.error("a serving thread does not answer: it is ended", {
      thread: thread.number,
      in_flight: live.length,
      newest: live.toSorted((one, other) => other.startedAtMs - one.startedAtMs)
        .slice(0, MAX_NAMED).map(({ requestId }) => requestId).join(", "),
    });
    this.#died(thread, "it did not answer");
  }

  #died(thread: Thread, message: string): void {
    const { number, worker, calls, metrics, startedTick } = thread;
    calls.fail(new Error(`the serving thread died: ${message}`));
    worker.terminate();
    releaseThread(this.#parts.memory, number);
    if (this.#alive.get(number) !== thread) return; // it was being started, which fails
    this.#alive.delete(number);
    void endedMetrics([this.#ended, metrics]).then((ended) => this.#ended = ended);
    this.#parts.metrics.restarted();
    if (performance.now() - startedTick > STEADY_MS) this.#restartMs = FIRST_RESTART_MS;
    this.#parts.log.error("a serving thread died: its requests are lost, it is started again", {
      thread: number,
      error: message,
    });
    this.#restartLater(number);
  }

  #restartLater(number: number): void {
    if (this.#closed) return;
    const waitMs = this.#restartMs;
    this.#restartMs = Math.min(MAX_RESTART_MS, 2 * waitMs);
    this.#restarts.set(
      number,
      setTimeout(() => {
        this.#restarts.delete(number);
        const restarting = this.#start(number).then(() => {
          this.#parts.log.info("a serving thread was started again", { thread: number });
        }, (error) => {
          this.#parts.log.error("a serving thread could not be started", {
            thread: number,
            error: String(error),
          });
          this.#restartLater(number);
        }).finally(() => this.#restarting.delete(restarting));
        this.#restarting.add(restarting);
      }, waitMs),
    );
  }

  #methods(from: number): MainMethods {
    const { metrics, prove, pages, onNews, writeLog } = this.#parts;
    return {
      metricsText: () => metrics.text(),
      prove,
      page: (call) => answerPage(pages, call),
      send: (news) => {
        onNews(news);
        this.send(news, from);
      },
      log: (text) => writeLog?.(text),
    };
  }

  /** Calls all threads. Those that die or take longer than `patienceMs` are left out. */
  async #each<T>(
    call: (thread: Thread) => Promise<T>,
    patienceMs = PATIENCE_MS,
  ): Promise<Awaited<T>[]> {
    const done = await Promise.allSettled(
      [...this.#alive.values()].map((thread) => within(patienceMs, call(thread))),
    );
    return done.flatMap((one) => one.status === "fulfilled" ? [one.value] : []);
  }
}

function versionOf({ config, lists }: { config: Config; lists: ListsNews }): SettingsVersion {
  return { config: sentConfig(config), lists };
}

function startThread(number: number): ServingWorker {
  return new Worker(new URL("./serving_thread.ts", import.meta.url), {
    type: "module",
    name: `serving ${number}`,
  });
}

/** @throws {Error} If a promise takes longer than `ms`. */
async function within<T>(ms: number, promise: Promise<T>): Promise<Awaited<T>> {
  if (ms === Infinity) return await promise;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
