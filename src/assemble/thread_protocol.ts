import type { PasswordCost } from "../people/accounts/mod.ts";
import type { DatabaseLine } from "../ground/database/mod.ts";
import type { SharedUseMemory } from "../ground/fair_share/mod.ts";
import type { EstimateNews } from "../requests/relay/mod.ts";
import type { AffinityNews, ListsNews, RetryPolicy } from "../requests/upstreams/mod.ts";
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

/** What is the same for all serving threads. */
export interface ThreadSettings {
  readonly memory: SharedMemory;
  /** What the system allows the process, in bytes. */
  readonly memoryBytes: number;
  readonly sealKey: Uint8Array;
  readonly exporting: Readonly<Record<string, string>> | undefined;
  readonly retries: RetryPolicy | undefined;
  readonly passwordCost: PasswordCost | undefined;
  readonly lendFrom: number | undefined;
}

/** What a serving thread begins with. */
export interface Beginning extends SettingsVersion, ThreadSettings {
  /** Its number: 1 is the main thread's. */
  readonly thread: number;
  readonly gatewayId: string;
  /** The way to the database's thread; undefined for a server. */
  readonly line: DatabaseLine | undefined;
  /** Whether the main thread writes its log; else it writes to standard error itself. */
  readonly sendsLog: boolean;
}

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
