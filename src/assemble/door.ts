import { KeyRing, UpstreamKeyCipher } from "../people/accounts/mod.ts";
import { Admission, type AdmissionOptions } from "../requests/admission/mod.ts";
import type { Config } from "../settings/config/mod.ts";
import {
  type App,
  type ConnectionsOptions,
  ResponseSockets,
  serve,
  type ServeOptions,
  type Server,
} from "../doors/http/mod.ts";
import { CoarseTimers } from "../ground/platform/mod.ts";
import { FollowedReplies, InFlightRequests, InputEstimates } from "../requests/relay/mod.ts";
import { BoundCipher, Sealing } from "../wire/sealing/mod.ts";
import { Aside } from "../ground/database/mod.ts";
import { STATUS_CODE } from "../ground/std/mod.ts";
import type { Log, Present } from "../ground/telemetry/mod.ts";
import {
  type ListsNews,
  OwnKeys,
  RoutingMemory,
  stateOf,
  type UpstreamState,
} from "../requests/upstreams/mod.ts";
import type { Retention } from "../money/usage/mod.ts";
import { Bounds } from "./bounds.ts";
import type { Reload } from "./reload.ts";
import type { ThreadParts } from "./serving.ts";
import { admissionSettings, Servings } from "./servings.ts";
import type { News, SharedMemory } from "./thread_protocol.ts";

/** What a door needs from its thread. */
export interface DoorParts
  extends
    Omit<ThreadParts, "liveRequests" | "upstreamStates">,
    Partial<Pick<ThreadParts, "liveRequests" | "upstreamStates">> {
  readonly gatewayId: string;
  /** What the system allows the process, in bytes. */
  readonly memoryBytes: number;
  /** IDs of gateways that do not run any more: their holds are released. */
  readonly abandonedIds: readonly string[];
  /** Which gateways have ended, whose loans are released. Only in the main thread. */
  readonly ended?: AdmissionOptions["ended"];
  /** Requests of an account within a second from which on credits are lent for it. */
  readonly lendFrom?: number | undefined;
  /** Only in the main thread. */
  readonly retention?: Retention | undefined;
  /** What another thread has found that upstreams list. */
  readonly received?: ListsNews | undefined;
  /** Set where several threads serve. */
  readonly threads?: {
    readonly thread: number;
    readonly memory: SharedMemory;
    readonly connections: NonNullable<ConnectionsOptions["threads"]>;
    /** Tells the other threads what this one has learned. */
    readonly send: (news: readonly News[]) => void;
  } | undefined;
}

/** Where a door listens. */
export type Address = Pick<ServeOptions, "host" | "port" | "besideAnother" | "listening">;

/** Part of the memory that the system allows in which responses of WebSockets are kept for a moment. */
const RECENT_SHARE = 0.1;
/** The same for their frames. */
const FRAMES_SHARE = 0.1;

/** What one thread serves requests with, from the socket to the upstreams. Disposing closes it. */
export class Door implements AsyncDisposable {
  readonly inFlight: InFlightRequests;
  readonly admission: Admission;
  readonly bounds: Bounds;
  readonly servings: Servings;
  /** Runs long work on a database connection of its own. */
  readonly aside: Aside["run"];
  /** Whether connections close after each response: another process has taken over. */
  isHandingOver = false;
  readonly #sockets: ResponseSockets;
  readonly #estimates: InputEstimates;
  readonly #routing: RoutingMemory;
  readonly #log: Log;
  readonly #owned: AsyncDisposableStack;
  #server: Server | undefined;
  #lastRequestTick = performance.now();

  private constructor(
    parts: Pick<Door, "inFlight" | "admission" | "bounds" | "servings" | "aside"> & {
      readonly sockets: ResponseSockets;
      readonly estimates: InputEstimates;
      readonly routing: RoutingMemory;
      readonly log: Log;
    },
    owned: AsyncDisposableStack,
  ) {
    this.inFlight = parts.inFlight;
    this.admission = parts.admission;
    this.bounds = parts.bounds;
    this.servings = parts.servings;
    this.aside = parts.aside;
    this.#sockets = parts.sockets;
    this.#estimates = parts.estimates;
    this.#routing = parts.routing;
    this.#log = parts.log;
    this.#owned = owned;
  }

