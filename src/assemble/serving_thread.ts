/**
 * The module of a serving thread: one of several that listen on the same port. It has everything that serves requests; the
 * database's thread and the main thread it reaches by messages.
 */

import { EmbeddedDatabase, type ObserveCommit } from "../ground/database/mod.ts";
import { type ChannelEnd, collectGarbageWhenIdle, PortCalls } from "../ground/platform/mod.ts";
import {
  bufferedWriter,
  createLog,
  guardProcess,
  logSettings,
  Metrics,
  openTelemetry,
  PIPE_BYTES,
} from "../ground/telemetry/mod.ts";
import { Door } from "./door.ts";
import { ForwardedPages } from "./forwarded_pages.ts";
import { runsPrograms } from "./servings.ts";
import { keepOutbox, openStore } from "./store.ts";
import { receivedConfig } from "./thread_config.ts";
import type { Beginning, MainMethods, ThreadMethods } from "./thread_protocol.ts";

/** For connections that stay open although nothing runs on them. */
const CLOSE_PATIENCE_MS = 1_000;

// in a worker's scope, which the type checker is not told of here
const main = new PortCalls<MainMethods>(self as unknown as ChannelEnd, methods());

interface Opened {
  readonly door: Door;
  readonly metrics: Metrics;
  readonly configureLog: () => void;
  readonly databaseDied: (message: string) => void;
  /** Keeps the thread up from now on when there is a bug. */
  guard(): void;
  close(): Promise<void>;
}

async function open(beginning: Beginning): Promise<Opened> {
  const { thread, line, memory, retries, passwordCost, traces, sendsLog, lists, lendFrom } =
    beginning;
  const config = receivedConfig(beginning.config);
  await using built = new AsyncDisposableStack();
  const write = sendsLog
    ? Object.assign((text: string) => main.tell("log", text), { flush() {} })
    : bufferedWriter(Deno.stderr, { maxBytes: PIPE_BYTES });
  built.defer(() => write.flush());
  const log = createLog({ ...logSettings(config.settings), now: Date.now, write });
  const metrics: Metrics = new Metrics(
    () => ({
      ...door.present(),
      writesWaiting: store.database.waiting,
      databaseBytes: undefined,
    }),
    () => main.call("metricsText", null),
  );
  const observe: ObserveCommit = (commit) => metrics.committed(commit);
  const embedded = line && EmbeddedDatabase.over(line, observe);
  const storeOptions = {
    besideGateway: true,
    observe,
    ...(passwordCost && { passwordCost }),
    ...(embedded && { opened: embedded }),
  };
  const store = built.use(await openStore(config, storeOptions));
  await keepOutbox(store.database, beginning.gatewayId, log);
  const closing = new AbortController();
  const door: Door = built.use(
    await Door.open(config, {
      store,
      storeOptions,
      gatewayId: beginning.gatewayId,
      memoryBytes: beginning.memoryBytes,
      sealKey: beginning.sealKey,
      abandonedIds: [],
      log,
      metrics,
      ...(traces && { tracing: openTelemetry() }),
      retries,
      lendFrom,
      prove: (challenge) => main.call("prove", challenge),
      pages: new ForwardedPages((call) => main.tell("page", call, [call.port])),
      received: lists,
      threads: {
        thread,
        memory,
        connections: {
          sweeps: false,
          busyElsewhere: () => Promise.resolve([]),
          claimedElsewhere: () => Promise.resolve([]),
        },
        send: (news) => main.tell("send", news),
      },
      closing: closing.signal,
    }),
  );
  built.defer(collectGarbageWhenIdle(() => door.inFlight.ownCount === 0));
  const owned = built.move();
  return {
    door,
    metrics,
    configureLog: () => log.configure(logSettings(door.servings.current.config.settings)),
    databaseDied: (message) => embedded?.fail(message),
    guard() {
      owned.defer(guardProcess({
        log,
        unhandled: () => metrics.unhandled(),
        runsPrograms: runsPrograms(door.servings.current.config),
      }));
    },
    async close() {
      closing.abort();
      await door.closeConnections(CLOSE_PATIENCE_MS);
      await owned.disposeAsync();
    },
  };
}

function methods(): ThreadMethods {
  let opening: Promise<Opened> | undefined;
  const opened = () => {
    if (opening === undefined) throw new Error("the serving thread was not opened");
    return opening;
  };
  return {
    async open(beginning) {
      opening = open(beginning);
      await opening;
    },
    async guard() {
      (await opened()).guard();
    },
    async listen(address) {
      (await opened()).door.listen({
        ...address,
        besideAnother: true,
        listening: { count: 0, lost() {} }, // the main thread looks after them
      });
    },
    async relisten() {
      (await opened()).door.server?.relisten();
    },
    async expectEnd() {
      (await opened()).door.server?.expectEnd();
    },
    async stopListening() {
      (await opened()).door.server?.stopListening();
    },
    async prepare({ config, lists }) {
      await (await opened()).door.servings.prepare(receivedConfig(config), lists);
    },
    async apply() {
      const { door, configureLog } = await opened();
      door.servings.apply();
      configureLog();
    },
    async discard() {
      await (await opened()).door.servings.discard();
    },
    async lists(lists) {
      (await opened()).door.servings.current.onModelLists(lists);
    },
    async onNews(news) {
      (await opened()).door.onNews(news);
    },
    async metrics() {
      return await (await opened()).metrics.snapshot();
    },
    async live() {
      return (await opened()).door.inFlight.all;
    },
    async upstreams() {
      return (await opened()).door.upstreamStates;
    },
    async busy(peers) {
      return (await opened()).door.bounds.connections.busyOf(peers);
    },
    async claimed(peers) {
      return (await opened()).door.bounds.arrivals.claimed(peers);
    },
    async handOver(isHandingOver) {
      (await opened()).door.handOver(isHandingOver);
    },
    async quietMs() {
      return (await opened()).door.quietMs;
    },
    async stopTaking() {
      (await opened()).door.servings.stopTaking();
    },
    async idle() {
      await (await opened()).door.servings.current.app.idle();
    },
    async finish(patienceMs) {
      return await (await opened()).door.inFlight.finish(patienceMs);
    },
    async close() {
      await (await opened()).close();
    },
    async databaseDied(message) {
      (await opened()).databaseDied(message);
    },
  };
}
