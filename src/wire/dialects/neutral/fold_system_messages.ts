import type { Part, Turn } from "./conversation.ts";

/**
 * Folds system messages in mid-conversation into reminders in the user message next to them: many upstreams take
 * a system message only at the front, and moving it there would invalidate their prompt caches.
 */
export function foldSystemMessages(turns: readonly Turn[]): Turn[] {
  const folded: Turn[] = [];
  const waiting: Part[] = [];
  /** The parts of the last turn, if that is a user's. Appended to: a copy for each message would take quadratic time. */
  let open: Part[] | undefined;
  for (const turn of turns) {
    if (turn.role === "system") {
      const text = `<system-reminder>\n${turn.text}\n</system-reminder>`;
      const { cached } = turn;
      (open ?? waiting).push({ type: "text", text, ...(cached === undefined ? {} : { cached }) });
    } else if (turn.role === "user") {
      open = [...waiting.splice(0), ...turn.parts];
      folded.push({ ...turn, parts: open });
    } else {
      if (turn.role === "assistant" && waiting.length > 0) {
        folded.push({ role: "user", parts: waiting.splice(0) });
      }
      open = undefined;
      folded.push(turn);
    }
  }
  if (waiting.length > 0) folded.push({ role: "user", parts: waiting });
  return folded;
}
