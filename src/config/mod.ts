/**
 * Loads and validates the settings, and records the origin of each value.
 *
 * Promise: settings are read once, at the start, from file, environment and flags; an invalid setting prevents the start,
 * and all errors are reported together. Nothing else reads the environment.
 * Leaves to others: the meaning of routes and upstreams (`catalog/`, `upstreams/`).
 *
 * @module
 */

export {
  type Config,
  ConfigError,
  databaseFile,
  digestOf,
  ENVIRONMENT,
  type Flags,
  loadConfig,
  type Origin,
  settingsJsonSchema,
  type Surroundings,
} from "./load.ts";
export {
  identifier,
  type QuirkName,
  quirkName,
  type RouteSettings,
  type Settings,
  settings,
  type SettingsInput,
  type UpstreamSettings,
  upstreamSettings,
} from "./schema.ts";
export { settingsReference } from "./reference.ts";
export { type Json, SettingsEditor } from "./settings_editor.ts";
export { Secret } from "./secret.ts";
export { type EffectiveSetting, effectiveSettings } from "./show.ts";
