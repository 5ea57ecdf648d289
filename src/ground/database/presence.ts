import { SlotMap } from "../platform/mod.ts";
import type { FileState } from "./database.ts";

/** Time without any answer from which on a server that was asked counts as away. */
export const SERVER_SILENT_MS = 1_000;

/** Interval of {@linkcode Presence.tell}. */
export const LOOK_MS = 250;

/** A question under way. */
export interface Asked {
  readonly answered: () => void;
  readonly failed: (error: unknown) => void;
}

/** Options of a {@linkcode Presence}; tests pass their own clock. */
export interface PresenceOptions {
  /** Time without any answer from which on whom was asked counts as away, in milliseconds. */
  readonly silentMs: number;
  /** The code of what is said when nothing is answered. */
  readonly code: string;
  /** A clock that nobody sets, in milliseconds. Default: `performance.now()`. */
  readonly now?: () => number;
}

/** Whether a database answers: the last question did not fail, and none has waited for long in which no other was answered. */
export class Presence {
  readonly #options: PresenceOptions;
  readonly #now: () => number;
  /** When each question that waits was asked. */
  readonly #waiting = new SlotMap<{ readonly tick: number }>();
  #answeredTick: number;
  /** Why the last question failed. */
  #failure: unknown;
  /** Since when it was said to be away. */
  #toldTick: number | undefined;

  constructor(options: PresenceOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#answeredTick = this.#now();
  }

  /** Whether the database does not answer. */
  get isAway(): boolean {
    return this.#failure !== undefined || this.silentForMs > this.#options.silentMs;
  }

  /** For how long a question has waited in which no other was answered, in milliseconds. */
  get silentForMs(): number {
    const now = this.#now();
    let firstTick = now;
    this.#waiting.forEach(({ tick }) => firstTick = Math.min(firstTick, tick));
    return now - Math.max(firstTick, this.#answeredTick);
  }

  /** Notes that the database is asked something. */
  ask(): Asked {
    const question = { tick: this.#now() };
    const place = this.#waiting.add(question);
    return {
      answered: () => {
        this.#waiting.take(place, question);
        this.#answeredTick = this.#now();
        this.#failure = undefined;
      },
      failed: (error) => {
        this.#waiting.take(place, question);
        // what was asked before the last answer says nothing of now
        if (question.tick >= this.#answeredTick) this.#failure = error ?? "failed";
      },
    };
  }

  /** Says whether the database is away: while it is, with each call; and once when it is back. */
  tell(onState: (state: FileState) => void): void {
    const tick = this.#now();
    if (this.isAway) {
      this.#toldTick ??= tick;
      const message = this.#failure === undefined ? "no answer" : String(this.#failure);
      onState({ isUsable: false, code: this.#options.code, message });
    } else if (this.#toldTick !== undefined) {
      onState({ isUsable: true, awayMs: Math.round(tick - this.#toldTick) });
      this.#toldTick = undefined;
    }
  }
}
