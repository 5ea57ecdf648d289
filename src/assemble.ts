import {
  type Account,
  Accounts,
  KeyRing,
  Keys,
  type PasswordCost,
  Passwords,
  Sessions,
} from "./accounts/mod.ts";
import { Admission } from "./admission/mod.ts";
import { Registration, Sales } from "./billing/mod.ts";
import { LargeBodies } from "./blobs/mod.ts";
import { FairShare } from "./fair_share/mod.ts";
import { CoarseTimers } from "./coarse_timers.ts";
import { Catalog, SIMULATOR } from "./catalog/mod.ts";
import { type Config, databaseFile, type Settings } from "./config/mod.ts";
import {
  type Database,
  databaseBytes,
  DatabaseClock,
  foldLog,
  type ObserveCommit,
  openDatabase,
} from "./database/mod.ts";
import { ImageFetcher, Images, type Resolve, systemResolve } from "./images/mod.ts";
import { databaseAlone, DirectoryInUse, gatewayIdentity } from "./gateway_identity.ts";
import { TierList } from "./ledger/mod.ts";
import { Retention } from "./usage/mod.ts";
import type { Console } from "./console/mod.ts";
import {
  App,
  Connections,
  openApiDocument,
  openRequestsFor,
  serve,
  type Server,
  Sockets,
} from "./http/mod.ts";
import { InputEstimates, Running } from "./relay/mod.ts";
import { guardProcess, type Log, Metrics, NO_TRACING, type Tracing } from "./telemetry/mod.ts";
import {
  configuredUpstreams,
  httpUpstream,
  type RetryPolicy,
  simulatorUpstream,
  type Upstream,
  Upstreams,
} from "./upstreams/mod.ts";

/** For connections that stay open although nothing runs on them. */
const CLOSE_PATIENCE_MS = 1_000;

/** What assembling takes from its surroundings; tests pass their own. */
export interface Surroundings {
  readonly log: Log;
  /** How requests are traced; not at all by default. */
  readonly tracing?: Tracing;
  readonly now?: () => number;
  /** What the hash of a password costs to compute. */
  readonly passwordCost?: PasswordCost;
  readonly retries?: RetryPolicy;
  /** How names of images' hosts become addresses. */
  readonly resolve?: Resolve;
  /** Stands between the parts and the database; benchmarks and fault tests use it. */
  readonly wrapDatabase?: (database: Database) => Database;
}

/** What the parts take from them. */
export interface PartSurroundings
  extends Pick<Surroundings, "now" | "passwordCost" | "wrapDatabase"> {
  /** Told of every commit. */
  readonly observe?: ObserveCommit;
  /** Whether a gateway may run on the database; then its schema is left as it is. */
  readonly besideGateway?: boolean;
}

/** The nouns, without the door: what commands work with. */
export interface Parts extends AsyncDisposable {
  readonly config: Config;
  readonly database: Database;
  /** The clock of windows, leases and expiry. */
  readonly clock: DatabaseClock;
  readonly accounts: Accounts;
  readonly keys: Keys;
  readonly registration: Registration;
  readonly sales: Sales;
  readonly passwords: Passwords;
  readonly sessions: Sessions;
  /** The owner's account, made with its credits when there is none yet. */
  readonly owner: () => Promise<Account>;
}

/** The whole gateway, not yet listening. */
export interface Gateway extends Omit<Parts, "owner"> {
  readonly app: App;
  readonly catalog: Catalog;
  readonly upstreams: Upstreams;
  readonly running: Running;
  readonly admission: Admission;
  readonly retention: Retention;
  /** The key made at the first start; shown once, undefined ever after. */
  readonly firstKey: string | undefined;
  readonly owner: Account;
  /** Keeps the process up from now on when there is a bug, and gives up permissions that serving does not need. */
  guardProcess(): void;
  /** Listens where the settings say. */
  listen(): Server;
  /**
   * Refuses new requests, lets running ones finish within `limits.drainMs`, then closes everything.
   * Answers how many had to be cut off.
   */
  stop(): Promise<{ cutOff: number }>;
}

