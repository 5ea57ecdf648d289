/** An upstream's reply, on its way to a client. */

import type { Refusal } from "../../ground/refusal.ts";
import type { JsonObject } from "./json.ts";
import type { ReplyEvent } from "./neutral/conversation.ts";
import type { ParsedRequest, ReadOptions } from "./request.ts";
import type { Sealer } from "./sealer.ts";
import type { SseEvent } from "./sse/mod.ts";
import type { Usage } from "./usage.ts";
import type { PartialUsage } from "./usage_reports.ts";

/** The request that a reply belongs to. */
export interface ReplyContext {
  readonly request: ParsedRequest;
  /** The request as the upstream got it. */
  readonly written: ReadOptions;
  /** The reply's id, as the client sees it. */
  readonly id: string;
  /** The model as the client named it. */
  readonly model: string;
  /** The route and the target that reply: what the target sealed is returned to it alone. */
  readonly source: ReplySource;
  /** Seals what the client keeps for the gateway. */
  readonly sealer: Sealer;
  /** Input tokens as counted by the gateway. */
  readonly inputTokens: number;
  /** When the reply began, in Unix seconds. */
  readonly createdAtS: number;
  /** Stands for the target's configuration where the upstream names none; the same for the same target. */
  readonly fingerprint: string;
  /** Which of the client's several choices this is, where they are requested one by one. */
  readonly choice?: number | undefined;
}

/** Where a reply comes from. */
export interface ReplySource {
  /** The route's id. */
  readonly route: string;
  /** The upstream's name, and whose key it was where that matters to seals. */
  readonly upstream: string;
  /** The model's name there. */
  readonly model: string;
}

/** What a stream keeps of it. The request's texts may be long, and a stream open for long. */
export type StreamContext = Omit<ReplyContext, "request" | "written">;

/** Leaves out what only the beginning of a stream needs. */
export function streamContextOf(context: ReplyContext): StreamContext {
  const { request: _, written: __, ...kept } = context;
  return kept;
}

/** A whole reply in the client's dialect. */
export interface Reply {
  readonly body: JsonObject;
  /** Number of choices in it: some upstreams return fewer than were requested. */
  readonly choices: number;
  /** As the upstream reported it, of a stream so far; undefined when it did not. */
  readonly usage: Usage | undefined;
  /** The same in halves: an upstream may report input or output alone. */
  readonly partialUsage?: PartialUsage | undefined;
  /** Calls of tools that ran at the upstream, by the kind that the upstream gives them; undefined where it does not tell. */
  readonly hostedCalls?: ReadonlyMap<string, number> | undefined;
  /** The replies that it was joined from, each to a request of its own; undefined for one. */
  readonly parts?: readonly Reply[] | undefined;
  /** Output tokens as counted by the gateway. */
  countOutput(): number;
  /** The body with the gateway's own count, where the upstream reported no usage. */
  withUsage(usage: Usage): JsonObject;
  /** The reply as if it had ended at its token limit here. Its usage is not the upstream's any more. */
  truncated(maxTokens: number): Reply;
  /** Items that the client may refer to by their ids in later requests, in dialects that have such; of a stream, once it is closed. */
  readonly outputItems?: readonly JsonObject[] | undefined;
}

/** A reply's event stream on its way from the upstream's dialect to the client's. */
export interface ReplyStream
  extends Pick<Reply, "usage" | "partialUsage" | "hostedCalls" | "outputItems"> {
  /**
   * Takes one event from the upstream.
   *
   * @returns the text to send to the client now; empty when there is none.
   * @throws {Refusal} `upstream_unavailable` and the like when the upstream reports an error, or sends an
   *   event that its dialect does not have.
   */
  push(event: SseEvent): string;
  /**
   * Takes the end of the upstream's bytes.
   *
   * @throws {Refusal} `upstream_unavailable` when the stream ended before the reply was complete.
   */
  end(): void;
  /** Whether the upstream's reply is complete; nothing more is to be read. */
  readonly finished: boolean;
  /** Whether its end mark came and no usage, which may still follow: `push` takes that, and nothing else. */
  readonly lacksUsage?: boolean | undefined;
  /** Whether the upstream has said why its reply ended: only a report and an end mark may follow. */
  readonly hasFinishReason: boolean;
  /** Whether any output has gone to the client. */
  readonly hasOutput: boolean;
  /** Choices that have ended. */
  readonly endedChoices: number;
  /** The replies that it was joined from, each to a request of its own; undefined for one. */
  readonly parts?: readonly MeteredPart[] | undefined;
  /**
   * Whether the upstream reasons and nobody can tell how much; false when it has shown or sealed its reasoning, undefined if it
   * has not said.
   */
  readonly hidesReasoning?: boolean | undefined;
  /** Tokens of reasoning that the client does not get and `countedOutput` leaves out, as far as seals tell. */
  readonly hiddenTokens?: number | undefined;
  /** Output tokens so far, as counted by the gateway. */
  readonly countedOutput: number;
  /** Tokens of them that some tokenizer may not need. Default: 0. */
  readonly overcounted?: number | undefined;
  /** Ends the reply here, as if at its token limit; `close` is called next. */
  truncate(): string;
  /**
   * The last text of a complete reply, with the usage that was settled. For one of several choices
   * (`choice`) it ends that one; what joins them ends them all.
   */
  close(usage: Usage): string;
  /** What keeps a silent connection open. */
  ping(): string;
  /**
   * The last text of a stream that failed, in dialects where it depends on what was written before.
   *
   * @returns undefined where it does not: see `Front.errorEvent`.
   */
  fail?(refusal: Refusal): string | undefined;
}

/** What is known of a reply's usage. */
export type MeteredPart = Pick<
  ReplyStream,
  | "usage"
  | "partialUsage"
  | "hidesReasoning"
  | "hiddenTokens"
  | "hostedCalls"
  | "countedOutput"
>;

/** What is known of a reply while it comes in, and how it ends. */
export type ReplyState = Omit<
  ReplyStream,
  "push" | "end" | "lacksUsage" | "hasFinishReason" | "ping"
>;

/** Writes neutral events in a client's dialect, as a stream or whole. One for each reply. */
export interface ReplyWriter {
  /** The tier that the upstream says it served; set before the end is written. See `UsageReports.tier`. */
  tier?: string | undefined;
  /** Whether the finish reason has been written. */
  readonly finished: boolean;
  /** The stream's text for one event. */
  write(event: ReplyEvent): string;
  /** The end of a complete stream. */
  close(usage: Usage): string;
  /** What keeps a silent stream open. */
  ping(): string;
  /** The end of a stream that failed, in dialects where it depends on what was written before; see `Front.errorEvent`. */
  fail?(refusal: Refusal): string;
  /** Items that the client may refer to by their ids in later requests, once the reply is written. */
  readonly outputItems?: readonly JsonObject[] | undefined;
  /** Whether the client gets what an upstream sealed, or can refer to it. */
  readonly keepsSeals?: boolean | undefined;
  /** Whether the client gets citations. */
  readonly cites: boolean;
  /** Whether the client gets images that the model made. */
  readonly takesImages?: boolean | undefined;
  /**
   * A whole reply; instead of the other methods.
   *
   * @param events Each tool call in one piece.
   * @throws {Refusal} `upstream_unavailable` when the dialect cannot hold it.
   */
  whole(events: readonly ReplyEvent[]): (usage: Usage) => JsonObject;
}
