import type { Sockets } from "../../src/doors/http/sockets.ts";
import { inTime, sleep } from "../fake/temp.ts";
import type { Attack, Pace, Reading } from "./attack.ts";
import type { Step, Target } from "./steps.ts";

/** Max time of the steps of an attack, whatever its pace. */
const STEPS_MS = 8_000;
/** Reading slowly: a piece at a time. */
const SLOW_BYTES = 1_024;
const SLOW_PAUSE_MS = 50;
const READ_BYTES = 65_536;

/** What came of an attack. */
export interface Outcome {
  readonly sentBytes: number;
  readonly receivedBytes: number;
  /** The first line of the first response, if one was read. */
  readonly status: string;
  /** Whether the gateway had ended the connection before the client did. */
  readonly isCut: boolean;
  readonly tookMs: number;
}

/** Plays an attack on a connection of its own. */
export class Attacker {
  readonly #connection: Deno.TcpConn;
  readonly #attack: Attack;
  readonly #sockets: Sockets | undefined;
  readonly #startTick = performance.now();
  #sentBytes = 0;
  #receivedBytes = 0;
  #status = "";
  #isCut = false;
  #isClosed = false;
  #replied: () => void = () => {};
  readonly #reply = new Promise<void>((resolve) => this.#replied = resolve);
  #readingDone: Promise<void> = Promise.resolve();

  private constructor(connection: Deno.TcpConn, attack: Attack, sockets: Sockets | undefined) {
    this.#connection = connection;
    this.#attack = attack;
    this.#sockets = sockets;
  }

  /** Connects. Fails if the gateway does not accept. */
  static async connect(
    attack: Attack,
    { port }: Target,
    sockets: Sockets | undefined,
  ): Promise<Attacker> {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    connection.setNoDelay(true);
    return new Attacker(connection, attack, sockets);
  }

  /** Sends what the attack sends. Resolves when it has nothing more to send, or is cut. */
  async send(): Promise<void> {
    const { steps, reading, stopAfterBytes } = this.#attack;
    if (reading !== "never reads") this.#readingDone = this.#read(reading);
    const late = setTimeout(() => this.close(), STEPS_MS); // a write that nobody takes ends only so
    for (const step of steps) {
      if (this.#isOver || this.#sentBytes >= stopAfterBytes) break;
      await this.#play(step);
    }
    clearTimeout(late);
  }

  /** Ends as the attack ends. Resolves when the connection is closed. */
  async end(): Promise<Outcome> {
    const { how, afterMs } = this.#attack.ending;
    if (how === "half-closes" && !this.#isClosed) {
      await this.#connection.closeWrite().catch(() => this.#isCut = true);
    }
    const untilTick = performance.now() + afterMs;
    while (!this.#isOver && performance.now() < untilTick) await sleep(20);
    if (how === "resets") this.#reset();
    this.close();
    await this.#readingDone;
    return {
      sentBytes: this.#sentBytes,
      receivedBytes: this.#receivedBytes,
      status: this.#status,
      isCut: this.#isCut,
      tookMs: performance.now() - this.#startTick,
    };
  }

  /** Closes the connection now. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#connection.close();
  }

  get #isOver(): boolean {
    return this.#isCut || this.#isClosed;
  }

  async #play(step: Step): Promise<void> {
    if (step.does === "send") return await this.#write(step.bytes, this.#attack.pace);
    if (step.does === "wait") {
      const untilTick = performance.now() + step.ms;
      while (!this.#isOver && performance.now() < untilTick) await sleep(10);
      return;
    }
    if (this.#attack.reading === "never reads") return await sleep(Math.min(step.withinMs, 300));
    await inTime(this.#reply, step.withinMs, undefined);
  }

  async #write(bytes: Uint8Array, { bytes: most, pauseMs }: Pace): Promise<void> {
    const left = Math.min(bytes.length, this.#attack.stopAfterBytes - this.#sentBytes);
    let rest = bytes.subarray(0, left);
    try {
      while (rest.length > 0 && !this.#isOver) {
        const count = await this.#connection.write(rest.subarray(0, most ?? rest.length));
        rest = rest.subarray(count);
        this.#sentBytes += count;
        if (pauseMs > 0) await sleep(pauseMs);
      }
    } catch {
      this.#isCut ||= !this.#isClosed;
    }
  }

  async #read(reading: Reading): Promise<void> {
    const isSlow = reading === "reads slowly";
    const buffer = new Uint8Array(isSlow ? SLOW_BYTES : READ_BYTES);
    try {
      while (!this.#isClosed) {
        const count = await this.#connection.read(buffer);
        if (count === null) break;
        if (this.#receivedBytes === 0) {
          this.#status =
            new TextDecoder("latin1").decode(buffer.subarray(0, 60)).split("\r\n")[0] ?? "";
          this.#replied();
        }
        this.#receivedBytes += count;
        if (isSlow) await sleep(SLOW_PAUSE_MS);
      }
    } catch {
      // reset, or closed by this end
    }
    this.#isCut ||= !this.#isClosed;
    this.#replied();
  }

  /** Has the system send a reset when the connection is closed, which the platform cannot ask of it. */
  #reset(): void {
    if (this.#sockets === undefined || this.#isClosed) return;
    const { localAddr, remoteAddr } = this.#connection;
    for (const one of this.#sockets.connections(new Set([remoteAddr.port]))) {
      if (one.localPort === localAddr.port) return this.#sockets.reset(one.descriptor);
    }
  }
}
