import type { KeyRing } from "../accounts/mod.ts";
import type { Admission } from "../admission/mod.ts";
import { LargeBodies } from "../large_bodies/mod.ts";
import type { Catalog } from "../catalog/mod.ts";
import type { CoarseTimers } from "../platform/mod.ts";
import { databaseFile } from "../config/mod.ts";
import type { Console } from "../console/mod.ts";
import { FairShare } from "../fair_share/mod.ts";
import {
  App,
  Connections,
  openApiDocument,
  openRequestsFor,
  serve,
  type Server,
  Sockets,
} from "../http/mod.ts";
import { ImageFetcher, Images, type Resolve, systemResolve } from "../images/mod.ts";
import { type InFlightRequests, InputEstimates } from "../relay/mod.ts";
import { type Log, type Metrics, NO_TRACING, type Tracing } from "../telemetry/mod.ts";
import type { Upstreams } from "../upstreams/mod.ts";
import { openStore, type Store, type StoreOptions } from "./store.ts";

/** What the door leads to. */
export interface DoorParts {
  readonly store: Store;
  readonly keyRing: KeyRing;
  readonly catalog: Catalog;
  readonly admission: Admission;
  readonly upstreams: Upstreams;
  readonly inFlight: InFlightRequests;
  readonly timers: CoarseTimers;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly tracing?: Tracing | undefined;
  /** Computes the answer to the challenge of a command that looks for this gateway. */
  readonly prove: (challenge: string) => Promise<string>;
  /** Aborted when the gateway closes. */
  readonly closing: AbortSignal;
  /** How host names of images become addresses. */
  readonly resolve?: Resolve | undefined;
}

/** Everything that a request meets first, not yet listening. */
export interface Door extends AsyncDisposable {
  readonly app: App;
  /** Listens where the settings say. */
  listen(): Server;
}

/** Builds the app and what it bounds clients with. */
export function openDoor(parts: DoorParts, storeOptions: StoreOptions): Door {
  const { store: { config, database, clock: { now } }, timers, log, tracing = NO_TRACING } = parts;
  const { settings } = config;
  const { limits } = settings;
  const opened = new AsyncDisposableStack();
  const pool = (resource: string, capacity: number, waitMs: number) =>
    new FairShare({
      resource,
      capacity,
      perAccount: Math.max(1, Math.floor(capacity * limits.accountShare)),
      waitMs,
      timers,
    });
  const large = opened.adopt(
    new LargeBodies(
      pool("large request bodies", limits.largeBodiesBytes, limits.bodyIdleMs),
      timers,
    ),
    (bodies) => bodies.close(),
  );
  const sockets = Sockets.open();
  opened.defer(() => sockets?.close());
  const { idleConnectionMs: idleMs } = limits;
  const connections = opened.adopt(
    new Connections({ sockets, timers, idleMs }),
    (all) => all.close(),
  );
  const console = lazyConsole(parts, storeOptions);
  const app = new App({
    ...parts,
    database,
    now,
    settings,
    images: new Images({
      limits: settings.images,
      fetcher: new ImageFetcher({
        ...settings.images,
        resolve: parts.resolve ?? systemResolve,
      }),
      large,
      slots: pool("image downloads", settings.images.fetches, settings.images.waitMs),
      log,
    }),
    estimates: new InputEstimates(),
    pages: { fetch: async (request, peer) => await (await console()).fetch(request, peer) },
  }, {
    settings,
    large,
    connections,
    tracing,
    openRequests: {
      accounts: pool("requests", limits.openRequests ?? openRequestsFor(sockets?.limit), 0),
      keys: new FairShare({
        resource: "requests",
        owner: "API key",
        capacity: Infinity,
        perAccount: limits.openRequestsPerKey ?? Infinity,
        waitMs: 0,
        timers,
      }),
    },
  });
  return {
    app,
    listen: () =>
      serve(app, {
        ...settings,
        connections,
        onInterruption: (error) =>
          log.error("stopped listening: out of file descriptors? closing idle connections", {
            error: String(error),
            limit: sockets?.limit,
          }),
      }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** The console is loaded when somebody first opens a page: a start does not wait for it. */
function lazyConsole(
  { store, ...parts }: DoorParts,
  { now }: StoreOptions,
): () => Promise<Console> {
  const { config, database, clock } = store;
  let opened: Promise<Console> | undefined;
  return () =>
    opened ??= import("../console/mod.ts").then(({ Console }) =>
      new Console({
        ...store,
        ...parts,
        now: clock.now,
        aside: async (work) => {
          if (databaseFile(config.settings) === undefined) return await work(database);
          await using beside = await openStore(config, {
            ...(now === undefined ? {} : { now }),
            besideGateway: true,
          });
          return await work(beside.database);
        },
        openApi: openApiDocument(),
      })
    );
}
