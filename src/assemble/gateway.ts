import { type Account, KeyRing } from "../accounts/mod.ts";
import { Admission } from "../admission/mod.ts";
import type { Catalog } from "../catalog/mod.ts";
import { CoarseTimers, collectGarbageWhenIdle } from "../platform/mod.ts";
import { type Config, databaseFile } from "../config/mod.ts";
import {
  type Database,
  databaseAlone,
  databaseBytes,
  foldLog,
  gatewayIdentity,
} from "../database/mod.ts";
import { type App, serve, type Server } from "../http/mod.ts";
import type { Resolve } from "../images/mod.ts";
import { InFlightRequests, InputEstimates } from "../relay/mod.ts";
import { delay } from "../std/mod.ts";
import { guardProcess, type Log, Metrics, type Tracing } from "../telemetry/mod.ts";
import { type RetryPolicy, RoutingMemory, type Upstreams } from "../upstreams/mod.ts";
import { Retention } from "../usage/mod.ts";
import { Bounds } from "./bounds.ts";
import { admissionSettings, type Reload, retentionLimits, Servings } from "./servings.ts";
import { ensureOwner, openStore, type Store, type StoreOptions } from "./store.ts";

/** For connections that stay open although nothing runs on them. */
const CLOSE_PATIENCE_MS = 1_000;

/**
 * Time without a request after which a process that has handed over closes its connections. A client may use one at any
 * moment, also that of a stream that has just ended, and must not find it closed.
 */
const QUIET_MS = 3_000;
/** Time after which it stops listening in any case, should new connections still reach it. */
const LISTENING_MS = 60_000;
/** Interval of looks at whether the other process still runs. */
const LOOK_MS = 500;
const MAX_TIMER_MS = 2 ** 31 - 1;

/** What a gateway takes from its environment; tests pass their own. */
export interface Environment extends Pick<StoreOptions, "now" | "passwordCost" | "wrapDatabase"> {
  readonly log: Log;
  /** How requests are traced; not at all by default. */
  readonly tracing?: Tracing;
  readonly retries?: RetryPolicy;
  /** Whether a gateway runs on the data directory that is going to hand over to this one. */
  readonly takeover?: boolean;
  /** Requests of an account within a second from which on credits are lent for it; tests set 0. */
  readonly lendFrom?: number;
  /** How host names of images become addresses. */
  readonly resolve?: Resolve;
}

/** The whole gateway, not yet listening. */
export interface Gateway extends Omit<Store, "owner" | "config"> {
  /** What the settings in use have made; `config` is what they are. */
  readonly config: Config;
  readonly app: App;
  readonly catalog: Catalog;
  readonly upstreams: Upstreams;
  /** Upstreams that were asked for their models and list none. */
  readonly unlisted: readonly string[];
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
   * Reads the settings again and applies them, without touching requests in progress. After a fault, which is logged
   * and shown by `sluice doctor` and the console, everything stays as it was.
   *
   * @param read Reads the settings.
   * @returns How it went.
   */
  reload(read: () => Promise<Config>): Promise<Reload>;
  /**
   * Leaves new connections to another process that listens on the same port. Answers requests of open connections, which
   * it closes one by one, and closes everything when the last request has ended.
   *
   * @returns False if the other process has ended meanwhile: then this one goes on as before.
   */
  handOver(): Promise<boolean>;
  /**
   * Rejects new requests, lets requests in flight finish within `limits.drainMs`, then closes everything.
   *
   * @returns how many requests had to be cut off.
   */
  stop(): Promise<{ cutOff: number }>;
}

