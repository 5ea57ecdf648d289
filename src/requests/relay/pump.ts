import { BrokenOff, type Usage } from "../../wire/dialects/mod.ts";
import { delay } from "../../ground/std/mod.ts";
import { TransportFault, type Waiter } from "../upstreams/mod.ts";
import { ClientPace } from "./client_pace.ts";
import type { MeteredReply, SettledUsage } from "./charged_usage.ts";
import { DISCONNECTED_DURING, failedEnd, KEPT_WAITING } from "./failed_end.ts";
import { meteredOf, withInputOf } from "./metered_reply.ts";
import type { PumpOptions } from "./pump_options.ts";
import { isAsked, streamRefusal } from "./stream_failure.ts";
import { readyReader, type ReadyTextReader } from "./text_reader.ts";

/**
 * A stream that breaks off sooner says something of its target. A later break may be due to its length, which the client
 * chose: many proxies limit how long a response takes.
 */
const EARLY_MS = 10_000;
/** The platform needs some turns of the event loop to notice a disconnect, which on a busy machine take as long as all that waits. */
const NOTICE_MS = 20;

const encoder = new TextEncoder();

/**
 * Pumps a reply to its client: read an upstream's events, meter them, write the client's, one piece at a
 * time and only when the client has room for it.
 *
 * It ends in exactly one of four ways: complete (the charge is committed before the last bytes, P5), cut
 * off as at its token limit because the balance pays for no more, failed (an error event is the last
 * one), or disconnected by the client (the upstream is cancelled, or read to its end for its usage).
 *
 * | way          | noticed by                                    | charged                                             | the client gets          |
 * | ------------ | --------------------------------------------- | --------------------------------------------------- | ------------------------ |
 * | complete     | the reader is finished (`wake`)               | the usage, as reported or counted                   | the end, after the charge |
 * | cut off      | the hold does not grow (`#extendFirst`)       | what was delivered, as far as it is held            | the end of a token limit |
 * | failed       | the reader throws (`#break`), or the gateway  | nothing; what was delivered if the client asked for | an error event, last     |
 * |              | stops (`#cutOff`)                             | the failure or kept the upstream waiting            |                          |
 * | disconnected | the platform (`cancel`)                       | the usage if it is followed to its end, else what   | nothing                  |
 * |              |                                               | was delivered                                       |                          |
 *
 * A waiting stream has no promise and no suspended function: the pump itself is woken when there is something to send.
 */
export class StreamPump implements UnderlyingDefaultSource<Uint8Array>, Waiter {
  readonly #options: PumpOptions;
  readonly #reader: ReadyTextReader;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /**
   * ```text
   * idle ──the client waits──▶ pulling ──its last text is settled, or it failed──▶ over: nothing more is read for the client
   *   ▲                         │   │                                             │
   *   └──it has got something───┘   └───────────the client disconnects────────────┴──▶ cancelled: nothing can be sent
   * ```
   *
   * A shutdown ends an idle stream, too.
   */
  #state: "idle" | "pulling" | "over" | "cancelled" = "idle";
  /** Output tokens of the hold that the reader may use; several choices share them. */
  #granted: number;
  /** Whether any output was delivered to the client; what was only read is not charged. */
  #hasDelivered = false;
  readonly #pace = new ClientPace();
  readonly #beganTick = performance.now();
  /** When there was output last, and how much of it. */
  #outputTick = this.#beganTick;
  #countedOutput = 0;

  constructor(options: PumpOptions) {
    this.#options = options;
    this.#reader = readyReader(options.opened.reader);
    this.#granted = options.life.hold.outputTokens;
  }

  /** The response's body. Nothing is read before the client asks for it. */
  stream(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(this, { highWaterMark: 0 });
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller;
    this.#options.life.signal.addEventListener("abort", this, { once: true });
  }

