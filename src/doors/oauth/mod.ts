/**
 * The door by which tools sign in: an authorization server for Claude Code, `sluice auth login` and others.
 *
 * Promise: a tool gets tokens once somebody has approved it in the console; when the database is away it is told so, never that its token
 * is wrong.
 * Leaves to others: approving (`doors/console`), tokens and codes (`people/accounts`).
 *
 * @module
 */

import type { OAuth, OAuthParts } from "./oauth.ts";

export {
  answerTo,
  AUTHORIZE_FIELDS,
  AuthorizeError,
  type AuthorizeRequest,
  readAuthorizeRequest,
} from "./authorize_request.ts";
export { isOAuthPath, OAUTH, WELL_KNOWN } from "./oauth_path.ts";

/** Loads the door when the first tool comes: most gateways never need it. */
export async function openOAuth(parts: OAuthParts): Promise<OAuth> {
  const { OAuth } = await import("./oauth.ts");
  return new OAuth(parts);
}
