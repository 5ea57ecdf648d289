/** Characters of a text, by what they are. */
export interface Told {
  readonly reasoning: string;
  readonly text: string;
}

const OPENING = "<think>";
const CLOSING = "</think>";

/**
 * Takes reasoning out of a text that begins with it between `<think>` and `</think>`, as models write it where their server has no parser
 * for reasoning. Tags further on are text: a model may speak of them. One for each choice.
 */
export class ThinkTags {
  #state: "before" | "within" | "after" | "text" = "before";
  /** The end of what came, which may be the beginning of a tag. */
  #held = "";

  /** Takes a piece of the text, cut anywhere. */
  take(piece: string): Told {
    let left = this.#held + piece;
    this.#held = "";
    let reasoning = "";
    if (this.#state === "before") {
      const begun = left.trimStart();
      if (begun.startsWith(OPENING)) {
        this.#state = "within";
        left = begun.slice(OPENING.length);
      } else if (OPENING.startsWith(begun)) {
        this.#held = left;
        return { reasoning, text: "" };
      } else this.#state = "text";
    }
    if (this.#state === "within") {
      const end = left.indexOf(CLOSING);
      if (end < 0) {
        const kept = partialEnd(left);
        this.#held = left.slice(left.length - kept);
        return { reasoning: left.slice(0, left.length - kept), text: "" };
      }
      reasoning = left.slice(0, end);
      left = left.slice(end + CLOSING.length);
      this.#state = "after";
    }
    if (this.#state === "after") {
      left = left.replace(/^\s+/, ""); // blank lines between both
      if (left !== "") this.#state = "text";
    }
    return { reasoning, text: left };
  }

  /** What was held back at the end of the text. */
  end(): Told {
    const held = this.#held;
    this.#held = "";
    return this.#state === "within" ? { reasoning: held, text: "" } : { reasoning: "", text: held };
  }
}

/** How many characters at the end of a text may begin the closing tag. */
function partialEnd(text: string): number {
  for (let length = Math.min(text.length, CLOSING.length - 1); length > 0; length--) {
    if (text.endsWith(CLOSING.slice(0, length))) return length;
  }
  return 0;
}
