/**
 * What signed-in tools ask of a gateway besides models: what is left, settings, and somewhere to send their telemetry.
 *
 * Promise: what tools show comes from what admission knows anyway; the account in relayed telemetry is the token's.
 * Leaves to others: signing in (`doors/oauth`), requests to models and how their errors are sent (`doors/http`).
 *
 * @module
 */

export { claudeCodeError } from "./claude_code_error.ts";
export { Granted } from "./granted.ts";
export { blockedHeaders, claudeCodeHeaders, shareOf } from "./live_credits.ts";
export type { ManagedSettings } from "./managed_settings.ts";
export { openManagedSettings, openTelemetryRelay, openToolUsage } from "./on_demand.ts";
export { type Signal, SIGNALS } from "./signals.ts";
export type { TelemetryRelay } from "./telemetry_relay.ts";
