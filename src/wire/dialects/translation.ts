import type { Refusal } from "../../ground/refusal.ts";
import { parseJson } from "../json/mod.ts";
import type {
  Back,
  Bridge,
  EventReader,
  Front,
  ReadOptions,
  ReadReply,
  Reply,
  ReplyContext,
  ReplyStream,
  ReplyWriter,
  WholeOfStream,
} from "./dialect.ts";
import type { JsonObject, JsonValue } from "./json.ts";
import { isMarkName } from "./neutral/cache_marks.ts";
import { joinCalls, type ReplyEvent } from "./neutral/conversation.ts";
import { isMadeImageName } from "./neutral/made_images.ts";
import { EventMeter } from "./event_meter.ts";
import { NO_CALLS } from "./hosted_calls.ts";
import { MeteredStream } from "./metered_stream.ts";
import { OutputBudget } from "./output_budget.ts";
import type { SseEvent } from "./sse/mod.ts";
import { brokenOff } from "./upstream_error.ts";
import type { Usage } from "./usage.ts";
import { UsageReports } from "./usage_reports.ts";

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
      const isSaid = (name: string) =>
        !(written.takesMarks && isMarkName(name)) &&
        !(written.takesMadeImages && isMadeImageName(name));
      const dropped = [...conversation.dropped.filter(isSaid), ...written.dropped]
        .filter((name) => name !== "");
      return { ...written, dropped, addedTokens };
    },
    reply(body, context) {
      const { events: read, reports } = back.readReply(body, context.written);
      const { toolNames } = context.written;
      const events = joinCalls(read).map((event) => withClientName(event, toolNames));
      return wholeReply(front, context, { events, reports });
    },
    stream: (context) => streamOf(front, back.reader(context.written), context),
  };
}

/** A whole reply, sent to a client that asked for a stream: some small servers know no streams. Its one event is the body. */
export function wholeAsStream(front: Front, back: Back, context: ReplyContext): ReplyStream {
  return streamOf(front, new WholeReader(back, context.written), context);
}

/** The events of any stream as a whole reply. */
export class StreamAsWhole implements WholeOfStream {
  readonly #front: Front;
  readonly #context: ReplyContext;
  readonly #reader: EventReader;
  readonly #events: ReplyEvent[] = [];
  /** The last text of them. */
  #text: GrowingEvent | undefined;

  constructor(front: Front, back: Back, context: ReplyContext) {
    this.#front = front;
    this.#context = context;
    this.#reader = back.reader(context.written);
  }

  get done(): boolean {
    return this.#reader.done;
  }

  get lacksUsage(): boolean | undefined {
    return this.#reader.lacksUsage;
  }

  push({ data }: SseEvent): void {
    for (const event of this.#reader.read(data)) {
      if ("text" in event) this.#grow(event);
      else this.#events.push(event);
    }
  }

