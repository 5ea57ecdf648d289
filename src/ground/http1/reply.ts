import { BodyPieces } from "./body_pieces.ts";
import type { Connection, ConnectionUser } from "./connection.ts";
import { closedEarly, HttpFault, invalid } from "./http_fault.ts";
import { endOfHead, parseHead, type ResponseHead } from "./response_head.ts";

/** Interim responses (1xx) before the one that counts. */
const MAX_INTERIM = 32;
const SWITCHING_PROTOCOLS = 101;
const FIRST_FINAL_STATUS = 200;
/** Bytes and time after a complete answer for which a connection is kept open to be used again. */
const DRAIN_BYTES = 65_536;
const DRAIN_MS = 1_000;

/** What a request had come to when something went wrong. */
export type Stage = "connecting" | "sent" | "aborted";

/** Makes the error that a request fails with. */
export type MakeFault = (cause: unknown, stage: Stage) => Error;

/** What all requests to a server have in common. */
export interface ReplyOptions {
  /** Max time to the end of the response, in milliseconds. */
  readonly totalMs: number;
  readonly makeFault: MakeFault;
}

/** Runs of data within what was read; of one reply at a time. */
const found: number[] = [];

/**
 * The response to one request. Its body is taken as it comes, copied once out of what the connection has read, and nothing is read that
 * nobody waits for.
 */
export class HttpReply implements ConnectionUser {
  /** Resolves with the first line and header fields. */
  readonly began: Promise<ResponseHead>;
  readonly #began = Promise.withResolvers<ResponseHead>();
  readonly #options: ReplyOptions;
  readonly #signal: AbortSignal;
  readonly #endsAtMs: number;
  #connection: Connection | undefined;
  #searched = 0;
  #interim = 0;
  #head: ResponseHead | undefined;
  #body: BodyPieces | undefined;
  #isOver = false;
  #fault: Error | undefined;
  /** Why the request could not be sent to its end, which a response may explain. */
  #unsent: unknown;
  #waiter: { wake(): void } | undefined;
  /** Bytes that may still be dropped. */
  #draining: number | undefined;

  /** @param signal Ends the request. */
  constructor(options: ReplyOptions, signal: AbortSignal) {
    this.began = this.#began.promise;
    this.#options = options;
    this.#endsAtMs = performance.now() + options.totalMs;
    this.#signal = signal;
    if (signal.aborted) this.handleEvent();
    else signal.addEventListener("abort", this);
  }

  /** Whether nothing is wanted of a connection any more. */
  get isOver(): boolean {
    return this.#isOver;
  }

  get isUnanswered(): boolean {
    return !this.#isOver && this.#head === undefined && this.#interim === 0 &&
      this.#connection!.start === this.#connection!.end;
  }

