import { type Action, can, type Session, type Sessions } from "../../people/accounts/mod.ts";
import type { Log } from "../../ground/telemetry/mod.ts";
import { SlotMap } from "../../ground/platform/mod.ts";
import type { BasePath } from "../../ground/web/mod.ts";

/** Streams of one account, such as tabs that are visible at once. */
const MAX_OF_ACCOUNT = 10;
const MAX_STREAMS = 500;
const TICK_MS = 1_000;
/** Each third second is for the sessions, so that a second has one query. */
const CHECK_TICKS = 3;
/** A comment now and then shows that the other end is there, and keeps proxies from closing the connection. */
const ALIVE_TICKS = 15;
/** A client that reads so slowly is disconnected: it comes back and gets what is new. */
const MAX_WAITING_CHARS = 256 * 1_024;
/** How long browsers wait before they connect again. */
const RETRY_MS = 2_000;

/** Something new for a part of a page. */
export interface LiveEvent {
  readonly part: string;
  readonly html: string;
  /** Sent back when the client connects again: what it has seen. */
  readonly seenMs?: number | undefined;
}

/** Somebody who looks at a page. */
export interface Viewer {
  readonly accountId: string;
  /** As it was when it was last checked, a few seconds ago. */
  readonly session: Session;
  readonly parts: ReadonlySet<string>;
  /** Until when the page has what is new when the viewer comes. */
  readonly seenMs: number | undefined;
  /** Last sent of each part, which is not sent again. */
  readonly sent: Map<string, string>;
  send(event: LiveEvent): void;
}

/** Where events come from. */
export interface LiveSource {
  /** Called each second while somebody looks, with all who do. */
  tick(viewers: readonly Viewer[]): Promise<void>;
}

interface Stream extends Viewer {
  session: Session;
  readonly token: string;
  readonly actions: readonly Action[];
  comment(): void;
  close(): void;
}

/** What a stream is opened with. */
export interface StreamOptions {
  readonly session: Session;
  /** The session's token. */
  readonly token: string;
  readonly parts: ReadonlySet<string>;
  /** What the viewer must stay allowed to do. */
  readonly actions: readonly Action[];
  readonly seenMs: number | undefined;
}

interface LiveStreamsParts {
  readonly sessions: Pick<Sessions, "findAll">;
  readonly log: Log;
  readonly closing: AbortSignal;
  readonly base: BasePath;
}

/**
 * The open event streams of the console. While there are none, it does nothing; otherwise, it asks each source once a
 * second for all of them, and whether their sessions go on.
 */
export class LiveStreams {
  readonly #parts: LiveStreamsParts;
  readonly #sources: readonly LiveSource[];
  readonly #streams = new SlotMap<Stream>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #ticks = 0;
  #isClosed = false;
  readonly #close = () => this.close();

  constructor(parts: LiveStreamsParts, sources: readonly LiveSource[]) {
    this.#parts = parts;
    this.#sources = sources;
  }

  /** Number of open streams. */
  get size(): number {
    return this.#streams.size;
  }

  /** Whether nothing runs for want of viewers. */
  get isIdle(): boolean {
    return this.#timer === undefined;
  }

  /**
   * Opens a stream of events.
   *
   * @returns Its bytes; undefined if the account, or the console, has as many as it may.
   */
  open(options: StreamOptions): ReadableStream<Uint8Array> | undefined {
    const { id } = options.session.account;
    const isFull = this.#streams.size >= MAX_STREAMS ||
      this.#streams.all().filter(({ accountId }) => accountId === id).length >= MAX_OF_ACCOUNT;
    if (isFull || this.#isClosed || this.#parts.closing.aborted) return undefined;
    const encoder = new TextEncoder();
    let end = () => {};
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        let isOpen = true;
        const write = (text: string) => {
          if (!isOpen) return;
          if ((controller.desiredSize ?? 0) <= 0) return stream.close();
          controller.enqueue(encoder.encode(text));
        };
        const stream: Stream = {
          ...options,
          accountId: id,
          sent: new Map(),
          send: ({ part, html, seenMs }) =>
            write(eventText(part, this.#parts.base.page(html), seenMs)),
          comment: () => write(":\n\n"),
          close: () => {
            if (!isOpen) return;
            end();
            controller.close();
          },
        };
        const place = this.#streams.add(stream);
        end = () => {
          isOpen = false;
          this.#streams.take(place, stream);
          if (this.#streams.size === 0) this.#rest();
        };
        write(`retry: ${RETRY_MS}\n\n`);
        if (this.#streams.size === 1) {
          this.#parts.closing.addEventListener("abort", this.#close, { once: true });
        }
        this.#schedule(0);
      },
      cancel: () => end(),
    }, { highWaterMark: MAX_WAITING_CHARS, size: (bytes) => bytes.byteLength });
  }

  /** Ends all streams; clients connect again, to what takes its place. */
  close(): void {
    this.#isClosed = true;
    for (const stream of this.#streams.all()) stream.close();
    this.#rest();
  }

  #rest(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#parts.closing.removeEventListener("abort", this.#close);
  }

  #schedule(ms: number): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(async () => {
      const began = performance.now();
      await this.#tick();
      this.#timer = undefined;
      if (this.#streams.size === 0 || this.#isClosed) return this.#rest();
      this.#schedule(Math.max(TICK_MS / 4, TICK_MS - (performance.now() - began)));
    }, ms);
  }

  async #tick(): Promise<void> {
    const tick = this.#ticks++;
    try {
      if (tick % ALIVE_TICKS === 0) { for (const stream of this.#streams.all()) stream.comment(); }
      if (tick % CHECK_TICKS === CHECK_TICKS - 1) return await this.#check();
      for (const source of this.#sources) await source.tick(this.#streams.all());
    } catch (error) {
      // the database may be away for a moment: the next second is another try
      this.#parts.log.warn("live parts of the console were not updated", { error: String(error) });
    }
  }

  /** Ends the streams whose session has ended, whose account is disabled, or who may no longer see what they see. */
  async #check(): Promise<void> {
    const streams = this.#streams.all();
    const found = await this.#parts.sessions.findAll([
      ...new Set(streams.map(({ token }) => token)),
    ]);
    for (const stream of streams) {
      const session = found.get(stream.token);
      const goesOn = session !== undefined &&
        stream.actions.every((action) => can(session, action, { accountId: session.account.id }));
      if (goesOn) stream.session = session;
      else stream.close();
    }
  }
}

/** An event of a part; no text can end its field or the event. */
function eventText(part: string, html: string, seenMs: number | undefined): string {
  const lines = html.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`).join("");
  return `event: ${part.replaceAll(/[\r\n]/g, "")}\n${
    seenMs === undefined ? "" : `id: ${seenMs}\n`
  }${lines}\n`;
}
