/** Which client connections are closed, and which clients have left, on a system that the test is: no socket is opened. */

import { Connections, type ConnectionsOptions } from "../../../src/doors/http/connections.ts";
import { type Peer, peerFrom, portOf } from "../../../src/doors/http/peer.ts";
import type { Sockets } from "../../../src/doors/http/sockets.ts";
import type { CoarseTimers } from "../../../src/ground/platform/mod.ts";
import { assertEquals } from "../../assert.ts";
import { sleep, until } from "../../fake/temp.ts";

const PORT = 8_787;
const IDLE_MS = 10_000;

/** A connection as the system has it. */
interface Socket {
  peer: Peer;
  localPort: number;
  /** When something was sent on it last. */
  usedAtMs: number;
  isUnread?: boolean;
  hasInput?: boolean;
  hasLeft?: boolean;
  /** How long it is idle as the system says it the first times. */
  idleMs?: number[];
}

const client = (port: number): Deno.Addr => ({ transport: "tcp", hostname: "10.0.0.1", port });
const peerAt = (port: number) => peerFrom(client(port))!;

/** The system: connections by their descriptors, listeners, and what was done. */
function system(options: Partial<ConnectionsOptions> = {}) {
  const sockets = new Map<number, Socket>();
  const listeners = new Set<number>();
  const done: string[] = [];
  const waiting: (() => void)[] = [];
  let looks = 0;
  const face = {
    limit: 4_000,
    used: 10,
    queryAll: () => void done.push("query all"),
    *connections(ports?: ReadonlySet<number>) {
      looks++;
      for (const [descriptor, { localPort, peer }] of [...sockets]) {
        if (ports === undefined || ports.has(portOf(peer))) yield { descriptor, localPort, peer };
      }
    },
    connectionOf: (peer: Peer, port?: number) =>
      [...sockets].find(([, one]) => one.peer === peer && one.localPort === port)?.[0],
    peerOf: (descriptor: number) => sockets.get(descriptor)?.peer,
    hasLeft: (descriptor: number) => sockets.get(descriptor)?.hasLeft ?? false,
    hasInput: (descriptor: number) => sockets.get(descriptor)?.hasInput ?? false,
    idle(descriptor: number) {
      const { usedAtMs, isUnread = false, idleMs } = sockets.get(descriptor)!;
      return { ms: idleMs?.shift() ?? Date.now() - usedAtMs, unread: isUnread };
    },
    end(descriptor: number) {
      done.push(`end ${descriptor}`);
      sockets.delete(descriptor);
    },
    listeners() {
      done.push("listeners");
      return [...listeners];
    },
    listens: (descriptor: number) => listeners.has(descriptor),
  };
  const timers = {
    after: (_ms: number, act: () => void) => (waiting.push(act), () => {}),
  } as unknown as CoarseTimers;
  const connections = new Connections({
    sockets: face as unknown as Sockets,
    timers,
    idleMs: IDLE_MS,
    ...options,
  });
  return {
    sockets,
    listeners,
    done,
    face,
    connections,
    /** How often all connections were looked at. */
    get looks() {
      return looks;
    },
    open(descriptor: number, idleMs: number, more: Partial<Socket> = {}): Socket {
      const socket = {
        peer: peerAt(1_000 + descriptor),
        localPort: PORT,
        usedAtMs: Date.now() - idleMs,
        ...more,
      };
      sockets.set(descriptor, socket);
      return socket;
    },
    /** Has all connections that are watched looked at. */
    look: () => waiting.splice(0).forEach((act) => act()),
    /** Descriptors that were ended by one look at all, and what happens while they are left open still. */
    async ended(meanwhile: () => void = () => {}): Promise<number[]> {
      sockets.set(999, { peer: peerAt(1_999), localPort: PORT, usedAtMs: 0 });
      const from = looks;
      await until(() => {
        connections.makeRoom(PORT);
        return looks > from;
      }, { what: "a look" });
      await sleep(20);
      meanwhile();
      await until(() => done.includes("end 999"), { what: "the end of one that is idle" });
      return done.splice(0).filter((one) => one.startsWith("end ")).map((one) =>
        Number(one.slice("end ".length))
      ).filter((descriptor) => descriptor !== 999);
    },
    [Symbol.dispose]: () => connections.close(),
  };
}

