import type { Answer, AnswerNames, AnswerStream, Asked } from "../bridge.ts";
import { isObject, objects } from "../json.ts";
import { countedUsage, type Usage } from "../usage.ts";
import { chatStreamEnd } from "./stream_end.ts";
import { writeChatUsage } from "./usage.ts";

/** What ends one of several answers does not speak of its usage. */
export const NOTHING = countedUsage(0, 0);

/** What can be told of an answer while it comes in, and after. */
export type AnswerState = Pick<
  AnswerStream,
  "finished" | "hasOutput" | "endedChoices" | "usage" | "countedOutput" | "truncate" | "close"
>;

/**
 * Answers that were fetched one by one (each with its `choice`), as the one reply with `n` choices
 * that the caller asked for. Its usage is the sum: each of them read the whole input.
 */
export function joinAnswers(answers: readonly Answer[]): Answer {
  const usage = sumOf(answers.map((answer) => answer.usage));
  const withUsage = (counted: Usage) => {
    const bodies = answers.map((answer) => answer.withUsage(answer.usage ?? counted));
    const choices = bodies.flatMap((body) => objects(body.choices));
    return { ...bodies[0]!, choices, usage: writeChatUsage(counted) };
  };
  return {
    choices: answers.reduce((sum, { choices }) => sum + choices, 0),
    usage,
    body: usage === undefined ? {} : withUsage(usage),
    withUsage,
    countOutput: () => answers.reduce((sum, answer) => sum + answer.countOutput(), 0),
  };
}

/** The same for streams: each part says its own choice, this says the end of them all. */
export function joinStreams(
  parts: readonly AnswerState[],
  { body }: Asked,
  names: AnswerNames,
): AnswerState {
  const options = body.stream_options;
  const wantsUsage = isObject(options) && options.include_usage === true;
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
    get countedOutput() {
      return parts.reduce((sum, part) => sum + part.countedOutput, 0);
    },
    truncate() {
      const running = parts.filter((part) => !part.finished);
      return running.map((part) => part.truncate() + part.close(NOTHING)).join("");
    },
    close(usage) {
      const created = Math.floor(Date.now() / 1_000);
      return chatStreamEnd(names, created, wantsUsage ? writeChatUsage(usage) : undefined);
    },
  };
}

/** The sum; undefined unless all are known. */
function sumOf(usages: readonly (Usage | undefined)[]): Usage | undefined {
  const known = usages.filter((usage) => usage !== undefined);
  if (known.length < usages.length) return undefined;
  const sum = (field: keyof Usage) => known.reduce((total, usage) => total + usage[field], 0);
  return {
    inputTokens: sum("inputTokens"),
    cachedTokens: sum("cachedTokens"),
    cacheWrittenTokens: sum("cacheWrittenTokens"),
    outputTokens: sum("outputTokens"),
    reasoningTokens: sum("reasoningTokens"),
  };
}
