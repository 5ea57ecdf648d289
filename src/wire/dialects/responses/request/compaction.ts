import type { ParsedRequest } from "../../dialect.ts";
import type { Part, Turn } from "../../neutral/conversation.ts";
import { inputItems, kindOf } from "../items.ts";

/** Where a summary of a conversation is requested without a trigger in its input. */
export const COMPACT_PATH = "/v1/responses/compact";

/** Output tokens of a summary whose client sets no limit: a plain request's default would cut it, and lose the conversation. */
export const SUMMARY_TOKENS = 16_384;

/** Whether a request is for a summary of its conversation: by its endpoint, or as its last item says. */
export function isCompaction(request: Pick<ParsedRequest, "body" | "endpoint">): boolean {
  if (request.endpoint === COMPACT_PATH) return true;
  const last = inputItems(request.body).at(-1);
  return last !== undefined && kindOf(last) === "compaction_trigger";
}

/** What the model is asked for. */
export const REQUEST =
  "The conversation is about to be replaced by a summary of it. Write that summary now, for yourself: you will " +
  "continue from it alone. Include the user's goals and instructions word for word where they matter, decisions " +
  "and their reasons, what has been done and with which results, names of files, commands, identifiers and " +
  "values that are still needed, and what remains to be done. Leave out what no longer matters. Call no tool, " +
  "and write nothing but the summary.";

/** A summary as a message of the conversation that it replaces. */
export function summaryTurn(summary: string): Turn {
  const text = `Summary of the conversation so far, which it replaces:\n\n${summary}`;
  return { role: "user", parts: [{ type: "text", text }] };
}

/**
 * A conversation that ends with the request for its summary. Calls and results become text: no tools are offered, and some
 * upstreams reject calls then.
 */
export function summarized(turns: readonly Turn[]): Turn[] {
  const names = new Map<string, string>();
  const plain = turns.flatMap((turn): Turn[] => {
    if (turn.role === "tool") return [{ role: "user", parts: resultParts(turn, names) }];
    if (turn.role !== "assistant" || turn.calls.length === 0) return [turn];
    const calls = turn.calls.map(({ id, name, args }) => {
      names.set(id, name);
      return `Call of the tool ${name}: ${args}`;
    });
    const text = [turn.text, ...calls].filter((one) => one !== "").join("\n\n");
    return [{ ...turn, text, calls: [] }];
  });
  return [...plain, { role: "user", parts: [{ type: "text", text: REQUEST }] }];
}

function resultParts(
  { callId, parts }: Turn & { role: "tool" },
  names: ReadonlyMap<string, string>,
): Part[] {
  const name = names.get(callId);
  return [
    {
      type: "text",
      text: name === undefined ? "Result of a tool:" : `Result of the tool ${name}:`,
    },
    ...parts,
  ];
}
