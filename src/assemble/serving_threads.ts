import type { Config } from "../settings/config/mod.ts";
import type { Database } from "../ground/database/mod.ts";
import type { Pages, Peer } from "../doors/http/mod.ts";
import { type ArgumentOf, type ChannelEnd, PortCalls, within } from "../ground/platform/mod.ts";
import type { InFlightRequest } from "../requests/relay/mod.ts";
import {
  endedMetrics,
  type Log,
  type Metrics,
  type MetricsSnapshot,
} from "../ground/telemetry/mod.ts";
import type { ListsNews } from "../requests/upstreams/mod.ts";
import { releaseThread } from "./bounds.ts";
import { answerPage } from "./forwarded_pages.ts";
import type { OtherThreads } from "./servings.ts";
import { sentConfig } from "./thread_config.ts";
import type { ThreadMethods } from "./thread_methods.ts";
import type { MainMethods, News, SettingsVersion, ThreadSettings } from "./thread_protocol.ts";
import { ThreadWatchdog } from "./thread_watchdog.ts";

/** How long a thread's answer is waited for where the others' will do. */
const PATIENCE_MS = 2_000;
/** For a thread that closes. */
const CLOSE_PATIENCE_MS = 10_000;

/** How threads are called where it is not for the moment and within {@linkcode PATIENCE_MS}. */
const CALLS: {
  readonly [Name in keyof ThreadMethods]?: {
    readonly patienceMs?: number;
    /** Whether threads that are started later are called, too. */
    readonly lasts?: true;
    /** What does not last any more. */
    readonly ends?: keyof ThreadMethods;
  };
} = {
  guard: { lasts: true },
  stopTaking: { lasts: true },
  handOver: { lasts: true },
  listen: { lasts: true },
  expectEnd: { ends: "listen" },
  idle: { patienceMs: Infinity },
  finish: { patienceMs: Infinity },
  close: { patienceMs: CLOSE_PATIENCE_MS },
};
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
  readonly settings: ThreadSettings;
  /** IDs of the gateway's threads, this one's first. */
  readonly gatewayIds: readonly string[];
  readonly database: Database;
  readonly log: Log;
  readonly metrics: Metrics;
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
  /** Calls that threads which are started later get, too. */
  readonly #lasting = new Map<keyof ThreadMethods, unknown>();
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

  /** Calls all threads. @returns What they return, but for those that die or take longer than they may. */
  async call<Name extends keyof ThreadMethods>(
    name: Name,
    argument: ArgumentOf<ThreadMethods, Name>,
  ): Promise<Awaited<ReturnType<ThreadMethods[Name]>>[]> {
    this.#note(name, argument);
    return await this.#each(({ calls }) => calls.call(name, argument), CALLS[name]?.patienceMs);
  }

  /** Calls all threads, but for one, without waiting for them. */
  tell<Name extends keyof ThreadMethods>(
    name: Name,
    argument: ArgumentOf<ThreadMethods, Name>,
    except?: number,
  ): void {
    this.#note(name, argument);
    for (const { number, calls } of this.#alive.values()) {
      if (number !== except) calls.tell(name, argument);
    }
  }

  /** Listens in all threads, where the main one does. @throws {Error} If one cannot. */
  async listen(address: { readonly host: string; readonly port: number }): Promise<void> {
    this.#note("listen", address);
    await Promise.all([...this.#alive.values()].map(({ calls }) => calls.call("listen", address)));
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
    for (const thread of this.#alive.values()) thread.prepared = undefined;
    await this.call("discard", null);
  }

  listsChanged(lists: ListsNews): void {
    this.tell("lists", lists);
  }

  /** The metrics of all threads but the main one, those that have died included. */
  async metrics(): Promise<readonly MetricsSnapshot[]> {
    await this.#each(async (thread) => {
      thread.metrics = await thread.calls.call("metrics", null);
    });
    return [this.#ended, ...[...this.#alive.values()].map(({ metrics }) => metrics)];
  }

  /**
   * Which of these clients' connections are `busy` with a request in a thread, or have been `claimed` by one; all of them if one
   * thread does not say.
   */
  async inUse(how: "busy" | "claimed", peers: readonly Peer[]): Promise<readonly Peer[]> {
    const used = await this.call(how, peers);
    return used.length < this.#alive.size ? peers : used.flat();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#watchdog.close();
    for (const timer of this.#restarts.values()) clearTimeout(timer);
    await Promise.all(this.#restarting);
    await this.call("close", null);
    for (const { worker } of this.#alive.values()) worker.terminate();
    this.#alive.clear();
  }

  async #start(number: number): Promise<void> {
    const { database, settings, gatewayIds, writeLog, current } = this.#parts;
    const worker = (this.#parts.startThread ?? startThread)(number);
    const calls = new PortCalls<ThreadMethods>(worker, this.#methods(number));
    const { config, lists } = current();
    const startedTick = performance.now();
    const thread = { number, worker, calls, startedTick, config, prepared: undefined, metrics: [] };
    worker.onerror = (event) => {
      event.preventDefault();
      this.#died(thread, event.message);
    };
    const line = database.line?.((message) => this.tell("databaseDied", message));
    try {
      await calls.call("open", {
        ...settings,
        ...versionOf({ config, lists }),
        thread: number,
        gatewayId: gatewayIds[number - 1]!,
        line,
        sendsLog: writeLog !== undefined,
      }, line === undefined ? [] : [line.port]);
      await this.#catchUp(thread);
      this.#alive.set(number, thread);
      calls.tell("lists", current().lists);
      await Promise.all([...this.#lasting].map(([name, of]) => calls.call(name, of as never)));
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
    releaseThread(this.#parts.settings.memory, number);
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
        this.tell("onNews", news, from);
      },
      log: (text) => writeLog?.(text),
    };
  }

  /** Notes what lasts. */
  #note(name: keyof ThreadMethods, argument: unknown): void {
    const { lasts, ends } = CALLS[name] ?? {};
    if (lasts) this.#lasting.set(name, argument);
    if (ends !== undefined) this.#lasting.delete(ends);
  }

  /** Calls all threads. Those that die or take longer than `patienceMs` are left out. */
  async #each<T>(
    call: (thread: Thread) => Promise<T>,
    patienceMs = PATIENCE_MS,
  ): Promise<Awaited<T>[]> {
    const done = await Promise.allSettled(
      [...this.#alive.values()].map((thread) =>
        patienceMs === Infinity ? call(thread) : within(patienceMs, call(thread), noAnswer)
      ),
    );
    return done.flatMap((one) => one.status === "fulfilled" ? [one.value] : []);
  }
}

function noAnswer(): never {
  throw new Error("no answer in time");
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
