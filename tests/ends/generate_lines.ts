import type { JsonObject } from "../../src/wire/dialects/mod.ts";
import { sse } from "../fake/upstream.ts";
import { bulk } from "./chat_lines.ts";
import type { Piece } from "./lines.ts";
import type { Beat, Report } from "./script.ts";

/** A script as a generate upstream streams it: its end is that of the connection. */
export function generateLines(beats: readonly Beat[]): Piece[] {
  return beats.flatMap((beat): Piece[] => {
    switch (beat.does) {
      case "begin":
        return [{ text: event([], {}, beat.report), ...(beat.report && { report: beat.report }) }];
      case "hide":
        return [];
      case "reason":
      case "say":
        return [{ text: event([partOf(beat.does, beat.text)]), words: beat.words }];
      case "report":
        return [{ text: event([], {}, beat.report), report: beat.report }];
      case "bulk":
        return [{ text: event([], { safetyRatings: bulk(beat.values) }) }];
      case "wait":
        return [{ text: "", waitMs: beat.ms }];
      case "finish": {
        const { report } = beat;
        const text = event([], { finishReason: "STOP" }, report);
        return [{ text, isFinish: true, ...(report && { report }) }];
      }
      case "end":
        return [{ text: "", isEnd: true }];
    }
  });
}

/** A script as a whole reply of generateContent. */
export function generateWhole(
  { text, reasoning, report }: {
    readonly text: string;
    readonly reasoning: string;
    readonly report: Report | undefined;
  },
): JsonObject {
  const thoughts = reasoning === "" ? [] : [partOf("reason", reasoning)];
  return replyOf([...thoughts, partOf("say", text)], { finishReason: "STOP" }, report);
}

function partOf(does: "reason" | "say", text: string): JsonObject {
  return does === "say" ? { text } : { text, thought: true };
}

function event(parts: JsonObject[], more: JsonObject = {}, report?: Report): string {
  return sse(JSON.stringify(replyOf(parts, more, report)));
}

function replyOf(parts: JsonObject[], more: JsonObject, report: Report | undefined): JsonObject {
  return {
    candidates: [{ content: { role: "model", parts }, index: 0, ...more }],
    modelVersion: "upstream-model",
    ...(report && { usageMetadata: usageOf(report) }),
  };
}

function usageOf({ input, cached, output, reasoning, total }: Report): JsonObject {
  const sum = input === undefined || output === undefined ? undefined : input + output;
  const all = total ?? (reasoning === undefined ? sum : undefined);
  return {
    ...(input === undefined ? {} : { promptTokenCount: input }),
    ...(cached === 0 ? {} : { cachedContentTokenCount: cached }),
    ...(output === undefined ? {} : { candidatesTokenCount: output }),
    ...(reasoning === undefined ? {} : { thoughtsTokenCount: reasoning }),
    ...(all === undefined ? {} : { totalTokenCount: all }),
  };
}
