import { joinBytes, jsonIn } from "../../../ground/platform/mod.ts";
import { Buffer } from "node:buffer";
import { crc32 } from "node:zlib";
import { EventStreamCodec } from "@smithy/eventstream-codec";
import { entryOf, isObject, type JsonObject, text } from "../../../wire/dialects/mod.ts";
import { type ByteSource, type Transport, TransportFault } from "../transport.ts";

/** Content type of AWS's binary event streams. */
const FRAMES = "application/vnd.amazon.eventstream";
/** A frame: 12 bytes of prelude, 4 of checksum. */
const MIN_FRAME = 16;
/** A single event of a reply is not longer. */
const MAX_FRAME = 16 * 1024 * 1024;

const decoder = new TextDecoder();
const encoder = new TextEncoder();
const codec = new EventStreamCodec(
  (bytes) => decoder.decode(bytes),
  (words) => encoder.encode(words),
);

/** A transport whose streams come in AWS's frames and leave as server-sent events of messages. */
export function withFrames(send: Transport): Transport {
  return async (request) => {
    const reply = await send(request);
    if (!String(reply.headers["content-type"]).startsWith(FRAMES)) return reply;
    return {
      ...reply,
      headers: { ...reply.headers, "content-type": "text/event-stream" },
      body: new FrameReader(reply.body),
    };
  };
}

/** Reads the events of frames, each checked by its two checksums (docs.aws.amazon.com, Amazon event stream encoding). */
export class FrameReader implements ByteSource {
  readonly #source: ByteSource;
  #rest: Uint8Array = new Uint8Array(0);
  /** Bytes that the next frame needs, as far as that is known. */
  #wanted = MIN_FRAME;
  #fault: TransportFault | undefined;

  /** @param source The frames, in pieces that are cut anywhere. */
  constructor(source: ByteSource) {
    this.#source = source;
  }

  async read(): Promise<Uint8Array | undefined> {
    while (true) {
      const events = this.#takeAll();
      if (events !== "") return encoder.encode(events);
      if (this.#fault !== undefined) throw this.#fault;
      if (await this.#gather()) continue;
      if (this.#rest.byteLength === 0) return undefined;
      throw new TransportFault("broken", "the stream ended within a frame");
    }
  }

  /** Waits for the bytes that are wanted, and joins them once, in however many pieces they come; false if the stream ends before. */
  async #gather(): Promise<boolean> {
    const pieces = [this.#rest];
    let size = this.#rest.byteLength;
    while (size < this.#wanted) {
      const more = await this.#source.read();
      if (more === undefined) break;
      pieces.push(more);
      size += more.byteLength;
    }
    this.#rest = joinBytes(pieces, size);
    return size >= this.#wanted;
  }

  /** The events of all frames that have come whole. A damaged one ends the reply after those before it. */
  #takeAll(): string {
    let events = "";
    try {
      while (this.#rest.byteLength >= MIN_FRAME) {
        this.#wanted = lengthOf(this.#rest);
        if (this.#rest.byteLength < this.#wanted) return events;
        events += eventOf(this.#rest.subarray(0, this.#wanted));
        this.#rest = this.#rest.subarray(this.#wanted);
      }
    } catch (error) {
      if (!(error instanceof TransportFault)) throw error;
      this.#fault = error;
      this.#rest = new Uint8Array(0);
    }
    this.#wanted = MIN_FRAME;
    return events;
  }
}

/** The length of the frame that begins here, by a prelude that is not damaged: nothing is waited for that does not come. */
function lengthOf(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = view.getUint32(0);
  const isDamaged = crc32(bytes.subarray(0, 8)) !== view.getUint32(8);
  if (!isDamaged && length >= MIN_FRAME && length <= MAX_FRAME) return length;
  throw new TransportFault(
    "broken",
    isDamaged
      ? "the prelude of a frame is damaged"
      : `a frame of the stream says that it has ${length} bytes`,
  );
}

/** A frame's event as server-sent text; nothing for a frame of a kind that says nothing. */
function eventOf(frame: Uint8Array): string {
  let message: ReturnType<EventStreamCodec["decode"]>;
  try {
    message = codec.decode(frame);
  } catch (error) {
    throw new TransportFault(
      "broken",
      `a frame of the stream is damaged: ${String(error).slice(0, 100)}`,
    );
  }
  const header = (name: string) => text(message.headers[name]?.value as string | undefined);
  const said = parsed(decoder.decode(message.body));
  if (header(":message-type") === "event") {
    const bytes = text(said?.bytes);
    // servers that play Bedrock send the event itself
    const event = bytes === undefined ? said : parsed(decoder.decode(Buffer.from(bytes, "base64")));
    const type = text(event?.type);
    return type === undefined ? "" : `event: ${type}\ndata: ${JSON.stringify(event)}\n\n`;
  }
  const kind = header(":exception-type") ?? header(":error-code") ?? "exception";
  const words = text(said?.message) ?? header(":error-message") ?? kind;
  return errorEvent(kind, words);
}

/** Exceptions of Bedrock by the types of errors that messages has. */
const ERROR_TYPES: Readonly<Record<string, string>> = {
  throttlingexception: "rate_limit_error",
  validationexception: "invalid_request_error",
  serviceunavailableexception: "overloaded_error",
};

function errorEvent(kind: string, message: string): string {
  const type = entryOf(ERROR_TYPES, kind.toLowerCase()) ?? "api_error";
  return `event: error\ndata: ${JSON.stringify({ type: "error", error: { type, message } })}\n\n`;
}

function parsed(json: string): JsonObject | undefined {
  const value = jsonIn(json);
  return isObject(value) ? value : undefined;
}
