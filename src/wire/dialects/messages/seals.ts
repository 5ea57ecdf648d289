import { Refusal } from "../../../ground/refusal.ts";
import type { ParsedRequest } from "../dialect.ts";
import { type JsonObject, objects, text } from "../json.ts";
import type { SealedReasoning } from "../neutral/conversation.ts";
import { openedReasoning } from "../neutral/sealed_reasoning.ts";
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

/**
 * Opens what the gateway sealed in the reasoning of earlier replies. What cannot be opened is left out: a coding tool goes on with a
 * conversation when its key is replaced by one of another account.
 *
 * @returns The values by their sealed texts; undefined when there are none.
 */
export function openSeals(body: JsonObject, sealer: Sealer): ParsedRequest["opened"] {
  let opened: Map<string, JsonObject> | undefined;
  const seen = new Set<string>();
  for (const message of objects(body.messages)) {
    if (message.role !== "assistant") continue;
    for (const block of objects(message.content)) {
      const sealed = sealedText(block);
      if (sealed === undefined || seen.has(sealed)) continue;
      seen.add(sealed);
      const value = openOne(sealed, sealer);
      if (value !== undefined) (opened ??= new Map()).set(sealed, value);
    }
  }
  return opened;
}

function openOne(sealed: string, sealer: Sealer): JsonObject | undefined {
  try {
    return sealer.open("reasoning", sealed, "messages");
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
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
