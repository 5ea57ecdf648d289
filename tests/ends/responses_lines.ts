import type { JsonObject } from "../../src/wire/dialects/mod.ts";
import { bulk, logprobsOf } from "./chat_lines.ts";
import type { Piece } from "./lines.ts";
import type { Beat, Report } from "./script.ts";

/** A script as a responses upstream streams it. */
export function responsesLines(
  beats: readonly Beat[],
  { logprobs }: { readonly logprobs: boolean },
): Piece[] {
  const output: JsonObject[] = [];
  let open: { readonly does: "reason" | "say"; text: string } | undefined;
  const place = () => ({ item_id: `item_${output.length}`, output_index: output.length });
  const closed = () => {
    if (open === undefined) return "";
    const { does, text } = open;
    const kind = does === "say" ? "response.output_text" : "response.reasoning_text";
    const part = partOf(does, text);
    const item = itemOf(output.length, does, [part]);
    const lines = event(`${kind}.done`, { ...place(), content_index: 0, text }) +
      event("response.content_part.done", { ...place(), content_index: 0, part }) +
      event("response.output_item.done", { output_index: output.length, item });
    output.push(item);
    open = undefined;
    return lines;
  };
  const opened = (does: "reason" | "say") => {
    if (open?.does === does) return "";
    const before = closed();
    open = { does, text: "" };
    const item = itemOf(output.length, does, []);
    return before + event("response.output_item.added", { output_index: output.length, item }) +
      event("response.content_part.added", {
        ...place(),
        content_index: 0,
        part: partOf(does, ""),
      });
  };
  return beats.flatMap((beat): Piece[] => {
    switch (beat.does) {
      case "begin":
        return [{
          text: event("response.created", { response: responseOf("in_progress", [], undefined) }),
        }];
      case "hide": {
        const text = closed();
        const item = itemOf(output.length, "reason", []);
        const at = { output_index: output.length, item };
        output.push(item);
        return [{
          text: text + event("response.output_item.added", at) +
            event("response.output_item.done", at),
        }];
      }
      case "reason":
      case "say": {
        const before = opened(beat.does);
        const kind = beat.does === "say" ? "response.output_text" : "response.reasoning_text";
        open!.text += beat.text;
        const more = logprobs && beat.does === "say" ? { logprobs: logprobsOf(beat.words) } : {};
        const delta = { ...place(), content_index: 0, delta: beat.text, ...more };
        return [{ text: before + event(`${kind}.delta`, delta), words: beat.words }];
      }
      case "report": {
        const response = responseOf("in_progress", [], beat.report);
        return [{ text: event("response.in_progress", { response }), report: beat.report }];
      }
      case "bulk": {
        const response = { ...responseOf("in_progress", [], undefined), bulk: bulk(beat.values) };
        return [{ text: event("response.in_progress", { response }) }];
      }
      case "wait":
        return [{ text: "", waitMs: beat.ms }];
      case "finish": {
        const { report } = beat;
        const text = closed();
        const response = responseOf("completed", output, report);
        return [{
          text: text + event("response.completed", { response }),
          isFinish: true,
          ...(report && { report }),
        }];
      }
      case "end":
        return [{ text: "", isEnd: true }];
    }
  });
}

/** A script as a whole response. */
export function responsesWhole(
  { text, reasoning, hidden, report }: {
    readonly text: string;
    readonly reasoning: string;
    readonly hidden: number;
    readonly report: Report | undefined;
  },
): JsonObject {
  const output: JsonObject[] = [];
  if (hidden > 0) output.push(itemOf(output.length, "reason", []));
  if (reasoning !== "") {
    output.push(itemOf(output.length, "reason", [partOf("reason", reasoning)]));
  }
  output.push(itemOf(output.length, "say", [partOf("say", text)]));
  return responseOf("completed", output, report);
}

function partOf(does: "reason" | "say", text: string): JsonObject {
  return does === "say"
    ? { type: "output_text", text, annotations: [] }
    : { type: "reasoning_text", text };
}

function itemOf(at: number, does: "reason" | "say", content: JsonObject[]): JsonObject {
  return does === "say"
    ? { id: `msg_${at}`, type: "message", status: "completed", role: "assistant", content }
    : { id: `rs_${at}`, type: "reasoning", summary: [], ...(content.length > 0 && { content }) };
}

function responseOf(
  status: string,
  output: readonly JsonObject[],
  report: Report | undefined,
): JsonObject {
  return {
    id: "resp_upstream",
    object: "response",
    created_at: 7,
    status,
    error: null,
    incomplete_details: null,
    model: "upstream-model",
    output: [...output],
    usage: report === undefined ? null : responsesUsage(report),
  };
}

function responsesUsage({ input, cached, output }: Report): JsonObject {
  return {
    ...(input === undefined ? {} : { input_tokens: input }),
    input_tokens_details: { cached_tokens: cached },
    ...(output === undefined ? {} : { output_tokens: output }),
    ...(input === undefined || output === undefined ? {} : { total_tokens: input + output }),
  };
}

function event(type: string, more: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
}