/** Opens the database and what stands on it. */
export async function assembleParts(
  config: Config,
  around: PartSurroundings = {},
): Promise<Parts> {
  const { now: ownNow = Date.now, wrapDatabase = (database) => database } = around;
  const { observe, besideGateway } = around;
  const { settings } = config;
  const { url, token } = settings.database;
  const file = databaseFile(settings);
  const database = wrapDatabase(
    await openDatabase({
      file,
      durability: settings.durability,
      now: ownNow,
      observe,
      mayMigrate: besideGateway && file !== undefined
        ? () => noGatewayRuns(settings.data, file)
        : undefined,
      ...(file === undefined && url !== undefined
        ? { server: { url, token: token?.reveal() } }
        : {}),
    }),
  );
  const clock = await databaseClock(database, ownNow, file === undefined);
  const { now } = clock;
  const accounts = new Accounts(database, now);
  const registration = new Registration(database, accounts, settings.credits);
  return {
    config,
    database,
    clock,
    accounts,
    keys: new Keys(database, now),
    registration,
    owner: () => registration.owner(settings.owner.email),
    sales: new Sales(database, settings.packages, settings.credits, now),
    passwords: new Passwords(database, now, around.passwordCost),
    sessions: new Sessions(database, now),
    [Symbol.asyncDispose]: () => database.close(),
  };
}

