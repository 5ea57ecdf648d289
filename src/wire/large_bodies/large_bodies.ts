import { setImmediate } from "node:timers";
import type { Examined } from "../pixels/mod.ts";
import { DetachedBase64 } from "./detached_base64.ts";
import { type CoarseTimers, SlotMap } from "../../ground/platform/mod.ts";
import { FairShare, RoundRobin } from "../../ground/fair_share/mod.ts";
import type { JsonBounds, JsonExcess } from "../json/mod.ts";
import type { Answer, Ask } from "./protocol.ts";

/** Sizes of room are multiples of this, and more than one, so that one fits many bodies. */
const ROUNDED_TO = 1_048_576;
/** With more than these waiting for a turn, there is a pause between two turns. */
const MANY = 2;
const PAUSE_MS = 1;

/** Messages to the thread at once: one that is handled, one that is next. */
const ASKS = 2;
const ASK_WAIT_MS = 30_000;

/** How long buffers wait to be used again. */
const SPARE_MS = 10_000;

/** Each member of a union without its number. */
type Unnumbered<T> = T extends unknown ? Omit<T, "id"> : never;

/**
 * Where large bodies are handled: in memory that is used again, by a thread of their own, at a pace that
 * leaves small requests alone.
 */
export class LargeBodies {
  /** Bytes that they may hold. */
  readonly memory: FairShare;
  /** The thread's time. */
  readonly #thread: FairShare;
  readonly #timers: CoarseTimers;
  /** Buffers that were used and are used again: new memory costs more than all else about a body. */
  #spare: ArrayBuffer[] = [];
  #forgetSpare = () => {};
  readonly #turns = new RoundRobin<() => void>();
  readonly #open = new SlotMap<PromiseWithResolvers<Answer>>();
  #worker: Worker | undefined;

  constructor(memory: FairShare, timers: CoarseTimers) {
    this.memory = memory;
    this.#timers = timers;
    this.#thread = new FairShare({
      resource: "large request bodies",
      capacity: ASKS,
      perAccount: 1,
      waitMs: ASK_WAIT_MS,
      timers,
    });
  }

  /**
   * Room for a body of more than 1 MB: at least `size` bytes, and maybe more. It may hold what another body
   * left there, so only what was written since may be read.
   */
  room(size: number): ArrayBuffer {
    const fits = ({ byteLength }: ArrayBuffer) =>
      byteLength >= size && byteLength <= 2 * size + ROUNDED_TO;
    const at = this.#spare.findIndex(fits);
    if (at >= 0) return this.#spare.splice(at, 1)[0]!;
    this.#dropSpare();
    return new ArrayBuffer(Math.ceil((size + 1) / ROUNDED_TO) * ROUNDED_TO);
  }

  /**
   * Waits for an account's turn to handle a portion of a large body. One turn is given at a time, account by
   * account, and whatever else is ready comes between two of them; when many wait, the machine has a pause as
   * well. So no number of large bodies holds small ones up: they go on at some 50 MB a second in and as much
   * out, less than they could.
   */
  readonly turn = (account: string): Promise<void> =>
    new Promise((resolve) => {
      this.#turns.add(account, resolve);
      if (this.#turns.size === 1) setImmediate(this.#nextTurn);
    });

  readonly #nextTurn = () => {
    this.#turns.take()?.();
    if (this.#turns.size > MANY) setTimeout(this.#nextTurn, PAUSE_MS);
    else if (this.#turns.size > 0) setImmediate(this.#nextTurn);
  };

  #dropSpare(): void {
    this.#forgetSpare();
    for (const buffer of this.#spare.splice(0)) buffer.transfer(0); // gone at once, not some day
  }

  /**
   * Takes the long base64 out of a JSON text, and looks through it for images.
   *
   * @param json Not known to be valid. Given away with its whole buffer.
   * @returns The text in UTF-8 with marks in the detached base64's places, all of it when there are none, and whether a
   *   number in it has 16 digits in a row; or the bound that it exceeds.
   * @throws {Refusal} `gateway_unavailable` when the thread has no time for it.
   */
  async detach(
    json: Uint8Array<ArrayBuffer>,
    detached: DetachedBase64,
    bounds: JsonBounds,
  ): Promise<
    | { readonly text: Uint8Array; readonly longDigits: boolean }
    | { readonly excess: JsonExcess }
  > {
    const answer = await this.#ask({ kind: "json", bytes: json, bounds }, detached.account);
    if (answer.kind !== "json") throw new Error("the thread answered something else");
    if (answer.excess !== undefined) return { excess: answer.excess };
    const { longDigits } = answer;
    if (answer.runs.length === 0) return { text: answer.bytes, longDigits };
    await this.turn(detached.account);
    detached.hold({ release: () => detached.sending || this.#keep(answer.bytes.buffer) });
    return { text: detached.detachRuns(answer.bytes, answer.runs), longDigits };
  }

  /**
   * Looks through an image and sets its base64 aside.
   *
   * @param image Raw. Given away with its whole buffer.
   * @returns What stands for its base64 in a text.
   */
  async encode(
    image: Uint8Array<ArrayBuffer>,
    detached: DetachedBase64,
  ): Promise<{ data: string; examined: Examined }> {
    const size = image.byteLength;
    const answer = await this.#ask({ kind: "image", bytes: image }, detached.account);
    if (answer.kind !== "image") throw new Error("the thread answered something else");
    const { bytes: base64, examined } = answer;
    return { data: detached.add({ base64, size, examined }), examined };
  }

  close(): void {
    this.#dropSpare();
    this.#worker?.terminate();
    this.#fail(new Error("the gateway is closing"));
  }

  /** Small bodies bring buffers of their own, which nobody asks for again. */
  #keep(buffer: ArrayBuffer): void {
    if (buffer.byteLength <= ROUNDED_TO) return;
    this.#spare.push(buffer.transfer()); // views of it that are still kept are empty now
    this.#forgetSpare();
    this.#forgetSpare = this.#timers.after(SPARE_MS, () => this.#dropSpare());
  }

  async #ask(ask: Unnumbered<Ask>, account: string): Promise<Answer> {
    using _share = await this.#thread.take(account, 1);
    const answered = Promise.withResolvers<Answer>();
    const id = this.#open.add(answered);
    this.#worker ??= this.#start();
    this.#worker.postMessage({ ...ask, id }, [ask.bytes.buffer]);
    return await answered.promise;
  }

  /** Begins with the first large body: few gateways' idle memory should pay for it. */
  #start(): Worker {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), {
      type: "module",
      name: "large bodies",
    });
    worker.onmessage = ({ data }: MessageEvent<Answer>) => {
      if (worker === this.#worker) this.#open.take(data.id)?.resolve(data);
    };
    worker.onerror = (event) => {
      event.preventDefault();
      worker.terminate();
      this.#fail(new Error(`the thread for large bodies died: ${event.message}`));
    };
    return worker;
  }

  /** The next body gets a new thread. */
  #fail(error: Error): void {
    this.#worker = undefined;
    for (const { reject } of this.#open.clear()) reject(error);
  }
}
