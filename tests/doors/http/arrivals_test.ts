/** What may come on connections, by bytes and boundaries, on a system that the test is: no socket is opened. */

import { Arrivals, type CutConnection, type Verdict } from "../../../src/doors/http/arrivals.ts";
import { type Peer, portOf } from "../../../src/doors/http/peer.ts";
import { clientRequestIdOf, pathOf, withPath } from "../../../src/doors/http/request_line.ts";
import type { Sockets } from "../../../src/doors/http/sockets.ts";
import { assert, assertEquals } from "../../assert.ts";
import { sleep, until } from "../../fake/temp.ts";

const PORT = 8_787;
const MEGABYTE = 1_048_576;

/** A connection as the system has it. */
interface Socket {
  peer: Peer;
  localPort: number;
  received: number | undefined;
  unread: number;
  dropped: number;
}

/** The system: connections by their descriptors, and what was done to them. */
function system() {
  const sockets = new Map<number, Socket>();
  const done: string[] = [];
  const at = (descriptor: number) => sockets.get(descriptor);
  const note = (what: string) => (descriptor: number) => void done.push(`${what} ${descriptor}`);
  const face = {
    descriptors: () => [...sockets.keys()],
    peerOf: (descriptor: number) => at(descriptor)?.peer,
    peerPort: (descriptor: number) => portOf(at(descriptor)?.peer ?? "-1"),
    clientOf: (descriptor: number, port: number) =>
      at(descriptor)?.localPort === port ? at(descriptor)!.peer : undefined,
    connectionOf: (peer: Peer, port?: number) =>
      [...sockets].find(([, one]) => one.peer === peer && one.localPort === port)?.[0],
    received: (descriptor: number) => at(descriptor)?.received,
    unread: (descriptor: number) => at(descriptor)?.unread ?? 0,
    dropped: (descriptor: number) => at(descriptor)?.dropped ?? 0,
    end: note("end"),
    reset: note("reset"),
    mute: note("mute"),
    narrow: note("narrow"),
  };
  return {
    sockets,
    done,
    face: face as unknown as Sockets,
    open(descriptor: number, port: number, received = 0) {
      const socket: Socket = {
        peer: `${port} 10.0.0.1`,
        localPort: PORT,
        received,
        unread: 0,
        dropped: 0,
      };
      sockets.set(descriptor, socket);
      return socket;
    },
  };
}

const client = (port: number): Deno.Addr => ({ transport: "tcp", hostname: "10.0.0.1", port });

function started(
  all: ReturnType<typeof system>,
  more: Partial<ConstructorParameters<typeof Arrivals>[0]> = {},
) {
  const cuts: CutConnection[] = [];
  let memory = 0;
  const arrivals = new Arrivals({
    sockets: all.face,
    residentBytes: () => memory += 100 * MEGABYTE, // each time that it may look, it does
    onCut: (cut) => cuts.push(cut),
    ...more,
  });
  arrivals.start(PORT);
  return { arrivals, cuts, [Symbol.dispose]: () => arrivals.close() };
}

/** Waits until all connections were looked at: a new one of the system's is dropped, and ended for it. */
async function looked({ open, sockets, done }: ReturnType<typeof system>): Promise<void> {
  open(999, 999, 0).dropped = 1;
  const before = done.filter((one) => one === "end 999").length;
  await until(() => done.filter((one) => one === "end 999").length >= before + 2, {
    what: "two looks",
  });
  sockets.delete(999);
}

Deno.test("more than a megabyte since the last boundary cuts a connection; what was not read yet does not count", async () => {
  const all = system();
  const fine = all.open(1, 1_001, MEGABYTE);
  all.open(2, 1_002, MEGABYTE + 1);
  all.open(3, 1_003, 3 * MEGABYTE).unread = 2 * MEGABYTE;
  all.open(4, 1_004, 3 * MEGABYTE).localPort = 1; // is no client's
  all.open(5, 1_005).received = undefined; // of which the system says nothing
  using one = started(all);
  await looked(all);
  assertEquals(one.cuts, [{ peer: "1002 10.0.0.1", bytes: MEGABYTE + 1 }]);
  assertEquals(all.done.filter((did) => did.startsWith("reset")), ["reset 2"]);
  // a request is a boundary: what came before counts no more
  one.arrivals.progressed(client(1_001));
  await looked(all);
  fine.received! += MEGABYTE;
  await looked(all);
  assertEquals(one.cuts.length, 1);
  fine.received! += 1;
  await looked(all);
  assertEquals(one.cuts.at(-1), { peer: "1001 10.0.0.1", bytes: MEGABYTE + 1 });
  assertEquals(one.arrivals.claimed(["1001 10.0.0.1", "1002 10.0.0.1"]), ["1001 10.0.0.1"]);
});

