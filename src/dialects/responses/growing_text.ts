/** Pieces that are joined at a time. A string for each piece would take several times the memory of its text. */
const JOINED_PIECES = 256;

/**
 * A text that comes in pieces, and is wanted whole at its end. No piece that is sent on ends in half a character: strict parsers
 * reject the escape that JSON has for one.
 */
export class GrowingText {
  readonly #joined: string[] = [];
  #pieces: string[] = [];
  /** The first half of a surrogate pair. */
  #half = "";

  /** Returns what can be sent on of the text so far. */
  add(piece: string): string {
    const text = this.#half + piece;
    const isCut = isHighSurrogate(text.charCodeAt(text.length - 1));
    this.#half = isCut ? text.slice(-1) : "";
    return this.#keep(isCut ? text.slice(0, -1) : text);
  }

  /** Returns what is left to send: half a character whose other half never came. */
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
    if (this.#pieces.push(text) === JOINED_PIECES) {
      this.#joined.push(this.#pieces.join(""));
      this.#pieces = [];
    }
    return text;
  }
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
