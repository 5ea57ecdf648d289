/**
 * Imports the configuration of other gateways: LiteLLM, New-API and One-API.
 *
 * Promise: the source is only read; what is here already stays as it is, so that importing twice changes nothing; what
 * cannot be imported is named, and no secret of the source is in a notice.
 * Leaves to others: how settings are written (`config/`), and what accounts and credits are (`accounts/`, `ledger/`).
 *
 * @module
 */

export { readConfig } from "./litellm/config.ts";
export { readKeys } from "./litellm/keys.ts";
export { readNewApi } from "./new_api/database.ts";
export { type AccountParts, placeAccounts, type PlacedAccounts } from "./place_accounts.ts";
export { type PlacedSettings, placeSettings } from "./place_settings.ts";
export { type ImportPlan, type Notice, Notices } from "./plan.ts";
