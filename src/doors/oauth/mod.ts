/**
 * The door by which tools sign in: an authorization server for Claude Code, `sluice auth login` and others.
 *
 * Promise: a tool gets tokens once somebody has approved it in the console; when the database is away it is told so, never that its token
 * is wrong.
 * Leaves to others: approving (`doors/console`), tokens and codes (`people/accounts`).
 *
 * @module
 */

export {
  answerTo,
  AUTHORIZE_FIELDS,
  AuthorizeError,
  type AuthorizeRequest,
  readAuthorizeRequest,
} from "./authorize_request.ts";
export { OAuth, type OAuthParts } from "./oauth.ts";
export { isOAuthPath, OAUTH, WELL_KNOWN } from "./oauth_path.ts";
