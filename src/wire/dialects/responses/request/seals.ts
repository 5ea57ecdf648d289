import type { ParsedRequest } from "../../dialect.ts";
import { isObject, items, type JsonObject, text } from "../../json.ts";
import type { SealedKind, Sealer } from "../../sealer.ts";
import { kindOf } from "../items.ts";

/**
 * Opens what the gateway sealed in reasoning and summaries.
 *
 * @returns The values by their sealed texts; undefined when there are none. What others sealed is not among them.
 * @throws {Refusal} `request_invalid` for a text that was changed, or sealed for another account.
 */
export function openSeals(body: JsonObject, sealer: Sealer): ParsedRequest["opened"] {
  let opened: Map<string, JsonObject> | undefined;
  const kinds = new Map<string, SealedKind>();
  items(body.input).forEach((item, at) => {
    if (!isObject(item)) return;
    const kind = kindOf(item);
    const sealed = text(item.encrypted_content);
    if (kind !== "reasoning" && kind !== "compaction" || !sealed) return;
    if (kinds.get(sealed) === kind) return;
    kinds.set(sealed, kind);
    const value = sealer.open(kind, sealed, `input[${at}].encrypted_content`);
    if (value !== undefined) (opened ??= new Map()).set(sealed, value);
  });
  return opened;
}
