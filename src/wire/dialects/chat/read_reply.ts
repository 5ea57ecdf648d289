import {
  isObject,
  items,
  type JsonObject,
  type JsonValue,
  objectIn,
  objects,
  text,
} from "../json.ts";
import type { EventReader, ReadOptions, ReadReply } from "../dialect.ts";
import { citationOf, type ReplyEvent } from "../neutral/conversation.ts";
import { callNumber, CallReader } from "./calls.ts";
import { checkFinish, finishOf } from "../neutral/finish.ts";
import { chatImages, imageEvents } from "../neutral/made_images.ts";
import { putInPlace, textOf, usageIn, withOwnReasoning } from "./departures.ts";
import { ReasoningDetails, sealOf } from "./extra_content.ts";
import { endingChoice, reasonOf } from "./one_choice.ts";
import { ThinkTags, type Told } from "./think_tags.ts";
import { reportedError, tooMuch, unusable, upstreamFault } from "../upstream_error.ts";
import { readUsage } from "../usage_names.ts";
import { UsageReports } from "../usage_reports.ts";

/** One chunk's JSON, without an `error` that says nothing. */
export function parseChunk(data: string): JsonObject {
  const chunk = objectIn(data);
  if (chunk === undefined) throw unusable("The upstream sent an invalid chat-completions stream.");
  checkNoError(chunk);
  checkChoiceCount(chunk);
  putInPlace(chunk, "delta");
  return chunk;
}

/** What a chunk after the end mark reports: some upstreams send usage there, and nothing else of it counts. */
export function parseLate(data: string): JsonObject {
  return objectIn(data) ?? {};
}

/** @throws {Refusal} the error that a completion, or a chunk of one, reports. One that says nothing is taken out: SDKs throw it. */
export function checkNoError(body: JsonObject): void {
  const error = reportedError(body);
  if (error !== undefined) throw upstreamFault(error);
  if (body.error !== undefined && body.error !== null) delete body.error;
}

/** Choices of one reply; a request may ask for 8. */
const MAX_CHOICES = 128;

/** @throws {Refusal} `upstream_unavailable` for more choices, or higher indices, than state can be kept for. */
export function checkChoiceCount({ choices }: JsonObject): void {
  const all = objects(choices);
  const isFew = all.length <= MAX_CHOICES &&
    all.every(({ index }) => typeof index !== "number" || index >= 0 && index < MAX_CHOICES);
  if (isFew) return;
  throw tooMuch(`The upstream sent more than ${MAX_CHOICES} choices.`);
}

/** @throws {Refusal} the error of a choice; `upstream_unavailable` for one that failed. */
export function checkNotFailed(choice: JsonObject): void {
  const error = choice.error ? reportedError({ error: choice.error }) : undefined;
  if (error !== undefined) throw upstreamFault(error);
  checkFinish(choice.finish_reason);
}

/**
 * The delta of a chunk's choice. Some upstreams send a whole message instead; after deltas it only repeats them.
 *
 * @param hasOutput Whether the choice had output before.
 * @param calls Number of calls that other choices have, where all are read as one.
 */
export function deltaOf(
  { delta, message }: JsonObject,
  hasOutput: boolean,
  calls = 0,
): JsonObject | undefined {
  if (isObject(delta)) return delta;
  return isObject(message) && !hasOutput ? withNumberedCalls(message, calls) : undefined;
}

/** Calls of a whole message have no index: two of one tool without arguments would look like pieces of one. */
function withNumberedCalls(message: JsonObject, from: number): JsonObject {
  if (!Array.isArray(message.tool_calls)) return message;
  const calls = objects(message.tool_calls);
  return { ...message, tool_calls: calls.map((call, at) => ({ ...call, index: from + at })) };
}

/**
 * Reads a whole chat completion as a stream of one chunk. Some upstreams spread one answer over several choices: they are one here.
 *
 * @throws {Refusal} `upstream_unavailable` and the like for a reported error, or a body that is no completion.
 */
export function readChatReply(body: unknown, options: ReadOptions): ReadReply {
  if (isObject(body)) {
    checkNoError(body);
    putInPlace(body, "message");
  }
  const choices = isObject(body) ? objects(body.choices) : [];
  choices.forEach(checkNotFailed);
  const choice = choices[0];
  if (!isObject(body) || choice === undefined || !isObject(choice.message)) {
    throw unusable("The upstream's response is not a chat completion.");
  }
  const reader = new ChatReader(options);
  const events = reader.readChunk({ choices: [...choices] });
  events.push(...reader.end()); // a reply that is whole has ended
  return { events, reports: chatReports(body, choice) };
}

/** What a completion, or a chunk of one, reports; some upstreams do so in a choice. */
export function chatReports(
  body: JsonObject,
  choice: JsonObject | undefined,
  reports = new UsageReports(),
): UsageReports {
  const usual = readUsage(body.usage);
  return reports.add(usual ?? usageIn(body, choice).map((one) => readUsage(one)).find(Boolean))
    .heard({ model: body.model, tier: body.service_tier });
}

