/** Something that takes turns with others. */
export interface TurnTaker {
  /** Tells it from the others; keeps its place when the settings are read again. */
  readonly id: string;
  /** Its share, in proportion to the others'. 0: only while none with a share can take the turn. */
  readonly weight: number;
}

/**
 * Shares turns out by weight, evenly in time (smooth weighted round-robin): with weights 3 and 1, each four turns in a
 * row have three and one. Deterministic, and taken in one step, so requests at the same time share like requests in a
 * row.
 */
export class Turns {
  /** How far each is behind its share; a turn is taken by the one that is farthest behind. */
  readonly #behind = new Map<string, number>();

  /**
   * Takes a turn.
   *
   * @param candidates Those that can take it now; the others neither lose nor gain.
   * @returns The one whose turn it is; the first of those without a share if none has one; `undefined` if there are none.
   */
  next<Taker extends TurnTaker>(candidates: readonly Taker[]): Taker | undefined {
    let chosen: Taker | undefined;
    let most = -Infinity;
    let total = 0;
    for (const candidate of candidates) {
      const { id, weight } = candidate;
      if (weight === 0) continue;
      const behind = (this.#behind.get(id) ?? 0) + weight;
      this.#behind.set(id, behind);
      total += weight;
      if (behind > most) [chosen, most] = [candidate, behind];
    }
    if (chosen === undefined) return candidates[0];
    this.#behind.set(chosen.id, most - total);
    return chosen;
  }
}