  #grow({ type, text, ...more }: Extract<ReplyEvent, { readonly text: string }>): void {
    let grown = this.#text;
    if (grown?.type !== type || this.#events.at(-1) !== grown) {
      this.#events.push(grown = this.#text = { type, text: "" });
    }
    grown.text += text;
    if (!("logprobs" in more) || more.logprobs === undefined) return;
    grown.logprobs ??= [];
    for (const one of more.logprobs) grown.logprobs.push(one);
  }

  reply(): Reply {
    if (!this.#events.some(({ type }) => type === "finish")) throw brokenOff();
    const { toolNames } = this.#context.written;
    const events = joinCalls(this.#events).map((event) => withClientName(event, toolNames));
    return wholeReply(this.#front, this.#context, { events, reports: this.#reader.reports });
  }
}

/** A text to which further pieces are added. */
interface GrowingEvent {
  readonly type: Extract<ReplyEvent, { readonly text: string }>["type"];
  text: string;
  logprobs?: JsonValue[];
}

function streamOf(front: Front, reader: EventReader, context: ReplyContext): ReplyStream {
  return new TranslatedStream(reader, front.writer(context), context.written.toolNames);
}

const NO_INPUT = {
  inputTokens: undefined,
  cachedTokens: undefined,
  cacheWrittenTokens: undefined,
};

/** Reads a whole reply as a stream of one event. */
class WholeReader implements EventReader {
  done = false;
  readonly reports = new UsageReports();
  hidesReasoning: boolean | undefined;
  readonly #back: Back;
  readonly #options: ReadOptions;

  constructor(back: Back, options: ReadOptions) {
    this.#back = back;
    this.#options = options;
  }

  read(data: string): ReplyEvent[] {
    const { events, reports } = this.#back.readReply(parseJson(data), this.#options);
    const { input, outputTokens, reasoningTokens, kinds } = reports;
    this.reports.add({
      ...(input ?? NO_INPUT),
      outputTokens,
      reasoningTokens,
      inputKinds: kinds,
    }).heard(reports.told ?? {});
    if (events.some(({ type }) => type === "reasoning")) this.hidesReasoning = false;
    this.done = true;
    return joinCalls(events);
  }
}

function wholeReply(front: Front, context: ReplyContext, { events, reports }: ReadReply): Reply {
  const { usage, partial } = reports;
  const writer = front.writer(context);
  writer.tier = reports.tier;
  const withUsage = writer.whole(events);
  return {
    choices: 1,
    usage,
    partialUsage: partial,
    hostedCalls: NO_CALLS,
    body: usage === undefined ? {} : withUsage(usage),
    withUsage,
    outputItems: writer.outputItems,
    countOutput() {
      const meter = new EventMeter(writer);
      for (const event of events) meter.count(event);
      return meter.tokens;
    },
    truncated: (maxTokens) =>
      wholeReply(front, context, {
        events: truncatedEvents(events, maxTokens),
        reports: new UsageReports(),
      }),
  };
}

/** The events that fit; a call that does not fit is dropped, since its arguments cannot be cut. */
function truncatedEvents(events: readonly ReplyEvent[], maxTokens: number): ReplyEvent[] {
  const budget = new OutputBudget(maxTokens);
  return events.flatMap((event): ReplyEvent[] => {
    if (event.type === "finish") return [{ ...event, finish: "length", stopped: undefined }];
    if (event.type === "seal" || event.type === "citation") return []; // of the whole text
    if (event.type === "image") return []; // it cannot be cut
    if (event.type === "call") return budget.takeWhole(event.args) ? [event] : [];
    const text = budget.take(event.text);
    return text === "" ? [] : [{ type: event.type, text }];
  });
}

type ClientNames = ReadonlyMap<string, string> | undefined;

/** A tool call under the name that the client gave to the tool. */
function withClientName(event: ReplyEvent, names: ClientNames): ReplyEvent {
  if (event.type !== "call" || event.name === undefined) return event;
  const name = names?.get(event.name);
  return name === undefined ? event : { ...event, name };
}

/** A stream from one dialect to another, through the neutral form; no transcript is kept. */
class TranslatedStream extends MeteredStream<EventMeter> implements ReplyStream {
  readonly hostedCalls = NO_CALLS;
  readonly #reader: EventReader;
  readonly #writer: ReplyWriter;
  readonly #toolNames: ClientNames;

  constructor(reader: EventReader, writer: ReplyWriter, toolNames: ClientNames) {
    super(new EventMeter(writer), reader.reports);
    this.#reader = reader;
    this.#writer = writer;
    this.#toolNames = toolNames;
  }

  override get finished(): boolean {
    return this.hasEnded || this.#reader.done;
  }

  get lacksUsage(): boolean | undefined {
    return this.#reader.lacksUsage;
  }

  get hidesReasoning(): boolean | undefined {
    return this.meter.hasSeal ? false : this.#reader.hidesReasoning;
  }

  get hiddenTokens(): number {
    return this.meter.hiddenTokens;
  }

  get endedChoices(): number {
    return this.#writer.finished ? 1 : 0;
  }

  push({ data }: SseEvent): string {
    let written = "";
    for (const event of this.#reader.read(data)) {
      if (this.meter.count(event)) this.hasOutput = true;
      written += this.#writer.write(withClientName(event, this.#toolNames));
    }
    this.noteReport();
    if (this.#reader.done && !this.#writer.finished) throw brokenOff();
    return written;
  }

  truncate(): string {
    return this.#writer.write({ type: "finish", finish: "length", stopped: undefined });
  }

  close(usage: Usage): string {
    this.#writer.tier = this.#reader.reports.tier;
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
