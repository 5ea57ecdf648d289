import { VERSION } from "../../../ground/platform/mod.ts";
import { adminPaths } from "./admin_paths.ts";
import { CLIENT_ENDPOINTS, pathsOf, SERVICE_ENDPOINTS } from "./endpoints.ts";
import { SIGN_IN_ENDPOINTS } from "./sign_in_endpoints.ts";
import { HEADERS, type Json } from "./operation.ts";
import { jsonSchemas } from "./schemas.ts";
import { scimPaths } from "./scim_paths.ts";

/** All endpoints: an OpenAPI 3.1 document. Its making takes a few hundred milliseconds, once in a process. */
export const DOCUMENT: Json = {
  openapi: "3.1.0",
  info: {
    title: "Sluice",
    version: VERSION,
    summary: "An LLM gateway with the chat-completions, messages, responses and embeddings APIs.",
    description: "Requests are charged in whole credits to a prepaid balance. Unknown request " +
      "fields are passed unmodified to upstreams of the same dialect.",
    license: { name: "MIT", identifier: "MIT" },
  },
  servers: [{ url: "/" }],
  security: [{ bearer: [] }, { apiKey: [] }],
  tags: [
    { name: "inference", description: "All dialects, and embeddings." },
    { name: "account", description: "The caller's own credits." },
    {
      name: "admin",
      description: "The operator's API, for keys with the scope `admin` or `read`.",
    },
    { name: "sign-in", description: "How tools sign in, where the setting `signIn` is." },
    {
      name: "scim",
      description:
        "How a company's directory sends people and groups, for keys with the scope `scim`.",
    },
    { name: "operation", description: "Health, metrics and API description, for operators." },
  ],
  paths: {
    ...pathsOf(CLIENT_ENDPOINTS),
    ...adminPaths(),
    ...pathsOf(SIGN_IN_ENDPOINTS),
    ...scimPaths(),
    ...pathsOf(SERVICE_ENDPOINTS),
  },
  components: {
    securitySchemes: {
      bearer: { type: "http", scheme: "bearer" },
      apiKey: { type: "apiKey", in: "header", name: "X-API-Key" },
      metricsToken: { type: "http", scheme: "bearer", description: "SLUICE_METRICS_TOKEN" },
    },
    headers: Object.fromEntries(
      Object.entries(HEADERS).map(([name, [type, description]]) => [
        name,
        { description, schema: { type } },
      ]),
    ),
    schemas: jsonSchemas(),
  },
};
