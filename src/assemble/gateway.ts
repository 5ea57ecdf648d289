import { Alerts, type AlertTimes } from "../operating/alerts/mod.ts";
import type { Admission } from "../requests/admission/mod.ts";
import { Catalog, disputedRoutes } from "../settings/catalog/mod.ts";
import { TimeSlices } from "../ground/fair_share/mod.ts";
import {
  digestOf,
  limitFreeMemory,
  limitTurns,
  memoryLimitBytes,
  VERSION,
} from "../ground/platform/mod.ts";
import { type Config, databaseFile, type Settings } from "../settings/config/mod.ts";
import {
  type Database,
  databaseAlone,
  databaseBytes,
  foldLog,
  gatewayIdentity,
  isOpened,
  type ObserveCommit,
  ReadAside,
} from "../ground/database/mod.ts";
import type { ServedGateway } from "../doors/cli/mod.ts";
import type { App, Server } from "../doors/http/mod.ts";
import { type Resolve, systemResolve } from "../requests/images/mod.ts";
import { PaymentSweep, pruneEvents } from "../money/payments/mod.ts";
import type { InFlightRequests } from "../requests/relay/mod.ts";
import { pruneLog, pruneRequests } from "../people/operation_log/mod.ts";
import {
  guardProcess,
  type Log,
  Metrics,
  openTelemetry,
  startExporting,
  sumOfMetrics,
} from "../ground/telemetry/mod.ts";
import { mergedStates, type RetryPolicy, type Upstreams } from "../requests/upstreams/mod.ts";
import { DayTotals, Retention } from "../money/usage/mod.ts";
import { sharedMemory } from "./bounds.ts";
import { DatabaseStates } from "./database_states.ts";
import { Door } from "./door.ts";
import { newsOf } from "./serving.ts";
import { Running } from "./running.ts";
import { ServingThreads, type ServingThreadsParts, type StartThread } from "./serving_threads.ts";
import type { Reload } from "./reload.ts";
import { retentionLimits, runsPrograms } from "./servings.ts";
import {
  endedGateways,
  ensureOwner,
  keepOutbox,
  nameForeignOutboxes,
  openStore,
  type Store,
  type StoreOptions,
  sweepOutboxes,
} from "./store.ts";
import { DAY_MS } from "../ground/time.ts";
import { threadCount } from "./thread_count.ts";

/** Processor time that no turn of the main thread takes, or it hangs. */
const MAX_TURN_MS = 30_000;

/** What a gateway takes from its environment; tests pass their own. */
export interface Environment extends Pick<StoreOptions, "now" | "passwordCost" | "wrapDatabase"> {
  readonly log: Log;
  /** Variables of the process by which traces and metrics are exported; neither is by default. */
  readonly exporting?: Readonly<Record<string, string>> | undefined;
  readonly retries?: RetryPolicy;
  /** Whether a gateway runs on the data directory that is going to hand over to this one. */
  readonly takeover?: boolean;
  /** Requests of an account within a second from which on credits are lent for it; tests set 0. */
  readonly lendFrom?: number;
  /** How host names of images and of receivers of alerts become addresses. */
  readonly resolve?: Resolve;
  /** How fast alerts are looked for and delivered. */
  readonly alertTimes?: AlertTimes;
  /** Writes lines of the log of other threads; without, they write to standard error themselves. */
  readonly writeLog?: (text: string) => void;
  /** Starts a serving thread; tests pass their own. */
  readonly startThread?: StartThread;
  /** How soon a thread counts as hanging; tests are less patient. */
  readonly watchdog?: ServingThreadsParts["watchdog"];
  /**
   * Reads the settings again, as they were read at the start, or those of another file; without it, the console cannot
   * change the settings file.
   */
  readonly readSettings?: (file?: string) => Promise<Config>;
  /** Called once the database is open, before upstreams are asked for their models. */
  readonly databaseOpened?: () => void;
  /** Frees the address that the gateway is about to listen on. */
  readonly beforeListening?: () => Promise<void>;
  /** Called with settings that a reload has applied. */
  readonly settingsApplied?: (config: Config) => void;
}

/** The whole gateway, not yet listening. */
export interface Gateway extends Omit<Store, "owner" | "config">, ServedGateway {
  /** What the settings in use have made; `config` is what they are. */
  readonly config: Config;
  readonly database: Database;
  readonly app: App;
  readonly upstreams: Upstreams;
  readonly inFlight: InFlightRequests;
  readonly admission: Admission;
  readonly retention: Retention;
  readonly alerts: Alerts;
  readonly paymentSweep: PaymentSweep;
  listen(): Promise<Server>;
  reload(read: () => Promise<Config>): Promise<Reload>;
}

