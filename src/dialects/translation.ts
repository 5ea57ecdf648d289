import type { Refusal } from "../refusal.ts";
import type {
  Back,
  Bridge,
  EventReader,
  Front,
  ReadReply,
  Reply,
  ReplyContext,
  ReplyStream,
  ReplyWriter,
} from "./dialect.ts";
import type { JsonObject } from "./json.ts";
import { Meter } from "./meter.ts";
import { countEvent, joinCalls, type ReplyEvent } from "./neutral/conversation.ts";
import { OutputBudget } from "./output_budget.ts";
import type { SseEvent } from "./sse/mod.ts";
import { brokenOff } from "./upstream_error.ts";
import type { Usage } from "./usage.ts";

/** A front towards the back of another dialect: everything goes through the neutral form. */
export function translation(front: Front, back: Back): Bridge {
  const { fields } = front;
  return {
    singleChoice: true,
    request(request, options) {
      const conversation = front.toConversation(request);
      const { stream } = request;
      const written = back.write(conversation, { ...options, stream, fields });
      const { addedTokens } = conversation;
      return { ...written, dropped: [...conversation.dropped, ...written.dropped], addedTokens };
    },
    reply(body, context) {
      const { events: read, usage } = back.readReply(body);
      const { toolNames } = context.written;
      const events = joinCalls(read).map((event) => withClientName(event, toolNames));
      return wholeReply(front, context, { events, usage });
    },
    stream: (context) =>
      new TranslatedStream(back.reader(), front.writer(context), context.written.toolNames),
  };
}

function wholeReply(front: Front, context: ReplyContext, { events, usage }: ReadReply): Reply {
  const writer = front.writer(context);
  const withUsage = writer.whole(events);
  return {
    choices: 1,
    usage,
    body: usage === undefined ? {} : withUsage(usage),
    withUsage,
    outputItems: writer.outputItems,
    countOutput() {
      const meter = new Meter();
      for (const event of events) countEvent(meter, event);
      return meter.tokens;
    },
    truncated: (maxTokens) =>
      wholeReply(front, context, { events: truncatedEvents(events, maxTokens), usage: undefined }),
  };
}

/** The events that fit; a call that does not fit is dropped, since its arguments cannot be cut. */
function truncatedEvents(events: readonly ReplyEvent[], maxTokens: number): ReplyEvent[] {
  const budget = new OutputBudget(maxTokens);
  return events.flatMap((event): ReplyEvent[] => {
    if (event.type === "finish") return [{ ...event, finish: "length", stopped: undefined }];
    if (event.type === "seal") return []; // it belongs to the whole text
    if (event.type === "call") return budget.takeWhole(event.args) ? [event] : [];
    const text = budget.take(event.text);
    return text === "" ? [] : [{ ...event, text }];
  });
}

type ToolNames = ReadonlyMap<string, string> | undefined;

/** A tool call under the name that the client gave to the tool. */
function withClientName(event: ReplyEvent, names: ToolNames): ReplyEvent {
  if (event.type !== "call" || event.name === undefined) return event;
  const name = names?.get(event.name);
  return name === undefined ? event : { ...event, name };
}

/** A stream from one dialect to another, through the neutral form; no transcript is kept. */
class TranslatedStream implements ReplyStream {
  hasOutput = false;
  readonly #reader: EventReader;
  readonly #writer: ReplyWriter;
  readonly #toolNames: ToolNames;
  readonly #meter = new Meter();
  #ended = false;

  constructor(reader: EventReader, writer: ReplyWriter, toolNames: ToolNames) {
    this.#reader = reader;
    this.#writer = writer;
    this.#toolNames = toolNames;
  }

  get finished(): boolean {
    return this.#ended || this.#reader.done;
  }

  get usage(): Usage | undefined {
    return this.#reader.usage;
  }

  get endedChoices(): number {
    return this.#writer.finished ? 1 : 0;
  }

  get hasFinishReason(): boolean {
    return this.#writer.finished;
  }

  get countedOutput(): number {
    return this.#meter.tokens;
  }

  push({ data }: SseEvent): string {
    let written = "";
    for (const event of this.#reader.read(data)) {
      if (countEvent(this.#meter, event)) this.hasOutput = true;
      written += this.#writer.write(withClientName(event, this.#toolNames));
    }
    if (this.#reader.done && !this.#writer.finished) throw brokenOff();
    return written;
  }

  end(): void {
    if (this.finished) return;
    if (!this.#writer.finished) throw brokenOff();
    this.#ended = true; // some upstreams send no last event of their own
  }

  truncate(): string {
    return this.#writer.write({ type: "finish", finish: "length", stopped: undefined });
  }

  close(usage: Usage): string {
    return this.#writer.close(usage);
  }

  ping(): string {
    return this.#writer.ping();
  }

  fail(refusal: Refusal): string | undefined {
    return this.#writer.fail?.(refusal);
  }

  get outputItems(): readonly JsonObject[] | undefined {
    return this.#writer.outputItems;
  }
}
