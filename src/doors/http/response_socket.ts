import {
  connectionFault,
  DIALECTS,
  errorFrame,
  isObject,
  readTurnFrame,
  streamIdOf,
  turnBody,
  TurnEvents,
  type TurnFault,
  type TurnFrame,
} from "../../wire/dialects/mod.ts";
import { asRefusal, invalid, Refusal } from "../../ground/refusal.ts";
import { delay } from "../../ground/std/mod.ts";
import { tooLarge } from "./partial_input.ts";
import type { RecentResponses } from "./recent_responses.ts";

/** What a connection needs. */
export interface ResponseSocketOptions {
  /** Sends a request for a turn through the gateway. */
  readonly request: (body: Uint8Array[], turn: TurnOptions) => Promise<Response>;
  readonly recent: RecentResponses;
  /** Max characters of a frame. */
  readonly maxChars: number;
  /** Called with the characters of frames that are in memory. Their client may be cut off for it. */
  readonly holds: (chars: number) => void;
  /**
   * Called with the size of a frame that was rejected before it became a request.
   *
   * @returns Whether the client may send more of them.
   */
  readonly rejected: (size: number) => boolean;
  /**
   * Called when a whole message has come, with the least size of its payload.
   *
   * @returns Whether it was masked, as far as is known.
   */
  readonly onMessage?: (bytes: number) => boolean;
  /** Called with an error that nobody expects. */
  readonly onFault: (error: unknown) => void;
  /** Called once, when the connection is closed. */
  readonly onClose: () => void;
}

/** How a turn is requested. */
export interface TurnOptions {
  /** Aborted when the client closes the connection. */
  readonly signal: AbortSignal;
  /** Whether the model is to reply. */
  readonly generates: boolean;
}

/** Max frames that wait for the turn in progress, and their characters. */
const MAX_WAITING = 4;
const MAX_WAITING_CHARS = 16 * 1_048_576;
/** Invalid frames in a row after which the connection is closed. */
const MAX_INVALID = 20;
/** Bytes that the client has not read yet, above which a turn pauses, and above which nobody is reading. */
const PAUSE_BYTES = 262_144;
const MAX_UNREAD_BYTES = 1_048_576;
const PAUSE_MS = 20;
const NORMAL = 1_000;

/** A turn that was requested. */
interface Turn extends Pick<TurnFrame, "previousId" | "streamId"> {
  readonly response: Promise<Response>;
}

/** A WebSocket over which responses are created, one after the other. */
export class ResponseSocket {
  readonly #socket: WebSocket;
  readonly #options: ResponseSocketOptions;
  readonly #abort = new AbortController();
  #waiting: string[] = [];
  #waitingChars = 0;
  /** Size of the last frame, which the platform keeps until the next one comes (Deno 2.9). */
  #lastChars = 0;
  #isRunning = false;
  #invalid = 0;
  #isOver = false;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  /** Why it is closed after the turn in progress. */
  #closing: { readonly reason: string; readonly fault: TurnFault | undefined } | undefined;
  /** `performance.now()` at its beginning and after its last turn. */
  readonly openedTick = performance.now();
  usedTick = this.openedTick;
  /** Since when a turn waits for the client to read anything of what it was sent; undefined if none does. */
  unreadTick: number | undefined;

  constructor(socket: WebSocket, options: ResponseSocketOptions) {
    this.#socket = socket;
    this.#options = options;
    socket.onopen = () => {
      if (this.#closing !== undefined) this.#close();
    };
    socket.onmessage = ({ data }) => this.#receive(data);
    socket.onerror = () => this.#end();
    socket.onclose = () => this.#end();
  }

  /** Whether a turn is in progress. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Whether the client's end is open, too. */
  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  /** Closes the connection once no turn is in progress. @param fault An error for the client. */
  close(reason: string, fault?: TurnFault): void {
    if (this.#closing !== undefined) return;
    this.#closing = { reason, fault };
    if (!this.#isRunning) this.#close();
  }

  /** Closes the connection at once. @param error What the client gets. */
  refuse(error: Refusal): void {
    this.#closing = { reason: "", fault: faultOf(error) };
    this.abandon();
  }

  /** Lets go of a connection that does not end by itself. */
  abandon(): void {
    this.#close();
    this.#end();
  }

  #close(): void {
    const { reason, fault } = this.#closing ?? {};
    try {
      if (fault !== undefined) this.#send(errorFrame(fault));
      this.#socket.close(NORMAL, reason);
    } catch {
      // it is not open yet, or not any more
    }
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#waiting = [];
    this.#options.holds(0);
    this.#abort.abort();
    this.#reader?.cancel().catch(() => {}); // settles a turn in progress
    this.#options.recent.clear();
    this.#options.onClose();
  }

  #receive(data: unknown): void {
    const size = typeof data === "string" ? data.length : sizeOf(data);
    const isMasked = this.#options.onMessage?.(size) ?? true;
    if (this.#isOver) return;
    this.#lastChars = size;
    this.#noteHeld();
    if (this.#isOver || this.#closing !== undefined) return;
    if (!isMasked) return this.refuse(notMasked());
    if (typeof data !== "string") {
      const message = "Binary frames are not supported: send JSON as text.";
      return this.#reject(faultOf(invalid(undefined, message)), size);
    }
    const { maxChars } = this.#options;
    if (data.length > maxChars) {
      return this.#reject(faultOf(tooLarge(maxChars)), data.length);
    }
    if (!this.#isRunning) {
      this.#isRunning = true;
      this.#wait(data);
      this.#run().catch((error) => {
        this.#options.onFault(error);
        this.abandon();
      });
      return;
    }
    const isFull = this.#waiting.length === MAX_WAITING ||
      this.#waitingChars + data.length > MAX_WAITING_CHARS;
    if (isFull) {
      const message =
        "Too many requests wait for the response in progress: send the next one after it.";
      const fault = faultOf(new Refusal("rate_exceeded", message));
      return this.#reject(fault, data.length, streamIdOf(data));
    }
    this.#wait(data);
    this.#noteHeld();
  }

  #wait(data: string): void {
    this.#waiting.push(data);
    this.#waitingChars += data.length;
  }

