import { isObject, items, type JsonObject, objects, text } from "../json.ts";
import type { Citation, ReplyEvent } from "../neutral/conversation.ts";

/** Citations of one reply; no model writes more. */
const MAX_CITATIONS = 1_024;
/** Places that are looked for, as pieces of a stream repeat what was cited. */
const MAX_LOOKS = 16 * MAX_CITATIONS;
/** Characters of a block of text, which is what is gone through to find a place. */
const BLOCK_CHARS = 1_024;

type Source = Pick<Citation, "url" | "title">;

/**
 * What a reply cites: sources of searches, which stretches of the text they support, and what was quoted at length. The service gives
 * places in bytes of a part; clients get them in UTF-16 units of the whole text.
 */
export class Citations {
  readonly #places = new Places();
  /** Where each part begins in the text, in bytes; undefined for those that are no text. */
  readonly #starts: (number | undefined)[] = [];
  #lastKind: string | undefined;
  /** Sources so far, which later pieces may name by their numbers. */
  #sources: readonly (Source | undefined)[] = [];
  /** What was cited: pieces of a stream repeat it. */
  readonly #cited = new Set<string>();
  #looks = 0;

  /**
   * Takes a part of a reply.
   *
   * @param kind What it is; only `text` has places.
   * @param isFirst Whether it is the first of its piece, and may go on with the last part of the piece before.
   */
  part(kind: string, said: string, isFirst: boolean): void {
    if (!isFirst || kind !== this.#lastKind) {
      this.#starts.push(kind === "text" ? this.#places.bytes : undefined);
    }
    this.#lastKind = kind;
    if (kind === "text") this.#places.add(said);
  }

  /** What a candidate of a piece cites and was not cited before. */
  of({ groundingMetadata: grounding, citationMetadata: quoted }: JsonObject): ReplyEvent[] {
    const events: ReplyEvent[] = [];
    if (isObject(grounding)) {
      const sources = items(grounding.groundingChunks);
      if (sources.length > 0) this.#sources = sources.map(sourceOf);
      for (
        const { segment, groundingChunkIndices: numbers } of objects(grounding.groundingSupports)
      ) {
        const { partIndex = 0, ...place } = isObject(segment) ? segment : {};
        const start = this.#starts[Number(partIndex)] ?? 0;
        for (const number of items(numbers)) {
          this.#cite(this.#sources[Number(number)], place, start, events);
        }
      }
    }
    // Vertex AI and the Gemini API name the list differently
    const quotes = isObject(quoted) ? quoted.citations ?? quoted.citationSources : undefined;
    for (const quote of objects(quotes)) this.#cite(sourceIn(quote), quote, 0, events);
    return events;
  }

  /** Sources of a reply that names none for any stretch: they are those of all of it. */
  rest(): ReplyEvent[] {
    const events: ReplyEvent[] = [];
    if (this.#cited.size > 0) return events;
    const whole = { endIndex: this.#places.bytes };
    for (const source of this.#sources) this.#cite(source, whole, 0, events);
    return events;
  }

  /** @param from Where the part begins that the place is in, in bytes. */
  #cite(
    source: Source | undefined,
    { startIndex, endIndex }: JsonObject,
    from: number,
    events: ReplyEvent[],
  ): void {
    if (source === undefined || this.#looks++ >= MAX_LOOKS) return;
    const place = (index: unknown) =>
      this.#places.unitAt(from + (typeof index === "number" ? index : 0)); // a zero is left out
    const cited = { ...source, start: place(startIndex), end: place(endIndex) };
    const key = `${cited.start} ${cited.end} ${cited.url}`;
    if (this.#cited.has(key) || this.#cited.size >= MAX_CITATIONS) return;
    this.#cited.add(key);
    events.push({ type: "citation", ...cited });
  }
}

/** A source of a search: a web page, a document, a place on the map, or the page of an image. */
function sourceOf(chunk: unknown): Source | undefined {
  if (!isObject(chunk)) return undefined;
  const { web, retrievedContext, maps, image } = chunk;
  const [known] = [web, retrievedContext, maps, image].filter(isObject);
  return known && sourceIn(known);
}

/** Undefined for one without an address. */
function sourceIn({ uri, sourceUri, title }: JsonObject): Source | undefined {
  const url = text(uri) || text(sourceUri);
  return url ? { url, title: text(title) ?? "" } : undefined;
}

/** A block of text, and where it begins. */
interface Block {
  readonly byte: number;
  readonly unit: number;
  text: string;
}

/** Finds UTF-16 units by bytes of UTF-8, in a time that does not depend on the length of the text. */
class Places {
  readonly #blocks: Block[] = [{ byte: 0, unit: 0, text: "" }];
  bytes = 0;
  #units = 0;

  add(said: string): void {
    for (let at = 0; at < said.length; at += BLOCK_CHARS) {
      const piece = said.slice(at, at + BLOCK_CHARS);
      const last = this.#blocks.at(-1)!;
      if (last.text.length + piece.length <= BLOCK_CHARS) last.text += piece;
      else this.#blocks.push({ byte: this.bytes, unit: this.#units, text: piece });
      for (let unit = 0; unit < piece.length; unit++) this.bytes += bytesOf(piece, unit);
      this.#units += piece.length;
    }
  }

  /** The unit that a byte is in, the end of the text for what is beyond. */
  unitAt(byte: number): number {
    let [low, high] = [0, this.#blocks.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.#blocks[middle]!.byte <= byte) low = middle;
      else high = middle - 1;
    }
    const block = this.#blocks[low]!;
    let [rest, unit] = [byte - block.byte, 0];
    while (unit < block.text.length && rest >= bytesOf(block.text, unit)) {
      rest -= bytesOf(block.text, unit++);
    }
    return block.unit + unit;
  }
}

/** Bytes of UTF-8 for one unit: each half of a pair has two of its four. */
function bytesOf(text: string, unit: number): number {
  const code = text.charCodeAt(unit);
  if (code < 0x80) return 1;
  return code < 0x800 || code >= 0xD800 && code < 0xE000 ? 2 : 3;
}