  get #isOver(): boolean {
    return this.#state === "over" || this.#state === "cancelled";
  }

  /** The request was given up. */
  handleEvent(): void {
    const { cutOff } = this.#options.life;
    if (cutOff.aborted && this.#state === "idle") this.#watch(this.#cutOff());
  }

  /** Sends the next text, now or when there is one: what is enqueued is what ends a pull, not what this returns. */
  pull(): void {
    if (this.#state !== "idle") return; // the platform asks again while nothing was enqueued
    this.#state = "pulling";
    this.#pace.pulled();
    this.wake();
  }

  async cancel(): Promise<void> {
    const wasOver = this.#isOver;
    this.#state = "cancelled";
    if (!wasOver) await this.#disconnected();
  }

  /** Sends what there is; waits for more if there is nothing. */
  wake(): void {
    if (this.#state !== "pulling") return;
    const reader = this.#reader;
    let text = "";
    try {
      while (text === "" && !reader.finished) {
        this.#options.life.cutOff.throwIfAborted();
        if (reader.atLimit) return this.#watch(this.#extendFirst());
        const taken = reader.take();
        if (taken === undefined) return reader.whenReady(this);
        this.#pace.outputCame();
        text = taken;
        this.#noteOutput();
      }
    } catch (error) {
      this.#pace.outputCame();
      return this.#watch(this.#break(error));
    }
    if (reader.finished) return this.#watch(this.#finish(text, () => this.#complete()));
    this.#state = "idle"; // first: the reader may ask for the next text at once
    this.#deliver(text);
  }

  /** Goes on once the hold has grown; ends the reply here if the balance pays for no more. */
  async #extendFirst(): Promise<void> {
    try {
      if (!await this.#extend()) return await this.#finish("", () => this.#truncate());
    } catch (error) {
      return await this.#break(error);
    }
    this.wake();
  }

  /** Sends the last text, with the end that a settlement allows. */
  async #finish(text: string, settled: () => Promise<string>): Promise<void> {
    if (this.#isOver) return; // the client disconnected meanwhile
    let end: string;
    try {
      end = await settled();
    } catch (error) {
      return await this.#break(error, text);
    }
    this.#close(text + end, this.#reader.finished);
  }

  /** Ends a stream that failed, after the last text before that. */
  async #break(error: unknown, text = ""): Promise<void> {
    // a client may have left before, and not have been noticed yet: a failure is free only for who is there
    if (this.#hasDelivered) await delay(NOTICE_MS);
    if (this.#isOver) return;
    this.#close(text + await this.#fail(error), false);
  }

  #close(text: string, isComplete: boolean): void {
    if (this.#isOver) return;
    this.#state = "over";
    this.#deliver(text);
    this.#closeController();
    this.#release(isComplete);
    this.#end();
  }

  #deliver(text: string): void {
    const reader = this.#reader;
    this.#pace.delivered();
    this.#hasDelivered ||= reader.reply.hasOutput;
    this.#controller!.enqueue(encoder.encode(text));
  }

  #noteOutput(): void {
    const { life } = this.#options;
    const { hasOutput, countedOutput } = this.#reader.reply;
    if (hasOutput) life.outputBegan();
    if (countedOutput !== this.#countedOutput) this.#outputTick = performance.now();
    this.#countedOutput = countedOutput;
    life.hold.lookAhead(countedOutput);
  }

  /** Waits for room under the limit; false when the balance has none. */
  async #extend(): Promise<boolean> {
    const { hold } = this.#options.life;
    const reader = this.#reader;
    while (reader.atLimit) {
      const before = this.#granted;
      this.#granted = await hold.extend(before);
      reader.outputLimit = this.#granted;
      if (this.#granted > before) continue;
      const { overcounted = 0, countedOutput } = reader.reply;
      const most = hold.maxDelivered + overcounted;
      if (before >= hold.maxDelivered && most > countedOutput) { // as some tokenizer explains
        reader.outputLimit = this.#granted = most;
        continue;
      }
      // its end tells what the input was; the upstream was asked for no more than was paid for
      if (!this.#options.usage.lacksInput(this.#metered)) return false;
      this.#granted = hold.maxDelivered;
      reader.outputLimit = this.#granted;
      if (this.#granted <= before) return false;
    }
    return true;
  }

  /** Whether the client kept the upstream waiting: a failure then may be its doing. */
  get #keptWaiting(): boolean {
    return this.#pace.keptWaiting(this.#state === "pulling");
  }

  get #metered(): MeteredReply {
    const { reply, requests } = this.#reader;
    return meteredOf(reply, requests);
  }

  /** What is charged of a reply that is cut short. */
  get #cutShort() {
    const { usage, life } = this.#options;
    return usage.cutShort(this.#metered, { heldOutput: life.hold.outputTokens });
  }

  async #complete(): Promise<string> {
    const { plan } = this.#options;
    plan?.upstream.health.streamCompleted(plan.target.model);
    const settled = this.#options.usage.settled(this.#metered);
    await this.#options.life.settle({ ending: "complete", status: 200, ...settled });
    return await this.#closing(settled.usage);
  }

  async #truncate(): Promise<string> {
    const { usage, life } = this.#options;
    const settled = usage.cutOff(this.#metered, life.hold.outputTokens);
    await life.settle({ ending: "complete", status: 200, ...settled });
    return this.#reader.reply.truncate() + await this.#closing(settled.usage);
  }

  /** The end of a reply, once its items can be referred to. */
  async #closing(usage: Usage): Promise<string> {
    const { reply } = this.#reader;
    const text = reply.close(usage);
    const { outputItems } = reply;
    if (outputItems !== undefined) await this.#options.keepItems(outputItems);
    return text;
  }

  /**
   * Settles a failure; returns the error event. It costs nothing if the upstream or the gateway broke what the client read
   * without delay, and is still there. What a client can cause never makes free what was delivered.
   */
  async #fail(error: unknown): Promise<string> {
    const { life, plan, onFault, errorEvent } = this.#options;
    const refusal = streamRefusal(error, life.cutOff);
    if (refusal.reason === "internal") onFault(error);
    if (this.#isTargets(error)) plan?.upstream.health.streamBroke(plan.target.model);
    const mayBeAsked = isAsked(error, refusal);
    const hasLeft = this.#hasDelivered && life.hasLeft();
    // a fault of the gateway's own is free
    const isCharged = this.#hasDelivered && refusal.reason !== "internal" &&
      (mayBeAsked || hasLeft || this.#keptWaiting);
    await life.settle({
      ...(!isCharged || mayBeAsked ? failedEnd(refusal) : {
        ending: "client_left",
        status: 200,
        failure: hasLeft ? DISCONNECTED_DURING : KEPT_WAITING,
      }),
      ...(isCharged ? this.#cutShort : {}),
    }).catch(() => {}); // it is in the log
    return this.#reader.reply.fail?.(refusal) ?? errorEvent(refusal);
  }

  /**
   * Whether a failure says something of its target, whatever the client may have asked for or done: its connection broke, or it
   * ended the stream before its end. An error that the upstream reports may be about the request.
   */
  #isTargets(error: unknown): boolean {
    const isBreak = error instanceof BrokenOff ||
      error instanceof TransportFault && error.kind === "broken";
    return isBreak && !this.#keptWaiting && !this.#options.life.signal.aborted &&
      this.#outputTick - this.#beganTick <= EARLY_MS;
  }

  async #disconnected(): Promise<void> {
    const { life, onClientDisconnect, follow, usage } = this.#options;
    const reader = this.#reader;
    const delivered = this.#hasDelivered ? this.#metered : undefined;
    const heldOutput = life.hold.outputTokens;
    const isFollowed = delivered !== undefined &&
      (onClientDisconnect === "drain" || usage.lacksInput(delivered));
    const ended = isFollowed ? follow() : undefined;
    const followed = ended === undefined ? undefined : await this.#follow();
    ended?.();
    const isComplete = reader.finished;
    this.#release(isComplete);
    if (!isComplete) life.abort();
    const now = delivered && withInputOf(delivered, this.#metered);
    const charged = followed ?? (now && usage.cutShort(now, { heldOutput, isRead: isComplete }));
    try {
      await life.settle({
        ending: "client_left",
        status: 200,
        failure: DISCONNECTED_DURING,
        ...charged,
        patient: true,
      });
    } finally {
      this.#end();
    }
  }

  /** Reads on without a client, for the usage at the end. */
  async #follow(): Promise<SettledUsage | undefined> {
    const { opened: { discard }, life, usage, followMs } = this.#options;
    const reader = this.#reader;
    const timer = setTimeout(discard, followMs);
    try {
      while (!reader.finished) {
        life.cutOff.throwIfAborted();
        if (!await this.#extend()) return undefined;
        await reader.next();
        this.#noteOutput();
      }
      return this.#metered.usage === undefined ? undefined : usage.settled(this.#metered);
    } catch {
      return undefined; // then it is charged as it was delivered
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends it for a client that has stopped reading: no pull would notice the shutdown. */
  async #cutOff(): Promise<void> {
    this.#release(false);
    const text = await this.#fail(this.#options.life.cutOff.reason);
    this.#end();
    if (this.#state === "cancelled") return;
    this.#controller!.enqueue(encoder.encode(text));
    this.#closeController();
  }

  /** Ends the body, unless the platform found out that the client is gone when it was given the last text. */
  #closeController(): void {
    if (this.#state !== "cancelled") this.#controller!.close();
  }

  /** A fault of the gateway's own ends the stream, not the process. */
  #watch(work: Promise<void>): void {
    work.catch((error) => {
      this.#options.onFault(error);
      this.#controller!.error(error);
      this.#release(false);
      this.#options.life.end();
    });
  }

  /** Lets go of the upstream's reply. */
  #release(isComplete: boolean): void {
    const { opened: { drain, discard } } = this.#options;
    if (this.#state !== "cancelled") this.#state = "over";
    this.#reader.close();
    if (isComplete) drain();
    else discard();
  }

  #end(): void {
    this.#options.onEnd();
    this.#options.life.end();
  }
}
