import type { App } from "./app.ts";

/** A listening server. */
export interface Server {
  /** `http://host:port` as it listens; for all addresses the loopback one. */
  readonly url: string;
  readonly port: number;
  /** Stops listening and waits for open connections to end, at most `patienceMs`. */
  close(patienceMs: number): Promise<void>;
}

/** Listens and answers. Throws `Deno.errors.AddrInUse` and the like. */
export function serve(
  app: Pick<App, "fetch">,
  { host, port }: { host: string; port: number },
): Server {
  const server = Deno.serve({
    hostname: host,
    port,
    onListen() {},
    onError: () => new Response(null, { status: 500 }),
  }, app.fetch);
  const address = server.addr;
  const shown = host === "0.0.0.0"
    ? "127.0.0.1"
    : host === "::"
    ? "[::1]"
    : host.includes(":")
    ? `[${host}]`
    : host;
  return {
    url: `http://${shown}:${address.port}`,
    port: address.port,
    async close(patienceMs) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const patience = new Promise<void>((resolve) => timer = setTimeout(resolve, patienceMs));
      // Whoever keeps a connection open for longer is cut off with the process. (Aborting the server
      // by a signal throws where nothing can catch it on Deno 2.4 when it is shutting down already.)
      await Promise.race([server.shutdown(), patience]);
      clearTimeout(timer);
    },
  };
}