/** Builds every part in order; disposing closes them in reverse. */
export async function assemble(config: Config, environment: Environment): Promise<Gateway> {
  const { log, tracing, retries, resolve, takeover = false } = environment;
  const { settings } = config;
  const file = databaseFile(settings);
  await using built = new AsyncDisposableStack();
  let handedOver = false;

  const identity = built.use(await gatewayIdentity(settings.data, { takeover }));
  built.use(await databaseAlone(settings.data, file, { takeover }));
  const metrics: Metrics = new Metrics(async () => ({
    requestsInFlight: inFlight.count,
    writesWaiting: database.waiting,
    databaseBytes: file === undefined ? undefined : await databaseBytes(database),
    upstreams: servings.current.upstreams.all.map(({ name, health, keys }) => ({
      name,
      resting: health.resting,
      keys: keys?.all.map(({ position, health }) => ({ position, resting: health.resting })) ?? [],
    })),
  }));
  const store = built.use(
    await openStore(config, {
      ...environment,
      observe: (commit) => metrics.committed(commit),
      besideGateway: takeover,
    }),
  );
  const { database, clock } = store;
  const { now } = clock;
  if (file !== undefined) built.defer(() => handedOver ? undefined : leaveOneFile(database, log));
  const { owner, firstKey } = await ensureOwner(store);

  const keyRing = built.adopt(new KeyRing(database, { now }), (ring) => ring.close());
  await keyRing.refresh();
  const timers = built.adopt(new CoarseTimers(), (all) => all.close());
  const inFlight = new InFlightRequests();
  const admission = built.adopt(
    new Admission({
      database,
      ...admissionSettings(settings),
      gatewayId: identity.id,
      abandonedIds: identity.abandoned,
      log,
      now,
      syncClock: () => clock.sync(),
      lendFrom: environment.lendFrom,
    }),
    (one) => one.close(),
  );
  await admission.start();
  const retention = built.adopt(
    new Retention({ database, log, now, ...retentionLimits(settings) }),
    (one) => one.close(),
  );
  retention.start();
  const closing = new AbortController();
  const bounds = built.use(new Bounds(settings, { now, timers }));
  const servings: Servings = built.use(
    await Servings.open(config, {
      store,
      retention,
      keyRing,
      admission,
      inFlight,
      estimates: new InputEstimates(),
      routing: new RoutingMemory(now),
      bounds,
      timers,
      log,
      metrics,
      tracing,
      retries,
      resolve,
      reloads: () => servings.lastReload,
      prove: identity.prove,
      closing: closing.signal,
    }, environment),
  );

  const owned = built.move();
  let server: Server | undefined;
  let lastRequestTick = 0;
  const announce = () => {
    if (server === undefined || handedOver) return;
    const { file, digest } = servings.current.config;
    identity.announce({
      url: server.url,
      pid: Deno.pid,
      settings: file === undefined || digest === undefined ? null : { file, digest },
      reload: servings.lastReload ?? null,
    });
  };
  const close = async () => {
    closing.abort();
    await server?.close(CLOSE_PATIENCE_MS);
    await owned.disposeAsync();
  };
  return {
    ...store,
    retention,
    admission,
    get config() {
      return servings.current.config;
    },
    get app() {
      return servings.current.app;
    },
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
      owned.defer(guardProcess({ log, unhandled: () => metrics.unhandled() }));
    },
    listen() {
      const fetch: App["fetch"] = (request, info) => {
        const response = servings.current.app.fetch(request, info);
        if (!handedOver) return response;
        lastRequestTick = performance.now();
        return closingConnection(response);
      };
      server = serve({ fetch }, {
        ...settings,
        besideAnother: takeover,
        connections: bounds.connections,
        onInterruption: (error) =>
          log.error("stopped listening: out of file descriptors? closing idle connections", {
            error: String(error),
            limit: bounds.sockets?.limit,
          }),
      });
      if (takeover && bounds.sockets?.steerToSecond(server.port) !== true) {
        log.warn("new connections may reach the earlier gateway until it stops listening");
      }
      announce();
      owned.defer(collectGarbageWhenIdle(() => inFlight.count === 0));
      return server;
    },
    async reload(read) {
      const reload = await servings.reload(read);
      announce();
      return reload;
    },
    async handOver() {
      handedOver = true;
      const beganTick = lastRequestTick = performance.now();
      let listens = true;
      const isQuiet = () => inFlight.count === 0 && performance.now() - lastRequestTick >= QUIET_MS;
      while (!isQuiet()) {
        await delay(LOOK_MS);
        if (listens && !await identity.hasSuccessor()) {
          handedOver = false;
          announce();
          log.warn("the process that took over has ended: this one goes on");
          return false;
        }
        const isSteered = Deno.build.os === "linux";
        const patienceMs = isSteered ? LISTENING_MS : QUIET_MS;
        if (listens && performance.now() - beganTick >= patienceMs) {
          listens = false;
          server?.stopListening();
        }
      }
      await servings.current.app.idle();
      await inFlight.finish(MAX_TIMER_MS);
      await close();
      return true;
    },
    async stop() {
      servings.stopTaking();
      const finished = await inFlight.finish(servings.current.config.settings.limits.drainMs);
      await close();
      return finished;
    },
    [Symbol.asyncDispose]: close,
  };
}

/** A response after which the client opens another connection, which is not this process's. */
async function closingConnection(response: Response | Promise<Response>): Promise<Response> {
  const { body, status, headers } = await response;
  const changed = new Headers(headers);
  changed.set("connection", "close");
  return new Response(body, { status, headers: changed });
}

/** For whoever copies the file of a stopped gateway: the driver keeps the log beside it when it closes. */
async function leaveOneFile(database: Database, log: Log): Promise<void> {
  const fault = await foldLog(database).then((done) => done ? undefined : "it is in use", String);
  if (fault !== undefined) log.warn("the write-ahead log stays beside its file", { error: fault });
}
