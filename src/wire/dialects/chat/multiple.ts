import type {
  MultipleChoices,
  ParsedRequest,
  Reply,
  ReplyContext,
  ReplyState,
} from "../dialect.ts";
import { objects } from "../json.ts";
import { NO_USAGE, sumOfUsages, type Usage } from "../usage.ts";
import { chatStreamEnd } from "./stream_end.ts";
import { writeChatUsage } from "./usage.ts";
import { wantsUsage } from "./writer.ts";

/** Requests with `n`, for upstreams that return one choice at a time. */
export const multipleChoices: MultipleChoices = { single, joinReplies, joinStreams };

function single(request: ParsedRequest): ParsedRequest {
  return { ...request, choices: 1, body: { ...request.body, n: 1 } };
}

/** The usage is the sum: each reply read the whole input. */
function joinReplies(replies: readonly Reply[]): Reply {
  const usage = sumOf(replies.map((reply) => reply.usage));
  const withUsage = (counted: Usage) => {
    const bodies = replies.map((reply) => reply.withUsage(reply.usage ?? counted));
    const choices = bodies.flatMap((body) => objects(body.choices));
    return { ...bodies[0]!, choices, usage: writeChatUsage(counted) };
  };
  return {
    choices: replies.reduce((sum, { choices }) => sum + choices, 0),
    usage,
    parts: replies,
    body: usage === undefined ? {} : withUsage(usage),
    withUsage,
    countOutput: () => replies.reduce((sum, reply) => sum + reply.countOutput(), 0),
    truncated: (maxTokens) =>
      joinReplies(replies.map((reply) => reply.truncated(maxTokens / replies.length))),
  };
}

function joinStreams(parts: readonly ReplyState[], context: ReplyContext): ReplyState {
  return {
    get finished() {
      return parts.every((part) => part.finished);
    },
    get hasOutput() {
      return parts.some((part) => part.hasOutput);
    },
    get endedChoices() {
      return parts.reduce((sum, part) => sum + part.endedChoices, 0);
    },
    get usage() {
      return sumOf(parts.map((part) => part.usage));
    },
    get parts() {
      return parts.flatMap((part) => part.parts ?? [part]);
    },
    get countedOutput() {
      return parts.reduce((sum, part) => sum + part.countedOutput, 0);
    },
    truncate() {
      const unfinished = parts.filter((part) => !part.finished);
      return unfinished.map((part) => part.truncate() + part.close(NO_USAGE)).join("");
    },
    close(usage) {
      const last = wantsUsage(context) ? writeChatUsage(usage) : undefined;
      return chatStreamEnd(context, context.createdAtS, last);
    },
  };
}

/** The sum; undefined unless all are known. */
function sumOf(usages: readonly (Usage | undefined)[]): Usage | undefined {
  const known = usages.filter((usage) => usage !== undefined);
  return known.length < usages.length ? undefined : sumOfUsages(known);
}
