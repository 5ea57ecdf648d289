import {
  isObject,
  type JsonObject,
  type JsonValue,
  objects,
  text,
} from "../../wire/dialects/mod.ts";

const MAX_DEPTH = 8;

/**
 * A value that satisfies a JSON Schema, the same for the same schema and prompt.
 *
 * Strings without further constraint take the last capitalised word of the prompt: "weather in
 * Paris" fills a `city` with `Paris`.
 */
export function sample(schema: JsonObject, prompt: string): JsonValue {
  return valueOf(schema, { root: schema, prompt, name: "value", depth: 0 });
}

interface Place {
  readonly root: JsonObject;
  readonly prompt: string;
  readonly name: string;
  readonly depth: number;
}

function valueOf(schema: JsonObject, place: Place): JsonValue {
  if (place.depth > MAX_DEPTH) return null;
  const deeper = { ...place, depth: place.depth + 1 };
  const reference = text(schema.$ref);
  if (reference !== undefined) return valueOf(resolve(reference, place.root), deeper);
  for (const fixed of ["const", "default"]) {
    if (schema[fixed] !== undefined) return schema[fixed]!;
  }
  for (const choices of [schema.enum, schema.examples]) {
    if (Array.isArray(choices) && choices[0] !== undefined) return choices[0];
  }
  for (const alternatives of [schema.anyOf, schema.oneOf, schema.allOf]) {
    const chosen = objects(alternatives).find((one) => one.type !== "null");
    if (chosen !== undefined) return valueOf(chosen, deeper);
  }
  switch (typeOf(schema)) {
    case "object":
      return objectOf(schema, deeper);
    case "array": {
      const item = isObject(schema.items) ? schema.items : {};
      const length = Math.min(typeof schema.minItems === "number" ? schema.minItems : 1, 8);
      return Array.from({ length }, () => valueOf(item, deeper));
    }
    case "integer":
    case "number":
      return typeof schema.minimum === "number" ? Math.ceil(schema.minimum) : 1;
    case "boolean":
      return true;
    case "null":
      return null;
    default:
      return wordFor(place);
  }
}

function typeOf(schema: JsonObject): string {
  const type = Array.isArray(schema.type) ? schema.type.find((one) => one !== "null") : schema.type;
  return text(type) ?? (isObject(schema.properties) ? "object" : "string");
}

function objectOf(schema: JsonObject, place: Place): JsonObject {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const names = Array.isArray(schema.required)
    ? schema.required.filter((name) => typeof name === "string")
    : Object.keys(properties);
  return Object.fromEntries(names.map((name) => {
    const own = properties[name];
    return [name, valueOf(isObject(own) ? own : {}, { ...place, name })];
  }));
}

function resolve(reference: string, root: JsonObject): JsonObject {
  const path = reference.replace(/^#\/?/, "").split("/").filter((key) => key !== "");
  const found = path.reduce<unknown>(
    (at, key) => isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined,
    root,
  );
  return isObject(found) ? found : {};
}

function wordFor({ prompt, name }: Place): string {
  const quoted = /["'“`]([^"'”`]{1,60})["'”`]/.exec(prompt)?.[1];
  const words = prompt.match(/(?<=\s)\p{Lu}[\p{L}\d-]*\p{Ll}[\p{L}\d-]*/gu) ?? [];
  return quoted ?? words.at(-1) ?? name;
}
