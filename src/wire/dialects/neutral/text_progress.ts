/** Compares a repeated text with the pieces in which it came, in constant memory. */
export class TextProgress {
  #length = 0;
  #hash = SEED;

  add(piece: string): void {
    this.#hash = hashOf(piece, this.#hash, piece.length);
    this.#length += piece.length;
  }

  /**
   * Takes the whole text, as a stream repeats it at the end.
   *
   * @returns What it says beyond the pieces; undefined when it is another text.
   */
  rest(whole: string): string | undefined {
    const known = this.#length;
    if (whole.length < known || hashOf(whole, SEED, known) !== this.#hash) return undefined;
    const rest = whole.slice(known);
    this.add(rest);
    return rest;
  }

  get isEmpty(): boolean {
    return this.#length === 0;
  }
}

/** FNV-1a, by UTF-16 units: nothing is protected by it. */
const SEED = 0x811c9dc5;

function hashOf(text: string, seed: number, length: number): number {
  let hash = seed;
  for (let at = 0; at < length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash;
}
