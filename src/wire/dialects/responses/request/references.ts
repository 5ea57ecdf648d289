import { isObject, items, type JsonObject, type JsonValue, text } from "../../json.ts";

/** The ID of the item that an item of the input refers to; undefined for an item of its own. */
function referenceOf(item: JsonValue): string | undefined {
  if (!isObject(item)) return undefined;
  const isReference = item.type === "item_reference" ||
    Object.keys(item).every((key) => key === "id" || (key === "type" && item.type === null));
  return isReference ? text(item.id) : undefined;
}

/**
 * IDs of the items that a body's input refers to.
 *
 * @param body Any value.
 */
export function findReferences(body: unknown): string[] {
  if (!isObject(body)) return [];
  return items(body.input).flatMap((item) => referenceOf(item) ?? []);
}

/**
 * Puts items in the places of references to them. A reference to an unknown item stays, and so does a second one to the same
 * item: no conversation has an item twice.
 *
 * @returns The body; a copy if anything is replaced.
 */
export function fillReferences(body: unknown, known: ReadonlyMap<string, JsonObject>): unknown {
  if (!isObject(body) || known.size === 0) return body;
  const left = new Map(known);
  const input = items(body.input).map((item) => {
    const id = referenceOf(item);
    const found = id === undefined ? undefined : left.get(id);
    if (found === undefined) return item;
    left.delete(id!);
    return found;
  });
  return { ...body, input };
}