  /**
   * Takes all bytes that have arrived.
   *
   * @returns At least one byte; null when none has arrived yet, undefined at the end.
   * @throws What the reply failed with.
   */
  take(): Uint8Array | null | undefined {
    if (this.#fault !== undefined) throw this.#fault;
    if (this.#isOver) return undefined;
    const connection = this.#connection;
    if (connection === undefined || connection.start === connection.end) return null;
    const { bytes } = connection;
    try {
      connection.start = this.#body!.walk(bytes, connection.start, connection.end, found);
    } catch (error) {
      found.length = 0;
      this.fail(error);
      throw this.#fault;
    }
    const piece = copyOf(bytes);
    if (this.#body!.isEnded) this.#complete();
    return piece ?? (this.#isOver ? undefined : null);
  }

  /** Has a waiter woken once there is something to take, maybe at once. One waits at a time. */
  whenReady(waiter: { wake(): void }): void {
    this.#waiter = waiter;
    const connection = this.#connection;
    if (this.#isOver || connection !== undefined && connection.start < connection.end) {
      queueMicrotask(() => this.#wake());
    } else if (this.#body !== undefined) {
      if (this.#draining === undefined) connection!.waitForBody();
      connection!.read();
    }
  }

  /** All bytes that have arrived, at least one; undefined at the end. One call at a time. */
  async read(): Promise<Uint8Array | undefined> {
    for (;;) {
      const bytes = this.take();
      if (bytes !== null) return bytes;
      await new Promise<void>((resolve) => this.whenReady({ wake: resolve }));
    }
  }

  /** Gives the reply up, and its connection with it. */
  discard(): void {
    this.fail(new HttpFault("ERR_REPLY_DISCARDED", "the reply was discarded"));
  }

  /** Lets what little may follow a complete answer pass, so that the connection can be used again. */
  drain(): void {
    if (this.#isOver) return;
    this.#draining = DRAIN_BYTES;
    this.#connection!.waitFor(DRAIN_MS);
    this.#drop();
  }

  #drop(): void {
    const connection = this.#connection!;
    this.#draining! -= connection.end - connection.start;
    try {
      this.take();
    } catch {
      return; // it has failed, and is over
    }
    if (this.#isOver) return;
    if (this.#draining! < 0) this.discard();
    else connection.read();
  }

  /** The signal was aborted. */
  handleEvent(): void {
    this.#fail(this.#options.makeFault(this.#signal.reason, "aborted"));
  }

  sentOn(connection: Connection): void {
    this.#connection = connection;
    connection.waitForHead();
  }

  wasSent(): void {
    if (this.#head === undefined && !this.#isOver) this.#connection!.waitForHead();
  }

  wasNotSent(error: unknown): void {
    this.#unsent = error;
    if (error instanceof Deno.errors.BrokenPipe || error instanceof Deno.errors.ConnectionReset) {
      return;
    }
    this.fail(error);
  }

  arrived(): void {
    if (this.#draining !== undefined) return this.#drop();
    if (this.#body !== undefined) {
      this.#connection!.waitFor(Infinity);
      return this.#wake();
    }
    try {
      this.#readHeads();
    } catch (error) {
      this.fail(error);
    }
  }

  #readHeads(): void {
    const connection = this.#connection!;
    for (;;) {
      const { bytes, start, end } = connection;
      const from = start + this.#searched;
      const headEnd = endOfHead(bytes, start, end, from);
      if (headEnd < 0) {
        this.#searched = end - start;
        return connection.read();
      }
      const head = parseHead(connection.buffer, start, headEnd);
      connection.start = headEnd;
      this.#searched = 0;
      if (head.status >= FIRST_FINAL_STATUS) return this.#begin(head);
      if (head.status === SWITCHING_PROTOCOLS) throw invalid("another protocol");
      if (++this.#interim > MAX_INTERIM) {
        throw invalid(`more than ${MAX_INTERIM} interim responses`);
      }
      connection.waitForHead();
    }
  }

  #begin(head: ResponseHead): void {
    this.#head = head;
    this.#body = new BodyPieces(head.bodyEnd);
    this.#connection!.waitFor(Infinity);
    this.#began.resolve(head);
    if (this.#body.isEnded) this.#complete();
    else if (this.#waiter !== undefined) this.whenReady(this.#waiter);
  }

  closed(): void {
    if (this.#body?.endsByClosing) return this.#complete();
    this.fail(closedEarly(this.#unsent));
  }

  #complete(): void {
    const connection = this.#connection!;
    this.#end();
    connection.release(this.#head!.keepMs);
    this.#wake();
  }

  isPast(nowMs: number): boolean {
    if (nowMs <= this.#endsAtMs) return false;
    this.fail(
      new HttpFault(
        "ERR_REPLY_TOTAL_TIMEOUT",
        `the response took longer than ${this.#options.totalMs} ms`,
      ),
    );
    return true;
  }

  late(): void {
    if (this.#draining !== undefined) return this.discard();
    this.fail(
      this.#head === undefined
        ? new HttpFault("ERR_REPLY_HEAD_TIMEOUT", "no response in time")
        : new HttpFault(
          "ERR_REPLY_BODY_TIMEOUT",
          "the response stopped, and no more of it came in time",
        ),
    );
  }

  /** Ends it, and its connection. */
  fail(cause: unknown, stage: Stage = "sent"): void {
    if (!this.#isOver) this.#fail(this.#options.makeFault(cause, stage));
  }

  #fail(fault: Error): void {
    if (this.#isOver) return;
    this.#fault = fault;
    this.#began.reject(fault);
    this.began.catch(() => {}); // nobody may be waiting for it any more
    const connection = this.#connection;
    this.#end();
    connection?.close();
    this.#wake();
  }

  #end(): void {
    this.#isOver = true;
    this.#connection = undefined; // it serves others next
    this.#signal.removeEventListener("abort", this);
  }

  #wake(): void {
    const waiter = this.#waiter;
    this.#waiter = undefined;
    waiter?.wake();
  }
}

/** What was found, as one piece of its own; undefined for nothing. */
function copyOf(bytes: Uint8Array): Uint8Array | undefined {
  if (found.length === 0) return undefined;
  if (found.length === 2) {
    const piece = bytes.slice(found[0], found[1]);
    found.length = 0;
    return piece;
  }
  let size = 0;
  for (let at = 0; at < found.length; at += 2) size += found[at + 1]! - found[at]!;
  const piece = new Uint8Array(size);
  let to = 0;
  for (let at = 0; at < found.length; at += 2) {
    piece.set(bytes.subarray(found[at], found[at + 1]), to);
    to += found[at + 1]! - found[at]!;
  }
  found.length = 0;
  return piece;
}
