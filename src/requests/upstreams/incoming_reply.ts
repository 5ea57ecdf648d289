import type { Dispatcher } from "undici";
import { type CoarseTimers, joinBytes } from "../../ground/platform/mod.ts";
import { ProxyFault } from "../../ground/ways_out/mod.ts";
import { readWhenReady } from "./ready_bytes.ts";
import { type ReadyBytes, TransportFault, type Waiter } from "./transport.ts";

/** Bytes that may wait here before the upstream's socket is paused. */
const PAUSE_AT_BYTES = 65_536;
/** Bytes and time after a complete answer for which a connection is kept open to be used again. */
const DRAIN_BYTES = 65_536;
const DRAIN_MS = 1_000;

/** Interim responses (1xx) before the one that counts. */
const MAX_ANNOUNCEMENTS = 32;

/** The first line and headers of a reply. */
export interface ReplyHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/**
 * One reply as undici delivers it, without a stream object in between: pieces that arrive together
 * are read together, and the socket is paused while too many wait.
 */
export class IncomingReply implements ReadyBytes, Dispatcher.DispatchHandler {
  /** Resolves with the reply's head; rejects with a {@linkcode TransportFault}. */
  readonly began: Promise<ReplyHead>;
  readonly #began = Promise.withResolvers<ReplyHead>();
  readonly #signal: AbortSignal;
  readonly #timers: CoarseTimers;
  #controller: Dispatcher.DispatchController | undefined;
  #pieces: Uint8Array[] = [];
  #size = 0;
  #ended = false;
  #fault: TransportFault | undefined;
  #waiter: Waiter | undefined;
  #isNotifying = false;
  readonly #dismissTotal: () => void;
  #announcements = 0;
  #draining: { left: number; readonly dismiss: () => void } | undefined;

  /** @param totalMs Maximum time to the end of the reply. */
  constructor(signal: AbortSignal, timers: CoarseTimers, totalMs: number) {
    this.began = this.#began.promise;
    this.#signal = signal;
    this.#timers = timers;
    this.#dismissTotal = timers.after(totalMs, () => {
      const message = `the response took longer than ${totalMs} ms`;
      this.#abort(new TransportFault("broken", message, { timedOut: true, isLimit: true }));
    });
    if (signal.aborted) this.handleEvent();
    else signal.addEventListener("abort", this);
  }

  take(): Uint8Array | null | undefined {
    if (this.#size === 0) {
      if (this.#fault !== undefined) throw this.#fault;
      return this.#ended ? undefined : null;
    }
    const bytes = joinBytes(this.#pieces, this.#size);
    this.#pieces = [];
    this.#size = 0;
    if (this.#controller?.paused) this.#controller.resume();
    return bytes;
  }

  whenReady(waiter: Waiter): void {
    this.#waiter = waiter;
    if (this.#size > 0 || this.#ended || this.#fault !== undefined) this.#notify();
  }

  read(): Promise<Uint8Array | undefined> {
    return readWhenReady(this);
  }

  /** Gives the reply up, and its connection with it. */
  discard(): void {
    this.#pieces = [];
    this.#size = 0;
    this.#abort(new TransportFault("broken", "the reply was discarded"));
  }

  /** Lets what little may follow a complete answer pass, so that the connection can be used again. */
  drain(): void {
    if (this.#ended || this.#fault !== undefined) return;
    this.#draining = {
      left: DRAIN_BYTES,
      dismiss: this.#timers.after(DRAIN_MS, () => this.discard()),
    };
    if (this.#controller?.paused) this.#controller.resume();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#fault !== undefined) controller.abort(this.#fault);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[]>,
  ): void {
    if (status >= 200) this.#began.resolve({ status, headers });
    else if (++this.#announcements > MAX_ANNOUNCEMENTS) {
      const message = `more than ${MAX_ANNOUNCEMENTS} interim responses`;
      this.#abort(new TransportFault("broken", message));
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Uint8Array): void {
    if (this.#draining !== undefined) {
      this.#draining.left -= piece.byteLength;
      if (this.#draining.left < 0) this.discard();
      return;
    }
    this.#pieces.push(piece);
    this.#size += piece.byteLength;
    if (this.#size >= PAUSE_AT_BYTES) controller.pause();
    this.#notify();
  }

  onResponseEnd(): void {
    this.#ended = true;
    this.#over();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fault ??= faultOf(error);
    this.#began.reject(this.#fault);
    this.#over();
  }

  /** The signal was aborted. */
  handleEvent(): void {
    const { reason } = this.#signal;
    this.#abort(
      reason instanceof TransportFault ? reason : new TransportFault("left", "the caller left"),
    );
  }

  #abort(fault: TransportFault): void {
    if (this.#ended || this.#fault !== undefined) return;
    this.#fault = fault;
    this.#began.reject(fault);
    this.began.catch(() => {}); // nobody may be waiting for it any more
    this.#controller?.abort(fault);
    this.#over();
  }

  #over(): void {
    this.#signal.removeEventListener("abort", this);
    this.#draining?.dismiss();
    this.#dismissTotal();
    this.#controller = undefined; // it reaches the connection, and what is asked there next
    this.#notify();
  }

  /** Wakes the waiter when all that arrived together is here, so that it is taken together. */
  #notify(): void {
    if (this.#waiter === undefined || this.#isNotifying) return;
    this.#isNotifying = true;
    queueMicrotask(() => {
      const waiter = this.#waiter;
      this.#waiter = undefined;
      this.#isNotifying = false;
      waiter?.wake();
    });
  }
}

const NOT_SENT = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EAI_FAIL",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EADDRNOTAVAIL",
  "UND_ERR_CONNECT_TIMEOUT",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "CERT_HAS_EXPIRED",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "ERR_TLS_HANDSHAKE",
]);

/** What an error of undici or of the platform's sockets means for the request. */
export function faultOf(error: Error): TransportFault {
  if (error instanceof TransportFault) return error;
  const { code, message } = error as { code?: unknown; message: string };
  const name = typeof code === "string" ? code : "";
  const text = `${name} ${message}`.trim();
  // Deno 2.4 gives certificate errors no code
  const notSent = error instanceof ProxyFault || NOT_SENT.has(name) ||
    (name === "" && /invalid peer certificate/i.test(text));
  const kind = notSent ? "not_sent" : name === "UND_ERR_HEADERS_TIMEOUT" ? "no_reply" : "broken";
  return new TransportFault(kind, text, {
    cause: error,
    timedOut: /TIMEOUT$|^ETIMEDOUT$/.test(name),
  });
}
