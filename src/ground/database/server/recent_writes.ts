import type { CommittedItems, Writing } from "../group_writer.ts";

/** Standbys are mostly milliseconds behind, and seconds at worst. */
const KEEP_MS = 30_000;
/** Some 35,000 settlements. */
const MAX_CHARS = 16 * 1024 * 1024;

/** Bounds of {@linkcode RecentWrites}; tests pass their own, and a clock. */
interface Bounds {
  /** For how long each is remembered, and up to twice as long. */
  readonly keepMs?: number;
  /** Length of all items; half of it is kept in any case. */
  readonly maxChars?: number;
  /** A clock that nobody sets, in milliseconds. */
  readonly now?: () => number;
}

/**
 * What a server has acknowledged in the last moments: a standby that is promoted may lack it.
 *
 * Two halves: when the younger one is old or large enough, the older one is forgotten, and they change places. So nothing is done for an
 * item but to keep what was sent.
 */
export class RecentWrites {
  readonly #names: ReadonlySet<string>;
  readonly #bounds: Required<Bounds>;
  #older: CommittedItems[] = [];
  #younger: CommittedItems[] = [];
  #chars = 0;
  #beganTick: number;

  /** @param writes Of which those are remembered, by their names, that can be late. */
  constructor(writes: readonly Writing[], bounds: Bounds = {}) {
    this.#names = new Set(writes.filter(({ late }) => late).map(({ name }) => name));
    this.#bounds = {
      keepMs: KEEP_MS,
      maxChars: MAX_CHARS,
      now: () => performance.now(),
      ...bounds,
    };
    this.#beganTick = this.#bounds.now();
  }

  add(recent: CommittedItems): void {
    if (!this.#names.has(recent.write.name)) return;
    if (this.#chars >= this.#bounds.maxChars / 2) this.#forgetOlder();
    this.#younger.push(recent);
    this.#chars += recent.items.length;
  }

  /** Forgets what is too old. To be called now and then while the server answers: what it acknowledged last grows no older while it is away. */
  forget(): void {
    if (this.#bounds.now() - this.#beganTick >= this.#bounds.keepMs) this.#forgetOlder();
  }

  #forgetOlder(): void {
    this.#older = this.#younger;
    this.#younger = [];
    this.#chars = 0;
    this.#beganTick = this.#bounds.now();
  }

  /** All, in their order. */
  get all(): readonly CommittedItems[] {
    return [...this.#older, ...this.#younger];
  }
}
