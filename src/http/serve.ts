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
  const stop = new AbortController();
  const server = Deno.serve({
    hostname: host,
    port,
    signal: stop.signal,
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
      const timer = setTimeout(() => stop.abort(), patienceMs);
      await Promise.race([server.shutdown(), server.finished]);
      clearTimeout(timer);
    },
  };
}
