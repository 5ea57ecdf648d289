import type { Part, Turn } from "./conversation.ts";

/**
 * Yielder system messages in mid-conversation into reminders in the user message next to them: many upstreams take
 * a system message only at the front, and moving it there would invalidate their prompt caches.
 */
export function foldSystemMessages(turns: readonly Turn[]): Turn[] {
  const folded: Turn[] = [];
  const waiting: Part[] = [];
  for (const turn of turns) {
    if (turn.role === "system") {
      const text = `<system-reminder>\n${turn.text}\n</system-reminder>`;
      const last = folded.at(-1);
      if (last?.role === "user") {
        folded[folded.length - 1] = { ...last, parts: [...last.parts, { type: "text", text }] };
      } else {
        waiting.push({ type: "text", text });
      }
    } else if (turn.role === "user") {
      folded.push({ ...turn, parts: [...waiting.splice(0), ...turn.parts] });
    } else {
      if (turn.role === "assistant" && waiting.length > 0) {
        folded.push({ role: "user", parts: waiting.splice(0) });
      }
      folded.push(turn);
    }
  }
  if (waiting.length > 0) folded.push({ role: "user", parts: waiting });
  return folded;
}
