/**
 * What a company's provider and directory make of accounts: their groups' rights, people and groups by SCIM, and how providers are reached.
 *
 * Promise: what came from groups goes with them, and what was given by hand stays; a directory neither makes nor deactivates an owner; each
 * change is one transaction with its row of the log (P13). An idle gateway does not load it.
 * Leaves to others: who somebody is (`people/sign_in`), what a directory sends (`people/scim`), its endpoints (`doors/http`).
 *
 * @module
 */

export { providerWays } from "./provider_ways.ts";
export { applyGroups } from "./apply_groups.ts";
export { DirectoryRights } from "./directory_rights.ts";
export { GroupProvisioning } from "./group_provisioning.ts";
export type { ChangedBy } from "./resource_errors.ts";
export {
  type ProvisionedUser,
  UserProvisioning,
  type UserProvisioningParts,
} from "./user_provisioning.ts";
