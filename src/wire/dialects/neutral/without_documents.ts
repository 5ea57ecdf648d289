import type { Part, Turn } from "./conversation.ts";

/**
 * Replaces documents by a sentence, for upstreams that reject files: a document that a tool has read once would fail
 * every further request of its conversation. Returns the same array when there are none.
 */
export function withoutDocuments(turns: readonly Turn[]): readonly Turn[] {
  const holds = (turn: Turn) =>
    "parts" in turn && turn.parts.some(({ type }) => type === "document");
  if (!turns.some(holds)) return turns;
  return turns.map((turn) =>
    "parts" in turn ? { ...turn, parts: turn.parts.map(withoutDocument) } : turn
  );
}

function withoutDocument(part: Part): Part {
  if (part.type !== "document") return part;
  const name = part.title === undefined ? "" : ` "${part.title}"`;
  return { type: "text", text: `[The document${name} is left out: this model cannot read files.]` };
}