Deno.test("a connection whose first packets were dropped is ended; one that is only new is not", async () => {
  const all = system();
  all.open(1, 1_001, 0).dropped = 1;
  all.open(2, 1_002, 0);
  all.open(3, 1_003, 5).dropped = 1;
  using _one = started(all);
  await looked(all);
  assertEquals(new Set(all.done.filter((did) => !did.endsWith("999"))), new Set(["end 1"]));
});

Deno.test("sixty-four megabytes may have come on all connections together: those with the most are cut", async () => {
  const all = system();
  for (let at = 0; at < 64; at++) all.open(100 + at, 2_000 + at, MEGABYTE - at);
  using one = started(all);
  await looked(all);
  assertEquals(one.cuts, []);
  for (let at = 64; at < 66; at++) all.open(100 + at, 2_000 + at, MEGABYTE - at);
  await looked(all);
  assertEquals(one.cuts.map(({ peer }) => peer), ["2000 10.0.0.1", "2001 10.0.0.1"]);
});

Deno.test("a thread that does not look for others' connections bounds its own together", async () => {
  for (const isOwn of [true, false]) {
    const all = system();
    using one = started(all, {
      threads: { sweeps: false, claimedElsewhere: () => Promise.resolve([]) },
    });
    for (let at = 0; at < 66; at++) {
      all.open(100 + at, 2_000 + at);
      if (isOwn) one.arrivals.progressed(client(2_000 + at));
    }
    await looked(all);
    for (const [at, socket] of [...all.sockets.values()].entries()) socket.received = MEGABYTE - at;
    await looked(all);
    assertEquals(one.cuts.length, isOwn ? 2 : 0);
  }
});

Deno.test("who watches a connection decides what may come on it, until the watch ends", async () => {
  for (
    const [verdict, did] of [["fine", []], ["end", ["reset 1"]], ["end soon", [
      "mute 1",
      "reset 1",
    ]]] as const
  ) {
    const all = system();
    const socket = all.open(1, 1_001, 10);
    using one = started(all);
    const judged: number[] = [];
    const judge = (bytes: number): Verdict => (judged.push(bytes), verdict);
    one.arrivals.progressed(client(1_001));
    const watch = one.arrivals.watch(client(1_001), judge);
    assertEquals(watch.boundary(), 10);
    assertEquals(watch.delivered(0), true, "nothing is left");
    socket.received = 10 + MEGABYTE + 33;
    await looked(all);
    assertEquals(new Set(judged), new Set([MEGABYTE + 1]), "a piece has 32 bytes around it");
    // of what was cut nothing counts any more
    assertEquals(watch.delivered(1), verdict !== "fine", "a megabyte is left");
    if (verdict === "end soon") {
      await until(() => all.done.includes("reset 1"), { what: "its end" });
    }
    assertEquals(all.done.filter((one) => /^(mute|reset) 1$/.test(one)), [...did]);
    watch.end();
    socket.received += 2 * MEGABYTE;
    await looked(all);
    const before = judged.length;
    socket.received += 2 * MEGABYTE;
    await looked(all);
    assertEquals(judged.length, before, "the watch is over");
    assert(all.done.includes("reset 1"), "nobody decides any more");
  }
});

Deno.test("a descriptor that is another connection's by now is not confused with the first", async () => {
  const all = system();
  all.open(1, 1_001, MEGABYTE);
  using one = started(all);
  await looked(all);
  all.open(1, 1_002, 5); // closed, and opened by another client
  await looked(all);
  all.sockets.delete(1);
  await looked(all);
  all.open(1, 1_003, MEGABYTE);
  await looked(all);
  assertEquals(one.cuts, []);
  one.arrivals.narrow(client(1_003));
  one.arrivals.narrow(client(1_001));
  all.open(7, 1_007);
  one.arrivals.narrow(client(1_007)); // found although there was no look since
  assertEquals(all.done.filter((did) => did.startsWith("narrow")), ["narrow 1", "narrow 7"]);
});

