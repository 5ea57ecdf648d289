import { SCIM_BASE, SCIM_ENDPOINTS } from "../scim_path.ts";
import { errors, type Json } from "./operation.ts";

const ANY = { "application/scim+json": { schema: { type: "object" } } };
const UNSET = "Answers 404 unless `signIn` is set.";

const query = (name: string, description: string, type = "string") => ({
  ...{ name, in: "query", required: false, description, schema: { type } },
});
const SHOWN = [
  query("attributes", "Comma-separated attributes that are sent. Default: all."),
  query("excludedAttributes", "Comma-separated attributes that are not sent."),
];
const LISTED = [
  query("filter", 'Comparisons with `eq`, joined by `and`: `userName eq "ada@example.com"`.'),
  query("startIndex", "Place of the first resource, from 1.", "integer"),
  query("count", "Resources, up to 200. Default: 100.", "integer"),
  ...SHOWN,
];
const ID = { name: "id", in: "path", required: true, schema: { type: "string" } };

const VERBS: Readonly<Record<string, string>> = {
  get: "Get",
  post: "Create",
  put: "Replace",
  patch: "Change",
  delete: "Delete",
};

/** Describes the API of directories. Its errors and resources are those of RFC 7643 and RFC 7644, which `/Schemas` has. */
export function scimPaths(): Json {
  const paths: Record<string, Json> = {};
  for (const [method, path] of SCIM_ENDPOINTS) {
    const [, noun, isOne] = /^\/(\w+?)s?(\/\{id\})?$/.exec(path)!;
    const isResource = /^\/(Users|Groups)/.test(path);
    const isList = method === "get" && isOne === undefined && noun !== "ServiceProviderConfig";
    const what = `${VERBS[method]} ${isList ? `${noun}s` : noun}`;
    (paths[`${SCIM_BASE}${path}`] ??= {})[method] = {
      operationId: `scim${what.replace(" ", "")}`,
      summary: `${what} (RFC 7644)`,
      description: `Needs a key of an owner with the scope \`scim\`. ${UNSET}`,
      tags: ["scim"],
      parameters: [
        ...(isOne === undefined ? [] : [ID]),
        ...(!isResource || method === "delete" ? [] : isList ? LISTED : SHOWN),
      ],
      ...(["post", "put", "patch"].includes(method) && {
        requestBody: { required: true, content: ANY },
      }),
      responses: {
        ...(method === "delete" ? { 204: { description: "It is deleted." } } : {
          [method === "post" ? 201 : 200]: { description: "As it is now.", content: ANY },
        }),
        ...errors("chat", ["path_unknown"]),
        default: { description: "What is wrong: `scimType` and `detail`.", content: ANY },
      },
    };
  }
  return paths;
}
