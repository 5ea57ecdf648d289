import type { JsonObject } from "../../src/wire/dialects/mod.ts";
import { chunk, sse } from "../fake/upstream.ts";
import type { LineOptions, Piece } from "./lines.ts";
import type { ReportPlace } from "./plan.ts";
import type { Beat, Report } from "./script.ts";

/** A script as a chat upstream streams it; each choice gets every text. */
export function chatLines(beats: readonly Beat[], options: LineOptions): Piece[] {
  const { choices, logprobs, reportPlace } = options;
  const indices = Array.from({ length: choices }, (_, index) => index);
  return beats.flatMap((beat, at): Piece[] => {
    switch (beat.does) {
      case "begin":
        return [{
          text: indices.map((index) => choiceChunk(index, { role: "assistant", content: "" }))
            .join(""),
        }];
      case "hide":
        return [];
      case "reason":
      case "say": {
        const next = beats[at + 1];
        const report = next?.does === "report" && reportPlace !== "own chunk"
          ? next.report
          : undefined;
        const field = beat.does === "say" ? "content" : "reasoning_content";
        const probabilities = logprobs && beat.does === "say"
          ? { logprobs: { content: logprobsOf(beat.words) } }
          : {};
        return indices.map((index) => {
          // beside the last choice's text
          const said = index === choices - 1 ? report : undefined;
          return {
            text: choiceChunk(
              index,
              { [field]: beat.text },
              probabilities,
              reported(said, reportPlace),
            ),
            words: beat.words,
            ...(said && { report: said }),
          };
        });
      }
      case "report": {
        const before = beats[at - 1]?.does;
        const isTold = reportPlace !== "own chunk" && (before === "say" || before === "reason");
        return isTold ? [] : [{ text: usageChunk(beat.report), report: beat.report }];
      }
      case "bulk":
        return [{ text: sse(chunk({ content: "" }, null, { bulk: bulk(beat.values) })) }];
      case "wait":
        return [{ text: "", waitMs: beat.ms }];
      case "finish": {
        const { report } = beat;
        const isOwn = reportPlace === "own chunk";
        const text = indices.map((index) =>
          choiceChunk(
            index,
            {},
            { finish_reason: "stop" },
            index === choices - 1 && !isOwn ? reported(report, reportPlace) : {},
          )
        ).join("");
        if (report === undefined) return [{ text, isFinish: true }];
        return isOwn
          ? [{ text, isFinish: true }, { text: usageChunk(report), report }]
          : [{ text, isFinish: true, report }];
      }
      case "end":
        return [{ text: sse("[DONE]"), isEnd: true }];
    }
  });
}

/** A script as a whole chat reply. */
export function chatWhole(
  { text, reasoning, report, choices }: {
    readonly text: string;
    readonly reasoning: string;
    readonly report: Report | undefined;
    readonly choices: number;
  },
): JsonObject {
  return {
    id: "upstream-id",
    object: "chat.completion",
    created: 1,
    model: "upstream-model",
    choices: Array.from({ length: choices }, (_, index) => ({
      index,
      message: {
        role: "assistant",
        content: text,
        ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
      },
      finish_reason: "stop",
    })),
    ...(report && { usage: chatUsage(report) }),
  };
}

/** Many small values. */
export function bulk(values: number): number[] {
  return Array.from({ length: values }, () => 1);
}

/** Log probabilities of that number of tokens, with two alternatives each. */
export function logprobsOf(tokens: number): JsonObject[] {
  const one = { token: "x", logprob: -0.5, bytes: [120] };
  return Array.from({ length: tokens }, () => ({ ...one, top_logprobs: [one, one] }));
}

/** Fields of a chunk, and of its choice, that hold a report. */
interface Reported {
  readonly inChunk?: JsonObject;
  readonly inChoice?: JsonObject;
}

function reported(report: Report | undefined, place: ReportPlace): Reported {
  if (report === undefined) return {};
  const usage = { usage: chatUsage(report) };
  return place === "in a choice" ? { inChoice: usage } : { inChunk: usage };
}

function choiceChunk(
  index: number,
  delta: JsonObject,
  more: JsonObject = {},
  { inChunk = {}, inChoice = {} }: Reported = {},
): string {
  const choice = { index, delta, finish_reason: null, ...more, ...inChoice };
  return sse(chunk({}, null, { choices: [choice], ...inChunk }));
}

function usageChunk(report: Report): string {
  return sse(chunk({}, null, { choices: [], usage: chatUsage(report) }));
}

function chatUsage({ input, cached, output, reasoning, total }: Report): JsonObject {
  return {
    ...(input === undefined ? {} : { prompt_tokens: input }),
    ...(output === undefined ? {} : { completion_tokens: output }),
    ...(total !== undefined
      ? { total_tokens: total }
      : reasoning === undefined && input !== undefined && output !== undefined
      ? { total_tokens: input + output }
      : {}),
    prompt_tokens_details: { cached_tokens: cached },
    ...(reasoning === undefined
      ? {}
      : { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}
