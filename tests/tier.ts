/**
 * What stands in the gate and what in the proofs.
 *
 * `.ci/run` and `deno task test` run the gate's tests: those that every change must pass. `deno task proofs tests` runs them
 * at their full size, with the tests marked `PROOF` and the files named `*_proof.ts`: what a release must pass.
 * docs/internals/gate.md has the table.
 */

import type { Random } from "./fake/random.ts";

/** Whether the proofs run. */
export const isProof: boolean = Deno.env.get("SLUICE_PROOFS") === "1";

/** Options of a test that only the proofs run. */
export const PROOF: { readonly ignore: boolean } = { ignore: !isProof };

/**
 * A size that differs between gate and proofs, such as a number of random runs.
 *
 * @returns `gate` or `proofs`, by which of them runs.
 */
export function sized<T>(gate: T, proofs: T): T {
  return isProof ? proofs : gate;
}

/** In the gate one in a number of these, rounded up, others each run; in the proofs all of them. In any order. */
export function sampled<T>(values: readonly T[], random: Random, oneIn: number): T[] {
  return random.some(values, sized(Math.ceil(values.length / oneIn), values.length));
}