/** Reads the chunks of a chat stream as neutral events. */
export class ChatReader implements EventReader {
  /** Whether `[DONE]` came. */
  done = false;
  readonly reports = new UsageReports();
  hidesReasoning: boolean | undefined;
  readonly #calls: CallReader;
  readonly #tags: ThinkTags | undefined;
  readonly #details = new ReasoningDetails();
  #hasOutput = false;
  #hasEnded = false;
  #refused = false;

  constructor({ thinkTags = false, offered }: ReadOptions) {
    this.#calls = new CallReader(offered);
    this.#tags = thinkTags ? new ThinkTags() : undefined;
  }

  get lacksUsage(): boolean {
    return this.done && this.reports.usage === undefined;
  }

  read(data: string): ReplyEvent[] {
    if (this.done) {
      chatReports(parseLate(data), undefined, this.reports);
      return [];
    }
    if (data === "[DONE]") {
      this.done = true;
      return this.#calls.isComplete ? this.end() : []; // with whole calls nothing is missing
    }
    return this.readChunk(parseChunk(data));
  }

  /** The end of a complete reply that gave no reason for it. */
  end(): ReplyEvent[] {
    if (this.#hasEnded) return [];
    const held = this.#tags === undefined ? [] : told(this.#tags.end());
    return [...held, ...this.#end("stop", undefined)];
  }

  #end(reason: string, stopped: string | undefined): ReplyEvent[] {
    this.#hasEnded = true;
    const finish = this.#refused && reason === "stop" ? "refused" : finishOf(reason);
    return [...this.#calls.end(), ...this.#details.seal(true), { type: "finish", finish, stopped }];
  }

  readChunk(chunk: JsonObject): ReplyEvent[] {
    const events: ReplyEvent[] = [];
    const choices = objects(chunk.choices);
    const hadOutput = this.#hasOutput;
    let calls = 0;
    for (const choice of choices) {
      const delta = deltaOf(choice, hadOutput, calls);
      if (delta === undefined) continue;
      calls += objects(delta.tool_calls).length;
      const said = this.#delta(withOwnReasoning(delta, this.#tags));
      for (const event of withLogprobs(said, choice.logprobs)) events.push(event); // may be many
    }
    const choice = endingChoice(choices);
    const reason = choice === undefined ? "" : reasonOf(choice);
    if (reason !== "" && this.#tags !== undefined) events.push(...told(this.#tags.end()));
    this.#hasOutput ||= events.length > 0;
    chatReports(chunk, choices[0], this.reports);
    choices.forEach(checkNotFailed);
    if (reason !== "") {
      // vLLM and SGLang name the stop sequence that was met
      events.push(...this.#end(reason, text(choice?.stop_reason) ?? text(choice?.matched_stop)));
    }
    return events;
  }

  /** A delta in the order in which clients expect it: reasoning, text, calls. */
  #delta(delta: JsonObject): ReplyEvent[] {
    const events: ReplyEvent[] = [];
    const reasoning = text(delta.reasoning_content) || text(delta.reasoning) ||
      objects(delta.reasoning_details).map((one) => text(one.text) || text(one.summary) || "")
        .join("");
    if (reasoning !== "") {
      this.hidesReasoning = false;
      events.push({ type: "reasoning", text: reasoning });
    }
    const content = textOf(delta.content);
    this.#details.add(delta);
    const isOver = content !== "" || objects(delta.tool_calls).length > 0;
    if (isOver) events.push(...this.#details.seal(false));
    if (content !== "") events.push({ type: "text", text: content });
    const refusal = text(delta.refusal) ?? "";
    if (refusal !== "") {
      this.#refused = true;
      events.push({ type: "refusal", text: refusal });
    }
    for (const { url_citation: cited } of objects(delta.annotations)) {
      if (isObject(cited)) events.push(...citationOf(cited));
    }
    events.push(...imageEvents(chatImages(delta)));
    events.push(...sealOf(delta, undefined));
    for (const call of objects(delta.tool_calls)) {
      const event = this.#calls.read(call);
      events.push(...sealOf(call, callNumber(event)), event);
    }
    // the form before tools
    if (isObject(delta.function_call)) {
      events.push(this.#calls.read({ index: 0, function: delta.function_call }));
    }
    return events;
  }
}

/** The events of a delta with the probabilities of its text's tokens. */
function withLogprobs(
  events: readonly ReplyEvent[],
  logprobs: JsonValue | undefined,
): readonly ReplyEvent[] {
  const own = isObject(logprobs) ? items(logprobs.content) : [];
  if (own.length === 0) return events;
  const first = events.find(({ type }) => type === "text");
  return events.map((event) =>
    event === first && event.type === "text" ? { ...event, logprobs: own } : event
  );
}

function told({ reasoning, text }: Told): ReplyEvent[] {
  const events: ReplyEvent[] = [];
  if (reasoning !== "") events.push({ type: "reasoning", text: reasoning });
  if (text !== "") events.push({ type: "text", text });
  return events;
}
