/**
 * Manages accounts, API keys, passwords and console sessions.
 *
 * Promise: a key is shown once and stored as a digest; a revoked key or a disabled account is rejected within a
 * second, whichever process revoked it; a known key costs no database read.
 * Leaves to others: what a caller may spend (`ledger/`, `admission/`).
 *
 * @module
 */

export { type Account, AccountError, Accounts, checkAccount, mustNotMislead } from "./accounts.ts";
export { invitedBy, isActive } from "./invitations.ts";
export {
  DuplicateKey,
  isImportableKey,
  type Key,
  KEY_PATTERN,
  type KeyOptions,
  Keys,
  newKeyId,
} from "./keys.ts";
export { AccountDisabled, type Caller, KeyRing } from "./key_ring.ts";
export { checkPassword, type PasswordCost, Passwords } from "./passwords.ts";
export { type Session, Sessions } from "./sessions.ts";
