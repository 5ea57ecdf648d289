/**
 * Time for which a client that does not read while there is output has kept the upstream waiting, all in all; or a part of the
 * stream's time, if that is more than a moment. Shorter waits are the gateway's own turns.
 */
const KEPT_WAITING_MS = 2_000;
const KEPT_WAITING_PART = 0.25;
const MOMENT_MS = 250;
const OWN_TURN_MS = 20;
const GOING_ON_PART = 0.1;

/** How fast a client reads a stream: whether it kept the upstream waiting. */
export class ClientPace {
  readonly #now: () => number;
  readonly #beganTick: number;
  /** When the client was last given something. */
  #deliveredTick = Infinity;
  /** When the client last had room for more, and how long it had none before. */
  #pullTick = 0;
  #awayMs = 0;
  /** How long there was output while the client did not read. */
  #keptWaitingMs = 0;

  /** @param now The time of a clock that only goes on, in milliseconds. */
  constructor(now = () => performance.now()) {
    this.#now = now;
    this.#beganTick = now();
  }

  /** The client has room for more. */
  pulled(): void {
    this.#pullTick = this.#now();
    this.#awayMs = this.#pullTick - this.#deliveredTick;
  }

  /** The client was given something. */
  delivered(): void {
    this.#deliveredTick = this.#now();
  }

  /**
   * There is output, or its end; if it comes right after the client read on, it was there before. A connection that has stood
   * still takes a while to go on, the longer the longer it stood.
   */
  outputCame(): void {
    const soonMs = Math.max(OWN_TURN_MS, GOING_ON_PART * this.#awayMs);
    const wasThere = this.#now() - this.#pullTick < soonMs;
    if (wasThere && this.#awayMs >= OWN_TURN_MS) this.#keptWaitingMs += this.#awayMs;
    this.#awayMs = 0;
  }

  /**
   * Whether the client kept the upstream waiting: a failure then may be its doing.
   *
   * @param isReading Whether the client has room for more now.
   */
  keptWaiting(isReading: boolean): boolean {
    const tick = this.#now();
    const away = isReading ? 0 : tick - this.#deliveredTick;
    const waitedMs = this.#keptWaitingMs + Math.max(0, away);
    const partMs = KEPT_WAITING_PART * (tick - this.#beganTick);
    return waitedMs >= KEPT_WAITING_MS || waitedMs >= Math.max(partMs, MOMENT_MS);
  }
}
