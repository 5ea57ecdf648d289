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

/** A WebSocket over which responses are created, one after the other. */
export class ResponseSocket {
  readonly #socket: WebSocket;
  readonly #options: ResponseSocketOptions;
  readonly #abort = new AbortController();
  #waiting: string[] = [];
  #waitingChars = 0;
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
    this.#abort.abort();
    this.#reader?.cancel().catch(() => {}); // settles a turn in progress
    this.#options.recent.clear();
    this.#options.onClose();
  }

  #receive(data: unknown): void {
    const isMasked =
      this.#options.onMessage?.(typeof data === "string" ? data.length : sizeOf(data)) ?? true;
    if (this.#isOver || this.#closing !== undefined) return;
    if (!isMasked) return this.refuse(notMasked());
    if (typeof data !== "string") {
      const message = "Binary frames are not supported: send JSON as text.";
      return this.#reject(faultOf(invalid(undefined, message)), sizeOf(data));
    }
    const { maxChars } = this.#options;
    if (data.length > maxChars) {
      return this.#reject(faultOf(tooLarge(maxChars)), data.length);
    }
    if (!this.#isRunning) {
      this.#isRunning = true;
      this.#run(data).catch((error) => {
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
    this.#waiting.push(data);
    this.#waitingChars += data.length;
  }

  async #run(first: string): Promise<void> {
    for (let data: string | undefined = first; data !== undefined; data = this.#next()) {
      await this.#turn(data);
      await this.#room(); // errors are frames, too
    }
    this.#isRunning = false;
    this.usedTick = performance.now();
    if (this.#closing !== undefined) this.#close();
  }

  #next(): string | undefined {
    if (this.#closing !== undefined) return undefined;
    const next = this.#waiting.shift();
    this.#waitingChars -= next?.length ?? 0;
    return next;
  }

  async #turn(data: string): Promise<void> {
    const { recent, request } = this.#options;
    let frame: TurnFrame;
    try {
      frame = readTurnFrame(data);
    } catch (error) {
      return this.#reject(faultOf(asRefusal(error)), data.length, streamIdOf(data));
    }
    const { previousId, generates, streamId } = frame;
    const earlier = previousId === undefined ? [] : recent.find(previousId);
    if (earlier === undefined) return this.#reject(notFound(), data.length, streamId);
    this.#invalid = 0;
    let isComplete = false;
    try {
      const body = turnBody(frame, earlier);
      const response = await request(body, { signal: this.#abort.signal, generates });
      isComplete = isEventStream(response)
        ? await this.#forward(response, frame, earlier)
        : await this.#forwardError(response, streamId);
    } finally {
      if (!isComplete && previousId !== undefined) recent.forget(previousId);
    }
  }

  /** Sends the events of a response. @returns Whether it can be continued. */
  async #forward(
    { body }: Response,
    { items, previousId, streamId }: TurnFrame,
    earlier: readonly Uint8Array[],
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
    const own = [items, ended.items].filter((piece) => piece !== undefined);
    this.#options.recent.remember(ended.id, [...earlier, ...own]);
    return true;
  }

  async #forwardError(response: Response, streamId: string | undefined): Promise<false> {
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
