import type { ParsedRequest } from "../dialect.ts";
import { type JsonObject, objects, text } from "../json.ts";
import type { SealedReasoning } from "../neutral/conversation.ts";
import { openEach, openedReasoning } from "../neutral/sealed_reasoning.ts";
import { SEALED_PREFIX, type Sealer } from "../sealer.ts";

/**
 * The text of a block that the gateway sealed: the signature of reasoning that was translated, or reasoning that its upstream hides.
 *
 * @returns `undefined` for all other blocks.
 */
export function sealedText(block: JsonObject): string | undefined {
  const sealed = block.type === "thinking"
    ? text(block.signature)
    : block.type === "redacted_thinking"
    ? text(block.data)
    : undefined;
  return sealed?.startsWith(SEALED_PREFIX) ? sealed : undefined;
}

/** Opens what the gateway sealed in a body: see {@linkcode openEach}. */
export function openSeals(body: JsonObject, sealer: Sealer): ParsedRequest["opened"] {
  const blocks = objects(body.messages).filter(({ role }) => role === "assistant")
    .flatMap(({ content }) => objects(content));
  return openEach(blocks.flatMap((block) => sealedText(block) ?? []), sealer, "messages");
}

/** What upstreams sealed of an assistant's message, as far as it was opened. */
export function sealedIn(
  blocks: readonly JsonObject[],
  opened: ParsedRequest["opened"],
): SealedReasoning[] {
  return blocks.flatMap((block) => {
    const value = opened?.get(sealedText(block) ?? "");
    if (value === undefined) return [];
    return openedReasoning(value).sealed.map((one) => ({
      ...one,
      text: text(block.thinking) ?? "",
    }));
  });
}
