import { peerFrom } from "../../../src/doors/http/peer.ts";
import { Sockets } from "../../../src/doors/http/sockets.ts";
import { assert, assertEquals } from "../../assert.ts";
import { inTime, tempDir } from "../../fake/temp.ts";

Deno.test("connections are those over TCP that have another end: no listener, no file, no Unix socket", async () => {
  await using dir = await tempDir();
  const sockets = Sockets.open()!;
  const path = `${dir.path}/unix`;
  using unix = Deno.listen({ transport: "unix", path });
  using _unixClient = await Deno.connect({ transport: "unix", path });
  using _unixEnd = await unix.accept();
  using _file = await Deno.open(`${dir.path}/file`, { create: true, write: true });
  try {
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
  } finally {
    sockets.close();
  }
});

Deno.test("as many connections wait to be accepted as the system allows", async () => {
  const sockets = Sockets.open()!;
  using listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  try {
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
  } finally {
    sockets.close();
  }
});

/** Whether the system allows enough of them that it matters. */
const hasMany = (() => {
  const sockets = Sockets.open();
  const limit = sockets?.limit ?? 0;
  sockets?.close();
  return limit > 4_096;
})();

Deno.test("descriptors that were never in use are not asked about each time, and all are counted", {
  ignore: !hasMany,
}, async () => {
  const sockets = Sockets.open()!;
  try {
    const first = sockets.used; // of all
    const before = sockets.queried;
    for (let times = 0; times < 10; times++) assertEquals(sockets.used, first);
    const each = (sockets.queried - before) / 10;
    assert(each <= 2_048 && each < sockets.limit, `${each} of ${sockets.limit}`);
    // more than lie beyond the highest
    const files: Deno.FsFile[] = [];
    try {
      for (let at = 0; at < 3_000; at++) files.push(await Deno.open("/dev/null"));
      assertEquals(sockets.used, first + files.length);
      for (const file of files.splice(0, 2_500)) file.close();
      assertEquals(sockets.used, first + files.length);
      assertEquals(sockets.descriptors().length, first + files.length);
    } finally {
      for (const file of files) file.close();
    }
    assertEquals(sockets.used, first);
  } finally {
    sockets.close();
  }
});

Deno.test("a connection far beyond all others is found by its other end", {
  ignore: !hasMany,
}, async () => {
  const sockets = Sockets.open()!;
  const files: Deno.FsFile[] = [];
  try {
    using listener = Deno.listen({ port: 0 });
    for (let at = 0; at < 3_000; at++) files.push(await Deno.open("/dev/null"));
    using client = await Deno.connect({ port: listener.addr.port });
    using _end = await listener.accept();
    for (const file of files.splice(0)) file.close();
    const peer = peerFrom(client.remoteAddr)!;
    assertEquals(sockets.descriptors().length < 3_000, true);
    assert(sockets.connectionOf(peer) !== undefined);
  } finally {
    for (const file of files) file.close();
    sockets.close();
  }
});
