import { endOfTurn } from "../../ground/platform/mod.ts";
import { TokenCounter } from "./estimate.ts";

/** Characters after which others have a turn: 1 to 4 ms. */
const TURN_CHARS = 262_144;

/** A text, or what makes it when it is counted. */
type Piece = string | (() => string);

/**
 * Texts that are counted later, in the order in which they were added, with turns of the event loop in between: a body of megabytes
 * must not hold up the requests of others. The count is that of one {@linkcode TokenCounter}.
 */
export class TextQueue {
  readonly #counter = new TokenCounter();
  readonly #pieces: Piece[] = [];

  add(text: string): void {
    this.#pieces.push(text);
  }

  /** Adds a text that is made when it is counted, so that not all of them are in memory at once. */
  addLater(make: () => string): void {
    this.#pieces.push(make);
  }

  /** Tokens counted so far, rounded up: all of them once {@linkcode count} has resolved. */
  get tokens(): number {
    return this.#counter.tokens;
  }

  /** Counts what was added. */
  async count(): Promise<void> {
    let left = TURN_CHARS;
    for (const piece of this.#pieces) {
      const text = typeof piece === "string" ? piece : piece();
      for (let start = 0; start < text.length;) {
        const end = Math.min(text.length, start + left);
        this.#counter.add(text.slice(start, end));
        left -= end - start;
        start = end;
        if (left > 0) continue;
        await endOfTurn();
        left = TURN_CHARS;
      }
    }
    this.#pieces.length = 0;
  }
}
