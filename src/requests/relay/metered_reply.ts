import type { MeteredPart, ReplyState } from "../../wire/dialects/mod.ts";
import type { MeteredReply } from "./charged_usage.ts";

/** What is known of a reply now; it goes on. */
export function meteredOf(reply: ReplyState, requests: number): MeteredReply {
  return { ...partOf(reply), requests, parts: reply.parts?.map(partOf) };
}

/** The same values however it goes on. */
function partOf(part: MeteredPart): MeteredPart {
  const { usage, partialUsage, hidesReasoning, hiddenTokens, hostedCalls, countedOutput } = part;
  return { usage, partialUsage, hidesReasoning, hiddenTokens, hostedCalls, countedOutput };
}

/** What was delivered, with the input that was reported since. */
export function withInputOf(delivered: MeteredReply, now: MeteredReply): MeteredReply {
  const withInput = (part: MeteredPart, later: MeteredPart | undefined): MeteredPart => ({
    ...part,
    partialUsage: part.partialUsage &&
      { ...part.partialUsage, input: later?.partialUsage?.input ?? part.partialUsage.input },
  });
  return {
    ...withInput(delivered, now),
    requests: delivered.requests,
    parts: delivered.parts?.map((part, at) => withInput(part, now.parts?.[at])),
  };
}
