import { isObject, type JsonObject, type JsonValue } from "../../../wire/dialects/mod.ts";

/** Where a schema holds schemas by name, in a list, or one. */
const NAMED = ["properties", "patternProperties", "$defs"];
const LISTED = ["anyOf", "oneOf", "allOf", "prefixItems"];
const SINGLE = ["items", "additionalProperties", "not"];

/**
 * A JSON Schema in the form that Moonshot's service takes: the root is an object, `type` does not stand
 * beside `anyOf` but in its branches, tuples are `prefixItems`, and references lead to `$defs`. What tools
 * bring along is often written otherwise, and refused with a 400.
 *
 * Sources: platform.moonshot.ai (tool use, JSON Schema flavour); vercel/ai#18921.
 */
export function moonshotSchema(schema: JsonObject): JsonObject {
  const { $schema: _, ...rest } = schema;
  const root = rewritten(rest);
  return root.anyOf === undefined && root.$ref === undefined ? { type: "object", ...root } : root;
}

function rewritten(schema: JsonObject): JsonObject {
  let own: JsonObject = { ...schema };
  const { definitions, $ref: reference, items, additionalItems } = own;
  if (isObject(definitions)) {
    const defs = isObject(own.$defs) ? own.$defs : {};
    own.$defs = { ...definitions, ...defs };
    delete own.definitions;
  }
  if (typeof reference === "string") {
    own.$ref = reference.replace(/^#\/definitions\//, "#/$defs/");
  }
  if (Array.isArray(items)) {
    own.prefixItems = items;
    delete own.items;
    delete own.additionalItems;
    if (additionalItems !== undefined) own.items = additionalItems;
  }
  for (const field of NAMED) {
    const named = own[field];
    if (!isObject(named)) continue;
    own[field] = Object.fromEntries(
      Object.entries(named).map(([name, value]) => [name, rewrittenIf(value)]),
    );
  }
  for (const field of LISTED) {
    const listed = own[field];
    if (Array.isArray(listed)) own[field] = listed.map(rewrittenIf);
  }
  for (const field of SINGLE) {
    if (own[field] !== undefined) own[field] = rewrittenIf(own[field]);
  }
  if (Array.isArray(own.anyOf) && own.type !== undefined) {
    const { type, anyOf, ...others } = own;
    own = { ...others, anyOf: anyOf.map((branch) => typed(branch, type)) };
  }
  return own;
}

function rewrittenIf(value: JsonValue | undefined): JsonValue {
  return isObject(value) ? rewritten(value) : value ?? null;
}

/** A branch with the type that stood beside it, unless it says its own. */
function typed(branch: JsonValue, type: JsonValue): JsonValue {
  const says = !isObject(branch) || branch.$ref !== undefined || branch.anyOf !== undefined;
  return says ? branch : { type, ...branch };
}
