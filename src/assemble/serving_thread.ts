/**
 * The module of a serving thread: one of several that listen on the same port. It has everything that serves requests; the
 * database's thread and the main thread it reaches by messages.
 */

import { EmbeddedDatabase, type ObserveCommit } from "../ground/database/mod.ts";
import {
  type ChannelEnd,
  collectGarbageWhenIdle,
  type Methods,
  PortCalls,
} from "../ground/platform/mod.ts";
import {
  bufferedWriter,
  createLog,
  guardProcess,
  logSettings,
  Metrics,
  openTelemetry,
  PIPE_BYTES,
  startExporting,
} from "../ground/telemetry/mod.ts";
import { Door } from "./door.ts";
import { ForwardedPages } from "./forwarded_pages.ts";
import { runsPrograms } from "./servings.ts";
import { keepOutbox, openStore } from "./store.ts";
import { receivedConfig } from "./thread_config.ts";
import { type OpenThread, THREAD_METHODS } from "./thread_methods.ts";
import type { Beginning, MainMethods } from "./thread_protocol.ts";

/** For connections that stay open although nothing runs on them. */
const CLOSE_PATIENCE_MS = 1_000;

// in a worker's scope, which the type checker is not told of here
const main = new PortCalls<MainMethods>(self as unknown as ChannelEnd, methods());

async function open(beginning: Beginning): Promise<OpenThread> {
  const { thread, line, memory, retries, passwordCost, exporting, sendsLog, lists, lendFrom } =
    beginning;
  const config = receivedConfig(beginning.config);
  await using built = new AsyncDisposableStack();
  const write = sendsLog
    ? Object.assign((text: string) => main.tell("log", text), { flush() {} })
    : bufferedWriter(Deno.stderr, { maxBytes: PIPE_BYTES });
  built.defer(() => write.flush());
  const log = createLog({ ...logSettings(config.settings), now: Date.now, write });
  if (exporting !== undefined) built.use(await startExporting(exporting, log));
  const metrics: Metrics = new Metrics(
    () => ({
      ...door.present(),
      writesWaiting: store.database.waiting,
      outbox: store.database.outbox,
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
  await keepOutbox(store.database, {
    gatewayId: beginning.gatewayId,
    directory: config.settings.data,
    log,
  });
  const closing = new AbortController();
  const door: Door = built.use(
    await Door.open(config, {
      store,
      gatewayId: beginning.gatewayId,
      memoryBytes: beginning.memoryBytes,
      sealKey: beginning.sealKey,
      abandonedIds: [],
      log,
      metrics,
      ...(exporting !== undefined && { tracing: openTelemetry() }),
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

function methods(): Methods {
  let opening: Promise<OpenThread> | undefined;
  const opened = () => {
    if (opening === undefined) throw new Error("the serving thread was not opened");
    return opening;
  };
  const table = Object.entries(THREAD_METHODS).map(([name, method]) => [
    name,
    async (argument: never) => await method(await opened(), argument),
  ]);
  return {
    ...Object.fromEntries(table),
    async open(beginning: Beginning) {
      opening = open(beginning);
      await opening;
    },
  };
}