Deno.test("of a connection that no request has come on in this thread, the others are asked", async () => {
  for (
    const [sweeps, claims, isCut] of [[true, false, true], [true, true, false], [
      false,
      false,
      false,
    ]] as const
  ) {
    const all = system();
    all.open(1, 1_001, 2 * MEGABYTE);
    const asked: string[] = [];
    using one = started(all, {
      threads: {
        sweeps,
        claimedElsewhere: (peers) => {
          asked.push(...peers);
          return Promise.resolve(claims ? peers : []);
        },
      },
    });
    await looked(all);
    assertEquals(new Set(asked), new Set(sweeps ? ["1001 10.0.0.1"] : []));
    assertEquals(one.cuts.length, isCut ? 1 : 0, `sweeps: ${sweeps}, claimed: ${claims}`);
  }
});

Deno.test("where the system cannot be asked, before the start and after the end, nothing is counted", async () => {
  const all = system();
  all.open(1, 1_001, 2 * MEGABYTE);
  const blind = new Arrivals({ sockets: undefined, residentBytes: () => 0 });
  const idle = new Arrivals({ sockets: all.face, residentBytes: () => 0 });
  blind.start(PORT);
  for (const one of [blind, idle]) {
    one.progressed(client(1_001));
    const watch = one.watch(client(1_001), () => "end");
    assertEquals([watch.boundary(), watch.delivered(1)], [undefined, false]);
    watch.end();
    one.narrow(client(1_001));
    assertEquals(one.claimed(["1001 10.0.0.1"]), []);
    one.close();
  }
  blind.endSoon(client(1_001));
  using one = started(all);
  one.arrivals.start(1); // a second time without effect
  await looked(all);
  assertEquals(one.cuts.length, 1);
  one.arrivals.close();
  all.open(2, 1_002, 2 * MEGABYTE);
  await sleep(60);
  assertEquals(one.cuts.length, 1);
});

Deno.test("a client's ID of a request is safe in headers and logs; paths are taken out of addresses undecoded (table)", () => {
  const idOf = (id?: string) =>
    clientRequestIdOf(new Headers(id === undefined ? {} : { "x-request-id": id }));
  for (const id of ["a", "A.b_c:d/e+f=g@h-9", "x".repeat(128)]) assertEquals(idOf(id), id);
  for (const id of [undefined, "", "x".repeat(129), "a b", "a,b", 'a"', "a;b", "\u00e4"]) {
    assertEquals(idOf(id), undefined, id);
  }
  for (
    const [url, path, other] of [
      ["http://h:1/a%2Fb?q=/c", "/a%2Fb", "http://h:1/z?q=/c"],
      ["http://h/a", "/a", "http://h/z"],
      ["http://h/?a?b", "/", "http://h/z?a?b"],
      ["https://h//a//b?", "//a//b", "https://h/z?"],
    ] as const
  ) {
    assertEquals([pathOf(url), withPath(url, "/z")], [path, other]);
  }
  assert(pathOf("http://h/v1/models?x#y") === "/v1/models");
});

Deno.test("when nothing has come for a second, connections are looked at once a second, or when memory grows", async () => {
  const all = system();
  for (let at = 0; at < 32; at++) all.open(at, 1_000 + at);
  const sockets = { ...all.face, descriptors: () => (looks++, [...all.sockets.keys()]) };
  let [tick, memory, ticks, looks] = [10_000, 0, 0, 0];
  using one = started(all, {
    sockets: sockets as unknown as Sockets,
    now: () => tick,
    residentBytes: () => (ticks++, memory),
  });
  /** Looks while it is seen several times whether one is due. */
  const looksOf = async (count: number) => {
    const [before, from] = [looks, ticks];
    await until(() => ticks >= from + count, { what: "ticks" });
    return looks - before;
  };
  one.arrivals.progressed(client(1_001));
  one.arrivals.watch(client(1_002), () => "fine"); // of a WebSocket on which nothing comes
  tick += 1_001;
  await looksOf(5);
  assertEquals(await looksOf(10), 0);
  tick += 1_001;
  assertEquals(await looksOf(10), 1);
  memory += 9 * MEGABYTE;
  assertEquals(await looksOf(10), 1);
  // a request
  one.arrivals.progressed(client(1_003));
  tick += 100;
  assertEquals(await looksOf(10), 1);
  // what comes without a request is seen at every tick, until it has been too much
  tick += 1_001;
  await looksOf(5);
  all.sockets.get(7)!.received = MEGABYTE;
  memory += 9 * MEGABYTE;
  assert(await looksOf(10) > 3);
  assertEquals(one.cuts, []);
});

