import type { Alerts } from "../operating/alerts/mod.ts";
import type { Settings } from "../settings/config/mod.ts";
import { announcedGateway, type GatewayIdentity } from "../ground/database/mod.ts";
import type { Server } from "../doors/http/mod.ts";
import { collectGarbageWhenIdle } from "../ground/platform/mod.ts";
import { delay } from "../ground/std/mod.ts";
import type { Log } from "../ground/telemetry/mod.ts";
import type { Door } from "./door.ts";
import type { ServingThreads } from "./serving_threads.ts";

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

/** What a gateway that runs is made of. */
export interface RunningParts {
  readonly door: Door;
  /** The threads beside this one; undefined if there is none. */
  readonly threads: ServingThreads | undefined;
  /** Number of threads that serve. */
  readonly count: number;
  readonly identity: GatewayIdentity;
  readonly alerts: Alerts;
  /** Whether it takes over from another gateway on the data directory. */
  readonly takeover: boolean;
  /** Those of the start: where it listens does not change. */
  readonly settings: Settings;
  readonly log: Log;
  /** All that is to be closed with it. */
  readonly owned: AsyncDisposableStack;
  /** Aborted when it closes. */
  readonly closing: AbortController;
}

/** A gateway from listening to its end, beside another that it takes over from or hands over to. */
export class Running {
  readonly #parts: RunningParts;
  #server: Server | undefined;
  #watching: ReturnType<typeof setInterval> | undefined;
  #handedOver = false;

  constructor(parts: RunningParts) {
    this.#parts = parts;
  }

  /** Whether another process serves in its place. */
  get handedOver(): boolean {
    return this.#handedOver;
  }

  /** Listens where the settings say. */
  async listen(): Promise<Server> {
    const { door, threads, takeover, count, settings, log, owned } = this.#parts;
    const { bounds: { sockets }, inFlight } = door;
    const earlier = takeover ? await announcedGateway(settings.data) : undefined;
    const server = door.listen({
      host: settings.host,
      port: settings.port,
      besideAnother: takeover,
      listening: threads && {
        get count() {
          return threads.count;
        },
        lost: () => relisten(threads, door),
      },
    });
    this.#server = server;
    await threads?.listen({ host: settings.host, port: server.port });
    if (takeover) {
      const after = earlier?.workers ?? 1;
      if (sockets?.steer(server.port, { after, count }) !== true) {
        log.warn("new connections may reach the earlier gateway until it stops listening");
      }
      if (count > 1) this.#spreadOverAll(server.port);
    }
    this.announce();
    owned.defer(collectGarbageWhenIdle(() => inFlight.count === 0));
    return server;
  }

  /** Leaves word in the data directory of where it listens and which settings it uses. */
  announce(): void {
    if (this.#server === undefined || this.#handedOver) return;
    const { door: { servings }, identity, count, settings: { host } } = this.#parts;
    const { file, digest } = servings.current.config;
    identity.announce({
      url: this.#server.url,
      host,
      pid: Deno.pid,
      workers: count,
      settings: file === undefined || digest === undefined ? null : { file, digest },
      reload: servings.lastReload ?? null,
    });
  }

  /**
   * Leaves new connections to another process, and ends with the last request.
   *
   * @returns False if the other process has ended meanwhile.
   */
  async handOver(): Promise<boolean> {
    const { door, threads, identity, log } = this.#parts;
    const { inFlight, servings } = door;
    this.#handedOver = true;
    clearInterval(this.#watching);
    await this.#tellHandingOver(true);
    const beganTick = performance.now();
    let listens = true;
    while (!await this.#isQuiet()) {
      await delay(LOOK_MS);
      if (listens && !await identity.hasSuccessor()) {
        this.#handedOver = false;
        await this.#tellHandingOver(false);
        this.announce();
        log.warn("the process that took over has ended: this one goes on");
        return false;
      }
      const isSteered = Deno.build.os === "linux";
      const patienceMs = isSteered ? LISTENING_MS : QUIET_MS;
      if (listens && performance.now() - beganTick >= patienceMs) {
        listens = false;
        await stopListening(threads, door);
      }
    }
    if (listens && threads !== undefined) await stopListening(threads, door);
    await Promise.all([servings.current.app.idle(), threads?.call("idle", null)]);
    await Promise.all([inFlight.finish(MAX_TIMER_MS), threads?.call("finish", MAX_TIMER_MS)]);
    await this.close();
    return true;
  }

  /**
   * Rejects new requests, and closes when those in flight have finished or been cut off.
   *
   * @returns How many requests had to be cut off.
   */
  async stop(): Promise<{ cutOff: number }> {
    const { door, threads } = this.#parts;
    const { servings, inFlight } = door;
    const { drainMs } = servings.current.config.settings.limits;
    const untilTick = performance.now() + drainMs;
    if (this.#handedOver) {
      // clients may still send requests over connections to this process: they are answered, and the connections closed
      while (performance.now() < untilTick && !await this.#isQuiet()) await delay(LOOK_MS);
    } else {
      servings.stopTaking();
      threads?.tell("stopTaking", null);
    }
    const leftMs = Math.max(0, untilTick - performance.now());
    const finished = await Promise.all([inFlight.finish(leftMs), threads?.call("finish", leftMs)]);
    await this.close();
    return { cutOff: finished.flat().reduce((sum, one) => sum + (one?.cutOff ?? 0), 0) };
  }

  /** Closes everything. */
  async close(): Promise<void> {
    const { door, threads, alerts, owned, closing } = this.#parts;
    closing.abort();
    clearInterval(this.#watching);
    await alerts.close(); // while all that it looks at is there
    await Promise.all([threads?.[Symbol.asyncDispose](), door.closeConnections(CLOSE_PATIENCE_MS)]);
    await owned.disposeAsync();
  }

  /** When the earlier gateway has ended, its places among the sockets are this one's. */
  #spreadOverAll(port: number): void {
    const { identity, door: { bounds: { sockets } }, count } = this.#parts;
    this.#watching = setInterval(async () => {
      if (await identity.hasSuccessor()) return;
      clearInterval(this.#watching);
      sockets?.steer(port, { after: 0, count });
    }, LOOK_MS);
    Deno.unrefTimer(this.#watching);
  }

  async #tellHandingOver(isHandingOver: boolean): Promise<void> {
    const { door, threads } = this.#parts;
    door.handOver(isHandingOver);
    await threads?.call("handOver", isHandingOver);
  }

  async #isQuiet(): Promise<boolean> {
    const { door, threads } = this.#parts;
    if (door.inFlight.count > 0) return false;
    return Math.min(door.quietMs, ...await threads?.call("quietMs", null) ?? []) >= QUIET_MS;
  }
}

/** All threads listen again: the listener of one of them has ended, and nobody knows of which. */
function relisten(threads: ServingThreads, { server, bounds: { sockets } }: Door): void {
  if (server === undefined || sockets === undefined) return;
  if ([...sockets.listeners(server.port)].length >= threads.count) return;
  server.relisten();
  threads.tell("relisten", null);
}

/**
 * Stops listening in all threads. As each listener that ends changes the places of the others, to which another process
 * steers, all are ended within microseconds: a connection that still reaches one of them would be refused.
 */
async function stopListening(
  threads: ServingThreads | undefined,
  { server, bounds: { sockets } }: Door,
): Promise<void> {
  if (threads !== undefined && server !== undefined && sockets !== undefined) {
    await threads.call("expectEnd", null);
    server.expectEnd();
    for (const listener of [...sockets.listeners(server.port)]) sockets.end(listener);
  }
  server?.stopListening();
  await threads?.call("stopListening", null);
}
