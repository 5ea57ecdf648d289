/** Pieces that are joined at a time. A string for each piece would take several times the memory of its text. */
const JOINED_PIECES = 256;

/**
 * A text that comes in pieces, and is wanted whole at its end. What is sent on is well-formed: strict clients, Codex among them,
 * cannot read an event with the escape that JSON has for half a character. A half waits for the other one; without it, it
 * becomes U+FFFD.
 */
export class GrowingText {
  readonly #joined: string[] = [];
  #pieces: string[] = [];
  /** The first half of a character. */
  #half = "";

  /** Returns what can be sent on of the text so far. */
  add(piece: string): string {
    const text = this.#half + piece;
    const isCut = isHighSurrogate(text.charCodeAt(text.length - 1));
    this.#half = isCut ? text.slice(-1) : "";
    return this.#keep(isCut ? text.slice(0, -1) : text);
  }

  /** Returns what is left to send: for half a character whose other half never came. */
  end(): string {
    const half = this.#half;
    this.#half = "";
    return this.#keep(half);
  }

  /** What was sent on so far. */
  get text(): string {
    return this.#joined.join("") + this.#pieces.join("");
  }

  #keep(text: string): string {
    if (text === "") return "";
    const sent = text.toWellFormed();
    if (this.#pieces.push(sent) === JOINED_PIECES) {
      this.#joined.push(this.#pieces.join(""));
      this.#pieces = [];
    }
    return sent;
  }
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
