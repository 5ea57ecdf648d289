import type { Hold } from "../admission/mod.ts";
import { databaseRefusal } from "../database/mod.ts";
import { brokenOff, type Usage } from "../dialects/mod.ts";
import { asRefusal, type Refusal } from "../refusal.ts";
import { ExchangeFailed, TransportFault } from "../upstreams/mod.ts";
import type { ChargedUsage, MeteredReply } from "./charged_usage.ts";
import { type Lifecycle, stoppingRefusal } from "./lifecycle.ts";
import type { OpenedStream } from "./opened_reply.ts";

/** A client that reads nothing for so long while there is output has kept the upstream waiting. */
const KEPT_WAITING_MS = 2_000;

/** What a stream needs from its request. */
export interface PumpOptions {
  /** The reply, begun. */
  readonly opened: Pick<OpenedStream, "reader" | "discard" | "drain">;
  readonly life:
    & Pick<Lifecycle, "settle" | "outputBegan" | "abort" | "end" | "signal" | "cutOff">
    & { readonly hold: Pick<Hold, "outputTokens" | "extend" | "lookAhead"> };
  readonly usage: ChargedUsage;
  /** What becomes of a reply whose client disconnects in the middle of it. */
  readonly onClientDisconnect: "abort" | "drain";
  /** How long such a reply is followed for its usage. */
  readonly followMs: number;
  /** The last event of a stream that failed. */
  readonly errorEvent: (refusal: Refusal) => string;
  /** Called with an error that nobody expects. */
  readonly onFault: (error: unknown) => void;
  /** Called once, when everything including the settlement is over. */
  readonly onEnd: () => void;
}

/**
 * Pumps a reply to its client: read an upstream's events, meter them, write the client's, one piece at a
 * time and only when the client has room for it.
 *
 * It ends in exactly one of four ways: complete (the charge is committed before the last bytes), cut
 * off as at its token limit because the balance pays for no more, failed (an error event is the last
 * one), or disconnected by the client (the upstream is cancelled, or read to its end for its usage).
 */
export class StreamPump implements UnderlyingDefaultSource<Uint8Array> {
  readonly #options: PumpOptions;
  readonly #encoder = new TextEncoder();
  #isOver = false;
  /** Output tokens of the hold that the reader may use; several choices share them. */
  #granted: number;
  #reading: Promise<unknown> = Promise.resolve();
  #isPulling = false;
  #isCancelled = false;
  /** Whether any output was delivered to the client; what was only read is not charged. */
  #hasDelivered = false;
  /** When the client was last given something. */
  #deliveredTick = Infinity;
  /** Whether the client ever kept the upstream waiting: a failure then may be the client's doing. */
  #keptWaiting = false;

  constructor(options: PumpOptions) {
    this.#options = options;
    this.#granted = options.life.hold.outputTokens;
  }

