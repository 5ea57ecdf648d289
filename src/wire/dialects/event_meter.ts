import type { ReplyWriter } from "./dialect.ts";
import { Meter, SEALED_CHARS_PER_TOKEN } from "./meter.ts";
import { type Citation, countEvent, type ReplyEvent } from "./neutral/conversation.ts";

/** Counts what a translated reply says. */
export class EventMeter {
  readonly #meter = new Meter();
  readonly #keepsSeals: boolean;
  readonly #cites: boolean;
  readonly #takesImages: boolean;
  /** Tokens of reasoning since the last seal. */
  #reasoned = 0;
  /** Tokens of reasoning that seals hold beyond its text, where the client does not get them. */
  hiddenTokens = 0;
  /** Whether there was a seal: it tells how much was reasoned. */
  hasSeal = false;

  /** @param writer Writes it to the client. */
  constructor(
    { keepsSeals = false, cites, takesImages = false }: Pick<
      ReplyWriter,
      "keepsSeals" | "cites" | "takesImages"
    >,
  ) {
    this.#keepsSeals = keepsSeals;
    this.#cites = cites;
    this.#takesImages = takesImages;
  }

  /** Tokens so far. */
  get tokens(): number {
    return this.#meter.tokens;
  }

  /** Tokens of them that some tokenizer may not need. */
  get overcounted(): number {
    return this.#meter.overcounted;
  }

  /** Counts an event. Returns whether it says anything. */
  count(event: ReplyEvent): boolean {
    if (event.type === "seal") return this.#seal(event.seal);
    if (event.type === "citation") return this.#cites && this.#cite(event);
    if (event.type === "image") {
      return this.#takesImages && this.#meter.addTexts({ url: event.url }, "image_url");
    }
    if (event.type !== "reasoning") return countEvent(this.#meter, event);
    const before = this.#meter.tokens;
    const says = countEvent(this.#meter, event);
    this.#reasoned += this.#meter.tokens - before;
    return says;
  }

  /** As a carried one is counted: what many citations have in common once. */
  #cite({ title, url }: Citation): boolean {
    return this.#meter.addTexts({ title, url }, "url_citation");
  }

  /** A seal may hold more than the text before it, such as reasoning that its upstream hides: that counts where the client gets it. */
  #seal(seal: string): boolean {
    const hidden = Math.ceil(seal.length / SEALED_CHARS_PER_TOKEN) - this.#reasoned;
    this.#reasoned = 0;
    this.hasSeal = true;
    if (hidden <= 0) return false;
    if (this.#keepsSeals) this.#meter.addTokens(hidden);
    else this.hiddenTokens += hidden;
    return this.#keepsSeals;
  }
}
