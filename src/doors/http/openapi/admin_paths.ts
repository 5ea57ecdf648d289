import * as z from "zod";
import { OPERATION_ERRORS } from "../../../people/operation_log/mod.ts";
import { type Operation, OPERATIONS } from "../../../operating/operations/mod.ts";
import { ADMIN_BASE } from "../admin_path.ts";
import { errorsOf, headerRefs, type Json } from "./operation.ts";
import { IDS } from "../response_headers.ts";

const IDEMPOTENCY_KEY = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description: "Recommended. The same request with the same key takes effect once, whatever is " +
    "repeated: for 24 hours, it gets the same reply.",
  schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[ -~]{1,255}$" },
};

/** Describes the operator's API, from the definitions of its operations. */
export function adminPaths(): Json {
  const byPath = Map.groupBy(OPERATIONS, ({ path }) => path);
  return Object.fromEntries(
    [...byPath].map(([path, operations]) => [
      `${ADMIN_BASE}${path}`,
      Object.fromEntries(operations.map((one) => [one.method.toLowerCase(), describe(one)])),
    ]),
  );
}

function describe(operation: Operation): Json {
  const { name, method, path, summary, description, action, scopes, kind } = operation;
  const schema = schemaOf(operation.input, "input");
  const properties = schema.properties as Record<string, Json>;
  const required = new Set((schema.required ?? []) as readonly string[]);
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, param]) => param!);
  const rest = Object.keys(properties).filter((param) => !inPath.includes(param));
  const parameter = (place: "path" | "query") => (param: string) => {
    const { description: said, ...of } = properties[param]!;
    return {
      name: param,
      in: place,
      required: place === "path" || required.has(param),
      ...(said === undefined ? {} : { description: said }),
      schema: of,
    };
  };
  const guard = `Needs a key with the scope ${
    scopes.map((scope) => `\`${scope}\``).join(" or ")
  } and the action \`${action}\`.`;
  return {
    operationId: operationIdOf(operation),
    summary,
    description: [description, guard].filter(Boolean).join(" "),
    tags: ["admin"],
    parameters: [
      ...inPath.map(parameter("path")),
      ...(kind === "read"
        ? [...rest.map(parameter("query")), ...csvParameter(operation)]
        : [IDEMPOTENCY_KEY]),
    ],
    ...(kind === "read" || rest.length === 0 ? {} : {
      requestBody: {
        required: rest.some((param) => required.has(param)),
        content: {
          "application/json": {
            schema: {
              type: "object",
              properties: Object.fromEntries(rest.map((param) => [param, properties[param]])),
              ...(rest.some((param) => required.has(param))
                ? { required: rest.filter((param) => required.has(param)) }
                : {}),
              additionalProperties: false,
            },
          },
        },
      },
    }),
    responses: {
      [operation.status]: {
        description: method === "GET" ? "What was asked for." : `Done: \`${name}\`.`,
        headers: headerRefs(IDS),
        content: {
          "application/json": { schema: replyOf(operation) },
          ...(csvParameter(operation).length === 0
            ? {}
            : { "text/csv": { schema: { type: "string" } } }),
        },
      },
      ...errorResponses(operation),
    },
  };
}

/** The parameter by which a read replies with CSV; none where it cannot. */
function csvParameter(operation: Operation): Json[] {
  if (operation.kind === "write" || operation.csv.size === 0) return [];
  return [{
    name: "csv",
    in: "query",
    required: false,
    description: "Replies with CSV instead of JSON.",
    schema: { type: "string", enum: [...operation.csv.keys()] },
  }];
}

/** Such as `keyCreate` of `key.create`. */
function operationIdOf({ name }: Operation): string {
  return name.replaceAll(/[._](\w)/g, (_all, letter: string) => letter.toUpperCase());
}

function replyOf(operation: Operation): Json {
  const object = operation.secrets === undefined || !(operation.output instanceof z.ZodObject)
    ? operation.output
    : operation.output.extend(operation.secrets.shape);
  const schema = schemaOf(object, "output");
  if (operation.kind === "write" || !operation.isList) return schema;
  return {
    type: "object",
    properties: {
      object: { const: "list" },
      data: { type: "array", items: schema },
      has_more: { type: "boolean" },
      next: {
        type: ["string", "null"],
        description: "Send it as `after` to get the next page; `null` on the last one.",
      },
    },
    required: ["object", "data", "has_more", "next"],
    additionalProperties: false,
  };
}

function errorResponses({ kind }: Operation): Json {
  const codes = Object.entries(OPERATION_ERRORS)
    .filter(([, { status }]) => kind === "write" || status !== 409)
    .map(([code, { status }]) => [status, code] as const);
  const all = [
    ...codes,
    [401, "invalid_api_key"],
    [403, "permission_denied"],
    [429, "rate_limit_exceeded"],
    [500, "internal_error"],
    [503, "upstream_unavailable"],
  ] as const;
  return errorsOf(all.map(([status, code]) => [status, `\`${code}\``]), "ChatError");
}

function schemaOf(schema: z.ZodType, io: "input" | "output"): Json {
  const { $schema: _version, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return rest;
}
