/**
 * Settings: what an operator may write, what the code uses, and where each value came from.
 *
 * Promise: settings are read once, at the start, from file, environment and flags; a fault stops
 * the start and names everything that is wrong at once. Nothing else reads the environment.
 * Leaves to others: what routes and upstreams mean (`catalog/`, `upstreams/`).
 *
 * @module
 */

export {
  type Config,
  ConfigError,
  databaseFile,
  ENVIRONMENT,
  type Flags,
  loadConfig,
  type Origin,
  settingsJsonSchema,
  type Surroundings,
} from "./load.ts";
export {
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
export { Secret } from "./secret.ts";
export { type EffectiveSetting, effectiveSettings } from "./show.ts";
