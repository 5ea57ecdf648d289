import type { KeyRing } from "../accounts/mod.ts";
import type { Admission } from "../admission/mod.ts";
import { Registration, Sales } from "../billing/mod.ts";
import { Catalog } from "../catalog/mod.ts";
import { type Config, databaseFile } from "../config/mod.ts";
import type { Console } from "../console/mod.ts";
import { App, openApiDocument } from "../http/mod.ts";
import { ImageFetcher, Images, type Resolve, systemResolve } from "../images/mod.ts";
import type { CoarseTimers } from "../platform/mod.ts";
import type { InFlightRequests, InputEstimates } from "../relay/mod.ts";
import { type Log, type Metrics, NO_TRACING, type Tracing } from "../telemetry/mod.ts";
import {
  configuredUpstreams,
  ModelLists,
  type RetryPolicy,
  type RoutingMemory,
  type Upstreams,
} from "../upstreams/mod.ts";
import type { Bounds } from "./bounds.ts";
import { openStore, type Store, type StoreOptions } from "./store.ts";
import type { Reload } from "./servings.ts";
import { openUpstreams } from "./upstreams.ts";

/** What lives as long as the gateway, whatever its settings are. */
export interface LastingParts {
  readonly store: Store;
  readonly keyRing: KeyRing;
  readonly admission: Admission;
  readonly inFlight: InFlightRequests;
  readonly estimates: InputEstimates;
  readonly bounds: Bounds;
  readonly timers: CoarseTimers;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly tracing?: Tracing | undefined;
  readonly retries?: RetryPolicy | undefined;
  /** What the choice of targets and keys remembers. */
  readonly routing: RoutingMemory;
  /** How host names of images become addresses. */
  readonly resolve?: Resolve | undefined;
  /** How the settings were read last. */
  readonly reloads: () => Reload | undefined;
  /** Aborted when the gateway closes. */
  readonly closing: AbortSignal;
  /** Computes the answer to the challenge of a command that looks for this gateway. */
  readonly prove: (challenge: string) => Promise<string>;
}

/** What one reading of the settings makes: a request keeps the one that it began with. */
export interface Serving extends AsyncDisposable {
  readonly config: Config;
  /** The models that are served now. */
  readonly catalog: () => Catalog;
  readonly lists: ModelLists;
  readonly upstreams: Upstreams;
  readonly app: App;
}

/** How the parts are opened. */
export interface ServingOptions extends StoreOptions {
  /** Whether models that upstreams listed earlier will do for the beginning. */
  readonly mayWait: boolean;
}

/**
 * Opens upstreams, app and console for a reading of the settings.
 *
 * @throws {ConfigError} If routes or aliases contradict each other.
 */
export async function openServing(
  config: Config,
  parts: LastingParts,
  { mayWait, ...storeOptions }: ServingOptions,
): Promise<Serving> {
  const { settings } = config;
  const { store, bounds, tracing = NO_TRACING, resolve = systemResolve, log, retries } = parts;
  const { database, accounts, clock: { now } } = store;
  await using built = new AsyncDisposableStack();
  const configured = configuredUpstreams(settings);
  const lists = built.adopt(
    await ModelLists.open(configured, { directory: settings.data, log, now, mayWait }),
    (all) => all.close(),
  );
  let catalog = new Catalog(settings, lists.listings);
  const upstreams = built.adopt(
    await openUpstreams(settings, catalog, {
      log,
      metrics: parts.metrics,
      timers: parts.timers,
      now,
      memory: parts.routing,
      ...(retries === undefined ? {} : { retries }),
    }),
    (all) => all.close(),
  );
  lists.watch(() => {
    catalog = new Catalog(settings, lists.listings);
    log.info("upstreams list other models", { routes: catalog.routes.length });
  });
  const own = {
    ...parts,
    config,
    settings,
    now,
    database,
    catalog: () => catalog,
    upstreams,
  };
  const billing = {
    registration: new Registration(database, accounts, settings.credits),
    sales: new Sales(database, settings.packages, settings.credits, now),
  };
  const console = lazily(async () => {
    const { Console } = await import("../console/mod.ts");
    return new Console({
      ...store,
      ...own,
      ...billing,
      aside: (work) => workAside(config, store, storeOptions, work),
      openApi: openApiDocument(),
    });
  });
  const app = new App({
    ...own,
    images: new Images({
      limits: settings.images,
      fetcher: new ImageFetcher({ ...settings.images, resolve }),
      large: bounds.large,
      slots: bounds.imageSlots,
      log,
    }),
    pages: { fetch: async (request, peer) => await (await console()).fetch(request, peer) },
  }, {
    settings,
    tracing,
    large: bounds.large,
    connections: bounds.connections,
    openRequests: bounds.openRequests,
    counts: bounds.counts,
    unbilledBytes: bounds.unbilledBytes,
  });
  const opened = built.move();
  return {
    config,
    catalog: own.catalog,
    lists,
    upstreams,
    app,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Made when it is first needed: a start does not wait for the console, which few requests are for. */
function lazily(make: () => Promise<Console>): () => Promise<Console> {
  let made: Promise<Console> | undefined;
  return () => made ??= make();
}

/** Long work runs on a connection of its own where there can be one. */
async function workAside<T>(
  config: Config,
  { database }: Store,
  { now }: StoreOptions,
  work: (database: Store["database"]) => Promise<T>,
): Promise<T> {
  if (databaseFile(config.settings) === undefined) return await work(database);
  await using beside = await openStore(config, {
    ...(now === undefined ? {} : { now }),
    besideGateway: true,
  });
  return await work(beside.database);
}