Deno.test("what was idle for too long is closed, unless it is used, read by its client, or another's by now", async () => {
  using one = system();
  one.open(1, 2 * IDLE_MS);
  one.open(2, IDLE_MS / 2);
  one.open(3, 2 * IDLE_MS, { localPort: 1 });
  one.open(4, 2 * IDLE_MS, { isUnread: true });
  one.open(5, 11 * IDLE_MS, { isUnread: true });
  one.open(6, 2 * IDLE_MS, { hasInput: true });
  one.open(7, 2 * IDLE_MS);
  const free = one.connections.occupy(client(1_007));
  assertEquals(one.connections.busyOf([peerAt(1_001), peerAt(1_007)]), [peerAt(1_007)]);
  assertEquals(await one.ended(), [1, 5]);
  free();
  assertEquals(one.connections.busyOf([peerAt(1_007)]), []);
  assertEquals(await one.ended(), [7]);

  using other = system();
  const [used, gone] = [other.open(1, 2 * IDLE_MS), other.open(2, 2 * IDLE_MS)];
  other.open(4, 0, { usedAtMs: 0, idleMs: [IDLE_MS, 10 * IDLE_MS] }); // not longer than it may
  const left = await other.ended(() => {
    used.usedAtMs = Date.now();
    gone.peer = peerAt(2_002);
    const { looks } = other;
    other.connections.makeRoom(PORT);
    assertEquals(other.looks, looks, "one look at a time");
  });
  assertEquals(left, []);
  assertEquals(await other.ended(), [2, 4]);
  other.connections.close();
  const { looks } = other;
  other.connections.makeRoom(PORT);
  assertEquals(other.looks, looks, "none after the end");
});

Deno.test("connections are swept the more often, the fewer descriptors there are (table)", () => {
  const { setInterval: real } = globalThis;
  for (const [limit, everyMs] of [[100, 100], [4_000, 100], [20_000, 500], [1_000_000, 1_000]]) {
    using one = system();
    one.face.limit = limit!;
    let saidMs: number | undefined;
    const noted = (act: () => void, ms?: number) => (saidMs = ms, real(act, ms));
    globalThis.setInterval = noted as typeof setInterval;
    try {
      one.connections.sweep(PORT, { count: 0, lost() {} });
    } finally {
      globalThis.setInterval = real;
    }
    assertEquals(saidMs, everyMs, `${limit}`);
  }
});

Deno.test("with few descriptors left what was never used for long is closed sooner, and clients are told to close", async () => {
  for (const [used, ended, isPressed] of [[3_000, [], true], [3_001, [1], true]] as const) {
    using one = system();
    one.open(1, 300);
    one.open(2, 100);
    one.open(3, 300, { isUnread: true });
    one.face.used = used;
    assertEquals(await one.ended(), [...ended]);
    one.connections.sweep(PORT, { count: 0, lost() {} });
    await until(() => one.connections.isPressed === isPressed, { what: "a sweep" });
  }
  // never later than without
  using short = system({ idleMs: 50 });
  short.face.used = 3_001;
  short.open(1, 100);
  assertEquals(await short.ended(), [1]);
  using half = system();
  half.face.used = 2_001;
  half.connections.sweep(PORT, { count: 0, lost() {} });
  await until(() => half.connections.isPressed, { what: "pressure" });
  half.face.used = 2_000;
  await until(() => !half.connections.isPressed, { what: "its end" });
});

Deno.test("of several threads one closes what none of them uses", async () => {
  const asked: Peer[] = [];
  const threads = (sweeps: boolean) => ({
    sweeps,
    busyElsewhere: (peers: readonly Peer[]) => {
      asked.push(...peers);
      return Promise.resolve(peers.filter((peer) => peer === peerAt(1_002)));
    },
    claimedElsewhere: () => Promise.resolve([]),
  });
  using one = system({ threads: threads(true) });
  one.open(1, 2 * IDLE_MS);
  one.open(2, 2 * IDLE_MS);
  assertEquals(await one.ended(), [1]);
  assertEquals(asked.slice(0, 2), [peerAt(1_001), peerAt(1_002)]);
  asked.length = 0;
  using other = system({ threads: threads(false) });
  other.open(1, 2 * IDLE_MS);
  other.face.used = 3_500;
  let lost = 0;
  other.connections.sweep(PORT, { count: 1, lost: () => lost++ });
  other.connections.makeRoom(PORT);
  await until(() => other.connections.isPressed, { what: "a sweep" });
  await sleep(150);
  assertEquals([asked, other.done, lost], [[], [], 0]);
});

