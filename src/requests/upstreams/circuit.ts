/** Failures in a row after which a target is left alone. */
const FAILURES_TO_OPEN = 5;
/** How long a target is left alone the first time, and at most. */
const COOLDOWNS: Cooldowns = { firstCooldownMs: 5_000, maxCooldownMs: 60_000 };
/** Part of a cooldown by which it may be longer, so that gateways do not probe in step. */
const JITTER = 0.15;

/** How long an open circuit stays open. */
export interface Cooldowns {
  /** The first time; it doubles with each failed probe. */
  readonly firstCooldownMs: number;
  readonly maxCooldownMs: number;
}

/** Leave to send one request; one of its methods is called once, when it is known what came of it. */
export interface Pass {
  /** Whether the request probes a half-open circuit. */
  readonly isProbe: boolean;
  /** The target responded. */
  succeeded(): void;
  /** @param atOnce Whether one failure says enough, as when it kept a request waiting: each further one would wait too. */
  failed(atOnce: boolean): void;
  /** Nothing can be said of the target. */
  abandoned(): void;
}

/**
 * Keeps requests away from a target that fails.
 *
 * Closed, it lets all pass. Open, after five failures in a row or one timeout, it lets none pass for a
 * cooldown. Then it is half open: one request probes the target while the others go elsewhere. What comes of
 * the probe closes it, or opens it for twice as long.
 *
 * Streams that break off count apart: a target may begin each of them. Five in a row open it, and then each one until a
 * stream is complete.
 */
export class Circuit {
  readonly #now: () => number;
  readonly #cooldowns: Cooldowns;
  #failures = 0;
  /** Streams in a row that broke off after they had begun; that others begin says nothing against it. */
  #brokenStreams = 0;
  /** The last cooldown that broken streams led to; 0 after a complete one. */
  #streamCooldownMs = 0;
  /** 0 while closed. */
  #cooldownMs = 0;
  #openUntilMs = 0;
  #probing = false;

  constructor(now: () => number, cooldowns = COOLDOWNS) {
    this.#now = now;
    this.#cooldowns = cooldowns;
  }

  /** The end of the last cooldown, in milliseconds since the epoch; 0 if it never opened. */
  get openUntilMs(): number {
    return this.#openUntilMs;
  }

  /** Whether requests go elsewhere, where they can. */
  get isOpen(): boolean {
    return this.#cooldownMs > 0 && (this.#probing || this.#now() < this.#openUntilMs);
  }

  /** Whether it is closed: neither open nor half open. */
  get isClosed(): boolean {
    return this.#cooldownMs === 0;
  }

  /** undefined while the circuit is open. */
  pass(): Pass | undefined {
    if (this.#cooldownMs === 0) return this.#passOf(false);
    if (this.isOpen) return undefined;
    this.#probing = true;
    return this.#passOf(true);
  }

  /** For a request that has nowhere else to go: a target that may fail is better than a certain error. */
  force(): Pass {
    return this.pass() ?? this.#passOf(false);
  }

  /** A stream of the target was complete. */
  streamCompleted(): void {
    this.#brokenStreams = 0;
    this.#streamCooldownMs = 0;
  }

  /** A stream of the target broke off, and not for anything that its client did. */
  streamBroke(): void {
    if (++this.#brokenStreams < FAILURES_TO_OPEN || this.#cooldownMs > 0) return;
    this.#open(2 * this.#streamCooldownMs || this.#cooldowns.firstCooldownMs);
    this.#streamCooldownMs = this.#cooldownMs;
  }

  #passOf(isProbe: boolean): Pass {
    let isKnown = false;
    const once = (act: () => void) => () => {
      if (isKnown) return;
      isKnown = true;
      if (isProbe) this.#probing = false;
      act();
    };
    return {
      isProbe,
      succeeded: once(() => {
        this.#failures = 0;
        this.#cooldownMs = 0;
      }),
      failed: (atOnce) => once(() => this.#fail(isProbe, atOnce))(),
      abandoned: once(() => {}),
    };
  }

  #fail(isProbe: boolean, atOnce: boolean): void {
    if (this.#cooldownMs > 0) {
      if (isProbe) this.#open(2 * this.#cooldownMs); // others were sent before it opened
    } else if (atOnce || ++this.#failures >= FAILURES_TO_OPEN) {
      this.#open(this.#cooldowns.firstCooldownMs);
    }
  }

  #open(cooldownMs: number): void {
    this.#cooldownMs = Math.min(cooldownMs, this.#cooldowns.maxCooldownMs);
    this.#openUntilMs = this.#now() + this.#cooldownMs * (1 + JITTER * Math.random());
  }
}
