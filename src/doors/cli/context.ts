import type { Account, Sessions } from "../../people/accounts/mod.ts";
import type { Nouns } from "../../operating/operations/mod.ts";
import type { Catalog } from "../../settings/catalog/mod.ts";
import type { Config } from "../../settings/config/mod.ts";
import type { DatabaseClock } from "../../ground/database/mod.ts";
import type { Log } from "../../ground/telemetry/mod.ts";

/** The nouns that commands work with. */
export interface CommandParts extends AsyncDisposable, Nouns {
  /** The clock of windows, leases and expiry. */
  readonly clock: DatabaseClock;
  /** Reads the key of the seals, or makes it. */
  readonly sealKey: () => Promise<Uint8Array>;
  /** The owner's account, made with its credits when there is none yet. */
  owner(): Promise<Account>;
}

/** A gateway as `serve` runs it, not yet listening. */
export interface ServedGateway {
  /** The key created at the first start; shown once, undefined from then on. */
  readonly firstKey: string | undefined;
  readonly owner: Account;
  readonly catalog: Catalog;
  /** Upstreams that were asked for their models and list none. */
  readonly unlisted: readonly string[];
  readonly sessions: Sessions;
  readonly database: { readonly place: string };
  /**
   * Keeps the process up from now on when there is a bug, has the system end it when its main thread hangs, and gives up permissions
   * that serving does not need.
   */
  guardProcess(): void;
  /** Listens where the settings say. */
  listen(): Promise<{ readonly url: string }>;
  /**
   * Reads the settings again and applies them, without touching requests in progress. After a fault, which is logged
   * and shown by `sluice doctor` and the console, everything stays as it was.
   */
  reload(read: () => Promise<Config>): Promise<{ readonly fault: string | null }>;
  /**
   * Leaves new connections to another process that listens on the same port. Answers requests of open connections, which
   * it closes one by one, and closes everything when the last request has ended.
   *
   * @returns False if the other process has ended meanwhile: then this one goes on as before.
   */
  handOver(): Promise<boolean>;
  /**
   * Rejects new requests, lets requests in flight finish within `limits.drainMs`, then closes everything.
   *
   * @returns how many requests had to be cut off.
   */
  stop(): Promise<{ cutOff: number }>;
}

/** What the shell gives a command. */
export interface CommandContext {
  readonly env: Readonly<Record<string, string>>;
  readonly directory: string;
  readonly now: () => number;
  /** Writes to standard output. */
  readonly out: (text: string) => void;
  /** Writes bytes there, and returns whether they are read; `undefined` if that is a terminal. */
  readonly outBytes: ((bytes: Uint8Array) => boolean) | undefined;
  /** Writes to standard error. */
  readonly err: (text: string) => void;
  readonly colour: boolean;
  openParts(config: Config): Promise<CommandParts>;
  openGateway(
    config: Config,
    log: Log,
    options?: {
      readonly takeover?: boolean;
      /** Whether it waits for a database that does not answer, and says so at its port. */
      readonly waits?: boolean;
      readonly readSettings?: (file?: string) => Promise<Config>;
      readonly settingsApplied?: (config: Config) => void;
      /** Whether variables of OpenTelemetry are left to another program, so that it exports nothing. Default: no. */
      readonly isWithoutExport?: boolean;
    },
  ): Promise<ServedGateway>;
  /** Resolves at the first request to stop; a second one ends the process at once. */
  stopRequested(): Promise<string>;
  /** Resolves when another process takes over (SIGUSR2). */
  handOverRequested(): Promise<undefined>;
  /** Calls `reload` whenever it is asked to read the settings again (SIGHUP). */
  reloadRequested(reload: () => void): void;
  /** Sends a signal to a process. */
  signal(pid: number, signal: "SIGHUP" | "SIGUSR2" | "SIGKILL"): void;
  /** Runs a program on this terminal to its end; answers its exit status. */
  runProgram(
    program: string,
    args: readonly string[],
    env: Record<string, string>,
  ): Promise<number>;
  /**
   * Reads standard input to its end, up to 64 KB.
   *
   * @param prompt Printed first if a person types it at a terminal.
   */
  input(prompt: string): Promise<string>;
  /** Asks a person; undefined when there is nobody to ask. */
  confirm(question: string): boolean | undefined;
}

/** Thrown by a command that ends with a status of its own. */
export class CommandStatus extends Error {
  override readonly name = "CommandStatus";
  readonly status: number;

  constructor(status: number) {
    super(`exit status ${status}`);
    this.status = status;
  }
}

/** Thrown if a gateway says no. The message is for people. */
export class Refused extends Error {
  readonly fault: string;

  constructor(fault: string, message: string) {
    super(message);
    this.fault = fault;
  }
}

/** Thrown for wrong usage of a command: exit status 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
