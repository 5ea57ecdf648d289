import type { PasswordCost } from "../people/accounts/mod.ts";
import type { DatabaseLine } from "../ground/database/mod.ts";
import type { SharedUseMemory } from "../ground/fair_share/mod.ts";
import type { EstimateNews, InFlightRequest } from "../requests/relay/mod.ts";
import type { MetricsSnapshot } from "../ground/telemetry/mod.ts";
import type {
  AffinityNews,
  ListsNews,
  RetryPolicy,
  UpstreamState,
} from "../requests/upstreams/mod.ts";
import type { SentConfig } from "./thread_config.ts";

/** What the threads of the process count together. */
export interface SharedMemory {
  readonly large: SharedUseMemory;
  readonly images: SharedUseMemory;
  readonly accounts: SharedUseMemory;
  readonly keys: SharedUseMemory;
  readonly accountSockets: SharedUseMemory;
  readonly keySockets: SharedUseMemory;
  /** In-flight requests of each thread. */
  readonly inFlight: SharedArrayBuffer;
}

/** What one thread has learned and the others should know. */
export type News =
  | { readonly kind: "affinity"; readonly news: AffinityNews }
  | { readonly kind: "estimate"; readonly news: EstimateNews }
  | {
    readonly kind: "counts" | "unbilledBytes";
    readonly owner: string;
    readonly units: number;
  };

/** Settings that are to be used, and the models that the upstreams list. */
export interface SettingsVersion {
  readonly config: SentConfig;
  readonly lists: ListsNews;
}

/** What a serving thread begins with. */
export interface Beginning extends SettingsVersion {
  /** Its number: 1 is the main thread's. */
  readonly thread: number;
  readonly gatewayId: string;
  readonly sealKey: Uint8Array;
  /** The way to the database's thread; undefined for a server. */
  readonly line: DatabaseLine | undefined;
  readonly memory: SharedMemory;
  /** What the system allows the process, in bytes. */
  readonly memoryBytes: number;
  readonly traces: boolean;
  readonly retries: RetryPolicy | undefined;
  readonly passwordCost: PasswordCost | undefined;
  readonly lendFrom: number | undefined;
  /** Whether the main thread writes its log; else it writes to standard error itself. */
  readonly sendsLog: boolean;
}

/** What a serving thread can be called for. */
export type ThreadMethods = {
  /** Builds everything that serves. */
  open: (beginning: Beginning) => Promise<void>;
  /** From here on, uncaught errors are logged instead of ending the process. Drops Deno permissions, which all threads share. */
  guard: (nothing: null) => Promise<void>;
  listen: (address: { readonly host: string; readonly port: number }) => Promise<void>;
  relisten: (nothing: null) => Promise<void>;
  /** Its listener is about to be ended. */
  expectEnd: (nothing: null) => Promise<void>;
  stopListening: (nothing: null) => Promise<void>;
  /** Makes what other settings need; nothing changes yet. */
  prepare: (version: SettingsVersion) => Promise<void>;
  /** Uses what was prepared, for requests that come from now on. */
  apply: (nothing: null) => Promise<void>;
  /** Forgets what was prepared. */
  discard: (nothing: null) => Promise<void>;
  /** The upstreams list other models. */
  lists: (lists: ListsNews) => Promise<void>;
  onNews: (news: readonly News[]) => Promise<void>;
  metrics: (nothing: null) => Promise<MetricsSnapshot>;
  live: (nothing: null) => Promise<readonly InFlightRequest[]>;
  upstreams: (nothing: null) => Promise<readonly UpstreamState[]>;
  /** Which of these clients' connections are in use. */
  busy: (peers: readonly string[]) => Promise<readonly string[]>;
  /** On which of these clients' connections a request has come. */
  claimed: (peers: readonly string[]) => Promise<readonly string[]>;
  /** Whether connections close after each response, as another process has taken over. */
  handOver: (isHandingOver: boolean) => Promise<void>;
  /** Milliseconds since the last request. */
  quietMs: (nothing: null) => Promise<number>;
  stopTaking: (nothing: null) => Promise<void>;
  /** Resolves when no request is in progress. */
  idle: (nothing: null) => Promise<void>;
  /** Lets in-flight requests finish. */
  finish: (patienceMs: number) => Promise<{ readonly cutOff: number }>;
  /** Closes everything. */
  close: (nothing: null) => Promise<void>;
  databaseDied: (message: string) => Promise<void>;
};

/** A request for the console, which the main thread answers. */
export interface PageCall {
  readonly url: string;
  readonly method: string;
  readonly headers: readonly [string, string][];
  readonly body: Uint8Array | undefined;
  readonly peer: string;
  /** The channel over which the response comes. */
  readonly port: MessagePort;
}

/** What the main thread can be called for. */
export type MainMethods = {
  /** The metrics of all threads, as Prometheus text. */
  metricsText: (nothing: null) => Promise<string>;
  prove: (challenge: string) => Promise<string>;
  page: (call: PageCall) => void;
  send: (news: readonly News[]) => void;
  log: (text: string) => void;
};