/** Arrivals whose clock stands still: nothing is looked at but what a watch asks for. */
function still(all: ReturnType<typeof system>) {
  return started(all, { now: () => 0, residentBytes: () => 0 });
}

Deno.test("a watch of a connection that is not found, or of which the system says nothing, cuts nothing", async () => {
  const all = system();
  using one = started(all);
  const none = one.arrivals.watch(client(1_009), () => "end");
  assertEquals([none.boundary(), none.delivered(1)], [undefined, false]);
  none.end();
  const socket = all.open(1, 1_001);
  socket.received = undefined;
  one.arrivals.progressed(client(1_001));
  assertEquals(one.arrivals.claimed(["1001 10.0.0.1"]), ["1001 10.0.0.1"], "before any look");
  const watch = one.arrivals.watch(client(1_001), () => "end");
  assertEquals(watch.boundary(), undefined);
  socket.received = 5 * MEGABYTE; // which came before the boundary, as far as is known
  await looked(all);
  assertEquals(one.cuts, []);
  for (const nobody of [undefined, { transport: "unix", path: "/s" } as Deno.Addr]) {
    one.arrivals.progressed(nobody);
    one.arrivals.narrow(nobody);
    one.arrivals.endSoon(nobody);
    const of = one.arrivals.watch(nobody, () => "end");
    assertEquals([of.boundary(), of.delivered(1)], [undefined, false]);
    of.end();
  }
  await looked(all);
  assertEquals(all.done.filter((did) => !did.endsWith("999")), []);
});

Deno.test("each sixty-fourth piece of a body its connection is looked at; nothing is left when all that was seen is delivered", () => {
  const all = system();
  const socket = all.open(1, 1_001, 10);
  using one = still(all);
  const judged: number[] = [];
  const watch = one.arrivals.watch(client(1_001), (bytes) => (judged.push(bytes), "fine"));
  assertEquals(watch.boundary(), 10);
  socket.received = 10 + 3 * MEGABYTE;
  const frames = 64 * 32;
  for (let piece = 1; piece < 64; piece++) watch.delivered(0);
  assertEquals(judged, []);
  assertEquals(watch.delivered(0), false, "three megabytes are left");
  assertEquals(judged, [3 * MEGABYTE - frames]);
  for (let piece = 1; piece < 64; piece++) watch.delivered(0);
  assertEquals(judged.length, 1);
  assertEquals(watch.delivered(MEGABYTE), false);
  assertEquals(judged.length, 2);
  const left = 2 * MEGABYTE - 2 * frames - 32;
  assertEquals(watch.delivered(left - 1), false, "a byte is left");
  assertEquals(watch.delivered(1 - 32), true, "all");
});

Deno.test("what is another connection by now is not narrowed, although it was not looked at since", () => {
  const all = system();
  all.open(1, 1_001);
  using one = still(all);
  one.arrivals.narrow(client(1_001));
  all.open(1, 1_002);
  one.arrivals.narrow(client(1_001));
  assertEquals(all.done, ["narrow 1"]);
});

Deno.test("the end of a watch leaves the one that came after it", async () => {
  const all = system();
  const socket = all.open(1, 1_001, 10);
  using one = started(all);
  const judged: string[] = [];
  one.arrivals.progressed(client(1_001));
  const first = one.arrivals.watch(client(1_001), () => (judged.push("first"), "fine"));
  one.arrivals.watch(client(1_001), () => (judged.push("second"), "fine"));
  first.end();
  await looked(all);
  socket.received! += 2 * MEGABYTE;
  await looked(all);
  assertEquals([new Set(judged), one.cuts], [new Set(["second"]), []]);
});

Deno.test("a connection that is another's by the time that it is to end is left alone", async () => {
  const all = system();
  all.open(1, 1_001);
  all.open(2, 1_002);
  using one = started(all);
  await looked(all);
  one.arrivals.endSoon(client(1_001));
  assertEquals(all.done.filter((did) => did.startsWith("mute")), ["mute 1"]);
  all.open(2, 1_003); // the descriptor of the second is another's
  one.arrivals.endSoon(client(1_002));
  all.open(1, 1_004); // and by now that of the first
  all.open(5, 1_005);
  one.arrivals.endSoon(client(1_005));
  await until(() => all.done.includes("reset 5"), { what: "the end of what is there" });
  assertEquals(all.done.filter((did) => /^(mute|reset) [12]$/.test(did)), ["mute 1"]);
});