Deno.test("a listener that ends is told of until there are enough, unless no descriptor is to spare", async () => {
  using one = system();
  one.listeners.add(1).add(2);
  let lost = 0;
  let looks = 0;
  const { listens } = one.face;
  one.face.listens = (descriptor) => (looks++, listens(descriptor));
  /** Waits until the listeners were looked at. */
  const looked = async () => {
    const from = looks;
    await until(() => looks >= from + 4, { what: "looks at the listeners" });
  };
  one.connections.sweep(PORT, { count: 2, lost: () => lost++ });
  await looked();
  assertEquals(lost, 0);
  const all = () => one.done.filter((did) => did === "listeners").length;
  const before = all();
  await looked();
  assertEquals(all(), before, "all are looked at only when some have ended");
  one.listeners.delete(2);
  one.listeners.add(4); // in its place
  await looked();
  assertEquals([lost, all()], [0, before + 1]);
  one.face.used = one.face.limit - 8;
  one.listeners.delete(1);
  await looked();
  assertEquals(lost, 0, "listening would fail");
  one.face.used = one.face.limit - 9;
  await until(() => lost > 1, { what: "what is told" });
  one.listeners.add(3);
  await looked();
  const told = lost;
  await looked();
  assertEquals(lost, told);
  // some may only be about to begin
  using other = system();
  other.listeners.add(1);
  let missed = 0;
  other.connections.sweep(PORT, { count: 2, lost: () => missed++ });
  await until(() => other.done.filter((did) => did === "listeners").length > 2, {
    what: "looks at all listeners",
  });
  assertEquals(missed, 0);
});

Deno.test("a client has left when its connection is closed or another's; several may watch one, until they end", () => {
  using one = system();
  const left: string[] = [];
  const watch = (descriptor: number, name = `${descriptor}`) =>
    one.connections.watch(peerAt(1_000 + descriptor), () => left.push(name));
  one.open(1, 0);
  one.open(2, 0, { localPort: 1 }); // another port of the process, which it may be as long as that is not known
  one.open(3, 0);
  one.open(4, 0);
  watch(1);
  watch(1, "1 as well");
  watch(2);
  watch(3);
  const over = watch(4);
  watch(5); // which is not there
  one.open(6, 0, { peer: "1001 10.0.0.9" }); // another client, from the same port
  one.look();
  assertEquals(left, []);
  using found = system();
  found.open(1, 0);
  found.connections.watch(peerAt(1_001), () => {});
  found.look();
  const { looks } = found;
  found.look();
  assertEquals([looks, found.looks], [1, 1], "what was found is not looked for again");
  for (const socket of one.sockets.values()) socket.hasLeft = true;
  one.sockets.get(3)!.hasLeft = false;
  over();
  one.look();
  assertEquals(left.sort(), ["1", "1 as well", "2"]);
  one.sockets.get(3)!.peer = peerAt(7);
  one.look();
  one.look();
  assertEquals(left.sort(), ["1", "1 as well", "2", "3"]);
  // once the port is known, it is a connection to that
  one.connections.sweep(PORT, { count: 0, lost() {} });
  watch(2);
  watch(4);
  one.look();
  one.look();
  assertEquals(left.length, 5);
  assertEquals(left.includes("4"), true);
});

Deno.test("whether a client has left, by one look; without a descriptor it has, unless that may be beyond what is seen", () => {
  using one = system();
  one.connections.sweep(PORT, { count: 0, lost() {} });
  one.open(1, 0);
  one.open(2, 0, { hasLeft: true });
  assertEquals(one.connections.hasLeft(peerAt(1_001)), false);
  assertEquals(one.connections.hasLeft(peerAt(1_002)), true);
  assertEquals(one.connections.hasLeft(peerAt(1_003)), true);
  one.face.used = one.face.limit;
  assertEquals(one.connections.hasLeft(peerAt(1_003)), false);
  one.open(3, 0, { localPort: 1 });
  one.connections.endAll(PORT);
  assertEquals(one.done, ["query all", "end 1", "end 2"]);
  using blind = system({ sockets: undefined });
  blind.connections.sweep(PORT, { count: 1, lost() {} });
  blind.connections.makeRoom(PORT);
  blind.connections.endAll(PORT);
  blind.connections.watch(peerAt(1_001), () => {})();
  assertEquals([blind.connections.hasLeft(peerAt(1_001)), blind.connections.isPressed], [
    false,
    false,
  ]);
});