/** Builds every part in order; disposing closes them in reverse. */
export async function assemble(config: Config, environment: Environment): Promise<Gateway> {
  const { log, exporting, retries, resolve, takeover = false, readSettings } = environment;
  const { settings } = config;
  const file = databaseFile(settings);
  await using built = new AsyncDisposableStack();
  let isHandedOver = () => false;
  if (exporting !== undefined) built.use(await startExporting(exporting, log));

  const count = threadCount(settings, log);
  const identity = built.use(await gatewayIdentity(settings.data, { takeover, threads: count }));
  const alone = built.use(await databaseAlone(settings.data, file, { takeover }));
  const metrics: Metrics = new Metrics(
    async () => ({
      ...door.present(),
      writesWaiting: database.waiting,
      outbox: database.outbox,
      databaseBytes: file === undefined ? undefined : await sizeOf(database),
    }),
    count === 1
      ? undefined
      : async (own) => await sumOfMetrics([await own(), ...await threads?.metrics() ?? []]),
  );
  const observe: ObserveCommit = (commit) => metrics.committed(commit);
  const databaseStates = new DatabaseStates(log);
  const storeOptions = {
    ...environment,
    observe,
    beside: [identity.lock],
    onState: databaseStates.changed,
    onReplica: (error?: string) =>
      log.warn(`reports read the ${error === undefined ? "replica again" : "database itself"}`, {
        error,
      }),
    besideGateway: takeover,
  };
  const store = built.use(await openStore(config, storeOptions));
  environment.databaseOpened?.();
  const { database, clock } = store;
  const { now } = clock;
  await keepOutbox(database, {
    gatewayId: identity.ids[0]!,
    directory: settings.data,
    log,
    onState: databaseStates.changed,
  });
  await nameForeignOutboxes(database, config, log);
  if (isOpened(database)) built.use(sweepOutboxes(database, log));
  if (file !== undefined) {
    built.defer(() => isHandedOver() ? undefined : leaveOneFile(database, log));
  }
  const reports = isOpened(database) && database.openReader !== undefined
    ? built.adopt(
      new ReadAside(database, () => database.openReader!([identity.lock]), new TimeSlices()),
      (one) => one.close(),
    )
    : undefined;
  const { owner, firstKey } = await ensureOwner(store);

  const retention = built.adopt(
    new Retention({
      database,
      log,
      now,
      ...retentionLimits(settings),
      others: [
        (options) => pruneRequests(database, options),
        (options) => pruneEvents(database, options),
        ({ nowMs, limit, limits: { logDays } }) =>
          logDays === undefined
            ? Promise.resolve(false)
            : pruneLog(database, { beforeMs: nowMs - logDays * DAY_MS, limit }),
      ],
    }),
    (one) => one.close(),
  );
  retention.start();
  built.adopt(new DayTotals({ database, log, now }), (one) => one.close()).start();
  const key = await store.sealKey();
  const upstreamStates = async () =>
    mergedStates([door.upstreamStates, ...await threads?.call("upstreams", null) ?? []]);
  const alerts = built.adopt(
    new Alerts({
      ...store,
      log,
      metrics,
      now,
      directory: settings.data,
      settings: () => {
        const { alerts, proxies } = servings.current.config.settings;
        return { ...alerts, proxies };
      },
      served: () => {
        const { catalog, config: { settings } } = servings.current;
        const { routes } = catalog();
        return {
          routes,
          settings: routesDigest(settings),
          disputes: () => disputedRoutes({ routes }, settings),
        };
      },
      upstreams: upstreamStates,
      aside: (work) => door.aside(work),
      resolve: resolve ?? systemResolve,
      times: environment.alertTimes,
    }),
    (one) => one.close(),
  );
  databaseStates.watcher = alerts.database;
  const closing = new AbortController();
  // once, as programs may not be run any more when a thread is started again
  const memoryBytes = await memoryLimitBytes();
  const memory = count === 1 ? undefined : sharedMemory(count);
  let threads: ServingThreads | undefined;
  const door: Door = built.use(
    await Door.open(config, {
      store,
      gatewayId: identity.ids[0]!,
      memoryBytes,
      sealKey: key,
      abandonedIds: file === undefined
        ? identity.abandoned
        : [...identity.abandoned, ...identity.copied],
      ended: (ids) => endedGateways(ids, { identity, alone, file, directory: settings.data }),
      log,
      metrics,
      ...(exporting !== undefined && { tracing: openTelemetry() }),
      retries,
      resolve,
      lendFrom: environment.lendFrom,
      retention,
      prove: identity.prove,
      reports,
      threads: memory && {
        thread: 1,
        memory,
        connections: {
          sweeps: true,
          busyElsewhere: async (peers) => await threads?.inUse("busy", peers) ?? [],
          claimedElsewhere: async (peers) => await threads?.inUse("claimed", peers) ?? [],
        },
        send: (news) => threads?.tell("onNews", news),
      },
      liveRequests: async () =>
        [...inFlight.all, ...(await threads?.call("live", null) ?? []).flat()]
          .toSorted((a, b) => a.startedAtMs - b.startedAtMs),
      upstreamStates,
      settingsFile: readSettings && {
        check: async (file) => {
          const { settings } = await readSettings(file);
          new Catalog(settings, servings.current.lists.listings); // throws what a reload would
        },
        reload: () => reload(readSettings),
      },
      closing: closing.signal,
    }),
  );
  const { inFlight, servings, admission } = door;
  if (memory !== undefined) {
    threads = built.use(
      await ServingThreads.start({
        settings: {
          memory,
          memoryBytes,
          sealKey: key,
          exporting,
          retries,
          passwordCost: environment.passwordCost,
          lendFrom: environment.lendFrom,
        },
        gatewayIds: identity.ids,
        database,
        log,
        metrics,
        writeLog: environment.writeLog,
        startThread: environment.startThread,
        watchdog: environment.watchdog,
        prove: identity.prove,
        pages: {
          fetch: (request, peer) => servings.current.pages.fetch(request, peer),
        },
        onNews: (news) => door.onNews(news),
        current: () => ({
          config: servings.current.config,
          lists: newsOf(servings.current.lists),
        }),
      }),
    );
    servings.others = threads;
  }
  alerts.start();

  const sweep = built.use(
    new PaymentSweep(() => servings.current.payments, {
      log,
      now,
      // a stop that is undone before the next pass is worth an alert, too
      toppedUp: () => alerts.watch.seeStoppedTopUps(),
    }),
  );
  sweep.start();

  const owned = built.move();
  const running = new Running({
    door,
    threads,
    count,
    identity,
    alerts,
    takeover,
    settings,
    log,
    owned,
    closing,
  });
  isHandedOver = () => running.handedOver;
  const reload = async (read: () => Promise<Config>) => {
    const reloaded = await servings.reload(read);
    running.announce();
    if (reloaded.fault === null) environment.settingsApplied?.(servings.current.config);
    return reloaded;
  };
  return {
    ...store,
    retention,
    alerts,
    admission,
    get config() {
      return servings.current.config;
    },
    get app() {
      return servings.current.app;
    },
    get payments() {
      return servings.current.payments;
    },
    paymentSweep: sweep,
    get catalog() {
      return servings.current.catalog();
    },
    get unlisted() {
      return servings.current.lists.without;
    },
    get upstreams() {
      return servings.current.upstreams;
    },
    inFlight,
    firstKey,
    owner,
    guardProcess() {
      owned.defer(guardProcess({
        log,
        unhandled: () => metrics.unhandled(),
        runsPrograms: runsPrograms(servings.current.config),
      }));
      limitFreeMemory();
      const limit = limitTurns(MAX_TURN_MS);
      if (limit !== undefined) owned.use(limit);
      threads?.tell("guard", null);
    },
    async listen() {
      await environment.beforeListening?.();
      return await running.listen();
    },
    reload,
    handOver: () => running.handOver(),
    stop: () => running.stop(),
    [Symbol.asyncDispose]: () => running.close(),
  };
}

/** Bytes of the database's file; undefined while its disk does not answer. */
async function sizeOf(database: Database): Promise<number | undefined> {
  if (database.outbox?.isDetached) return undefined;
  return await databaseBytes(database).catch(() => undefined);
}

/** A digest of the settings that routes and their prices come from, and of the program that knows models. */
function routesDigest({ routes, upstream, upstreams, credits }: Settings): string {
  const of = Object.entries(upstreams).map(([name, { url, discover }]) => [name, url, discover]);
  const { url, discover, model } = upstream;
  const all = [VERSION, routes, of, url, discover, model, credits.perUsd];
  return digestOf(JSON.stringify(all));
}

/** So that the file of a stopped gateway can be copied: the driver keeps the log beside it when it closes. */
async function leaveOneFile(database: Database, log: Log): Promise<void> {
  const fault = await foldLog(database).then((done) => done ? undefined : "it is in use", String);
  if (fault !== undefined) log.warn("the write-ahead log stays beside its file", { error: fault });
}
