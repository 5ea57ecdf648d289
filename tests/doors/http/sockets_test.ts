import { peerFrom } from "../../../src/doors/http/peer.ts";
import { Sockets } from "../../../src/doors/http/sockets.ts";
import { assert, assertEquals } from "../../assert.ts";
import { inTime, tempDir, until } from "../../fake/temp.ts";

Deno.test("connections are those over TCP that have another end: no listener, no file, no Unix socket", async () => {
  await using dir = await tempDir();
  const sockets = Sockets.open()!;
  const path = `${dir.path}/unix`;
  using unix = Deno.listen({ transport: "unix", path });
  using _unixClient = await Deno.connect({ transport: "unix", path });
  using _unixEnd = await unix.accept();
  using _file = await Deno.open(`${dir.path}/file`, { create: true, write: true });

  for (const hostname of ["127.0.0.1", "::1"]) {
    using listener = Deno.listen({ port: 0, hostname });
    using client = await Deno.connect({ port: listener.addr.port, hostname });
    using end = await listener.accept();
    const all = [...sockets.connections()];
    for (const { peer } of all) assert(peer !== undefined);
    const port = (addr: Deno.Addr) => (addr as Deno.NetAddr).port;
    for (const one of [client, end]) {
      const peer = peerFrom(one.remoteAddr)!;
      const ofPeer = all.filter((connection) => connection.peer === peer);
      assertEquals(ofPeer.map(({ localPort }) => localPort), [port(one.localAddr)]);
      const [{ descriptor }] = ofPeer as [typeof all[number]];
      assertEquals(sockets.connectionOf(peer), descriptor);
      assertEquals(sockets.connectionOf(peer, port(one.localAddr)), descriptor);
      assertEquals(sockets.connectionOf(peer, port(one.remoteAddr)), undefined);
      const ofPorts = [...sockets.connections(new Set([port(one.remoteAddr)]))];
      assertEquals(ofPorts.map((connection) => connection.descriptor), [descriptor]);
    }
  }
});

Deno.test("what the system says of a connection, of a listener, and of a descriptor that is none", async () => {
  await using dir = await tempDir();
  const sockets = Sockets.open()!;
  const path = `${dir.path}/unix`;
  using _unix = Deno.listen({ transport: "unix", path });
  // where the port of another socket is, this one has the beginning of its path
  const portOfPath = path.charCodeAt(0) << 8 | path.charCodeAt(1);

  assertEquals([...sockets.listeners(portOfPath)], []);
  for (const hostname of ["127.0.0.1", "::1"]) {
    using listener = Deno.listen({ port: 0, hostname });
    const { port } = listener.addr;
    const client = await Deno.connect({ port, hostname });
    using end = await listener.accept();
    const peer = peerFrom(end.remoteAddr)!;
    const [listening, ...others] = sockets.listeners(port);
    assertEquals(others, []);
    const descriptor = sockets.connectionOf(peer, port)!;
    assertEquals(sockets.clientOf(descriptor, port), peer);
    assertEquals([sockets.clientOf(descriptor, port + 1), sockets.clientOf(listening!, port)], [
      undefined,
      undefined,
    ]);
    assertEquals([listening!, descriptor].map((one) => sockets.listens(one, port)), [
      true,
      false,
    ]);
    assertEquals(sockets.listens(listening!, port + 1), false);
    const says = () => ({
      received: sockets.received(descriptor),
      unread: sockets.unread(descriptor),
      hasInput: sockets.hasInput(descriptor),
      hasLeft: sockets.hasLeft(descriptor),
    });
    const nothing = { received: 0, unread: 0, hasInput: false, hasLeft: false };
    assertEquals(says(), nothing);
    assertEquals([sockets.idle(descriptor).unread, sockets.dropped(descriptor)], [false, 0]);
    await client.write(new Uint8Array(10));
    await until(() => sockets.received(descriptor) === 10, { what: "ten bytes" });
    assertEquals(says(), { received: 10, unread: 10, hasInput: true, hasLeft: false });
    await end.read(new Uint8Array(6));
    assertEquals(says(), { received: 10, unread: 4, hasInput: true, hasLeft: false });
    // more than fits where the other end does not read
    const writing = end.write(new Uint8Array(64 * 1_048_576)).catch(() => {});
    await until(() => sockets.idle(descriptor).unread, { what: "what is not read" });
    await client.closeWrite();
    await until(() => sockets.hasLeft(descriptor), { what: "the end of its half" });
    assertEquals(sockets.hasInput(descriptor), false, "nothing of who has left");
    client.close();
    await writing;
  }
  assert(sockets.limit > 0 && sockets.limit <= 65_536, `${sockets.limit}`);
  assertEquals(sockets.steer(1, { after: 0, count: 1 }), false, "nobody listens there");
  const none = sockets.limit - 1;
  assertEquals([sockets.peerPort(none), sockets.peerOf(none)], [-1, undefined]);
  assertEquals([sockets.hasLeft(none), sockets.hasInput(none)], [true, false]);
  assertEquals([sockets.idle(none), sockets.received(none)], [
    { ms: 0, unread: false },
    undefined,
  ]);
  assertEquals([sockets.unread(none), sockets.dropped(none), sockets.listens(none, 0)], [
    0,
    0,
    false,
  ]);
});

