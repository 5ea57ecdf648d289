import { isObject, type JsonObject, type JsonValue } from "../json.ts";
import type { RequestFields } from "../request_fields.ts";
import { withoutMeta } from "./schemas.ts";

/** The form of a reply's text: any JSON object, or JSON that satisfies a schema. */
export type OutputFormat = { readonly type: "json_object" } | JsonSchemaFormat;

/** JSON that satisfies a schema. */
export interface JsonSchemaFormat {
  readonly type: "json_schema";
  readonly schema: JsonObject;
  readonly name: string | undefined;
  readonly description: string | undefined;
  /** Whether the reply must satisfy the schema to the letter; undefined to leave that to the upstream. */
  readonly strict: boolean | undefined;
}

/** The name of a schema whose client gave it none. */
const SCHEMA_NAME = "response";

/** What tells a model to answer in JSON, where a dialect has no mode for it. */
export const JSON_INSTRUCTION = "Answer with a single JSON object and nothing else.";

/**
 * Reads the form of a reply's text as OpenAI's dialects write it.
 *
 * @param named What holds the schema and its name, if there is one.
 */
export function readFormat(
  type: JsonValue | undefined,
  named: RequestFields | undefined,
): OutputFormat | undefined {
  const strict = named?.boolean("strict");
  const name = named?.text("name");
  const schema = named?.get("schema");
  // the SDKs' types let a schema be left out: any JSON satisfies it
  if (type === "json_object" || type === "json_schema" && (schema ?? undefined) === undefined) {
    return { type: "json_object" };
  }
  if (!isObject(schema)) return undefined;
  return {
    type: "json_schema",
    schema,
    name,
    description: named?.text("description"),
    strict,
  };
}

/** The fields of a schema as OpenAI's dialects write it. */
export function writeSchema(format: JsonSchemaFormat): JsonObject {
  return {
    name: format.name ?? SCHEMA_NAME,
    ...(format.description === undefined ? {} : { description: format.description }),
    ...(format.strict === undefined ? {} : { strict: format.strict }),
    schema: withoutMeta(format.schema),
  };
}

/** A reply's schema with what it is about, for dialects that have no other place for that. */
export function describedSchema({ schema, description }: JsonSchemaFormat): JsonObject {
  return description === undefined ? schema : { ...schema, description };
}
