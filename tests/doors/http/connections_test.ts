import net from "node:net";
import fc from "fast-check";
import { Arrivals } from "../../../src/doors/http/arrivals.ts";
import { Connections } from "../../../src/doors/http/connections.ts";
import { peerFrom } from "../../../src/doors/http/peer.ts";
import { Sockets } from "../../../src/doors/http/sockets.ts";
import { CoarseTimers } from "../../../src/ground/platform/mod.ts";
import { assertEquals } from "../../assert.ts";
import { connectTo, readReply, writeAll } from "../../fake/raw_http.ts";
import { freePort } from "../../fake/free_port.ts";
import { inTime, sleep, until } from "../../fake/temp.ts";
import { sized } from "../../tier.ts";

const IDLE_MS = 50;
const REQUEST = "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";

/** Deno 2.4 ignores the port that a connection is to be made from. */
const canBindOwnPort = !Deno.version.deno.startsWith("2.4.");

function portOf({ addr }: Deno.Listener): number {
  return (addr as Deno.NetAddr).port;
}

/** Connects from a port that other connections may use as well. */
async function connectFrom(localPort: number, to: Deno.TcpListener) {
  const client = net.connect({ port: portOf(to), host: "127.0.0.1", localPort });
  return { client, server: await to.accept() };
}

