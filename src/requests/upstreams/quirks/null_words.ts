import { isObject, type JsonObject, type JsonValue, objects } from "../../../wire/dialects/mod.ts";
import type { Adjust } from "./adjust.ts";

/** Where a schema holds schemas by name; in a list; and one, or in some places a list. */
const NAMED = new Set(["properties", "patternProperties", "$defs", "definitions"]);
const INNER = new Set([
  "anyOf",
  "oneOf",
  "allOf",
  "items",
  "prefixItems",
  "additionalProperties",
  "not",
]);
/** Words whose value may be null. */
const VALUES = new Set(["default", "const"]);

/**
 * A schema without words that are null, as programs in Go and Python write those that they leave out: `null` is neither a list of required
 * properties nor an object of them, and services reject it. The same object where there is none.
 */
export function withoutNullWords(schema: JsonObject): JsonObject {
  return changed(schema, ([word, value]) => {
    if (value === null && !VALUES.has(word)) return undefined;
    if (NAMED.has(word) && isObject(value)) {
      return changed(value, ([, one]) => isObject(one) ? withoutNullWords(one) : one);
    }
    if (!INNER.has(word)) return value;
    if (isObject(value)) return withoutNullWords(value);
    if (!Array.isArray(value)) return value;
    const list = value.map((one) => isObject(one) ? withoutNullWords(one) : one);
    return list.every((one, at) => one === value[at]) ? value : list;
  });
}

/** An object with each of its values changed, or left out where that is undefined; the same where none is. */
function changed(
  object: JsonObject,
  change: (entry: [string, JsonValue | undefined]) => JsonValue | undefined,
): JsonObject {
  const entries = Object.entries(object);
  const values = entries.map(change);
  if (values.every((value, at) => value === entries[at]![1])) return object;
  return Object.fromEntries(
    entries.flatMap(([word], at): [string, JsonValue][] =>
      values[at] === undefined ? [] : [[word, values[at]!]]
    ),
  );
}

/** Schemas of OpenAI's tools, in its two dialects. */
export const withWholeSchemas: Adjust = (body) => {
  const given = objects(body.tools);
  const tools = given.map((tool) => {
    const own = isObject(tool.function) ? tool.function : tool;
    if (!isObject(own.parameters)) return tool;
    const parameters = withoutNullWords(own.parameters);
    if (parameters === own.parameters) return tool;
    return own === tool ? { ...tool, parameters } : { ...tool, function: { ...own, parameters } };
  });
  return tools.every((tool, at) => tool === given[at]) ? body : { ...body, tools };
};
