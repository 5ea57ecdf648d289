import type { Reply, WholeOfStream } from "../dialect.ts";
import { isObject, type JsonObject, text } from "../json.ts";
import { parseArgs } from "../neutral/conversation.ts";
import type { SseEvent } from "../sse/mod.ts";
import { brokenOff } from "../upstream_error.ts";
import { parseEvents } from "./read_reply.ts";
import { deltaKind, EventRepair } from "./repair.ts";
import { SIGNATURE, toolInput } from "./writer.ts";

/** A block that has begun, and the JSON text of its input so far. */
interface Block {
  readonly said: JsonObject;
  input: string;
}

/** The events of a messages stream as the message that they say. */
export class BlocksAsWhole implements WholeOfStream {
  done = false;
  readonly #carry: (body: JsonObject) => Reply;
  readonly #blocks: Block[] = [];
  readonly #open = new Map<unknown, Block>();
  readonly #repair = new EventRepair(SIGNATURE);
  #message: JsonObject | undefined;

  /** @param carry Makes a reply of a message. */
  constructor(carry: (body: JsonObject) => Reply) {
    this.#carry = carry;
  }

  push({ data }: SseEvent): void {
    const events = parseEvents(data).flatMap((event) => this.#repair.repair(event));
    for (const event of events) this.#take(event);
  }

  #take({ type, index, ...event }: JsonObject): void {
    switch (type) {
      case "message_start":
        this.#message ??= begun(isObject(event.message) ? event.message : {});
        break;
      case "content_block_start": {
        const block = { said: isObject(event.content_block) ? event.content_block : {}, input: "" };
        this.#blocks.push(block);
        this.#open.set(index, block);
        break;
      }
      case "content_block_delta": {
        const block = this.#open.get(index);
        if (block !== undefined && isObject(event.delta)) addDelta(block, event.delta);
        break;
      }
      case "message_delta": {
        const usage = this.#message?.usage;
        this.#message = {
          ...this.#message,
          ...(isObject(event.delta) ? event.delta : {}),
          usage: {
            ...(isObject(usage) ? usage : {}),
            ...(isObject(event.usage) ? event.usage : {}),
          },
        };
        break;
      }
      case "message_stop":
        this.done = true;
    }
  }

  reply(): Reply {
    const reason = this.#message?.stop_reason;
    if (typeof reason !== "string") throw brokenOff();
    const content = this.#blocks.flatMap(({ said, input }) => {
      if (input === "") return [said];
      // a call that the limit cut off cannot be run
      const isCut = reason === "max_tokens" && parseArgs(input) === undefined;
      return isCut ? [] : [{ ...said, input: toolInput(input) }];
    });
    return this.#carry({ ...this.#message, content });
  }
}

/** A message as its first event has it: its output is only what was there at the beginning. */
function begun({ usage, ...message }: JsonObject): JsonObject {
  if (!isObject(usage)) return message;
  const { output_tokens: _, ...input } = usage;
  return { ...message, usage: input };
}

function addDelta(block: Block, delta: JsonObject): void {
  const { said } = block;
  const { field } = deltaKind(delta);
  if (field === "partial_json") block.input += text(delta.partial_json) ?? "";
  else if (field !== undefined) {
    said[field] = (text(said[field]) ?? "") + (text(delta[field]) ?? "");
  } else if (delta.type === "citations_delta" && delta.citation !== undefined) {
    if (Array.isArray(said.citations)) said.citations.push(delta.citation);
    else said.citations = [delta.citation];
  }
}
