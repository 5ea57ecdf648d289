import { type Catalog, SIMULATOR } from "../settings/catalog/mod.ts";
import type { Settings } from "../settings/config/mod.ts";
import {
  configuredUpstreams,
  httpUpstream,
  simulatorUpstream,
  Upstreams,
  type UpstreamsOptions,
} from "../requests/upstreams/mod.ts";

/** Opens the upstreams of the settings, and the simulator where a route of the catalog needs it. */
export async function openUpstreams(
  settings: Settings,
  catalog: Catalog,
  options: UpstreamsOptions,
): Promise<Upstreams> {
  const usesSimulator = catalog.routes.some(({ targets }) =>
    targets.some(({ upstream }) => upstream === SIMULATOR)
  );
  const configured = Object.entries(configuredUpstreams(settings));
  return new Upstreams([
    ...(usesSimulator ? [simulatorUpstream(options)] : []),
    ...await Promise.all(configured.map(([name, own]) => httpUpstream(name, own, options))),
  ], options);
}
