import { jsonIn } from "../../../ground/platform/mod.ts";

/** One server-sent event. */
export interface SseEvent {
  /** The `event:` line, else `message`. */
  readonly event: string;
  /** The `data:` lines, joined by line feeds. */
  readonly data: string;
}

/** Thrown when an upstream's bytes are not an event stream that can be followed. */
export class StreamFault extends Error {
  override readonly name = "StreamFault";
  /** Whether it is more than is kept. */
  isTooMuch = false;
}

/** Max characters of one event; more is an error, so that memory stays bounded. */
const MAX_EVENT_CHARS = 16 * 1_048_576;

/**
 * Bytes to server-sent events, as the WHATWG HTML standard says (§9.2.6), in time linear in the
 * bytes. The same bytes give the same events however they are cut: partial characters, partial
 * lines and a carriage return at the end of a piece are held until the next one. JSON before the first field is an event as well.
 */
export class SseDecoder {
  readonly #decoder = new TextDecoder("utf-8");
  /** Pieces of a line whose end has not come. They are joined once: joining each to those before takes quadratic time. */
  #rest: string[] = [];
  #restChars = 0;
  #skipLineFeed = false;
  #event = "";
  #data: string[] = [];
  #dataChars = 0;
  #isFirst = true;
  /** Whether the lines are those of JSON without a field: a whole reply that is labelled as an event stream. */
  #isJson = false;

  /**
   * Decodes the next piece of bytes.
   *
   * @throws {StreamFault} when one event grows beyond 16 Mi characters.
   */
  push(bytes: Uint8Array): SseEvent[] {
    return this.#take(this.#decoder.decode(bytes, { stream: true }));
  }

  /**
   * Takes the end of the bytes. The standard drops an event whose blank line is missing; the SDKs of all vendors read it, and some
   * servers end so. What is no whole JSON is dropped: it may be cut off.
   */
  end(): SseEvent[] {
    const events = this.#take(`${this.#decoder.decode()}\n`);
    this.#isJson = false;
    events.push(...this.#take("\n"));
    return events.filter(({ data }) => data === "[DONE]" || jsonOf(data) !== undefined);
  }

  #take(decoded: string): SseEvent[] {
    const events: SseEvent[] = [];
    let piece = decoded;
    if (this.#skipLineFeed && piece !== "") {
      if (piece.charCodeAt(0) === 10) piece = piece.slice(1);
      this.#skipLineFeed = false;
    }
    const hasReturns = piece.includes("\r");
    if (!hasReturns && !piece.includes("\n")) {
      this.#keep(piece);
      return events;
    }
    let at = this.#restChars;
    const text = this.#rest.join("") + piece;
    let start = 0;
    while (true) {
      const end = hasReturns ? nextLineEnd(text, at) : text.indexOf("\n", at);
      if (end < 0) break;
      this.#line(text.slice(start, end), events);
      start = end + 1;
      if (text.charCodeAt(end) === 13) {
        if (start === text.length) this.#skipLineFeed = true;
        else if (text.charCodeAt(start) === 10) start++;
      }
      at = start;
    }
    this.#rest = [];
    this.#restChars = 0;
    this.#keep(text.slice(start));
    return events;
  }

  #keep(rest: string): void {
    if (rest === "") return;
    this.#rest.push(rest);
    this.#restChars += rest.length;
    this.#guard(this.#restChars);
  }

  #line(line: string, events: SseEvent[]): void {
    if (this.#isFirst && line.trim() !== "" && !line.startsWith(":")) {
      this.#isFirst = false;
      this.#isJson = /^\s*[{[]/.test(line);
    }
    if (this.#isJson) {
      if (!/^(?:data|event):/.test(line)) return this.#add(line);
      this.#isJson = false;
      this.#line("", events);
    }
    if (line === "") {
      if (this.#data.length > 0) {
        const data = this.#data.length === 1 ? this.#data[0]! : this.#data.join("\n");
        if (data !== "") events.push({ event: this.#event || "message", data });
      }
      this.#event = "";
      this.#data = [];
      this.#dataChars = 0;
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return; // a comment
    const field = colon < 0 ? line : line.slice(0, colon);
    const from = colon < 0
      ? line.length
      : line.charCodeAt(colon + 1) === 32
      ? colon + 2
      : colon + 1;
    if (field === "data") {
      this.#add(line.slice(from));
    } else if (field === "event") {
      this.#event = line.slice(from);
    } else if (field === "error") {
      // llama.cpp reports errors in a field of this name (ggml-org/llama.cpp#16109)
      const error = jsonOf(line.slice(from));
      if (error === undefined) return;
      const data = JSON.stringify("error" in error ? error : { type: "error", error });
      events.push({ event: "error", data });
    }
  }

  #add(line: string): void {
    this.#guard(line.length);
    this.#data.push(line);
    this.#dataChars += line.length + 1;
  }

  #guard(more: number): void {
    if (this.#dataChars + more > MAX_EVENT_CHARS) {
      const fault = new StreamFault(`an event has more than ${MAX_EVENT_CHARS} characters`);
      throw Object.assign(fault, { isTooMuch: true });
    }
  }
}

function jsonOf(text: string): object | undefined {
  const value = jsonIn(text);
  return typeof value === "object" && value !== null ? value : undefined;
}

function nextLineEnd(text: string, from: number): number {
  for (let index = from; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === 10 || code === 13) return index;
  }
  return -1;
}
