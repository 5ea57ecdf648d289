import { lastMark } from "./cache_marks.ts";
import type { Part, ToolCall, Turn } from "./conversation.ts";

type ToolTurn = Turn & { readonly role: "tool" };

/**
 * Pairs tool calls with results: each call gets exactly one, directly after its message and in the calls' order.
 * Upstreams reject missing, out-of-order, duplicate and unmatched tool results.
 *
 * A missing result is filled in, several results of one call are joined, and an unmatched one becomes a user
 * message.
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
    if (calls.length > 0) paired.push(...resultsOf(calls, results));
    const strays = calls.length === 0 ? results : withoutCalls(calls, results);
    if (strays.length > 0) paired.push({ role: "user", parts: strays.flatMap(asUserParts) });
  }
  return paired;
}

/** The result of each call; of several calls with one id the last one takes all the remaining results. */
function resultsOf(calls: readonly ToolCall[], results: readonly ToolTurn[]): ToolTurn[] {
  const byId = Map.groupBy(results, ({ callId }) => callId);
  const left = new Map<string, number>();
  for (const { id } of calls) left.set(id, (left.get(id) ?? 0) + 1);
  const taken = new Map<string, number>();
  return calls.map(({ id }) => {
    const all = byId.get(id) ?? [];
    const at = taken.get(id) ?? 0;
    const isLast = at + 1 === left.get(id);
    taken.set(id, at + 1);
    const own = isLast ? all.slice(at) : all.slice(at, at + 1);
    return {
      role: "tool",
      callId: id,
      parts: own.length === 0 ? NO_RESULT : own.flatMap(({ parts }) => parts),
      failed: own.some(({ failed }) => failed),
      cached: lastMark(own).cached,
    };
  });
}

function withoutCalls(calls: readonly ToolCall[], results: readonly ToolTurn[]): ToolTurn[] {
  const called = new Set(calls.map(({ id }) => id));
  return results.filter(({ callId }) => !called.has(callId));
}

const NO_RESULT: readonly Part[] = [{ type: "text", text: "[no result]" }];

function asUserParts({ parts, failed }: ToolTurn): Part[] {
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const text = `Result of a tool: ${failed ? "Error: " : ""}${texts.join("\n")}`;
  return [{ type: "text", text }, ...parts.filter(({ type }) => type !== "text")];
}

/** The text of a result, for dialects in which it can be no more: other parts are attached, and the text names them. */
export function resultText(parts: readonly Part[], attached: Part[]): string {
  return parts.map((part) => {
    if (part.type === "text") return part.text;
    attached.push(part);
    return `[${part.type} ${attached.length}, see below]`;
  }).filter((one) => one !== "").join("\n");
}

/**
 * Replaces the ids of paired calls and results.
 *
 * @param write Returns the new ids of one message's calls, given the old ones.
 */
export function withIds(
  paired: readonly Turn[],
  write: (ids: readonly string[]) => readonly string[],
): Turn[] {
  let ids: readonly string[] = [];
  let answered = 0;
  return paired.map((turn) => {
    if (turn.role === "tool") return { ...turn, callId: ids[answered++]! };
    if (turn.role !== "assistant") return turn;
    ids = write(turn.calls.map(({ id }) => id));
    answered = 0;
    return { ...turn, calls: turn.calls.map((call, at) => ({ ...call, id: ids[at]! })) };
  });
}

/**
 * Gives paired calls IDs that are each used once in the whole conversation: dialects may number them again in each reply. The
 * same history gets the same IDs, so that prompt caches hold.
 *
 * @param write Returns one message's IDs as the dialect accepts them.
 * @param fit Shortens an ID that was made longer.
 */
export function withUniqueIds(
  paired: readonly Turn[],
  write: (ids: readonly string[]) => readonly string[],
  fit: (id: string) => string = (id) => id,
): Turn[] {
  const used = new Set<string>();
  const counts = new Map<string, number>();
  const uniqueOf = (id: string) => {
    let unique = id;
    let count = counts.get(id) ?? 1;
    while (used.has(unique)) unique = fit(`${id}_${++count}`);
    counts.set(id, count);
    used.add(unique);
    return unique;
  };
  return withIds(paired, (ids) => write(ids).map(uniqueOf));
}