/** Keeps the thread from all else. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

Deno.test("a connection is not idle once its next request has come, whether or not it was read", async () => {
  const sockets = Sockets.open()!;
  const timers = new CoarseTimers();
  const connections = new Connections({ sockets, timers, idleMs: IDLE_MS });
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (_request, { remoteAddr }) => {
      const free = connections.occupy(remoteAddr);
      await sleep(5);
      free();
      return new Response("done");
    },
  );
  const { port } = server.addr as Deno.NetAddr;
  try {
    for (let turn = 0; turn < sized(8, 24); turn++) {
      using connection = await connectTo(`http://127.0.0.1:${port}`);
      await writeAll(connection, REQUEST);
      assertEquals((await readReply(connection)).status, 200);
      await sleep(2 * IDLE_MS);
      await writeAll(connection, REQUEST);
      // as when a sweep is due while requests wait for their handlers
      for (let tick = 0; tick < turn % 8; tick++) await Promise.resolve();
      connections.makeRoom(port);
      if (turn % 2 === 0) block(30);
      assertEquals((await readReply(connection)).status, 200, `turn ${turn}`);
      await sleep(2.5 * IDLE_MS); // what was begun is over, and has left it open: it was used meanwhile
      await writeAll(connection, REQUEST);
      assertEquals((await readReply(connection)).status, 200, `turn ${turn}, once more`);
    }
    using idle = await connectTo(`http://127.0.0.1:${port}`);
    await writeAll(idle, REQUEST);
    await readReply(idle);
    let end: number | null | undefined;
    const reading = idle.read(new Uint8Array(1)).then((size) => end = size);
    await until(() => {
      connections.makeRoom(port);
      return end !== undefined;
    }, { what: "the end of an idle connection" });
    assertEquals(await reading, null, "an idle one is closed");
  } finally {
    connections.close();
    timers.close();
  }
});

Deno.test({
  name:
    "a client that leaves another port of the process, from the same port of its own, has not left",
  ignore: !canBindOwnPort,
  async fn() {
    const sockets = Sockets.open()!;
    const timers = new CoarseTimers();
    let looks = 0;
    const hasLeft = sockets.hasLeft.bind(sockets);
    sockets.hasLeft = (descriptor) => (looks++, hasLeft(descriptor));
    const connections = new Connections({ sockets, timers, idleMs: 60_000 });
    using one = Deno.listen({ port: 0, hostname: "127.0.0.1" });
    using other = Deno.listen({ port: 0, hostname: "127.0.0.1" });
    connections.sweep(portOf(one), { count: 1, lost: () => {} });
    try {
      // whichever descriptor comes first
      for (const [first, second] of [[one, other], [other, one]] as const) {
        const port = freePort();
        const mine = await connectFrom(port, first);
        const same = await connectFrom(port, second);
        const [client, stranger] = first === one ? [mine, same] : [same, mine];
        const { remoteAddr } = client.server;
        let left = 0;
        const looked = async (times: number) => {
          const from = looks;
          await until(() => looks >= from + times, { what: "a look at the connection" });
        };
        connections.watch(peerFrom(remoteAddr)!, () => left++);
        await looked(1); // it is found
        stranger.client.destroy();
        stranger.server.close();
        await looked(2);
        assertEquals(left, 0);
        client.client.destroy();
        await until(() => left === 1, { what: "the disconnect" });
        client.server.close();
      }
    } finally {
      connections.close();
      timers.close();
    }
  },
});

Deno.test({
  name: "a connection is told from that to another port of the process, from the same port",
  ignore: !canBindOwnPort,
  async fn() {
    const sockets = Sockets.open()!;
    const timers = new CoarseTimers();
    const connections = new Connections({ sockets, timers, idleMs: 60_000 });
    const arrivals = new Arrivals({ sockets, residentBytes: () => 0 });
    using one = Deno.listen({ port: 0, hostname: "127.0.0.1" });
    using other = Deno.listen({ port: 0, hostname: "127.0.0.1" });
    connections.sweep(portOf(one), { count: 1, lost: () => {} });
    arrivals.start(portOf(one));
    using made = new DisposableStack();
    const connect = async (localPort: number, to: Deno.TcpListener) => {
      const pair = await connectFrom(localPort, to);
      made.defer(() => pair.client.destroy());
      made.use(pair.server);
      return pair;
    };
    try {
      // whichever descriptor comes first
      for (const [first, second] of [[one, other], [other, one]] as const) {
        const port = freePort();
        const both = [await connect(port, first), await connect(port, second)] as const;
        const [client, stranger] = first === one ? both : [both[1], both[0]];
        const { remoteAddr } = client.server;
        let isEnded = false;
        client.client.on("error", () => {}).on("close", () => isEnded = true);
        arrivals.endSoon(remoteAddr);
        stranger.client.write("x");
        const reading = stranger.server.read(new Uint8Array(1));
        assertEquals(await inTime(reading, 20_000, "dropped"), 1, "the other's bytes are left");
        await until(() => isEnded, { what: "the end of the connection" });
        const again = await connect(port, one);
        stranger.client.end();
        const isOver = () =>
          sockets.connections().some(({ descriptor, localPort }) =>
            localPort === portOf(other) && sockets.hasLeft(descriptor)
          );
        await until(isOver, { what: "the end of the other" });
        const peer = peerFrom(again.server.remoteAddr)!;
        assertEquals(connections.hasLeft(peer), false);
        again.client.end();
        await until(() => connections.hasLeft(peer), { what: "the disconnect" });
      }
    } finally {
      arrivals.close();
      connections.close();
      timers.close();
    }
  },
});

Deno.test("whether a client has left is known at once, also of one that only closed its half or reset the connection", async () => {
  const sockets = Sockets.open()!;
  const timers = new CoarseTimers();
  const connections = new Connections({ sockets, timers, idleMs: 60_000 });
  using listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  try {
    for (
      const [leave, unreadBytes] of [
        [(one: Deno.TcpConn) => one.closeWrite(), 0],
        [(one: Deno.TcpConn) => one.close(), 0],
        [(one: Deno.TcpConn) => one.close(), 4_096], // with data to read, that is a reset
      ] as const
    ) {
      const client = await Deno.connect({ port: portOf(listener), hostname: "127.0.0.1" });
      using connection = await listener.accept();
      await connection.write(new Uint8Array(unreadBytes));
      using _other = await connectTo(`http://127.0.0.1:${portOf(listener)}`);
      const peer = peerFrom(connection.remoteAddr)!;
      assertEquals(connections.hasLeft(peer), false);
      await leave(client);
      // the system tells in its own time, and the platform gets no turn to
      for (let tries = 0; tries < 2_000 && !connections.hasLeft(peer); tries++) block(5);
      assertEquals(connections.hasLeft(peer), true);
      try {
        client.close();
      } catch {
        // it is closed
      }
      (await listener.accept()).close();
    }
    // of a connection beyond the numbers that are looked at nothing is known
    Object.defineProperty(sockets, "limit", { value: 0 });
    assertEquals(connections.hasLeft("1 127.0.0.1"), false);
  } finally {
    connections.close();
    timers.close();
  }
});

Deno.test(
  "a sweep that runs when connections are closed ends with them",
  { sanitizeOps: true },
  async () => {
    const sockets = Sockets.open()!;
    const timers = new CoarseTimers();
    const connections = new Connections({ sockets, timers, idleMs: 0 });
    using listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
    const { port } = listener.addr as Deno.NetAddr;
    using _client = await connectTo(`http://127.0.0.1:${port}`);
    using _connection = await listener.accept();
    await sleep(10);
    connections.makeRoom(port);
    await sleep(30); // now it waits for what may have come
    connections.close(); // timers that are left are reported as leaks
    timers.close();
  },
);

Deno.test("a listener that ends is noticed, whether or not it was ever seen that descriptors were scarce", async () => {
  const sockets = Sockets.open()!;
  const timers = new CoarseTimers();
  const { limit } = sockets;
  let shownLimit = limit;
  Object.defineProperty(sockets, "limit", { get: () => shownLimit });
  let looks = 0;
  const { get } = Object.getOwnPropertyDescriptor(Sockets.prototype, "used")!;
  Object.defineProperty(sockets, "used", {
    get() {
      looks++;
      return get!.call(sockets);
    },
  });
  /** Waits until all were looked at since now. */
  const looked = async () => {
    const from = looks;
    await until(() => looks >= from + 2, { what: "two looks at all listeners" });
  };
  const { port } = freed();
  const open = () => Deno.listen({ port, hostname: "127.0.0.1", reusePort: true });
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 3 }),
      fc.array(fc.constantFrom("end", "begin", "replace"), { minLength: 1, maxLength: 5 }),
      async (count, steps) => {
        const connections = new Connections({ sockets, timers, idleMs: 60_000 });
        const listeners: Deno.Listener[] = [];
        let lost = 0;
        shownLimit = 1_000; // with few descriptors it looks often
        connections.sweep(port, { count, lost: () => lost++ });
        shownLimit = limit; // the other tests of this process have many
        try {
          await looked();
          assertEquals(lost, 0, "none that is about to begin is lost");
          listeners.push(...Array.from({ length: count }, open));
          await looked();
          assertEquals(lost, 0);
          for (const step of steps) {
            if (step !== "end") listeners.push(open());
            if (step !== "begin") listeners.shift()?.close();
            await looked();
            const before = lost;
            await looked();
            assertEquals(lost > before, listeners.length < count, step);
          }
        } finally {
          connections.close();
          for (const listener of listeners) listener.close();
        }
      },
    ),
    { numRuns: sized(3, 8), endOnFailure: true, examples: [[1, ["end", "begin"]]] },
  );
  timers.close();
});

/** A port that nobody listens on, and that the system gives to no other test of this process meanwhile. */
function freed(): Deno.NetAddr {
  const [lowest, count] = [20_000, 10_000]; // below those that it chooses from
  while (true) {
    const port = lowest + Math.floor(count * Math.random());
    try {
      using listener = Deno.listen({ port, hostname: "127.0.0.1" });
      return listener.addr as Deno.NetAddr;
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
}
