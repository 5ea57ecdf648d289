/**
 * Loads and validates the settings, and records the origin of each value.
 *
 * Promise: settings are read once, at the start, from file, environment and flags; an invalid setting prevents the start,
 * and all errors are reported together. Nothing else reads the environment.
 * Without `--config` and `--data`, a command means the same gateway in whatever directory it is started (`places.ts`).
 * Leaves to others: the meaning of routes and upstreams (`catalog/`, `upstreams/`).
 *
 * @module
 */

export { ConfigError, locateFaults } from "./faults.ts";
export { type Config, loadConfig, settingsJsonSchema, type Surroundings } from "./load.ts";
export {
  databaseFile,
  databaseKindOf,
  faultOfDatabaseUrl,
  outboxDirectories,
} from "./database_place.ts";
export * from "./amounts.ts";
export { hostIn, listenUrl } from "./hosts.ts";
export { decimalsOf, minorUnits, moneyIn, moneyText } from "./currencies.ts";
export { type PaymentSettings, priceIn } from "./payment_settings.ts";
export { defaultDataPlace, defaultSettingsPlace, type Place, userDirectory } from "./places.ts";
export { proxiesIn, proxyOf, type ProxySettings, type WayOut } from "./proxy_settings.ts";
export { ALERT_KINDS, type AlertKind, type ReceiverSettings } from "./alert_settings.ts";
export type { RouteSettings } from "./route_settings.ts";
export { type Settings, settings, type SettingsInput } from "./schema.ts";
export type { CredentialSettings } from "./credential_settings.ts";
export { type UpstreamSettings, upstreamSettings } from "./upstream_settings.ts";
export { identifier, ROUTE_ID, ROUTE_ID_CHARS, routeId } from "./values.ts";
export { markdownTable, settingsReference } from "./reference.ts";
export { SettingsEditor } from "./settings_editor.ts";
export type { Json } from "./settings_text.ts";
export { Secret } from "./secret.ts";
export { type EffectiveSetting, effectiveSettings } from "./show.ts";

export {
  type GroupRights,
  type OidcSettings,
  type SignInSettings,
  signInSettings,
  type ToolClientSettings,
  type WorkloadSettings,
} from "./sign_in_settings.ts";
