import { type Account, KeyRing } from "../accounts/mod.ts";
import { Admission } from "../admission/mod.ts";
import { Catalog } from "../catalog/mod.ts";
import { CoarseTimers } from "../platform/mod.ts";
import { type Config, databaseFile } from "../config/mod.ts";
import {
  type Database,
  databaseAlone,
  databaseBytes,
  foldLog,
  gatewayIdentity,
} from "../database/mod.ts";
import type { App, Server } from "../http/mod.ts";
import type { Resolve } from "../images/mod.ts";
import { TierList } from "../ledger/mod.ts";
import { InFlightRequests } from "../relay/mod.ts";
import { guardProcess, type Log, Metrics, type Tracing } from "../telemetry/mod.ts";
import type { RetryPolicy, Upstreams } from "../upstreams/mod.ts";
import { Retention } from "../usage/mod.ts";
import { openDoor } from "./door.ts";
import { openStore, type Store, type StoreOptions } from "./store.ts";
import { openUpstreams } from "./upstreams.ts";

/** For connections that stay open although nothing runs on them. */
const CLOSE_PATIENCE_MS = 1_000;

/** What a gateway takes from its environment; tests pass their own. */
export interface Environment extends Pick<StoreOptions, "now" | "passwordCost" | "wrapDatabase"> {
  readonly log: Log;
  /** How requests are traced; not at all by default. */
  readonly tracing?: Tracing;
  readonly retries?: RetryPolicy;
  /** How host names of images become addresses. */
  readonly resolve?: Resolve;
}

/** The whole gateway, not yet listening. */
export interface Gateway extends Omit<Store, "owner"> {
  readonly app: App;
  readonly catalog: Catalog;
  readonly upstreams: Upstreams;
  readonly inFlight: InFlightRequests;
  readonly admission: Admission;
  readonly retention: Retention;
  /** The key created at the first start; shown once, undefined from then on. */
  readonly firstKey: string | undefined;
  readonly owner: Account;
  /** Keeps the process up from now on when there is a bug, and gives up permissions that serving does not need. */
  guardProcess(): void;
  /** Listens where the settings say. */
  listen(): Server;
  /**
   * Rejects new requests, lets requests in flight finish within `limits.drainMs`, then closes everything.
   *
   * @returns how many requests had to be cut off.
   */
  stop(): Promise<{ cutOff: number }>;
}

/** Builds every part in order; disposing closes them in reverse. */
export async function assemble(config: Config, environment: Environment): Promise<Gateway> {
  const { log, tracing, retries, resolve } = environment;
  const { settings } = config;
  const file = databaseFile(settings);
  const catalog = new Catalog(settings);
  await using built = new AsyncDisposableStack();

  const identity = built.use(await gatewayIdentity(settings.data));
  built.use(await databaseAlone(settings.data, file));
  const metrics: Metrics = new Metrics(async () => ({
    requestsInFlight: inFlight.count,
    writesWaiting: database.waiting,
    databaseBytes: file === undefined ? undefined : await databaseBytes(database),
    upstreams: upstreams.all.map(({ name, health }) => ({ name, resting: health.resting })),
  }));
  const store = built.use(
    await openStore(config, { ...environment, observe: (commit) => metrics.committed(commit) }),
  );
  const { database, clock } = store;
  const { now } = clock;
  if (file !== undefined) built.defer(() => leaveOneFile(database, log));
  const { owner, firstKey } = await ensureOwner(store);

  const keyRing = built.adopt(new KeyRing(database, { now }), (ring) => ring.close());
  await keyRing.refresh();
  const timers = built.adopt(new CoarseTimers(), (all) => all.close());
  const upstreams = built.adopt(
    await openUpstreams(settings, catalog, {
      log,
      metrics,
      now,
      timers,
      ...(retries === undefined ? {} : { retries }),
    }),
    (all) => all.close(),
  );
  const inFlight = new InFlightRequests();
  const admission = built.adopt(
    new Admission({
      database,
      tierList: new TierList(settings.tiers),
      gatewayId: identity.id,
      leaseMs: settings.limits.holdLeaseMs,
      log,
      now,
      syncClock: () => clock.sync(),
    }),
    (one) => one.close(),
  );
  await admission.start();
  const { requestDays: days, requestRows: rows } = settings.retention;
  const retention = built.adopt(
    new Retention({ database, log, now, days, rows }),
    (one) => one.close(),
  );
  retention.start();
  const { prove } = identity;
  const parts = {
    store,
    keyRing,
    catalog,
    admission,
    upstreams,
    inFlight,
    timers,
    log,
    metrics,
    prove,
  };
  const closing = new AbortController();
  const door = built.use(
    openDoor({ ...parts, tracing, resolve, closing: closing.signal }, environment),
  );
  const { app } = door;

  const owned = built.move();
  let server: Server | undefined;
  const close = async () => {
    closing.abort();
    await server?.close(CLOSE_PATIENCE_MS);
    await owned.disposeAsync();
  };
  return {
    ...store,
    retention,
    admission,
    app,
    catalog,
    upstreams,
    inFlight,
    firstKey,
    owner,
    guardProcess() {
      owned.defer(guardProcess({ log, unhandled: () => metrics.unhandled() }));
    },
    listen() {
      server = door.listen();
      identity.announce(server.url);
      return server;
    },
    async stop() {
      app.stopTaking();
      const finished = await inFlight.finish(settings.limits.drainMs);
      await close();
      return finished;
    },
    [Symbol.asyncDispose]: close,
  };
}

/** For whoever copies the file of a stopped gateway: the driver keeps the log beside it when it closes. */
async function leaveOneFile(database: Database, log: Log): Promise<void> {
  const fault = await foldLog(database).then((done) => done ? undefined : "it is in use", String);
  if (fault !== undefined) log.warn("the write-ahead log stays beside its file", { error: fault });
}

/** The owner and its first key, issued at the first start unless the settings give one. */
async function ensureOwner(
  { config, keys, owner: ensure }: Store,
): Promise<{ owner: Account; firstKey: string | undefined }> {
  const { key } = config.settings.owner;
  const owner = await ensure();
  if (key === undefined) return { owner, firstKey: await keys.issueFirst(owner) };
  await keys.adopt(owner, key.reveal());
  return { owner, firstKey: undefined };
}
