import type { Part, ToolCall, Turn } from "./neutral.ts";

type ToolTurn = Turn & { readonly role: "tool" };

/**
 * A conversation in which each call of a tool has one result, right behind its turn and in the calls' order:
 * upstreams refuse a missing, a late, a second and a strange one.
 *
 * A missing result says so, several for one call are joined, and one for no call is told by the user.
 */
export function pairResults(turns: readonly Turn[]): Turn[] {
  const paired: Turn[] = [];
  for (let at = 0; at < turns.length; at++) {
    const turn = turns[at]!;
    const calls = turn.role === "assistant" ? turn.calls : [];
    const results: ToolTurn[] = turn.role === "tool" ? [turn] : [];
    if (turn.role !== "tool") paired.push(turn);
    if (turn.role !== "assistant" && turn.role !== "tool") continue;
    for (let next = turns[at + 1]; next?.role === "tool"; next = turns[++at + 1]) {
      results.push(next);
    }
    for (const [index, call] of calls.entries()) {
      paired.push(resultOf(call, calls.slice(index + 1), results));
    }
    if (results.length > 0) paired.push({ role: "user", parts: results.flatMap(told) });
  }
  return paired;
}

/** What answers a call, taken out of the results; the last of several calls with one id takes the rest. */
function resultOf(
  { id }: ToolCall,
  later: readonly ToolCall[],
  results: ToolTurn[],
): ToolTurn {
  const most = later.some((call) => call.id === id) ? 1 : Infinity;
  const own: ToolTurn[] = [];
  for (let at = 0; at < results.length && own.length < most;) {
    if (results[at]!.callId === id) own.push(...results.splice(at, 1));
    else at++;
  }
  return {
    role: "tool",
    callId: id,
    parts: own.length === 0 ? NO_RESULT : own.flatMap(({ parts }) => parts),
    failed: own.some(({ failed }) => failed),
  };
}

const NO_RESULT: readonly Part[] = [{ type: "text", text: "[no result]" }];

function told({ parts, failed }: ToolTurn): Part[] {
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const text = `Result of a tool: ${failed ? "Error: " : ""}${texts.join("\n")}`;
  return [{ type: "text", text }, ...parts.filter(({ type }) => type !== "text")];
}
