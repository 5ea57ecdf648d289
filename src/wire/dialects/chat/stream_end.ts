import type { ReplyContext } from "../dialect.ts";
import type { JsonObject, JsonValue } from "../json.ts";

/** The end of a chat stream: the usage in a chunk of its own where the client wants it, then `[DONE]`. */
export function chatStreamEnd(
  { id, model, fingerprint }: Pick<ReplyContext, "id" | "model" | "fingerprint">,
  created: JsonValue,
  usage: JsonObject | undefined,
): string {
  if (usage === undefined) return "data: [DONE]\n\n";
  const last = {
    id,
    object: "chat.completion.chunk",
    created,
    model,
    system_fingerprint: fingerprint,
    choices: [],
    usage,
  };
  return `data: ${JSON.stringify(last)}\n\ndata: [DONE]\n\n`;
}
