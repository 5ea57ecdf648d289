import { Catalog, type Listings, NO_LISTINGS } from "../../settings/catalog/mod.ts";
import type { Config, Settings } from "../../settings/config/mod.ts";
import { SILENT } from "../../ground/telemetry/mod.ts";
import { configuredUpstreams, keptListings, ModelLists } from "../../requests/upstreams/mod.ts";
import { gatewayAddress } from "./address.ts";
import type { CommandContext } from "./context.ts";

/** How the models are found. */
interface ServedOptions extends Pick<CommandContext, "now"> {
  /** Whether to ask upstreams if no gateway runs; otherwise what they listed last is used. */
  readonly ask?: boolean;
}

/** What is served, and what upstreams list. */
export interface ServedModels {
  readonly catalog: Catalog;
  readonly listings: Listings;
}

/**
 * Builds the catalog that the gateway serves: with the models that its upstreams listed last or, if no gateway runs,
 * those that they list now.
 *
 * @throws {ConfigError} If routes or aliases contradict each other.
 */
export async function servedCatalog(
  config: Config,
  options: ServedOptions,
): Promise<Catalog> {
  return (await servedModels(config, options)).catalog;
}

/** The same, with what upstreams list. */
export async function servedModels(
  config: Config,
  { now, ask = true }: ServedOptions,
): Promise<ServedModels> {
  const { settings } = config;
  const upstreams = configuredUpstreams(settings);
  if (!Object.values(upstreams).some(({ discover }) => discover)) {
    return withListings(settings, NO_LISTINGS);
  }
  // an upstream whose key is not known here would be sent the name of its variable
  const useKept = !ask || config.missingVariables.length > 0 ||
    (await gatewayAddress(config)).answers;
  if (useKept) {
    return withListings(settings, await keptListings(upstreams, settings.data));
  }
  const lists = await ModelLists.open(upstreams, { directory: settings.data, log: SILENT, now });
  return withListings(settings, lists.listings);
}

function withListings(settings: Settings, listings: Listings): ServedModels {
  return { catalog: new Catalog(settings, listings), listings };
}
