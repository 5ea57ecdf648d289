import { assert } from "./assert.ts";
import { isProof } from "./tier.ts";

/** The larger size is this many times the smaller one. */
const FACTOR = 8;
/** Linear work takes 8 times as long, quadratic work 64 times. */
const MOST = 28;
/** Shorter times are noise. */
const MIN_MS = 4;
const TRIES = 3;

/**
 * Asserts that work grows with its size and not with the square of it. Only the proofs compare times; the gate does the smaller
 * work once.
 *
 * @param size The larger size; the smaller one is an eighth of it.
 * @param prepare Returns the work on an input of a size; preparing takes no part.
 */
export function assertGrowsLinearly(size: number, prepare: (size: number) => () => void): void {
  if (!isProof) return prepare(Math.ceil(size / FACTOR))();
  let most = Infinity;
  for (let tries = 0; tries < TRIES && most > MOST; tries++) {
    const small = Math.max(MIN_MS, timeOf(prepare(Math.ceil(size / FACTOR))));
    most = Math.min(most, timeOf(prepare(size)) / small);
  }
  assert(most <= MOST, `${FACTOR} times the size takes ${Math.round(most)} times as long`);
}

function timeOf(work: () => void): number {
  const startedTick = performance.now();
  work();
  return performance.now() - startedTick;
}
