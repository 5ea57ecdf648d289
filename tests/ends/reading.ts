import { sleep } from "../fake/temp.ts";
import type { Plan } from "./plan.ts";
import { countWords } from "./words.ts";

/** What a caller got. */
export interface Taken {
  /** Undefined if it was never told. */
  readonly requestId: string | undefined;
  /** 0 if no response came. */
  readonly status: number;
  /** Words of text and reasoning that arrived. */
  readonly words: number;
  /** Whether the response came to its proper end. */
  readonly isWhole: boolean;
  /** Whether it ended as at a token limit, which no upstream here says. */
  readonly isCutOff: boolean;
  /** `performance.now()` when it left; undefined if it did not. */
  readonly leftTick: number | undefined;
  /** Part of the response's time in which it did not read although there was output, and that time in milliseconds. */
  readonly slowPart: number;
  readonly slowMs: number;
  /** How long the gateway saw no room at a WebSocket's caller, even if that did not pause. */
  readonly withoutRoomMs: number;
  readonly fault: string | undefined;
  /** The last of what it got. */
  readonly tail: string;
}

const TAIL_CHARS = 300;
/** What comes within this time after a pause, or a part of the pause, was there before for certain: by the gateway's clock, too. */
const SOON_MS = 20;
const SOON_PART = 0.1;

/** A response as it is read: what of it arrived, and how fast it was read. */
export class Reading {
  readonly #plan: Plan;
  readonly #decoder = new TextDecoder();
  readonly #startTick = performance.now();
  #text = "";
  #lines = "";
  #requestId: string | undefined;
  #status = 0;
  #leftTick: number | undefined;
  #hasEnded = false;
  #slowMs = 0;
  #withoutRoomMs = 0;
  #pausedMs = 0;
  /** When the last pause was over, and whether the gateway may have noticed before it sent more. */
  #resumedTick = 0;
  #isNoticed = false;
  /** Words that had arrived, over all. */
  words = 0;
  /** ID of a turn's response. */
  responseId: string | undefined;
  /** Whether the last frame of a turn came. */
  isOver = false;
  fault: string | undefined;

  constructor(plan: Plan) {
    this.#plan = plan;
  }

  began(status: number, requestId: string | null): void {
    this.#status = status;
    this.#requestId = requestId ?? undefined;
  }

  add(bytes: Uint8Array): void {
    this.#addText(this.#decoder.decode(bytes, { stream: true }));
  }

  /** Adds bytes of a connection, head and chunk sizes included: an event is a chunk at least. */
  addRaw(bytes: Uint8Array): void {
    const text = this.#decoder.decode(bytes, { stream: true });
    if (this.#status === 0) {
      this.#status = Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0);
      this.#requestId = /\nrequest-id: (\S+)/i.exec(text)?.[1];
    }
    this.#addText(text);
  }

  /** Adds a frame of a WebSocket. */
  addFrame(frame: Record<string, unknown>): void {
    const type = String(frame.type);
    this.#text += `${JSON.stringify(frame)}\n`;
    const { response } = frame;
    if (typeof response === "object" && response !== null && "id" in response) {
      this.#status = 200;
      this.responseId = String(response.id);
      this.#requestId = this.responseId.replace(/^resp_/, "req_");
    }
    if (type.endsWith(".delta")) this.#counted(countWords(String(frame.delta)));
    this.isOver = /^(error|response\.(completed|incomplete|failed))$/.test(type);
    if (type !== "error") return;
    this.#status = Number(frame.status ?? 500);
    const { headers } = frame;
    if (typeof headers === "object" && headers !== null && "request-id" in headers) {
      this.#requestId ??= String(headers["request-id"]);
    }
  }

  /** The response, or its connection, has ended. */
  ended(): void {
    this.#hasEnded = true;
  }

  /** The caller leaves now. */
  left(): void {
    this.#leftTick ??= performance.now();
  }

  /** The gateway notices that the caller reads on, after it saw no room for a time: after a pause, or as the process stood still. */
  resumed(withoutRoomMs: number): void {
    this.#withoutRoomMs += withoutRoomMs;
    if (this.#pausedMs === 0 || this.#isNoticed) return;
    this.#isNoticed = true;
    const tick = performance.now();
    this.#pausedMs += tick - this.#resumedTick;
    this.#resumedTick = tick;
  }

  /** Does not read for a while. */
  async pause(ms: number): Promise<void> {
    const tick = performance.now();
    await sleep(ms);
    this.#resumedTick = performance.now();
    this.#pausedMs += this.#resumedTick - tick;
    this.#isNoticed = false;
  }

  taken(): Taken {
    const { front, stream } = this.#plan;
    const text = this.#text;
    const isSuccess = this.#status === 200;
    const end = front === "chat"
      ? /data: \[DONE\]/
      : front === "messages"
      ? /event: message_stop/
      : /"type":"response\.(completed|incomplete)"/;
    return {
      requestId: this.#requestId,
      status: this.#status,
      words: this.words,
      isWhole: isSuccess && (stream ? end.test(text) : this.#hasEnded && text !== ""),
      isCutOff: /reason":"(length|max_tokens|max_output_tokens)"/.test(text),
      leftTick: this.#leftTick,
      slowPart: this.#slowMs / (performance.now() - this.#startTick),
      slowMs: this.#slowMs,
      withoutRoomMs: this.#withoutRoomMs,
      fault: this.fault,
      tail: text.slice(-TAIL_CHARS),
    };
  }

  /** Counts the words of whole lines: those of the responses dialect repeat at the end what came in deltas. */
  #addText(text: string): void {
    this.#text += text;
    if (!this.#plan.stream || this.#plan.front !== "responses") {
      return this.#counted(countWords(text));
    }
    this.#lines += text;
    const end = this.#lines.lastIndexOf("\n\n");
    if (end < 0) return;
    const events = this.#lines.slice(0, end).split("\n\n");
    this.#lines = this.#lines.slice(end);
    const deltas = events.filter((one) => /event: \S+\.delta\n/.test(one));
    this.#counted(countWords(deltas.join("\n")));
  }

  /**
   * Output that comes right after a pause was there before: the upstream was kept waiting. What comes later may have been there, too, on
   * a busy machine, but the gateway, which goes by the same time, cannot know.
   */
  #counted(words: number): void {
    this.words += words;
    const soonMs = Math.max(SOON_MS, SOON_PART * this.#pausedMs);
    const wasThere = performance.now() - this.#resumedTick < soonMs;
    if (words > 0 && wasThere) this.#slowMs += this.#pausedMs;
    this.#pausedMs = 0;
  }
}
