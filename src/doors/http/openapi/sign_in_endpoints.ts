import { OAUTH, WELL_KNOWN } from "../../oauth/mod.ts";
import { type Endpoint, OPEN, plain } from "./endpoint.ts";
import type { Json } from "./operation.ts";

const UNSET = "Answers 404 unless `signIn` is set.";
const UNAVAILABLE = "The database cannot be used now: keep the tokens, and try again.";
const MALFORMED = "`invalid_request`: a field is missing, or the form is too large.";

/** What all endpoints by which tools sign in have. Their errors are those of the RFCs: `error` and `error_description`. */
const COMMON = { ...OPEN, tag: "sign-in", errors: ["chat", ["path_unknown"]] } as const;

/** The endpoints by which tools sign in. */
export const SIGN_IN_ENDPOINTS: readonly Endpoint[] = [
  {
    ...COMMON,
    at: ["get", WELL_KNOWN.server],
    operationId: "getAuthorizationServer",
    summary: "Get what a tool needs to sign in (RFC 8414)",
    description: UNSET,
    replies: plain({ 200: "Addresses, grants and scopes." }),
  },
  {
    ...COMMON,
    at: ["get", WELL_KNOWN.resource],
    operationId: "getProtectedResource",
    summary: "Get what signs tools in (RFC 9728)",
    description: UNSET,
    replies: plain({ 200: "The address of the authorization server." }),
  },
  {
    ...COMMON,
    at: ["post", OAUTH.device],
    operationId: "beginDeviceSignIn",
    summary: "Begin to sign in a tool by a code (RFC 8628)",
    description: `Somebody approves the code in the console, within ten minutes. ${UNSET}`,
    body: form({ client_id: "What the tool calls itself." }),
    replies: plain({
      200: "The code that somebody types, and the one to ask for tokens with.",
      400: MALFORMED,
      429: "Too many tools wait to be approved.",
      503: UNAVAILABLE,
    }),
  },
  {
    ...COMMON,
    at: ["get", OAUTH.authorize],
    operationId: "beginBrowserSignIn",
    summary: "Begin to sign in a tool by a browser (RFC 6749, PKCE by RFC 7636)",
    description:
      "Query: `response_type=code`, `client_id`, `redirect_uri`, `code_challenge`, `code_challenge_method=S256`, `state`. " +
      `The browser is sent to the console, and from there back to the tool. ${UNSET}`,
    replies: plain({
      303: "To the page where somebody approves the tool, or back to the tool with an error.",
      400: "The client or its redirect address is not known.",
    }),
  },
  {
    ...COMMON,
    at: ["post", OAUTH.token],
    operationId: "getToken",
    summary: "Get tokens for a code that was approved, for a refresh token, or for a job's token",
    description:
      "The access token is an API key with the scope `inference`, valid for an hour. A refresh token that is used " +
      `again more than a minute later signs the tool out. ${UNSET}`,
    body: form({
      grant_type:
        "`urn:ietf:params:oauth:grant-type:device_code`, `authorization_code`, `refresh_token` or `urn:ietf:params:oauth:grant-type:token-exchange`.",
      device_code: "With the first.",
      code: "With the second, as are `client_id`, `redirect_uri` and `code_verifier`.",
      refresh_token: "With the third.",
      subject_token: "With the fourth: the token of a job of CI (RFC 8693).",
    }, ["grant_type"]),
    replies: plain({
      200: "An access token and a refresh token.",
      400: "`authorization_pending`, `slow_down`, `access_denied`, `expired_token`, " +
        "`unsupported_grant_type` or `invalid_request`; for a code or a job's token `invalid_grant`.",
      401: "`invalid_grant` for a refresh token: the tool is signed out.",
      429: "Too many wrong tokens and codes.",
      503: UNAVAILABLE,
    }),
  },
  {
    ...COMMON,
    at: ["post", OAUTH.revoke],
    operationId: "revokeToken",
    summary: "Sign out a tool by either of its tokens (RFC 7009)",
    description: UNSET,
    body: form({ token: "The access token or the refresh token." }, ["token"]),
    replies: plain({
      200: "The tool is signed out, or no tool has this token.",
      400: MALFORMED,
      503: UNAVAILABLE,
    }),
  },
];

function form(fields: Readonly<Record<string, string>>, required: readonly string[] = []): Json {
  const properties = Object.fromEntries(
    Object.entries(fields).map(([name, description]) => [name, { type: "string", description }]),
  );
  const more = required.length === 0 ? {} : { required };
  return {
    "application/x-www-form-urlencoded": { schema: { type: "object", properties, ...more } },
  };
}
