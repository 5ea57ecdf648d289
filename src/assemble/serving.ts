import { isOAuthPath, openOAuth } from "../doors/oauth/mod.ts";
import { HOUR_MS } from "../ground/time.ts";
import { TrustedProxies, visitorOf } from "../ground/web/mod.ts";
import type { KeyRing } from "../people/accounts/mod.ts";
import { Registration, Sales } from "../money/billing/mod.ts";
import { Catalog } from "../settings/catalog/mod.ts";
import type { Config } from "../settings/config/mod.ts";
import {
  App,
  isAdminPath,
  isScimPath,
  openAdmin,
  openApiDocument,
  openScim,
  type Pages,
  type ResponseSockets,
} from "../doors/http/mod.ts";
import type { Aside, ReadAside, ReadFor } from "../ground/database/mod.ts";
import { ImageFetcher, Images, type Resolve, systemResolve } from "../requests/images/mod.ts";
import { KeptItems } from "../wire/kept_items/mod.ts";
import type { Console } from "../doors/console/mod.ts";
import type { Payments } from "../money/payments/mod.ts";
import { Requests } from "../people/operation_log/mod.ts";
import type { SettingsFileParts } from "../operating/operations/mod.ts";
import type { InFlightRequest, RelayParts } from "../requests/relay/mod.ts";
import type { BoundCipher } from "../wire/sealing/mod.ts";
import { type Log, type Metrics, NO_TRACING, type Tracing } from "../ground/telemetry/mod.ts";
import {
  configuredUpstreams,
  type ListsNews,
  ModelLists,
  ReceivedModelLists,
  type RetryPolicy,
  type RoutingMemory,
  type UpstreamModels,
  type Upstreams,
  type UpstreamState,
} from "../requests/upstreams/mod.ts";
import type { Bounds } from "./bounds.ts";
import { openPayments } from "./payments.ts";
import type { Store } from "./store.ts";
import type { Reload } from "./reload.ts";
import { openUpstreams } from "./upstreams.ts";

/** What a thread's door and what serves behind it are given. */
export interface ThreadParts {
  readonly store: Store;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly tracing?: Tracing | undefined;
  readonly retries?: RetryPolicy | undefined;
  /** The key of the seals. */
  readonly sealKey: Uint8Array;
  /** How host names of images become addresses. */
  readonly resolve?: Resolve | undefined;
  /** Aborted when the gateway closes. */
  readonly closing: AbortSignal;
  /** Computes the answer to the challenge of a command that looks for this gateway. */
  readonly prove: (challenge: string) => Promise<string>;
  /** In-flight requests of all threads, oldest first. */
  readonly liveRequests: () => Promise<readonly InFlightRequest[]>;
  /** How the upstreams have been doing, in all threads. */
  readonly upstreamStates: () => Promise<readonly UpstreamState[]>;
  /** How the console changes the settings file; only in the main thread. */
  readonly settingsFile?: SettingsFileParts | undefined;
  /** The console and the operator's API, if another thread has them. */
  readonly pages?: Pages | undefined;
  /** The database for reports and pages; without, they read the database itself. */
  readonly reports?: ReadAside | undefined;
}

/** What lives as long as the gateway, whatever its settings are. */
export interface LastingParts extends
  ThreadParts,
  Pick<
    RelayParts,
    "admission" | "inFlight" | "estimates" | "followed" | "timers" | "sealing" | "ownKeys"
  > {
  readonly keyRing: KeyRing;
  readonly bounds: Bounds;
  /** What the choice of targets and keys remembers. */
  readonly routing: RoutingMemory;
  /** Encrypts kept items. */
  readonly itemsCipher: BoundCipher;
  /** WebSockets of clients. */
  readonly sockets: ResponseSockets;
  /** How the settings were read last. */
  readonly reloads: () => Reload | undefined;
  /** Set where several threads serve. */
  readonly threads?: { readonly memory: { readonly inFlight: SharedArrayBuffer } } | undefined;
  /** Runs long work on a database connection of its own. */
  readonly aside: Aside["run"];
}

/** What one reading of the settings makes: a request keeps the one that it began with. */
export interface Serving extends AsyncDisposable {
  readonly config: Config;
  /** The models that are served now. */
  readonly catalog: () => Catalog;
  readonly lists: UpstreamModels;
  /** Notes what another thread tells of the upstreams' models, where that one asks for them. */
  readonly onModelLists: (news: ListsNews) => void;
  readonly upstreams: Upstreams;
  readonly app: App;
  readonly payments: Payments;
  /** The console. */
  readonly pages: Pages;
}

/** How the parts are opened. */
export interface ServingOptions {
  /** Whether models that upstreams listed earlier will do for the beginning. */
  readonly mayWait: boolean;
  /** What another thread has found that upstreams list; without, they are asked here. */
  readonly received?: ListsNews | undefined;
  /** Called when the upstreams list other models. */
  readonly listsChanged?: ((news: ListsNews) => void) | undefined;
}

/**
 * Opens upstreams, app and console for a reading of the settings.
 *
 * @throws {ConfigError} If routes or aliases contradict each other.
 */
