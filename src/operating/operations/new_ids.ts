import { hkdfSync } from "node:crypto";
import { randomText } from "../../ground/platform/mod.ts";

const ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";
/** Bytes from this one on would favour the first characters. */
const LIMIT_BYTE = 228;

/**
 * IDs and secrets of what an operation makes. Those of a write with an `Idempotency-Key` follow from it, so that the write
 * makes the same once more, which the database refuses, and its reply can be given again after a crash.
 */
export class NewIds {
  readonly #seed: Uint8Array | undefined;
  readonly #made = new Map<string, string>();

  /** @param seed At least 32 bytes that nobody can guess; `undefined` for random IDs. */
  constructor(seed?: Uint8Array) {
    this.#seed = seed;
  }

  /** Makes an ID, such as `key_h3KxTq8mPw2Nc5Ry`. */
  id(prefix: string): string {
    return `${prefix}_${this.text(`id ${prefix}`, 16)}`;
  }

  /** Makes the secret of an API key. */
  keySecret(): string {
    return `sk-${this.text("key secret", 43)}`;
  }

  /** Makes letters and digits, the same for a purpose whenever it is asked for. */
  text(purpose: string, length: number): string {
    const made = this.#made.get(purpose) ?? this.#make(purpose, length);
    this.#made.set(purpose, made);
    return made;
  }

  #make(purpose: string, length: number): string {
    if (this.#seed === undefined) return randomText(length);
    const bytes = new Uint8Array(hkdfSync("sha256", this.#seed, "", purpose, length * 4));
    const letters = [...bytes].filter((byte) => byte < LIMIT_BYTE).slice(0, length);
    return letters.map((byte) => ALPHABET[byte % ALPHABET.length]).join("");
  }
}
