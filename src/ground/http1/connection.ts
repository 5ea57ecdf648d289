import { Buffer } from "node:buffer";
import { closedEarly } from "./http_fault.ts";
import type { RequestBody, RequestWriter } from "./request.ts";

/** Bytes that are read at a time: at first, and of a sender that has more each time. */
const FIRST_BYTES = 8_192;
const MAX_BYTES = 65_536;
/**
 * How often something is found late before it is ended. After a pause of the process, timers come before reads, and two looks may come
 * without a read between them.
 */
const LATE_LOOKS = 3;
/** How long a connection is kept whose request was given up before it was sent. */
const NEW_MS = 4_000;

/** What bytes are sent and received by. */
export type HttpSocket = Pick<Deno.Conn, "read" | "write" | "close">;

/** The reply that a connection reads for. */
export interface ConnectionUser {
  /** Whether nothing of the response has come. */
  readonly isUnanswered: boolean;
  /** The request is sent on this connection. */
  sentOn(connection: Connection): void;
  /** Some of the request was sent. */
  wasSent(): void;
  /** The rest of the request cannot be sent. A server may have said why before it closed the connection. */
  wasNotSent(error: unknown): void;
  /** The connection has read something. */
  arrived(): void;
  /** The connection has ended. */
  closed(): void;
  /** What is waited for has not come in time. */
  late(): void;
  /** Ends it if it has taken too long in all. */
  isPast(nowMs: number): boolean;
  /** Ends it, and its connection. */
  fail(cause: unknown): void;
}

/** Whom a connection belongs to. */
export interface ConnectionOwner {
  readonly writer: RequestWriter;
  /** Max time for a response's head, and for each piece of its body, in milliseconds. */
  readonly headMs: number;
  readonly bodyMs: number;
  /** It can be used again. */
  idle(connection: Connection): void;
  closed(connection: Connection): void;
}

/**
 * One connection to a server. Bytes are read when somebody wants them: what nobody wants stays with the sender.
 *
 * An idle connection is read from as well. Whatever comes then, or its end, ends it; else the same read serves the next response.
 */
export class Connection {
  readonly #socket: HttpSocket;
  readonly #owner: ConnectionOwner;
  /** What was read and not taken: from `start` to `end`. */
  bytes = new Uint8Array(FIRST_BYTES);
  start = 0;
  end = 0;
  #buffer = Buffer.from(this.bytes.buffer);
  #reply: ConnectionUser | undefined;
  #isReading = false;
  #isWriting = false;
  #isClosed = false;
  #wasUsed = false;
  #keepMs = NEW_MS;
  #deadlineMs = Infinity;
  #lateLooks = 0;

  constructor(socket: HttpSocket, owner: ConnectionOwner) {
    this.#socket = socket;
    this.#owner = owner;
  }

  /** The same bytes, by which text is read. */
  get buffer(): Buffer {
    return this.#buffer;
  }

  /**
   * Sends a request and has a reply read its response.
   *
   * @returns False if nothing at all was sent, as the server had closed a connection that was kept.
   */
  async send(reply: ConnectionUser, head: string, body: RequestBody): Promise<boolean> {
    this.#reply = reply;
    this.#isWriting = true;
    let isBegun = false;
    reply.sentOn(this);
    this.read();
    try {
      await this.#owner.writer.write(head, body, async (bytes) => {
        for (let at = 0; at < bytes.byteLength; isBegun = true) {
          at += await this.#socket.write(at === 0 ? bytes : bytes.subarray(at));
          reply.wasSent();
        }
      });
    } catch (error) {
      if (!isBegun && this.#wasUsed && reply.isUnanswered) {
        this.#reply = undefined;
        this.close();
        return false;
      }
      reply.wasNotSent(error);
      return true; // as if it were still written, so that the connection is not used again
    }
    this.#isWriting = false;
    this.#wasUsed = true;
    return true;
  }

  /** Reads once, unless it does so already. */
  read(): void {
    if (this.#isReading || this.#isClosed) return;
    this.#isReading = true;
    this.#makeRoom();
    const room = this.end === 0 ? this.bytes : this.bytes.subarray(this.end);
    this.#socket.read(room).then(this.#came, this.#failed);
  }

  #makeRoom(): void {
    const isFull = this.end === this.bytes.byteLength;
    if (this.start === this.end) this.start = this.end = 0;
    if (!isFull || this.bytes.byteLength === MAX_BYTES && this.start === 0) return;
    const kept = this.bytes.subarray(this.start, this.end);
    this.bytes = new Uint8Array(Math.min(2 * this.bytes.byteLength, MAX_BYTES));
    this.#buffer = Buffer.from(this.bytes.buffer);
    this.bytes.set(kept);
    this.end -= this.start;
    this.start = 0;
  }

  readonly #came = (size: number | null) => {
    this.#isReading = false;
    this.#lateLooks = 0;
    if (this.#isClosed) return;
    if (size === null) return this.#over(undefined);
    if (this.#reply === undefined) return this.close();
    this.end += size;
    this.#reply.arrived();
  };

  readonly #failed = (error: unknown) => {
    this.#isReading = false;
    if (!this.#isClosed) this.#over(error);
  };

  /** Nothing more comes. */
  #over(error: unknown): void {
    if (this.#reply === undefined) return this.close();
    if (error === undefined) this.#reply.closed();
    else this.#reply.fail(error);
  }

  /** Max time from now, in milliseconds, until what is waited for comes. */
  waitFor(ms: number): void {
    this.#deadlineMs = ms === Infinity ? ms : performance.now() + ms;
    this.#lateLooks = 0;
  }

  waitForHead(): void {
    this.waitFor(this.#owner.headMs);
  }

  /** Again and again for the same piece: the time runs from the first call on. */
  waitForBody(): void {
    if (this.#deadlineMs === Infinity) this.waitFor(this.#owner.bodyMs);
  }

  /**
   * Its response has been read to the end.
   *
   * @param keepMs How long it may be idle.
   */
  release(keepMs: number): void {
    this.#reply = undefined;
    // what comes after a response belongs to none; a request that was not read to its end goes on
    if (keepMs === 0 || this.start < this.end || this.#isWriting) return this.close();
    this.#keepMs = keepMs;
    this.keep();
  }

  /** Waits for the next request. */
  keep(): void {
    if (this.#isClosed) return;
    this.waitFor(this.#keepMs);
    this.read();
    this.#owner.idle(this);
  }

  /** Ends what has taken too long; called often. */
  check(nowMs: number): void {
    if (this.#reply?.isPast(nowMs)) return;
    if (nowMs <= this.#deadlineMs) return;
    // what came in time, while this process was busy, is read first
    if (++this.#lateLooks < LATE_LOOKS) return;
    if (this.#reply === undefined) this.close();
    else this.#reply.late();
  }

  /** Ends it, and with it the reply that it is used for. */
  giveUp(): void {
    const reply = this.#reply;
    if (reply === undefined) this.close();
    else reply.fail(closedEarly());
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#reply = undefined;
    this.#owner.closed(this);
    try {
      this.#socket.close();
    } catch {
      // closed already
    }
  }
}
