import { Connections } from "../../../src/doors/http/connections.ts";
import { serve } from "../../../src/doors/http/serve.ts";
import { Sockets } from "../../../src/doors/http/sockets.ts";
import { CoarseTimers } from "../../../src/ground/platform/mod.ts";
import { assertEquals } from "../../assert.ts";

Deno.test({
  name: "a server that closes ends the connections that outlast its patience",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using stack = new AsyncDisposableStack();
    const timers = stack.adopt(new CoarseTimers(), (all) => all.close());
    const sockets = stack.adopt(Sockets.open()!, (all) => all.close());
    const connections = stack.adopt(
      new Connections({ sockets, timers, idleMs: 60_000 }),
      (all) => all.close(),
    );
    const arrived = Promise.withResolvers<void>();
    const never = Promise.withResolvers<Response>();
    const fetch = () => {
      arrived.resolve();
      return never.promise;
    };
    const server = serve({ fetch }, {
      host: "127.0.0.1",
      port: 0,
      connections,
      onInterruption() {},
    });
    using connection = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
    await connection.write(new TextEncoder().encode("GET / HTTP/1.1\r\nhost: x\r\n\r\n"));
    await arrived.promise;
    await server.close(50); // else the platform waits for it, for as long as the process lives
    assertEquals(await connection.read(new Uint8Array(1)), null);
    never.resolve(new Response());
  },
});
