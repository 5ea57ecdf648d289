import { Connections } from "../../../src/doors/http/connections.ts";
import { serve } from "../../../src/doors/http/serve.ts";
import { Sockets } from "../../../src/doors/http/sockets.ts";
import { CoarseTimers } from "../../../src/ground/platform/mod.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";
import { sleep, until } from "../../fake/temp.ts";

type Options = Parameters<typeof serve>[1];

/** A server, and what it did with the connections and told. */
function served(
  more: Partial<Options> = {},
  fetch = (): Response | Promise<Response> => new Response("ok"),
) {
  const done = { rooms: 0, ends: 0, interruptions: [] as unknown[], listened: [] as number[] };
  let swept: { count: number; lost: () => void } | undefined;
  const connections = {
    makeRoom: () => void done.rooms++,
    endAll: () => void done.ends++,
    sweep: (_port: number, listening: typeof swept) => void (swept = listening),
  } as unknown as Connections;
  const server = serve({ fetch }, {
    host: "127.0.0.1",
    port: 0,
    connections,
    listened: (port) => done.listened.push(port),
    onInterruption: (error) => done.interruptions.push(error),
    ...more,
  });
  return {
    server,
    done,
    get swept() {
      return swept!;
    },
    /** What is answered, over a connection of its own; undefined if nobody listens. */
    ask: () =>
      globalThis.fetch(server.url, { headers: { connection: "close" } })
        .then((reply) => reply.text(), () => undefined),
    [Symbol.asyncDispose]: () => server.close(1_000),
  };
}

Deno.test("a port that another listens on is taken, unless that one is about to hand it over", async () => {
  for (const reusePort of [false, true]) {
    using taken = Deno.listen({ hostname: "127.0.0.1", port: 0, reusePort });
    const { port } = taken.addr;
    assertThrows(() => served({ port }), Deno.errors.AddrInUse);
    if (!reusePort) continue;
    await using beside = served({ port, besideAnother: true });
    assertEquals([beside.server.port, beside.done.listened], [port, [port]]);
  }
  const first = served();
  const { port } = first.server;
  assertThrows(() => served({ port }), Deno.errors.AddrInUse);
  await first.server.close(1_000);
  assertEquals(first.done.ends, 0, "nothing was left to be ended");
  await using again = served({ port });
  assertEquals(await again.ask(), "ok");
});

Deno.test("a response comes at once or later; what is told of a listener that is there, or of a server that closed, does nothing", async () => {
  for (const reply of [() => new Response("now"), () => Promise.resolve(new Response("later"))]) {
    const one = served({}, reply);
    const text = await (await reply()).text();
    assertEquals(await one.ask(), text);
    assertEquals(one.swept.count, 1);
    one.swept.lost();
    one.server.relisten();
    assertEquals(one.done.listened.length, 2);
    await until(async () => await one.ask() === text, { what: "the other listener" });
    await one.server.close(1_000);
    one.swept.lost();
    one.server.relisten();
    assertEquals([one.done.listened.length, one.done.interruptions], [2, []]);
    assertEquals(await one.ask(), undefined);
  }
  const threads = { count: 3, lost() {} };
  await using one = served({ listening: threads });
  assertEquals(one.swept, threads);
});

Deno.test({
  name: "a listener that is ended is told of and replaced, unless its end was expected",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const sockets = Sockets.open()!;
    const end = (port: number) => {
      for (const descriptor of sockets.listeners(port)) sockets.end(descriptor);
    };
    for (const listening of [undefined, { count: 2, lost() {} }]) {
      await using one = served({ listening });
      end(one.server.port);
      await until(() => one.done.listened.length === 2, { what: "another listener" });
      assertEquals([one.done.interruptions.length, one.done.listened], [1, [
        one.server.port,
        one.server.port,
      ]]);
      assert(one.done.rooms >= 1, "descriptors are freed for it");
      assertEquals(await one.ask(), "ok");
    }
    // where another listens by now, as a thread of its own does, it is not listened beside it
    await using two = served();
    end(two.server.port);
    await until(() => two.done.rooms > 0, { what: "the next attempt" });
    using _other = Deno.listen({ hostname: "127.0.0.1", port: two.server.port, reusePort: true });
    await sleep(400);
    assertEquals([two.done.listened.length, two.done.rooms, two.done.interruptions.length], [
      1,
      1,
      1,
    ]);
    await using expected = served();
    expected.server.expectEnd();
    end(expected.server.port);
    await sleep(300);
    assertEquals([expected.done.rooms, expected.done.interruptions], [0, []]);
    // one that closes while it waits to listen again does not
    const closed = served();
    end(closed.server.port);
    await until(() => closed.done.rooms > 0, { what: "the next attempt" });
    await closed.server.close(1_000);
    await sleep(400);
    assertEquals(closed.done.listened.length, 1);
  },
});

Deno.test({
  name: "a server that closes ends the connections that outlast its patience",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using stack = new AsyncDisposableStack();
    const timers = stack.adopt(new CoarseTimers(), (all) => all.close());
    const sockets = Sockets.open()!;
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
