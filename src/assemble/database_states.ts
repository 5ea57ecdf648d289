import type { FileState } from "../ground/database/mod.ts";
import type { Log } from "../ground/telemetry/mod.ts";

/** Interval of lines in the log while the database cannot be used. */
const REPEAT_MS = 30_000;

/** Receives whether the database can be used. */
export interface DatabaseWatcher {
  away(why: string): void;
  back(): void;
}

/** Says in the log, and to the alerts once there are any, what becomes of an embedded database. */
export class DatabaseStates {
  readonly #log: Log;
  #loggedTick = -Infinity;
  /** What was logged last: another reason is logged at once. */
  #loggedWhy = "";
  watcher: DatabaseWatcher | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Takes note of a state. */
  readonly changed = (state: FileState): void => {
    if (state.isUsable) {
      this.#loggedTick = -Infinity;
      this.#log.warn("the database can be used again", { away_ms: state.awayMs });
      this.watcher?.back();
      return;
    }
    const { code, message } = state;
    this.watcher?.away(`${message} (${code})`);
    const tick = performance.now();
    if (tick - this.#loggedTick < REPEAT_MS && message === this.#loggedWhy) return;
    this.#loggedTick = tick;
    this.#loggedWhy = message;
    this.#log.error(
      "the database cannot be used: requests that no lent credits cover are rejected until it can be",
      {
        code,
        error: message,
      },
    );
  };
}