Deno.test("as many connections wait to be accepted as the system allows", async () => {
  const sockets = Sockets.open()!;
  using listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });

  const { hostname, port } = listener.addr;
  sockets.extendBacklog(port);
  // more than wait by themselves: 128 on Deno 2.4, 511 on 2.9
  const opened = Array.from({ length: 600 }, () => Deno.connect({ hostname, port }));
  const clients = await inTime(Promise.all(opened), 10_000, []);
  const accepted = async () => {
    const ends: Deno.Conn[] = [];
    while (ends.length < clients.length) ends.push(await listener.accept());
    return ends;
  };
  const ends = await inTime(accepted(), 10_000, []);
  for (const one of [...clients, ...ends]) one.close();
  assertEquals([clients.length, ends.length], [600, 600]);
});

const MODULES = ["sockets.ts", "peer.ts"].map((name) =>
  new URL(`../../../src/doors/http/${name}`, import.meta.url).href
);

/** Opens and closes descriptors in a process of its own, where nobody else does. Prints what is counted, or why nothing is. */
const PROGRAM = `
  const [{ Sockets }, { peerFrom }] = await Promise.all(${
  JSON.stringify(MODULES)
}.map((one) => import(one)));
  const sockets = Sockets.open();
  const said = { limit: sockets.limit, off: [] };
  /** Descriptors as the system lists them, but for the one that lists. */
  const listed = () => [...Deno.readDirSync("/proc/self/fd")].length - 1;
  /** By how much a count is off; the platform may open some of its own meanwhile, and then it is counted again. */
  const off = (count) => {
    for (;;) {
      const before = listed();
      const counted = count();
      if (listed() === before) return counted - before;
    }
  };
  let counts = 0;
  const used = () => (counts++, sockets.used);
  const find = () => sockets.descriptors().length;
  if (said.limit > 4096) {
    said.off.push(off(used)); // of all
    const before = sockets.queried;
    counts = 0;
    for (let times = 0; times < 10; times++) said.off.push(off(used));
    said.queried = (sockets.queried - before) / counts;
    const files = [];
    for (let at = 0; at < 3000; at++) files.push(await Deno.open("/dev/null")); // more than lie beyond the highest
    said.off.push(off(used));
    for (const file of files.splice(0, 2500)) file.close();
    said.off.push(off(used), off(find));
    const listener = Deno.listen({ port: 0 });
    const client = await Deno.connect({ port: listener.addr.port });
    await listener.accept();
    for (const file of files) file.close();
    said.off.push(off(find)); // the listener and both ends, which lie beyond all others
    said.isFound = sockets.connectionOf(peerFrom(client.remoteAddr)) !== undefined;
  }
  console.log(JSON.stringify(said));
  Deno.exit();
`;

Deno.test(
  "descriptors that were never in use are not asked about each time, and all are counted and found",
  {
    ignore: Deno.build.os !== "linux",
  },
  async () => {
    const { stdout, code } = await new Deno.Command(Deno.execPath(), {
      args: ["eval", "--quiet", PROGRAM],
      stderr: "inherit",
    }).output();
    assertEquals(code, 0);
    const said = JSON.parse(new TextDecoder().decode(stdout));
    if (said.limit <= 4_096) return; // all are asked about
    assert(said.queried <= 2_048, `${said.queried} of ${said.limit}`);
    assertEquals([said.off, said.isFound], [Array(15).fill(0), true]);
  },
);
