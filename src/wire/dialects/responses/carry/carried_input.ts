import type { ParsedRequest, WriteOptions } from "../../dialect.ts";
import { isObject, type JsonObject, type JsonValue, objects, text } from "../../json.ts";
import { summaryTurn } from "../request/compaction.ts";

const DROPPED_SEAL = "input.reasoning.encrypted_content";

/**
 * The input as its upstream takes it: what the gateway sealed is opened for the upstream and the model that it came from, and
 * summaries of its own are texts.
 */
export function carriedInput(
  { body, opened }: Pick<ParsedRequest, "body" | "opened">,
  options: Pick<WriteOptions, "upstream" | "model" | "shaping">,
): { readonly input: JsonValue | undefined; readonly dropped: readonly string[] } {
  const { input } = body;
  if (!Array.isArray(input)) return { input, dropped: [] };
  const dropped = new Set<string>();
  const carried = input.flatMap((item): JsonValue[] => {
    if (!isObject(item)) return [item];
    const sealed = text(item.encrypted_content) || undefined;
    const value = sealed === undefined ? undefined : opened?.get(sealed);
    if (item.type === "compaction") return summaryOf(value, dropped);
    if (item.type !== "reasoning") return [item];
    const { encrypted_content: _, ...plain } = item;
    const seals = isOf(value, options)
      ? objects(value.parts).flatMap(({ seal }) => text(seal) ?? [])
      : [];
    if (seals.length > 0) return seals.map((seal) => ({ ...item, encrypted_content: seal }));
    if (sealed !== undefined) dropped.add(DROPPED_SEAL);
    const said = withReasoning(plain, value);
    if (said !== undefined && !options.shaping.signedReasoning) return [said];
    if (said !== undefined || sealed === undefined) dropped.add("input.reasoning");
    return [];
  });
  return { input: carried, dropped: [...dropped] };
}

function isOf(
  value: JsonObject | undefined,
  { upstream, model }: Pick<WriteOptions, "upstream" | "model">,
): value is JsonObject {
  return value !== undefined && value.upstream === upstream && value.model === model;
}

/** Reasoning that can be read: the item's own, or what another upstream wrote of it. */
function withReasoning(item: JsonObject, value: JsonObject | undefined): JsonObject | undefined {
  if (objects(item.content).length > 0 || objects(item.summary).length > 0) return item;
  const written = objects(value?.parts).map((part) => text(part.text) ?? "").join("");
  if (written === "") return undefined;
  return { ...item, content: [{ type: "reasoning_text", text: written }] };
}

function summaryOf(value: JsonObject | undefined, dropped: Set<string>): JsonValue[] {
  const summary = text(value?.text);
  if (summary === undefined) {
    dropped.add("input.compaction");
    return [];
  }
  const turn = summaryTurn(summary);
  const parts = turn.role === "user" ? turn.parts : [];
  const said = parts.flatMap((part) => part.type === "text" ? [part.text] : []).join("\n\n");
  return [{ type: "message", role: "user", content: said }];
}
