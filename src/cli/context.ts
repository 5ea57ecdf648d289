import type { Account, Accounts, Keys, Sessions } from "../accounts/mod.ts";
import type { Registration, Sales } from "../billing/mod.ts";
import type { Config } from "../config/mod.ts";
import type { Database, DatabaseClock } from "../database/mod.ts";
import type { Log } from "../telemetry/mod.ts";

/** Dependencies of commands, with an open database. Disposing closes it. */
export interface CommandParts extends AsyncDisposable {
  readonly database: Database;
  /** The database's clock, for rate windows, leases and expiry. */
  readonly clock: DatabaseClock;
  readonly accounts: Accounts;
  readonly keys: Keys;
  readonly registration: Registration;
  readonly sales: Sales;
  readonly sessions: Sessions;
  /** Returns the owner's account. The first call creates it and grants its credits. */
  owner(): Promise<Account>;
}

/** A running gateway, as `serve` needs it. */
export interface ServedGateway {
  /** The owner's key, if it was created at this start. */
  readonly firstKey: string | undefined;
  readonly owner: Account;
  readonly sessions: Sessions;
  readonly database: { readonly place: string };
  /** Logs uncaught errors instead of exiting, and revokes permissions that serving does not need. */
  guardProcess(): void;
  /** Starts listening. @returns The base URL, without a trailing slash. */
  listen(): { readonly url: string };
  /** Drains in-flight requests and stops. @returns How many were cut off. */
  stop(): Promise<{ cutOff: number }>;
}

/** Environment of a command: variables, directory, clock, output, and everything that starts something. */
export interface CommandContext {
  readonly env: Readonly<Record<string, string>>;
  /** Working directory. */
  readonly directory: string;
  readonly now: () => number;
  /** Writes to standard output. */
  readonly out: (text: string) => void;
  /** Writes to standard error. */
  readonly err: (text: string) => void;
  /** Whether standard output is a terminal that shows colours. */
  readonly colour: boolean;
  /** Opens the database. @throws {DatabaseError} If it cannot be used. */
  openParts(config: Config): Promise<CommandParts>;
  /** Assembles a gateway without listening. */
  openGateway(config: Config, log: Log): Promise<ServedGateway>;
  /** Resolves with the first signal to stop. A second signal ends the process immediately. */
  stopRequested(): Promise<string>;
  /** Runs a program on this terminal. @returns Its exit status. */
  runProgram(
    program: string,
    args: readonly string[],
    env: Record<string, string>,
  ): Promise<number>;
  /** Asks a yes-or-no question. @returns The answer, or `undefined` without a terminal. */
  confirm(question: string): boolean | undefined;
}

/** Thrown by a command to exit with a given status. */
export class CommandStatus extends Error {
  override readonly name = "CommandStatus";
  readonly status: number;

  constructor(status: number) {
    super(`exit status ${status}`);
    this.status = status;
  }
}

/** Thrown for wrong usage of a command, which exits with status 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
