import type { FileState } from "./embedded_protocol.ts";

/** Time without any answer from which on a server that was asked counts as away. */
const SILENT_MS = 1_000;

/** A question under way. */
interface Asked {
  readonly answered: () => void;
  readonly failed: (error: unknown) => void;
}

/** Whether a server answers: the last question did not fail, and none has waited for long in which no other was answered. */
export class ServerPresence {
  readonly #now: () => number;
  /** When each question that waits was asked, the first of them first. */
  readonly #waiting = new Set<{ readonly tick: number }>();
  #answeredTick: number;
  /** Why the last question failed. */
  #failure: unknown;
  /** Since when it was said to be away. */
  #toldTick: number | undefined;

  /** @param now A clock that nobody sets, in milliseconds; tests pass their own. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#answeredTick = now();
  }

  /** Whether the server does not answer. */
  get isAway(): boolean {
    if (this.#failure !== undefined) return true;
    const [first] = this.#waiting;
    if (first === undefined) return false;
    return this.#now() - Math.max(first.tick, this.#answeredTick) > SILENT_MS;
  }

  /** Notes that the server is asked something. */
  ask(): Asked {
    const question = { tick: this.#now() };
    this.#waiting.add(question);
    return {
      answered: () => {
        this.#waiting.delete(question);
        this.#answeredTick = this.#now();
        this.#failure = undefined;
      },
      failed: (error) => {
        this.#waiting.delete(question);
        // what was asked before the last answer says nothing of now
        if (question.tick >= this.#answeredTick) this.#failure = error ?? "failed";
      },
    };
  }

  /** Says whether the server is away: while it is, with each call; and once when it is back. */
  tell(onState: (state: FileState) => void): void {
    const tick = this.#now();
    if (this.isAway) {
      this.#toldTick ??= tick;
      const message = this.#failure === undefined ? "no answer" : String(this.#failure);
      onState({ isUsable: false, code: "SLUICE_SERVER", message });
    } else if (this.#toldTick !== undefined) {
      onState({ isUsable: true, awayMs: Math.round(tick - this.#toldTick) });
      this.#toldTick = undefined;
    }
  }
}
