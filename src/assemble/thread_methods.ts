import { type Metrics, type MetricsSnapshot } from "../ground/telemetry/mod.ts";
import type { ListsNews } from "../requests/upstreams/mod.ts";
import type { Address, Door } from "./door.ts";
import { receivedConfig } from "./thread_config.ts";
import type { Beginning, News, SettingsVersion } from "./thread_protocol.ts";

/** A serving thread that is open. */
export interface OpenThread {
  readonly door: Door;
  readonly metrics: Metrics;
  readonly configureLog: () => void;
  readonly databaseDied: (message: string) => void;
  /** From here on, uncaught errors are logged instead of ending the process. Drops Deno permissions, which all threads share. */
  guard(): void;
  /** Closes everything. */
  close(): Promise<void>;
}

/**
 * What the main thread calls a serving thread for once it is open, by name: with one argument or none. Arguments and results
 * are cloned. How all threads are called for it is in `serving_threads.ts`.
 */
export const THREAD_METHODS = {
  guard: ({ guard }: OpenThread) => guard(),
  databaseDied: ({ databaseDied }: OpenThread, message: string) => databaseDied(message),
  close: ({ close }: OpenThread) => close(),

  listen({ door }: OpenThread, address: Pick<Address, "host" | "port">): void {
    // the main thread looks after the listeners
    door.listen({ ...address, besideAnother: true, listening: { count: 0, lost() {} } });
  },
  relisten: ({ door }: OpenThread) => door.server?.relisten(),
  /** Its listener is about to be ended. */
  expectEnd: ({ door }: OpenThread) => door.server?.expectEnd(),
  stopListening: ({ door }: OpenThread) => door.server?.stopListening(),

  /** Makes what other settings need; nothing changes yet. */
  prepare: ({ door }: OpenThread, { config, lists }: SettingsVersion) =>
    door.servings.prepare(receivedConfig(config), lists),
  /** Uses what was prepared, for requests that come from now on. */
  apply({ door, configureLog }: OpenThread): void {
    door.servings.apply();
    configureLog();
  },
  /** Forgets what was prepared. */
  discard: ({ door }: OpenThread) => door.servings.discard(),
  /** The upstreams list other models. */
  lists: ({ door }: OpenThread, lists: ListsNews) => door.servings.current.onModelLists(lists),
  onNews: ({ door }: OpenThread, news: readonly News[]) => door.onNews(news),

  metrics: ({ metrics }: OpenThread): Promise<MetricsSnapshot> => metrics.snapshot(),
  live: ({ door }: OpenThread) => door.inFlight.all,
  upstreams: ({ door }: OpenThread) => door.upstreamStates,
  /** Which of these clients' connections are in use. */
  busy: ({ door }: OpenThread, peers: readonly string[]) => door.bounds.connections.busyOf(peers),
  /** On which of these clients' connections a request has come. */
  claimed: ({ door }: OpenThread, peers: readonly string[]) => door.bounds.arrivals.claimed(peers),

  /** Begins to hand over to another process, or goes on as before. */
  handOver: ({ door }: OpenThread, isHandingOver: boolean) => door.handOver(isHandingOver),
  /** Milliseconds since the last request. */
  quietMs: ({ door }: OpenThread) => door.quietMs,
  /** Rejects new requests from now on. */
  stopTaking: ({ door }: OpenThread) => door.servings.stopTaking(),
  /** Resolves when no request is in progress. */
  idle: ({ door }: OpenThread) => door.servings.current.app.idle(),
  /** Lets in-flight requests finish. */
  finish: ({ door }: OpenThread, patienceMs: number) => door.inFlight.finish(patienceMs),
} as const;

type Table = typeof THREAD_METHODS;

/** What a serving thread can be called for. */
export type ThreadMethods =
  & {
    /** Builds everything that serves. */
    open: (beginning: Beginning) => Promise<void>;
  }
  & {
    [Name in keyof Table]: (
      argument: Parameters<Table[Name]> extends [unknown, infer Argument] ? Argument : null,
    ) => ReturnType<Table[Name]>;
  };
