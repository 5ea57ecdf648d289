import { delay, STATUS_CODE } from "../std/mod.ts";
import type { App } from "./app.ts";
import type { Connections } from "./connections.ts";

/** A listening server. */
export interface Server {
  /** `http://host:port` as it listens; for all addresses the loopback one. */
  readonly url: string;
  readonly port: number;
  /** Stops listening and waits for open connections to end, up to `patienceMs`. */
  close(patienceMs: number): Promise<void>;
}

/** Where a server listens, and who looks after its connections. */
export interface ServeOptions {
  readonly host: string;
  readonly port: number;
  readonly connections: Connections;
  /** Called when listening failed and is tried again: the process is out of descriptors. */
  readonly onInterruption: (error: unknown) => void;
}

/** How long the platform may take to notice that a connection has been ended. */
const CUT_OFF_MS = 500;
/** How often a server that lost its listener tries to listen again. */
const RELISTEN_MS = 250;

/**
 * Listens and answers. A process that runs out of file descriptors loses its listener; idle connections are
 * closed then, and it listens again.
 *
 * @throws {Deno.errors.AddrInUse} and the like, when it cannot listen at first.
 */
export function serve(
  app: Pick<App, "fetch">,
  { host, port: wanted, connections, onInterruption }: ServeOptions,
): Server {
  let closing = false;
  const servers = new Set<Deno.HttpServer<Deno.NetAddr>>();
  const listen = (port: number): Deno.HttpServer<Deno.NetAddr> => {
    const server = Deno.serve({
      hostname: host,
      port,
      onListen() {},
      onError: () => new Response(null, { status: STATUS_CODE.InternalServerError }),
    }, app.fetch);
    servers.add(server);
    server.finished.catch(async (error) => {
      if (closing) return;
      onInterruption(error);
      // connections that it has go on to the end of their present request
      server.shutdown().catch(() => {}).finally(() => servers.delete(server));
      await listenAgain();
    });
    return server;
  };
  const listenAgain = async () => {
    while (!closing) {
      connections.makeRoom(port);
      await delay(RELISTEN_MS);
      if (closing) return;
      try {
        listen(port);
        return;
      } catch (error) {
        if (error instanceof Deno.errors.AddrInUse) return; // it listens after all
        onInterruption(error);
      }
    }
  };
  const { port } = listen(wanted).addr;
  connections.sweep(port, () => {
    try {
      listen(port); // fails where it still listens
    } catch {
      // which is the usual case
    }
  });
  const shown = host === "0.0.0.0"
    ? "127.0.0.1"
    : host === "::"
    ? "[::1]"
    : host.includes(":")
    ? `[${host}]`
    : host;
  return {
    url: `http://${shown}:${port}`,
    port,
    async close(patienceMs) {
      closing = true;
      // Aborting the server by a signal throws where nothing can catch it on Deno 2.4 when it is
      // shutting down already; so connections that outlast the patience are ended one by one.
      const ended = Promise.allSettled([...servers].map((server) => server.shutdown()));
      if (await within(patienceMs, ended)) return;
      connections.endAll(port);
      await within(CUT_OFF_MS, ended);
    },
  };
}

/** Waits for a promise, but not for longer than `ms`; tells whether it settled. */
async function within(ms: number, promise: Promise<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => timer = setTimeout(() => resolve(false), ms));
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