export async function openServing(
  config: Config,
  parts: LastingParts,
  { mayWait, received, listsChanged }: ServingOptions,
): Promise<Serving> {
  const { settings } = config;
  const { store, bounds, tracing = NO_TRACING, resolve = systemResolve, log, retries } = parts;
  const { database, accounts, clock: { now } } = store;
  await using built = new AsyncDisposableStack();
  const configured = configuredUpstreams(settings);
  const receivedLists = received && new ReceivedModelLists(received);
  const lists: UpstreamModels = built.adopt(
    receivedLists ??
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
      threads: parts.threads &&
        parts.threads.memory.inFlight.byteLength / Int32Array.BYTES_PER_ELEMENT,
      ...(retries === undefined ? {} : { retries }),
    }),
    (all) => all.close(),
  );
  lists.watch(() => {
    catalog = new Catalog(settings, lists.listings);
    if (receivedLists !== undefined) return;
    log.info("upstreams list other models", { routes: catalog.routes.length });
    listsChanged?.(newsOf(lists));
  });
  const { signIn } = settings;
  // what has begun under other settings is under these
  const signedIn = {
    passwords: store.passwords.under({ onlyOwners: signIn?.password === false }),
    sessions: store.sessions.lasting(signIn && signIn.sessionHours * HOUR_MS),
  };
  const own = {
    ...parts,
    config,
    settings,
    now,
    database,
    catalog: () => catalog,
    upstreams,
    keptItems: new KeptItems({
      database,
      cipher: parts.itemsCipher,
      log,
      now,
      keepMs: settings.responses.keepItemsMs,
    }),
  };
  const billing = {
    registration: new Registration(database, accounts, settings.credits),
    sales: new Sales(database, settings.packages, settings.credits, now),
    payments: openPayments(settings, {
      database,
      accounts,
      now,
      log,
      counted: (outcome) => parts.metrics.paymentWebhook(outcome),
      closing: parts.closing,
    }),
  };
  const gateway = {
    upstreamStates: parts.upstreamStates,
    aside: parts.aside,
    settingsFile: parts.settingsFile,
    requests: new Requests(database, { secret: parts.sealKey, now }),
  };
  const reports = parts.reports ?? database;
  const readFor: ReadFor = parts.reports?.readFor ?? ((_owner, work) => work());
  const operations = {
    ...store,
    ...billing,
    database: reports,
    config,
    catalog: own.catalog,
    now,
    sealKey: () => Promise.resolve(parts.sealKey),
    gateway,
  };
  let opened: Console | undefined;
  built.defer(() => opened?.close());
  const console = lazily(async () => {
    const { Console } = await import("../doors/console/mod.ts");
    opened = new Console({
      ...store,
      ...signedIn,
      ...own,
      ...billing,
      database: reports,
      readFor,
      aside: parts.aside,
      operations,
      openApi: openApiDocument,
    });
    return opened;
  });
  const admin = lazily(() =>
    openAdmin({ operations, readFor, keyRing: parts.keyRing, rate: bounds.adminRequests, log })
  );
  const scim = lazily(() =>
    openScim({
      ...{ ...store, now, log, keyRing: parts.keyRing, rate: bounds.adminRequests },
      providers: settings.signIn?.oidc ?? [],
    })
  );
  const trusted = new TrustedProxies(settings.trustedProxies);
  const oauth = lazily(() =>
    openOAuth({
      ...store,
      settings,
      catalog: own.catalog,
      now,
      log,
      sealKey: operations.sealKey,
    })
  );
  const pages: Pages = parts.pages ?? {
    fetch: async (request, peer) => {
      const { pathname } = new URL(request.url);
      if (isAdminPath(pathname)) return await (await admin()).fetch(request, peer);
      const isScim = isScimPath(pathname);
      if (!isScim && !isOAuthPath(pathname)) return await (await console()).fetch(request, peer);
      const visitor = visitorOf(request, peer, trusted);
      const door = await (isScim ? scim() : oauth());
      return await door.fetch(request, { visitor, base: settings.publicUrl ?? visitor.origin });
    },
  };
  const { payments } = billing;
  const app = new App({
    ...own,
    members: store.members,
    reports,
    readFor,
    webhook: (request) => payments.webhook(request),
    images: new Images({
      limits: settings.images,
      fetcher: new ImageFetcher({ ...settings.images, resolve }),
      large: bounds.large,
      slots: bounds.imageSlots,
      log,
    }),
    pages,
  }, {
    settings,
    tracing,
    large: bounds.large,
    connections: bounds.connections,
    arrivals: bounds.arrivals,
    memory: bounds.memory,
    openRequests: bounds.openRequests,
    counts: bounds.counts,
    unbilledBytes: bounds.unbilledBytes,
  });
  const owned = built.move();
  return {
    config,
    catalog: own.catalog,
    lists,
    onModelLists: (news) => receivedLists?.onNews(news),
    upstreams,
    app,
    payments,
    pages,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** What the lists are now. */
export function newsOf({ listings, without }: UpstreamModels): ListsNews {
  return { listings, without };
}

/** Made when it is first needed: a start does not wait for the console or the operator's API, which few requests are for. */
function lazily<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => made ??= make();
}