  /** The response's body. Nothing is read before the client asks for it. */
  stream(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(this, { highWaterMark: 0 });
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    const { signal, cutOff } = this.#options.life;
    signal.addEventListener("abort", () => {
      if (cutOff.aborted && !this.#isPulling && !this.#isOver) void this.#cutOff(controller);
    }, { once: true });
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    this.#isPulling = true;
    try {
      await this.#pull(controller);
    } finally {
      this.#isPulling = false;
    }
  }

  async cancel(): Promise<void> {
    this.#isCancelled = true;
    if (this.#isOver) return;
    this.#isOver = true;
    await this.#disconnected();
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    const { reader } = this.#options.opened;
    let text: string | undefined = "";
    let isLast = false;
    let isComplete = false;
    this.#keptWaiting ||= performance.now() - this.#deliveredTick >= KEPT_WAITING_MS;
    try {
      while (text === "" && !reader.finished) {
        text = await this.#read();
        if (this.#isOver) return; // the client disconnected meanwhile
      }
      if (text === undefined) {
        isLast = true;
        text = await this.#truncate();
      } else if (reader.finished) {
        isLast = isComplete = true;
        text += await this.#complete();
      }
    } catch (error) {
      if (this.#isOver) return;
      isLast = true;
      isComplete = false;
      text = (text ?? "") + await this.#fail(error);
    }
    if (this.#isOver) return;
    controller.enqueue(this.#encoder.encode(text));
    this.#deliveredTick = performance.now();
    this.#hasDelivered ||= reader.reply.hasOutput;
    if (!isLast) return;
    controller.close();
    this.#release(isComplete);
    this.#end();
  }

  /** Reads the next text. Undefined when the balance pays for no more. */
  #read(): Promise<string | undefined> {
    const next = this.#readNext();
    this.#reading = next.catch(() => {});
    return next;
  }

  async #readNext(): Promise<string | undefined> {
    const { opened: { reader }, life } = this.#options;
    life.cutOff.throwIfAborted();
    if (reader.atLimit && !await this.#extend()) return undefined;
    const text = await reader.next();
    const { reply } = reader;
    if (reply.hasOutput) life.outputBegan();
    life.hold.lookAhead(reply.countedOutput);
    return text;
  }

  /** Waits for room under the limit; false when the balance has none. */
  async #extend(): Promise<boolean> {
    const { opened: { reader }, life: { hold } } = this.#options;
    while (reader.atLimit) {
      const before = this.#granted;
      this.#granted = await hold.extend(before);
      reader.outputLimit = this.#granted;
      if (this.#granted <= before) return false;
    }
    return true;
  }

  get #metered(): MeteredReply {
    const { reply: { usage, countedOutput }, requests } = this.#options.opened.reader;
    return { usage, countedOutput, requests };
  }

  async #complete(): Promise<string> {
    const { usage, usageSource } = this.#options.usage.settled(this.#metered);
    await this.#options.life.settle({ ending: "complete", status: 200, usage, usageSource });
    return this.#options.opened.reader.reply.close(usage);
  }

  async #truncate(): Promise<string> {
    const { usage, usageSource } = this.#options.usage.counted(this.#metered);
    await this.#options.life.settle({ ending: "complete", status: 200, usage, usageSource });
    const { reply } = this.#options.opened.reader;
    return reply.truncate() + reply.close(usage);
  }

  /** Settles a failure; returns the error event. */
  async #fail(error: unknown): Promise<string> {
    const { life, usage, onFault, errorEvent } = this.#options;
    const refusal = streamRefusal(error, life.cutOff);
    if (refusal.reason === "internal") onFault(error);
    const isClients = this.#keptWaiting && this.#hasDelivered &&
      refusal.reason === "upstream_unavailable";
    await life.settle(
      isClients
        ? { ending: "client_left", status: 200, ...usage.counted(this.#metered) }
        // it is the gateway that stops, not the upstream that failed
        : { ending: life.cutOff.aborted ? "refused" : "upstream_failed", status: refusal.status },
    ).catch(() => {}); // it is in the log
    return errorEvent(refusal);
  }

  async #disconnected(): Promise<void> {
    const { opened: { reader }, life, usage, onClientDisconnect } = this.#options;
    const delivered = this.#hasDelivered ? usage.counted(this.#metered) : undefined;
    const follows = delivered !== undefined && onClientDisconnect === "drain";
    const reported = follows ? await this.#follow() : undefined;
    const isComplete = reader.finished;
    this.#release(isComplete);
    if (!isComplete) life.abort();
    const charged = reported === undefined
      ? delivered
      : { usage: reported, usageSource: "upstream" as const };
    try {
      await life.settle({ ending: "client_left", status: 200, ...charged, patient: true });
    } finally {
      this.#end();
    }
  }

  /** Reads on without a client, for the usage at the end. */
  async #follow(): Promise<Usage | undefined> {
    const { opened: { reader, discard }, usage, followMs } = this.#options;
    const timer = setTimeout(discard, followMs);
    try {
      await this.#reading; // the client may have disconnected in the middle of a read
      while (!reader.finished) if (await this.#read() === undefined) return undefined;
      const settled = usage.settled(this.#metered);
      return settled.usageSource === "upstream" ? settled.usage : undefined;
    } catch {
      return undefined; // then it is charged as it was delivered
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends it for a client that has stopped reading: no pull would notice the shutdown. */
  async #cutOff(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    this.#isOver = true;
    this.#release(false);
    const text = await this.#fail(this.#options.life.cutOff.reason);
    this.#end();
    if (this.#isCancelled) return;
    controller.enqueue(this.#encoder.encode(text));
    controller.close();
  }

  /** Lets go of the upstream's reply. */
  #release(isComplete: boolean): void {
    const { opened: { reader, drain, discard } } = this.#options;
    this.#isOver = true;
    reader.close();
    if (isComplete) drain();
    else discard();
  }

  #end(): void {
    this.#options.onEnd();
    this.#options.life.end();
  }
}

function streamRefusal(error: unknown, cutOff: AbortSignal): Refusal {
  if (cutOff.aborted) return stoppingRefusal();
  if (error instanceof TransportFault) return brokenOff(error);
  if (error instanceof ExchangeFailed) return error.refusal;
  return asRefusal(databaseRefusal(error));
}
