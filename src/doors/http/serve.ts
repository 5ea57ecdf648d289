import { within } from "../../ground/platform/mod.ts";
import { delay, STATUS_CODE } from "../../ground/std/mod.ts";
import { listenUrl } from "../../settings/config/mod.ts";
import type { App } from "./app.ts";
import type { Connections, Listening } from "./connections.ts";
import { UnreadBodies } from "./unread_bodies.ts";

/** A running server. */
export interface Server {
  /** `http://host:port`, as this machine reaches it: the loopback address if the server listens on all addresses. */
  readonly url: string;
  readonly port: number;
  /**
   * Stops listening, and waits for open connections to finish.
   *
   * @param patienceMs Max time to wait, in milliseconds. Connections that are still open are then ended.
   */
  close(patienceMs: number): Promise<void>;
  /** Stops listening, and closes idle connections. Those with a request end with its response. */
  stopListening(): void;
  /** Announces that its listener is about to be ended from outside, which is not a fault then. */
  expectEnd(): void;
  /** Replaces its listener. Open connections finish their current request. */
  relisten(): void;
}

/** Address and dependencies of a server. */
export interface ServeOptions {
  readonly host: string;
  readonly port: number;
  readonly connections: Connections;
  /** Whether another process that listens on the port is going to hand over. */
  readonly besideAnother?: boolean;
  /** Set where other threads of this process listen on the port. */
  readonly listening?: Listening | undefined;
  /** Called each time that it has begun to listen. */
  readonly listened?: (port: number) => void;
  /** Called when the listener failed because the process is out of descriptors, and will be restarted. */
  readonly onInterruption: (error: unknown) => void;
}

/** Max time for the platform to notice that a connection was ended. */
const CUT_OFF_MS = 500;
/** Interval of attempts to listen again. */
const RELISTEN_MS = 250;

/**
 * Starts a server. If the process runs out of file descriptors and loses its listener, idle connections are closed, and
 * the server listens again.
 *
 * @param app Handler of requests.
 * @param options Host, port (0 picks a free one), and connections.
 * @throws {Deno.errors.AddrInUse} If the port is in use; other `Deno.errors` if listening fails for another reason.
 */
export function serve(
  app: Pick<App, "fetch">,
  { host, port: wanted, connections, besideAnother = false, listening, listened, onInterruption }:
    ServeOptions,
): Server {
  let closing = false;
  const servers = new Set<Deno.HttpServer<Deno.NetAddr>>();
  const unread = new UnreadBodies();
  const handle = (request: Request, info: Deno.ServeHandlerInfo<Deno.NetAddr>) => {
    const response = app.fetch(request, info);
    return response instanceof Response
      ? unread.after(request, response)
      : response.then((one) => unread.after(request, one));
  };
  const listen = (port: number): Deno.HttpServer<Deno.NetAddr> => {
    const server = Deno.serve({
      hostname: host,
      port,
      reusePort: Deno.build.os !== "windows", // so that a next process can take over
      onListen() {},
      onError: () => new Response(null, { status: STATUS_CODE.InternalServerError }),
    }, handle);
    servers.add(server);
    listened?.(server.addr.port);
    server.finished.catch(async (error) => {
      if (closing) return;
      onInterruption(error);
      // its connections finish their current request
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
        if (listening === undefined) assertFree(host, port);
        listen(port);
        return;
      } catch (error) {
        if (error instanceof Deno.errors.AddrInUse) return; // it is still listening
        onInterruption(error);
      }
    }
  };
  if (!besideAnother) assertFree(host, wanted);
  const { port, hostname: bound } = listen(wanted).addr;
  const lost = () => {
    if (closing) return;
    try {
      assertFree(host, port);
      listen(port);
      onInterruption(new Error("the listener has ended"));
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) onInterruption(error); // and it is tried again
    }
  };
  connections.sweep(port, listening ?? { count: 1, lost });
  return {
    url: listenUrl(host, port, bound),
    port,
    stopListening() {
      closing = true;
      for (const server of servers) void server.shutdown().catch(() => {});
    },
    expectEnd() {
      closing = true;
    },
    relisten() {
      if (closing) return;
      const before = [...servers];
      try {
        listen(port);
      } catch (error) {
        return onInterruption(error);
      }
      for (const server of before) {
        server.shutdown().catch(() => {}).finally(() => servers.delete(server));
      }
    },
    async close(patienceMs) {
      closing = true;
      unread.close();
      // On Deno 2.4, aborting a server that is already shutting down throws where nothing can catch it. So
      // connections that are still open are ended one by one.
      const ended = Promise.allSettled([...servers].map((server) => server.shutdown()));
      await within(patienceMs, ended, async () => {
        connections.endAll(port);
        await within(CUT_OFF_MS, ended, () => {});
      });
    },
  };
}

/**
 * Listens for a moment the usual way, which fails where another process listens: two gateways would share the requests. Port 0 is any
 * that is free.
 *
 * @throws {Deno.errors.AddrInUse} If the port is in use.
 */
function assertFree(hostname: string, port: number): void {
  Deno.listen({ hostname, port }).close();
}
