import { Connections } from "../../../src/doors/http/connections.ts";
import { ConnectionWatcher } from "../../../src/doors/http/disconnect_watcher.ts";
import { peerFrom } from "../../../src/doors/http/peer.ts";
import { Sockets } from "../../../src/doors/http/sockets.ts";
import type { CoarseTimers } from "../../../src/ground/platform/mod.ts";
import { assertEquals } from "../../assert.ts";

/** Timers that go off when the test says so. */
function heldTimers() {
  const waiting = new Map<number, () => void>();
  let count = 0;
  const timers = {
    after(_ms: number, work: () => void) {
      const number = count++;
      waiting.set(number, work);
      return () => void waiting.delete(number);
    },
  } as unknown as CoarseTimers;
  return {
    timers,
    get size() {
      return waiting.size;
    },
    goOff() {
      for (const [number, work] of [...waiting]) {
        waiting.delete(number);
        work();
      }
    },
  };
}

Deno.test({
  name: "a request's connection is watched once it has lasted a while, until its response begins",
  // before, it is watched at once
  ignore: Deno.version.deno.startsWith("2.4."),
  fn() {
    const peer: Deno.NetAddr = { transport: "tcp", hostname: "127.0.0.1", port: 1 };
    for (const isLong of [false, true]) {
      for (const leaves of ["nothing", "signal", "connection"] as const) {
        const held = heldTimers();
        const watching = new Set<() => void>();
        const connections = {
          watch(of: string, left: () => void) {
            assertEquals(of, peerFrom(peer));
            watching.add(left);
            return () => void watching.delete(left);
          },
        } as unknown as Connections;
        const abort = new AbortController();
        const request = new Request("http://gateway.example", { signal: abort.signal });
        let left = 0;
        const over = new ConnectionWatcher(request, { timers: held.timers, connections, peer })
          .watch(() => left++);
        assertEquals([held.size, watching.size], [1, 0]);
        if (isLong) held.goOff();
        assertEquals(watching.size, isLong ? 1 : 0);
        if (leaves === "signal") abort.abort();
        if (leaves === "connection") watching.forEach((tell) => tell());
        assertEquals(left, isLong && leaves !== "nothing" ? 1 : 0, leaves);
        over();
        assertEquals([held.size, watching.size], [0, 0]);
        abort.abort();
        assertEquals(left, isLong && leaves !== "nothing" ? 1 : 0, leaves);
      }
    }
  },
});

Deno.test("who has no address is not looked for; of others their connection says whether they have left", () => {
  const asked: string[] = [];
  const watched: string[] = [];
  let has = false;
  const connections = {
    hasLeft: (of: string) => (asked.push(of), has),
    watch: (of: string) => (watched.push(of), () => {}),
  } as unknown as Connections;
  const held = heldTimers();
  const watcherOf = (peer: Deno.Addr | undefined) =>
    new ConnectionWatcher(new Request("http://h"), { timers: held.timers, connections, peer });
  const peer: Deno.NetAddr = { transport: "tcp", hostname: "127.0.0.1", port: 1 };
  for (const nobody of [undefined, { transport: "unix", path: "/s" } as Deno.Addr]) {
    const watcher = watcherOf(nobody);
    watcher.watch(() => {});
    held.goOff();
    assertEquals([watcher.hasLeft(), asked, watched], [false, [], []]);
  }
  for (has of [false, true]) assertEquals(watcherOf(peer).hasLeft(), has);
  assertEquals(asked, ["1 127.0.0.1", "1 127.0.0.1"]);
});

Deno.test("connections are looked at while any of them is watched, and no longer", async () => {
  const held = heldTimers();
  const sockets = Sockets.open()!;
  const connections = new Connections({ sockets, timers: held.timers, idleMs: 60_000 });
  using listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  using _client = await Deno.connect({ port: listener.addr.port, hostname: "127.0.0.1" });
  using end = await listener.accept();
  const peer = peerFrom(end.remoteAddr)!;
  try {
    const before = held.size;
    const [one, other] = [connections.watch(peer, () => {}), connections.watch(peer, () => {})];
    assertEquals(held.size, before + 1);
    held.goOff();
    assertEquals(held.size, 1);
    one();
    held.goOff();
    assertEquals(held.size, 1);
    other();
    held.goOff();
    assertEquals(held.size, 0);
    connections.watch(peer, () => {})();
    held.goOff();
    assertEquals(held.size, 0);
  } finally {
    connections.close();
  }
});

Deno.test("where the system cannot be asked, nobody has left, and nothing is watched", () => {
  const held = heldTimers();
  const connections = new Connections({ sockets: undefined, timers: held.timers, idleMs: 60_000 });
  const before = held.size;
  const peer = peerFrom({ transport: "tcp", hostname: "127.0.0.1", port: 1 })!;
  assertEquals(connections.hasLeft(peer), false);
  connections.watch(peer, () => {})();
  assertEquals(held.size, before);
  connections.close();
});
