/** A request that met no endpoint. */
export interface WrongRequest {
  readonly method: string;
  /** Path as it was sent, without the query. */
  readonly path: string;
  /** Address of the gateway, without a slash at its end. */
  readonly base: string;
}

/** Endpoints that clients build paths for: what they append to a base URL, the longest first. */
const ENDPOINTS: readonly { path: string; method: "GET" | "POST"; appended: readonly string[] }[] =
  [
    {
      path: "/v1/messages/count_tokens",
      method: "POST",
      appended: ["/v1/messages/count_tokens", "/messages/count_tokens"],
    },
    { path: "/v1/messages", method: "POST", appended: ["/v1/messages", "/messages"] },
    { path: "/v1/chat/completions", method: "POST", appended: ["/chat/completions"] },
    { path: "/v1/responses/compact", method: "POST", appended: ["/responses/compact"] },
    { path: "/v1/responses", method: "POST", appended: ["/responses"] },
    { path: "/v1/embeddings", method: "POST", appended: ["/embeddings"] },
    { path: "/v1/models", method: "GET", appended: ["/models"] },
  ];

/** What clients of the responses API call besides the endpoints, as the end of a path, with what to do instead. */
const NOT_SERVED: readonly { path: RegExp; remedy: string }[] = [
  {
    path: /\/responses\/input_tokens$/,
    remedy: "POST /v1/messages/count_tokens counts the input of a request to /v1/messages. " +
      "A response has its count in usage.input_tokens.",
  },
  {
    path: /\/responses\/[^/]+\/cancel$/,
    remedy:
      "Responses do not run in the background: close the connection of a request to cancel it.",
  },
  {
    path: /\/responses\/[^/]+\/input_items$/,
    remedy: "Prompts are not stored: keep the input that you send.",
  },
  {
    path: /\/responses\/[^/]+$/,
    remedy:
      "Responses are not stored: keep the one that POST /v1/responses returns, and send its output items " +
      "as input of the next request.",
  },
  {
    path: /\/conversations(?:\/[^/]+(?:\/items(?:\/[^/]+)?)?)?$/,
    remedy:
      "Conversations are not stored: send the whole input with each request to POST /v1/responses.",
  },
];

const MAX_PATH_CHARS = 200;

/**
 * Says what to do about an unknown endpoint. Most are wrong base URLs: OpenAI's SDKs append `/chat/completions` to theirs,
 * Anthropic's `/v1/messages`, and other clients mix the two. Some are of features that need stored responses.
 *
 * @returns One or two sentences, with the right endpoint and base URL where the path shows what was meant.
 *
 * @example
 * ```ts
 * import { assertStringIncludes } from "@std/assert";
 * import { describeWrongPath } from "./wrong_path.ts";
 *
 * const base = "http://127.0.0.1:8787";
 * const text = describeWrongPath({ method: "POST", path: "/v1/v1/messages", base });
 * assertStringIncludes(text, `did you mean POST /v1/messages? Set the base URL to ${base}.`);
 * ```
 */
export function describeWrongPath({ method, path, base }: WrongRequest): string {
  const unknown = `Unknown endpoint: ${method} ${path.slice(0, MAX_PATH_CHARS)}`;
  const plain = path.slice(0, 4 * MAX_PATH_CHARS).replace(/\/{2,}/g, "/").replace(/\/$/, "");
  for (const endpoint of ENDPOINTS) {
    const meant = `${unknown}; did you mean ${endpoint.method} ${endpoint.path}?`;
    if (plain === endpoint.path && path === plain) return meant; // the method is wrong
    const appended = endpoint.appended.find((one) => plain.endsWith(one));
    if (appended !== undefined) {
      // what is left of the right path belongs to the base URL
      return `${meant} Set the base URL to ${base}${
        endpoint.path.slice(0, endpoint.path.length - appended.length)
      }.`;
    }
  }
  const remedy = NOT_SERVED.find((one) => one.path.test(plain))?.remedy ??
    "GET /openapi.json lists the endpoints.";
  return `${unknown}. ${remedy}`;
}
