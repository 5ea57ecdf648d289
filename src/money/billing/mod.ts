/**
 * Gives credits to accounts: registration, invitations, packages and grants.
 *
 * Promise: each bonus is given once, whatever is repeated; an account and its first credits are created in one
 * transaction. Leaves to others: how credits are stored and spent (`ledger/`).
 *
 * @module
 */

export { type Bonuses, type Invitation, Registration } from "./registration.ts";
export { newReference, Sales } from "./sales.ts";