  #noteHeld(): void {
    this.#options.holds(this.#waitingChars + this.#lastChars);
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0 && this.#closing === undefined) {
      const turn = this.#begin();
      if (turn !== undefined) await this.#reply(turn);
      await this.#room(); // errors are frames, too
    }
    this.#isRunning = false;
    this.usedTick = performance.now();
    if (this.#closing !== undefined) this.#close();
  }

  /**
   * Requests the next turn. By itself, and not in a function that waits: a turn may take minutes, and must not keep a frame of
   * megabytes.
   *
   * @returns `undefined` if the frame is rejected.
   */
  #begin(): Turn | undefined {
    const { recent, request } = this.#options;
    const data = this.#waiting.shift()!;
    this.#waitingChars -= data.length;
    this.#noteHeld();
    let frame: TurnFrame;
    try {
      frame = readTurnFrame(data);
    } catch (error) {
      this.#reject(faultOf(asRefusal(error)), data.length, streamIdOf(data));
      return undefined;
    }
    const { items, previousId, generates, streamId } = frame;
    const earlier = previousId === undefined ? [] : recent.find(previousId);
    if (earlier === undefined) {
      this.#reject(notFound(), data.length, streamId);
      return undefined;
    }
    this.#invalid = 0;
    recent.begin(items === undefined ? earlier : [...earlier, items]);
    const response = request(turnBody(frame, earlier), { signal: this.#abort.signal, generates });
    return { response, previousId, streamId };
  }

  async #reply(turn: Turn): Promise<void> {
    const { recent } = this.#options;
    let isComplete = false;
    try {
      const response = await turn.response;
      isComplete = isEventStream(response)
        ? await this.#forward(response, turn)
        : await this.#forwardError(response, turn);
    } finally {
      recent.end();
      if (!isComplete && turn.previousId !== undefined) recent.forget(turn.previousId);
    }
  }

  /** Sends the events of a response. @returns Whether it can be continued. */
  async #forward(
    { body }: Response,
    { previousId, streamId }: Turn,
  ): Promise<boolean> {
    const events = new TurnEvents(previousId, streamId);
    this.#reader = body!.getReader();
    try {
      if (this.#isOver) await this.#reader.cancel();
      while (true) {
        const { value, done } = await this.#reader.read();
        if (done) break;
        for (const frame of events.push(value)) this.#send(frame);
        await this.#room();
      }
    } catch (error) {
      this.#send(errorFrame(faultOf(asRefusal(error)), streamId));
      return false;
    } finally {
      this.#reader = undefined;
    }
    const { ended } = events;
    if (ended === undefined || !ended.isComplete || this.#isOver) return false;
    this.#options.recent.complete(ended.id, ended.items);
    return true;
  }

  async #forwardError(response: Response, { streamId }: Turn): Promise<false> {
    const body: unknown = await response.json().catch(() => undefined);
    const error = isObject(body) && isObject(body.error) ? body.error : {};
    const headers = Object.fromEntries(
      [...response.headers].filter(([name]) =>
        name.startsWith("x-") || /^retry-after$|^request-id$/.test(name)
      ),
    );
    this.#send(errorFrame({ status: response.status, error, headers }, streamId));
    return false;
  }

  #reject(fault: TurnFault, size: number, streamId?: string): void {
    const mayGoOn = this.#options.rejected(size);
    this.#invalid++;
    this.#send(errorFrame(fault, streamId));
    const isFlood = !mayGoOn || this.#invalid >= MAX_INVALID ||
      this.#socket.bufferedAmount > MAX_UNREAD_BYTES;
    if (isFlood) this.close("too many invalid frames");
  }

  #send(frame: string): void {
    if (this.isOpen) this.#socket.send(frame);
  }

  /** Waits until the client has read most of what it was sent: there is no event for it. */
  async #room(): Promise<void> {
    let [unreadBytes, waitMs] = [Infinity, 1];
    while (this.isOpen) {
      const { bufferedAmount } = this.#socket;
      if (bufferedAmount <= PAUSE_BYTES) break;
      if (bufferedAmount < unreadBytes) this.unreadTick = performance.now();
      unreadBytes = bufferedAmount;
      // shortly at first: a client that reads at once is not slow
      await delay(waitMs);
      waitMs = Math.min(2 * waitMs, PAUSE_MS);
    }
    this.unreadTick = undefined;
  }
}

function isEventStream({ headers }: Response): boolean {
  return headers.get("content-type")?.startsWith("text/event-stream") ?? false;
}

/** Bytes of a binary frame. */
function sizeOf(data: unknown): number {
  if (data instanceof Blob) return data.size;
  return data instanceof ArrayBuffer ? data.byteLength : 0;
}

function faultOf(refusal: Refusal): TurnFault {
  const { error } = DIALECTS.responses.front.errorBody(refusal, "");
  return { status: refusal.status, error: isObject(error) ? error : {} };
}

function notMasked(): Refusal {
  return invalid(undefined, "Frames of a client must be masked (RFC 6455, section 5.1).");
}

function notFound(): TurnFault {
  return connectionFault(
    "previous_response_not_found",
    "The previous response is not known on this connection: send the whole input, without previous_response_id.",
    "previous_response_id",
  );
}
