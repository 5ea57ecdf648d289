import { BUILTIN_ROUTES } from "../../src/settings/catalog/mod.ts";
import { simulateHttp } from "../../src/requests/upstreams/mod.ts";

/** The simulated upstream behind a socket, as `sluice simulate` serves it. */
export interface SimulateServer extends AsyncDisposable {
  /** Base address, `/v1` included. */
  readonly url: string;
  /** Requests that have arrived. */
  readonly requests: number;
  /** The bodies of the last requests, parsed. */
  // deno-lint-ignore no-explicit-any -- tests look into whatever was sent
  readonly bodies: readonly any[];
  /** Requests that their client gave up. */
  readonly cancelled: number;
  /** Lets the next requests fail with status 429. */
  busyFor(requests: number): void;
}

/** Starts one on a port of its own. */
export function simulateServer(): SimulateServer {
  let [requests, busy, cancelled] = [0, 0, 0];
  const bodies: unknown[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    requests++;
    const text = await request.clone().text();
    if (text !== "") bodies.push(JSON.parse(text));
    if (busy > 0) {
      busy--;
      return new Response("busy", { status: 429, headers: { "retry-after": "0" } });
    }
    const reply = await simulateHttp(request, Object.keys(BUILTIN_ROUTES));
    const body = reply.body?.pipeThrough(
      new TransformStream({ cancel: () => void cancelled++ }),
    );
    return new Response(body, reply);
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/v1`,
    get requests() {
      return requests;
    },
    get cancelled() {
      return cancelled;
    },
    bodies,
    busyFor: (count) => busy = count,
    async [Symbol.asyncDispose]() {
      await server.shutdown();
    },
  };
}
