/** Random numbers that are the same for the same seed (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** From 0 up to but not including 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number from `least` to `most`. */
  integer(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  pick<T>(values: readonly T[]): T {
    return values[this.integer(0, values.length - 1)]!;
  }

  /** Up to a number of values, each at most once, in any order. */
  some<T>(values: readonly T[], count: number): T[] {
    return values.map((value) => [this.next(), value] as const).toSorted(([a], [b]) => a - b)
      .slice(0, count).map(([, value]) => value);
  }
}

/** The seed of a random test: from `SLUICE_TEST_SEED`, else new; a failing test must tell it. */
export function testSeed(): number {
  const given = Deno.env.get("SLUICE_TEST_SEED");
  return given === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(given);
}