/** Closes the database if its clock cannot be read. */
async function databaseClock(
  database: Database,
  ownNow: () => number,
  isServer: boolean,
): Promise<DatabaseClock> {
  try {
    return await DatabaseClock.of(database, { ownNow, isServer });
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** A gateway of the earlier program would go on writing into a schema that it does not know. */
async function noGatewayRuns(directory: string, file: string): Promise<void> {
  try {
    using _alone = await gatewayIdentity(directory);
    using _file = await databaseAlone(directory, file);
  } catch (error) {
    if (!(error instanceof DirectoryInUse)) throw error;
    throw new Error(
      "Cannot bring the database up to date while a gateway runs that was started with an earlier " +
        "program: restart the gateway, then try again",
      { cause: error },
    );
  }
}

/** Builds every part in order; disposing closes them in reverse. */
export async function assemble(config: Config, around: Surroundings): Promise<Gateway> {
  const { log } = around;
  const { settings } = config;
  const catalog = new Catalog(settings);
  await using built = new AsyncDisposableStack();

  const identity = built.use(await gatewayIdentity(settings.data));
  built.use(await databaseAlone(settings.data, databaseFile(settings)));
  const metrics: Metrics = new Metrics(async () => ({
    requestsInFlight: running.count,
    writesWaiting: database.waiting,
    databaseBytes: databaseFile(settings) === undefined ? undefined : await databaseBytes(database),
    upstreams: upstreams.all.map(({ name, health }) => ({ name, resting: health.resting })),
  }));
  const parts = built.use(
    await assembleParts(config, { ...around, observe: (commit) => metrics.committed(commit) }),
  );
  const { database, clock, accounts, keys } = parts;
  const { now } = clock;
  if (databaseFile(settings) !== undefined) built.defer(() => leaveOneFile(database, log));
  const { owner, firstKey } = await ensureOwner(parts);

  const keyRing = built.adopt(new KeyRing(database, { now }), (ring) => ring.close());
  await keyRing.refresh();
  const timers = built.adopt(new CoarseTimers(), (all) => all.close());
  const upstreams = built.adopt(
    new Upstreams(await makeUpstreams(settings, catalog, { now, timers }), {
      log,
      metrics,
      now,
      timers,
      ...(around.retries === undefined ? {} : { retries: around.retries }),
    }),
    (all) => all.close(),
  );
  const running = new Running();
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
  const { onClientDisconnect, limits: { pingMs: pingAfterMs, followMs } } = settings;
  const { limits } = settings;
  const shared = (resource: string, capacity: number, waitMs: number) =>
    new FairShare({
      resource,
      capacity,
      perAccount: Math.max(1, Math.floor(capacity * limits.accountShare)),
      waitMs,
      timers,
    });
  const large = built.adopt(
    new LargeBodies(
      shared("large request bodies", limits.largeBodiesBytes, limits.bodyIdleMs),
      timers,
    ),
    (one) => one.close(),
  );
  const images = new Images({
    limits: settings.images,
    fetcher: new ImageFetcher({
      ...settings.images,
      resolve: around.resolve ?? systemResolve,
    }),
    large,
    slots: shared("image downloads", settings.images.fetches, settings.images.waitMs),
    log,
  });
  // loaded when somebody first opens a page: a start does not wait for it
  let opened: Promise<Console> | undefined;
  const console = () =>
    opened ??= import("./console/mod.ts").then(({ Console }) =>
      new Console({
        ...parts,
        catalog,
        admission,
        upstreams,
        running,
        log,
        now,
        aside: async (work) => {
          if (databaseFile(settings) === undefined) return await work(database);
          await using beside = await assembleParts(config, {
            ...(around.now === undefined ? {} : { now: around.now }),
            besideGateway: true,
          });
          return await work(beside.database);
        },
        openApi: openApiDocument(),
      })
    );
  const sockets = Sockets.open();
  const maxOpenRequests = limits.openRequests ?? openRequestsFor(sockets?.limit);
  built.defer(() => sockets?.close());
  const connections = built.adopt(
    new Connections({
      sockets,
      timers,
      idleMs: limits.idleConnectionMs,
    }),
    (all) => all.close(),
  );
  const app = new App({
    catalog,
    images,
    upstreams,
    database,
    admission,
    running,
    log,
    metrics,
    now,
    timers,
    pingAfterMs,
    estimates: new InputEstimates(),
    replyLimits: settings.replies,
    onClientDisconnect,
    followMs,
    keyRing,
    pages: {
      fetch: async (request, peer) => await (await console()).fetch(request, peer),
    },
  }, {
    bodyLimits: {
      bytes: limits.bodyBytes,
      json: {
        depth: limits.bodyDepth,
        values: limits.bodyValues,
        members: limits.bodyKeys,
      },
      idleMs: limits.bodyIdleMs,
      totalMs: limits.bodyMs,
      minBytesPerSecond: limits.bodyMinBytesPerSecond,
      timers,
      large,
    },
    countsPerMinute: limits.countsPerMinute,
    unbilledBytesPerMinute: limits.unbilledBytesPerMinute,
    openRequests: {
      accounts: shared("requests", maxOpenRequests, 0),
      keys: new FairShare({
        resource: "requests",
        owner: "API key",
        capacity: Infinity,
        perAccount: limits.openRequestsPerKey ?? Infinity,
        waitMs: 0,
        timers,
      }),
    },
    connections,
    corsOrigins: settings.cors.origins,
    metricsToken: settings.metricsToken?.reveal(),
    tracing: around.tracing ?? NO_TRACING,
  });

  const owned = built.move();
  let server: Server | undefined;
  const close = async () => {
    await server?.close(CLOSE_PATIENCE_MS);
    await owned.disposeAsync();
  };
  return {
    config,
    database,
    clock,
    accounts,
    keys,
    registration: parts.registration,
    sales: parts.sales,
    passwords: parts.passwords,
    sessions: parts.sessions,
    retention,
    admission,
    app,
    catalog,
    upstreams,
    running,
    firstKey,
    owner,
    guardProcess() {
      owned.defer(guardProcess({ log, unhandled: () => metrics.unhandled() }));
    },
    listen() {
      server = serve(app, {
        ...settings,
        connections,
        onInterruption: (error) =>
          log.error("stopped listening: out of file descriptors? closing idle connections", {
            error: String(error),
            limit: sockets?.limit,
          }),
      });
      identity.announce(server.url);
      return server;
    },
    async stop() {
      app.stopTaking();
      const finished = await running.finish(settings.limits.drainMs);
      await close();
      return finished;
    },
    [Symbol.asyncDispose]: close,
  };
}

/** For those who copy the file of a stopped gateway: the driver keeps the log beside it when it closes. */
async function leaveOneFile(database: Database, log: Log): Promise<void> {
  const fault = await foldLog(database).then((done) => done ? undefined : "it is in use", String);
  if (fault !== undefined) log.warn("the write-ahead log stays beside its file", { error: fault });
}

async function makeUpstreams(
  settings: Settings,
  catalog: Catalog,
  clock: { readonly now: () => number; readonly timers: CoarseTimers },
): Promise<Upstream[]> {
  const simulated = catalog.routes.some(({ targets }) =>
    targets.some(({ upstream }) => upstream === SIMULATOR)
  );
  return [
    ...(simulated ? [simulatorUpstream(clock.now)] : []),
    ...await Promise.all(
      Object.entries(configuredUpstreams(settings)).map(([name, own]) =>
        httpUpstream(name, own, clock)
      ),
    ),
  ];
}

/** The owner and its first key, issued at the first start unless the settings give one. */
async function ensureOwner(
  { config, keys, owner: ensure }: Parts,
): Promise<{ owner: Account; firstKey: string | undefined }> {
  const { key } = config.settings.owner;
  const owner = await ensure();
  if (key === undefined) return { owner, firstKey: await keys.issueFirst(owner) };
  await keys.adopt(owner, key.reveal());
  return { owner, firstKey: undefined };
}
