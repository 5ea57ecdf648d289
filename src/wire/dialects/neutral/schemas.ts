import { isObject, type JsonObject, type JsonValue } from "../json.ts";

/** What a tool takes: nothing, unless its client says so. */
export function inputSchema(given: JsonValue | undefined): JsonObject {
  return isObject(given) ? given : { type: "object", properties: {} };
}

/** A schema as upstreams take it: some fail over `$schema`, and none needs it. */
export function withoutMeta({ $schema: _, ...schema }: JsonObject): JsonObject {
  return schema;
}
