import {
  isObject,
  items,
  type JsonObject,
  type JsonValue,
  objects,
  text,
} from "../../../wire/dialects/mod.ts";
import { withoutNullWords } from "./null_words.ts";

/** Where a schema holds schemas by name, and in a list. */
const NAMED = ["properties", "$defs", "definitions"];
const UNIONS = ["anyOf", "oneOf", "allOf"];

/** The words of unions at the top of a schema, which become one object. */
export function unionsOf(schema: JsonObject): string[] {
  return UNIONS.filter((word) => Array.isArray(schema[word]));
}

/**
 * The schema of a tool's input as Anthropic's service takes it: an object, with no union at the top. The branches of a union become one
 * object: a property of any branch may be given, and what all branches of it require is required.
 *
 * Source: docs.anthropic.com, tool use; its service answers 400 "input_schema does not support oneOf, allOf, or anyOf at the top level".
 */
export function toolSchema(schema: JsonObject): JsonObject {
  const whole = withoutNullWords(schema);
  return asObject(whole, whole, new Set());
}

/** @param expanded Definitions that were referred to: each is expanded once, as they may refer to each other. */
function asObject(given: JsonObject, root: JsonObject, expanded: Set<JsonObject>): JsonObject {
  const schema = given.$ref === undefined ? given : inlined(given, root);
  const unions = unionsOf(schema);
  if (unions.length === 0) return schema.type === "object" ? schema : { ...schema, type: "object" };
  const rest = Object.fromEntries(
    Object.entries(schema).filter(([word]) => !UNIONS.includes(word)),
  );
  const properties = new Variants();
  properties.add(rest.properties);
  const required = new Set(items(rest.required));
  for (const word of unions) {
    // many may refer to the same
    const branches = [
      ...new Set(objects(schema[word]).map((branch) => resolved(branch, root))),
    ].map((branch) => {
      if (expanded.has(branch)) return {};
      expanded.add(branch);
      return asObject(branch, root, expanded);
    });
    const requiring = new Map<JsonValue, number>();
    for (const branch of branches) {
      properties.add(branch.properties);
      for (const name of new Set(items(branch.required))) {
        requiring.set(name, (requiring.get(name) ?? 0) + 1);
      }
    }
    for (const [name, count] of requiring) {
      if (word === "allOf" || count === branches.length) required.add(name);
    }
  }
  return {
    ...rest,
    type: "object",
    properties: properties.schemas,
    ...(required.size === 0 ? {} : { required: [...required] }),
  };
}

/** The schemas of properties, each of which may have several. */
class Variants {
  /** By name and JSON. */
  readonly #schemas = new Map<string, Map<string, JsonValue>>();

  add(properties: JsonValue | undefined): void {
    if (!isObject(properties)) return;
    for (const [name, one] of Object.entries(properties)) {
      const known = this.#schemas.get(name) ?? new Map<string, JsonValue>();
      this.#schemas.set(name, known);
      for (const variant of branchesOf(one!)) known.set(JSON.stringify(variant), variant);
    }
  }

  get schemas(): JsonObject {
    return Object.fromEntries([...this.#schemas].map(([name, known]): [string, JsonValue] => {
      const all = [...known.values()];
      return [name, all.length === 1 ? all[0]! : { anyOf: all }];
    }));
  }
}

/** The branches of a schema that is nothing but a union, else the schema itself. */
function branchesOf(schema: JsonValue): readonly JsonValue[] {
  const isUnion = isObject(schema) && Object.keys(schema).length === 1 &&
    Array.isArray(schema.anyOf) && schema.anyOf.length > 0;
  return isUnion ? schema.anyOf as JsonValue[] : [schema];
}

/** A schema with what it refers to in its place, where that is known. */
function inlined(schema: JsonObject, root: JsonObject): JsonObject {
  const target = resolved(schema, root);
  const { $ref: _, ...rest } = schema;
  return target === schema ? schema : { ...target, ...rest };
}

/** What a branch refers to in its schema. */
function resolved(branch: JsonObject, root: JsonObject): JsonObject {
  const [, list, name] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(text(branch.$ref) ?? "") ?? [];
  const defs = list === undefined ? undefined : root[list];
  const known = isObject(defs) ? defs[name!] : undefined;
  return isObject(known) && known.$ref === undefined ? known : branch;
}

/** Words that the service takes in the schema of an output. */
const TAKEN = new Set([
  "type",
  "title",
  "description",
  "enum",
  "const",
  "default",
  "format",
  "items",
  "required",
  "additionalProperties",
  "anyOf",
  "allOf",
  "$ref",
  ...NAMED,
]);
const FORMATS = new Set([
  "date-time",
  "time",
  "date",
  "duration",
  "email",
  "hostname",
  "uri",
  "ipv4",
  "ipv6",
  "uuid",
]);

/**
 * The schema of an output as Anthropic's service takes it. Keywords that it does not know are put into the description, as the service's own SDKs do.
 *
 * Source: docs.anthropic.com, structured outputs, "JSON Schema limitations".
 */
export function outputSchema(schema: JsonObject): JsonObject {
  const own: JsonObject = {};
  const told: string[] = [];
  for (const [word, value] of Object.entries(schema)) {
    if (word === "oneOf") own.anyOf = lists(value);
    else if (word === "anyOf" || word === "allOf") own[word] = lists(value);
    else if (NAMED.includes(word) && isObject(value)) own[word] = named(value);
    else if (word === "items" && isObject(value)) own.items = outputSchema(value);
    else if (word === "minItems" && (value === 0 || value === 1)) own.minItems = value;
    else if (word === "format" && !FORMATS.has(String(value))) told.push(`format: ${value}`);
    else if (TAKEN.has(word)) own[word] = value;
    else if (!word.startsWith("$")) told.push(`${word}: ${JSON.stringify(value)}`);
  }
  if (isObject(own.properties) || own.type === "object") own.additionalProperties = false;
  if (told.length > 0) {
    own.description = [text(own.description), `{${told.join(", ")}}`].filter(Boolean).join("\n\n");
  }
  return own;
}

function lists(value: JsonValue | undefined): JsonValue {
  return items(value).map((one) => isObject(one) ? outputSchema(one) : one);
}

function named(value: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, isObject(one) ? outputSchema(one) : one]),
  );
}
