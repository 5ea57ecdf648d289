import { parseJson } from "../../json/mod.ts";
import type { EventReader, ReadReply } from "../dialect.ts";
import { isObject, type JsonObject, type JsonValue, objects, text } from "../json.ts";
import type { Finish, ReplyEvent } from "../neutral/conversation.ts";
import { checkFinish, documentedFinish, finishOf } from "../neutral/finish.ts";
import { blobImage } from "../neutral/made_images.ts";
import { sealOfSignature } from "../neutral/thought_signatures.ts";
import { reportedError, unusable, upstreamFault } from "../upstream_error.ts";
import { readUsage } from "../usage_names.ts";
import { UsageReports } from "../usage_reports.ts";
import { Citations } from "./citations.ts";
import { probabilitiesOf } from "./probabilities.ts";

/** Service tiers, in OpenAI's words, by the traffic that a reply was. */
const TIERS: Readonly<Record<string, string>> = {
  ON_DEMAND: "default",
  ON_DEMAND_FLEX: "flex",
  ON_DEMAND_PRIORITY: "priority",
};

/**
 * Reads a whole reply, or the list of pieces that a stream without server-sent events is.
 *
 * @throws {Refusal} `upstream_unavailable` and the like for a reported error, or a body without one.
 */
export function readGenerateReply(body: unknown): ReadReply {
  const reader = new GenerateReader();
  const pieces = Array.isArray(body) ? body : [body];
  const events = pieces.flatMap((piece) => reader.take(piece));
  if (!reader.hasReply) {
    throw unusable("The upstream's response is not one of generateContent.");
  }
  return { events: [...events, ...reader.end()], reports: reader.reports };
}

/** Reads the pieces of a reply as neutral events. A stream has no end mark: it ends with the connection. */
export class GenerateReader implements EventReader {
  /** Whether `[DONE]` came, which relays send. */
  done = false;
  /** Whether there was a candidate, or why there is none. */
  hasReply = false;
  readonly reports = new UsageReports();
  hidesReasoning: boolean | undefined;
  readonly #citations = new Citations();
  #calls = 0;
  #hasText = false;
  /** Whether thoughts came last: they are what a signature is of. */
  #hasThought = false;
  #hasEnded = false;

  read(data: string): ReplyEvent[] {
    if (data === "[DONE]") {
      this.done = true;
      return [];
    }
    return this.take(parsed(data));
  }

  /** Takes a piece: a response with what of it is new. */
  take(piece: unknown): ReplyEvent[] {
    if (!isObject(piece)) throw unusable("The upstream sent an invalid generate stream.");
    const error = reportedError(piece);
    if (error !== undefined) throw upstreamFault(error);
    const { usageMetadata: usage, promptFeedback: feedback, modelVersion: model } = piece;
    const traffic = isObject(usage) ? text(usage.trafficType) : undefined;
    this.reports.add(readUsage(usage)).heard({ model, tier: TIERS[traffic ?? ""] });
    const [candidate] = objects(piece.candidates);
    if (candidate !== undefined) return this.#candidate(candidate);
    const isBlocked = isObject(feedback) && isReason(feedback.blockReason);
    return isBlocked ? this.#end("filtered") : [];
  }

  /** The end of a whole reply that gave no reason for it. */
  end(): ReplyEvent[] {
    return this.#end(this.#calls > 0 ? "tools" : "stop");
  }

  #candidate(candidate: JsonObject): ReplyEvent[] {
    this.hasReply = true;
    const { content, finishReason } = candidate;
    const parts = isObject(content) ? objects(content.parts) : [];
    const said = parts.flatMap((part, at) => this.#part(part, at === 0));
    const events = this.#withProbabilities(said, candidate);
    events.push(...this.#citations.of(candidate));
    if (!isReason(finishReason)) return events;
    checkFinish(finishReason);
    // goes on in another request, which only its own clients make
    const isPart = finishReason === "CONTINUATION";
    const finish = finishOf(isPart ? "length" : documentedFinish(finishReason));
    const isCall = finish === "stop" && this.#calls > 0;
    return [...events, ...this.#end(isCall ? "tools" : finish)];
  }

  #end(finish: Finish): ReplyEvent[] {
    this.hasReply = true;
    if (this.#hasEnded) return [];
    this.#hasEnded = true;
    return [...this.#citations.rest(), { type: "finish", finish, stopped: undefined }];
  }

  /** Those of a piece without text are of the end of the text before it. */
  #withProbabilities(events: ReplyEvent[], candidate: JsonObject): ReplyEvent[] {
    const logprobs = probabilitiesOf(candidate);
    if (logprobs.length === 0) return events;
    const at = events.findIndex(({ type }) => type === "text");
    const first = events[at];
    if (first?.type === "text") return events.with(at, { ...first, logprobs });
    const isOfText = this.#hasText && events.every(({ type }) => type === "seal");
    return isOfText ? [{ type: "text", text: "", logprobs }, ...events] : events;
  }

  /** @param isFirst Whether it is the first of its piece. */
  #part(part: JsonObject, isFirst: boolean): ReplyEvent[] {
    const { functionCall: call, thoughtSignature } = part;
    const said = text(part.text) ?? "";
    const kind = part.thought === true ? "thought" : part.text === undefined ? "other" : "text";
    this.#citations.part(kind, said, isFirst);
    if (kind === "text" && said !== "") this.#hasText = true;
    const signature = text(thoughtSignature) ?? "";
    const follows = this.#hasThought;
    if (said !== "" || isObject(call)) this.#hasThought = part.thought === true;
    if (isObject(call)) return this.#call(call, signature, !follows);
    const image = kind === "other" ? blobImage(part.inlineData) : undefined;
    const seal: ReplyEvent[] = signature === ""
      ? []
      : [{ type: "seal", seal: sealOfSignature({ call: undefined, signature }) }];
    if (image !== undefined) return [...seal, { type: "image", url: image }];
    if (part.thought !== true) return said === "" ? seal : [...seal, { type: "text", text: said }];
    this.hidesReasoning = true; // the text is a summary of it
    return said === "" ? seal : [{ type: "reasoning", text: said }, ...seal];
  }

  /** A call comes whole. What signs it is wanted back with it, or with the thoughts before it. */
  #call({ id, name, args }: JsonObject, signature: string, isOfCall: boolean): ReplyEvent[] {
    const call = this.#calls++;
    return [
      ...(signature === "" ? [] : [
        {
          type: "seal",
          seal: sealOfSignature({ call, signature }),
          isOfCall,
        } as const,
      ]),
      {
        type: "call",
        key: `call${call}`,
        id: text(id) || undefined,
        name: text(name),
        args: JSON.stringify(isObject(args) ? args : {}),
      },
    ];
  }
}

/** Whether a value says a reason: one that is unspecified is none. */
function isReason(reason: JsonValue | undefined): reason is string {
  return typeof reason === "string" && reason !== "" && !/_UNSPECIFIED$/.test(reason);
}

/** An event's JSON. Errors may come in a list. */
function parsed(data: string): unknown {
  try {
    const value = parseJson(data);
    return Array.isArray(value) ? value[0] : value;
  } catch {
    return undefined;
  }
}
