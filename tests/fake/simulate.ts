import { simulateHttp } from "../../src/upstreams/mod.ts";

/** The simulated upstream behind a socket, as `sluice simulate` serves it. */
export function simulateServer(): { url: string } & AsyncDisposable {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, simulateHttp);
  return {
    url: `http://127.0.0.1:${server.addr.port}/v1`,
    async [Symbol.asyncDispose]() {
      await server.shutdown();
    },
  };
}
