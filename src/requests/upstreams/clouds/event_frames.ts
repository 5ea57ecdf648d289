import { jsonIn } from "../../../ground/platform/mod.ts";
import { Buffer } from "node:buffer";
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
  #rest = new Uint8Array(0);

  /** @param source The frames, in pieces that are cut anywhere. */
  constructor(source: ByteSource) {
    this.#source = source;
  }

  async read(): Promise<Uint8Array | undefined> {
    while (true) {
      const events = this.#takeAll();
      if (events !== "") return encoder.encode(events);
      const more = await this.#source.read();
      if (more !== undefined) {
        this.#rest = joined(this.#rest, more);
        continue;
      }
      if (this.#rest.byteLength === 0) return undefined;
      throw new TransportFault("broken", "the stream ended within a frame");
    }
  }

  /** The events of all frames that have come whole. */
  #takeAll(): string {
    let events = "";
    while (this.#rest.byteLength >= MIN_FRAME) {
      const view = new DataView(this.#rest.buffer, this.#rest.byteOffset, this.#rest.byteLength);
      const length = view.getUint32(0);
      if (length < MIN_FRAME || length > MAX_FRAME) {
        throw new TransportFault(
          "broken",
          `a frame of the stream says that it has ${length} bytes`,
        );
      }
      if (this.#rest.byteLength < length) break;
      events += eventOf(this.#rest.subarray(0, length));
      this.#rest = this.#rest.subarray(length);
    }
    return events;
  }
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(one.byteLength + other.byteLength);
  both.set(one);
  both.set(other, one.byteLength);
  return both;
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
