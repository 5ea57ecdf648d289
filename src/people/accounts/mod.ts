/**
 * Manages accounts, teams, API keys, permissions, passwords and console sessions.
 *
 * Promise: a key is shown once and stored as a digest; a revoked key, a disabled account or team, or a stopped member is
 * rejected within a second, whichever process changed it; a known key costs no database read.
 * Leaves to others: what a caller may spend (`ledger/`, `admission/`).
 *
 * @module
 */

export { type ExpiringKey, expiringKeys } from "./expiring_keys.ts";
export {
  type Account,
  AccountError,
  type AccountFault,
  checkAccount,
  conflict,
  labelOf,
  mustNotMislead,
} from "./account.ts";
export { Accounts } from "./accounts.ts";
export {
  endProviderAccess,
  forgetPerson,
  giveAccess,
  isNoOwner,
  isStillDisabled,
  renamed,
  takeAccess,
} from "./access.ts";
export { type Authority, stillHas } from "./authority.ts";
export { invitedBy, isActive } from "./invitations.ts";
export { DuplicateKey, importedKey, type Key, newKeyId, type Scope, SCOPES } from "./key.ts";
export { givenByHand, type Granted, GroupGrants, type Holdings } from "./group_grants.ts";
export { type OwnedKey, type OwnedKeyFilter, ownersOfKeys } from "./key_owners.ts";
export { AccountDisabled, type Caller, checkScope, KeyRing } from "./key_ring.ts";
export { Keys } from "./keys.ts";
export { type Member, Members } from "./members.ts";
export { checkPassword, hasPassword, type PasswordCost, Passwords } from "./passwords.ts";
export { type Action, type ActionObject, ACTIONS, can, PERMISSIONS } from "./permissions.ts";
export { type Holder, HOLDERS, type Role, ROLES, TEAM_ROLES, type TeamRole } from "./roles.ts";
export { type ListedSession, type Session, Sessions, type SessionStart } from "./sessions.ts";
export { TeamKeys } from "./team_keys.ts";
export { type Team, Teams } from "./teams.ts";
export {
  checkUpstreamKey,
  OWN_KEY_USES,
  type OwnKeyUse,
  type OwnUpstreamKey,
  UpstreamKeyCipher,
  upstreamKeyHint,
  upstreamKeyId,
  type UpstreamKeyOwner,
  UpstreamKeys,
} from "./upstream_keys.ts";
export { hasFewInvited, hasFewSignups, noteSignup } from "./signups.ts";
export { DeviceCodes } from "./device_codes.ts";
export { ToolCodes } from "./tool_codes.ts";
export {
  CLAUDE_CODE,
  type GrantOptions,
  type SignedInTool,
  ToolGrants,
  type ToolTokens,
} from "./tool_grants.ts";
