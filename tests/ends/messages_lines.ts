import type { JsonObject } from "../../src/wire/dialects/mod.ts";
import { bulk } from "./chat_lines.ts";
import type { Piece } from "./lines.ts";
import type { Beat, Report } from "./script.ts";

/** Characters of a signature for each token that it hides, and in any case: shorter ones would count as text. */
const SIGNATURE_CHARS = 4;
const MIN_SIGNATURE_CHARS = 200;
/** A signature is base64, of which a third or more are capitals and digits. */
const SIGNATURE = "Q7aX9kZ2";

/** A script as a messages upstream streams it. */
export function messagesLines(beats: readonly Beat[]): Piece[] {
  let index = -1;
  let open: "thinking" | "text" | undefined;
  const closed = () => {
    const text = open === undefined ? "" : event("content_block_stop", { index });
    open = undefined;
    return text;
  };
  const opened = (type: "thinking" | "text") => {
    if (open === type) return "";
    const before = closed();
    open = type;
    index++;
    const content_block = type === "text"
      ? { type, text: "" }
      : { type, thinking: "", signature: "" };
    return before + event("content_block_start", { index, content_block });
  };
  const delta = (one: JsonObject) => event("content_block_delta", { index, delta: one });
  return beats.flatMap((beat): Piece[] => {
    switch (beat.does) {
      case "begin":
        return [{
          text: event("message_start", { message: messageOf([], null, beat.report, 1) }),
          ...(beat.report && { report: { ...beat.report, output: undefined } }),
        }];
      case "hide":
        return [{
          text: opened("thinking") +
            delta({ type: "signature_delta", signature: signatureOf(beat.tokens) }) + closed(),
        }];
      case "reason":
        return [{
          text: opened("thinking") + delta({ type: "thinking_delta", thinking: beat.text }),
          words: beat.words,
        }];
      case "say":
        return [{
          text: opened("text") + delta({ type: "text_delta", text: beat.text }),
          words: beat.words,
        }];
      case "report": {
        const usage = messagesUsage(beat.report);
        return [{ text: event("message_delta", { delta: {}, usage }), report: beat.report }];
      }
      case "bulk":
        return [{ text: event("ping", { bulk: bulk(beat.values) }) }];
      case "wait":
        return [{ text: "", waitMs: beat.ms }];
      case "finish": {
        const { report } = beat;
        const usage = report === undefined ? {} : { usage: messagesUsage(report) };
        const end = { delta: { stop_reason: "end_turn", stop_sequence: null }, ...usage };
        return [{
          text: closed() + event("message_delta", end),
          isFinish: true,
          ...(report && { report }),
        }];
      }
      case "end":
        return [{ text: event("message_stop", {}), isEnd: true }];
    }
  });
}

/** A script as a whole message. */
export function messagesWhole(
  { text, reasoning, hidden, report }: {
    readonly text: string;
    readonly reasoning: string;
    readonly hidden: number;
    readonly report: Report | undefined;
  },
): JsonObject {
  const thinking = (thinking: string, tokens: number) => ({
    type: "thinking",
    thinking,
    signature: signatureOf(tokens),
  });
  return messageOf(
    [
      ...(hidden === 0 ? [] : [thinking("", hidden)]),
      ...(reasoning === "" ? [] : [thinking(reasoning, 0)]),
      { type: "text", text },
    ],
    "end_turn",
    report,
  );
}

function messageOf(
  content: JsonObject[],
  stop_reason: string | null,
  report: Report | undefined,
  outputTokens = report?.output,
): JsonObject {
  return {
    id: "msg_upstream",
    type: "message",
    role: "assistant",
    model: "upstream-model",
    content,
    stop_reason,
    stop_sequence: null,
    ...(report && { usage: messagesUsage({ ...report, output: outputTokens }) }),
  };
}

function messagesUsage({ input, cached, output }: Report): JsonObject {
  return {
    ...(input === undefined
      ? {}
      : { input_tokens: input - cached, cache_read_input_tokens: cached }),
    ...(output === undefined ? {} : { output_tokens: output }),
  };
}

function signatureOf(tokens: number): string {
  const chars = Math.max(MIN_SIGNATURE_CHARS, SIGNATURE_CHARS * tokens);
  return SIGNATURE.repeat(Math.ceil(chars / SIGNATURE.length)).slice(0, chars);
}

function event(type: string, more: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
}