  /** Builds every part in order. */
  static async open(config: Config, parts: DoorParts): Promise<Door> {
    const { store, log, threads } = parts;
    const { database, clock } = store;
    const { now } = clock;
    const { settings } = config;
    await using built = new AsyncDisposableStack();
    const keyRing = built.adopt(
      new KeyRing(database, {
        now,
        patienceMs: () => servings.current.config.settings.outage.patienceMs,
      }),
      (ring) => ring.close(),
    );
    await keyRing.refresh();
    const timers = built.adopt(new CoarseTimers(), (all) => all.close());
    const inFlight = new InFlightRequests(
      threads && { all: new Int32Array(threads.memory.inFlight), own: threads.thread - 1 },
    );
    const admission = built.adopt(
      new Admission({
        database,
        ...admissionSettings(settings),
        gatewayId: parts.gatewayId,
        abandonedIds: parts.abandonedIds,
        ended: parts.ended,
        log,
        now,
        syncClock: () => clock.sync(),
        lendFrom: parts.lendFrom,
      }),
      (one) => one.close(),
    );
    await admission.start();
    const estimates = new InputEstimates();
    const routing = new RoutingMemory(now);
    const send = threads && spread(threads.send);
    if (send !== undefined) {
      estimates.send = (news) => send({ kind: "estimate", news });
      routing.affinity.send = (news) => send({ kind: "affinity", news });
    }
    const { memoryBytes } = parts;
    const bounds = built.use(
      new Bounds(settings, {
        now,
        timers,
        log,
        inFlight: () => inFlight.ownCount,
        memoryBytes,
        onCut: (cut) => log.warn("connection cut: too much came without a request", { ...cut }),
        threads: threads && send && { ...threads, send },
      }),
    );
    const sockets = new ResponseSockets({
      request: (request, info, options) => servings.current.app.turn(request, info, options),
      connections: bounds.connections,
      places: bounds.openSockets,
      arrivals: bounds.arrivals,
      memory: bounds.large.memory,
      recentBytes: RECENT_SHARE * memoryBytes,
      frameChars: FRAMES_SHARE * memoryBytes,
      unbilledBytes: bounds.unbilledBytes,
      log,
    });
    const beside = built.use(new Aside(store.database));
    const aside: Aside["run"] = (work) => beside.run(work);
    const servings: Servings = built.use(
      await Servings.open(
        config,
        {
          ...parts,
          liveRequests: parts.liveRequests ?? (() => Promise.resolve(inFlight.all)),
          upstreamStates: parts.upstreamStates ??
            (() => Promise.resolve(servings.current.upstreams.all.map(stateOf))),
          keyRing,
          admission,
          inFlight,
          estimates,
          followed: new FollowedReplies(),
          routing,
          bounds,
          timers,
          sealing: new Sealing(parts.sealKey),
          ownKeys: new OwnKeys({
            cipher: new UpstreamKeyCipher(parts.sealKey),
            memory: routing,
            now,
          }),
          sockets,
          itemsCipher: new BoundCipher(parts.sealKey, "sluice kept items"),
          reloads: (): Reload | undefined => servings.lastReload,
          aside,
        },
        parts.received,
      ),
    );
    const own = { inFlight, admission, bounds, servings, aside, sockets, estimates, routing, log };
    return new Door(own, built.move());
  }

  /** What this thread adds to the metrics. */
  present(): Pick<Present, "requestsInFlight" | "upstreams"> {
    return {
      requestsInFlight: this.inFlight.ownCount,
      upstreams: this.servings.current.upstreams.all.map(({ name, health, keys }) => ({
        name,
        resting: health.resting,
        keys: keys?.all.map(({ position, health }) => ({ position, resting: health.resting })) ??
          [],
      })),
    };
  }

  /** How the upstreams have been doing, as this thread has seen them. */
  get upstreamStates(): readonly UpstreamState[] {
    return this.servings.current.upstreams.all.map(stateOf);
  }

  /** Milliseconds since the last request that came while handing over. */
  get quietMs(): number {
    return performance.now() - this.#lastRequestTick;
  }

  /** Begins to hand over to another process, or goes on as before. */
  handOver(isHandingOver: boolean): void {
    this.isHandingOver = isHandingOver;
    this.#sockets.drain(isHandingOver);
    this.#lastRequestTick = performance.now();
  }

  /** Notes what other threads have learned. */
  onNews(all: readonly News[]): void {
    for (const one of all) {
      switch (one.kind) {
        case "affinity":
          this.#routing.affinity.onNews(one.news);
          break;
        case "estimate":
          this.#estimates.onNews(one.news);
          break;
        default:
          this.bounds[one.kind].onNews(one.owner, one.units);
      }
    }
  }

  listen(address: Address): Server {
    const fetch: App["fetch"] = (request, info) => {
      const response = this.servings.current.app.fetch(request, info);
      if (!this.isHandingOver) return response;
      this.#lastRequestTick = performance.now();
      return closingConnection(response);
    };
    return this.#server = serve({ fetch }, {
      ...address,
      connections: this.bounds.connections,
      listened: (port) => {
        this.bounds.sockets?.refuseHttp2(port);
        this.bounds.sockets?.extendBacklog(port);
        this.bounds.arrivals.start(port);
      },
      onInterruption: (error) =>
        this.#log.error("stopped listening: out of file descriptors? closing idle connections", {
          error: String(error),
          limit: this.bounds.sockets?.limit,
        }),
    });
  }

  /** Where it listens; undefined before it does. */
  get server(): Server | undefined {
    return this.#server;
  }

  /**
   * Closes its connections.
   *
   * @param patienceMs Max time for those that stay open although nothing runs on them.
   */
  async closeConnections(patienceMs: number): Promise<void> {
    await this.#sockets.close(patienceMs);
    await this.#server?.close(patienceMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}

/** A response after which the client opens another connection, which is not this process's. */
async function closingConnection(response: Response | Promise<Response>): Promise<Response> {
  const answered = await response;
  const { body, status, headers } = answered;
  if (status === STATUS_CODE.SwitchingProtocols) return answered;
  const changed = new Headers(headers);
  changed.set("connection", "close");
  return new Response(body, { status, headers: changed });
}

/** Tells the news of one turn of the event loop together: each message wakes the other threads. */
function spread(send: (news: readonly News[]) => void): (news: News) => void {
  let waiting: News[] = [];
  return (news) => {
    if (waiting.length === 0) {
      setTimeout(() => {
        const all = waiting;
        waiting = [];
        send(all);
      }, 0);
    }
    waiting.push(news);
  };
}
