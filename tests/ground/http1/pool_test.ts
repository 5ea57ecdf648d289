/** Connections: which are used again, how much is read of them, and when they end. */

import { Buffer } from "node:buffer";
import {
  decodedBody,
  HttpFault,
  HttpPool,
  type HttpPoolOptions,
} from "../../../src/ground/http1/mod.ts";
import { parseHead } from "../../../src/ground/http1/response_head.ts";
import { CoarseTimers } from "../../../src/ground/platform/mod.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "../../assert.ts";
import { writeAll } from "../../fake/raw_http.ts";
import { DEADLINE_MS, sleep, until } from "../../fake/temp.ts";
import { rawServer, readRequest } from "../../fake/upstream.ts";

function poolTo(url: string, options: Partial<HttpPoolOptions> = {}) {
  const timers = new CoarseTimers();
  const { hostname, port, host } = new URL(url);
  const pool = new HttpPool({
    host,
    headers: {},
    keepsConnections: true,
    connect: (signal) => Deno.connect({ hostname, port: Number(port), signal }),
    headMs: DEADLINE_MS,
    bodyMs: DEADLINE_MS,
    totalMs: DEADLINE_MS,
    makeFault: (cause) => cause instanceof Error ? cause : new Error("aborted", { cause }),
    timers,
    ...options,
  });
  const send = (signal = new AbortController().signal, body = "{}") =>
    pool.send({ method: "POST", target: "/a?b", headers: { "x-a": "é" }, body, signal });
  return {
    send,
    async text() {
      const reply = send();
      await reply.began;
      let text = "";
      for (let piece; (piece = await reply.read()) !== undefined;) {
        text += new TextDecoder().decode(piece);
      }
      return text;
    },
    async [Symbol.asyncDispose]() {
      await pool.close();
      timers.close();
    },
  };
}

const PACKED = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n";
const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n";

const REPLIES: readonly { why: string; reply: string; closes?: boolean; connections: number }[] = [
  { why: "a length", reply: `${OK}\r\nok`, connections: 1 },
  {
    why: "chunks",
    reply:
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\no\r\n1;a\r\nk\r\n0\r\nb: c\r\n\r\n",
    connections: 1,
  },
  { why: "a server that keeps it", reply: `${OK}keep-alive: timeout=9\r\n\r\nok`, connections: 1 },
  {
    why: "HTTP/1.0 that keeps it",
    reply: `${OK.replace("1.1", "1.0")}connection: Keep-Alive\r\n\r\nok`,
    connections: 1,
  },
  { why: "HTTP/1.0", reply: `${OK.replace("1.1", "1.0")}\r\nok`, connections: 3 },
  { why: "a server that closes", reply: `${OK}Connection: a, Close\r\n\r\nok`, connections: 3 },
  { why: "one that closes soon", reply: `${OK}keep-alive: timeout=2\r\n\r\nok`, connections: 3 },
  { why: "bytes after it", reply: `${OK}\r\nok\r\n`, connections: 3 },
  {
    why: "the end of the connection",
    reply: "HTTP/1.1 200 OK\r\n\r\nok",
    closes: true,
    connections: 3,
  },
  { why: "an end that nobody announced", reply: `${OK}\r\nok`, closes: true, connections: 3 },
];

for (const { why, reply, closes = false, connections } of REPLIES) {
  Deno.test(`three requests, each response with ${why}: ${connections} connections`, async () => {
    await using server = rawServer(async (connection) => {
      while (await readRequest(connection) !== undefined) {
        if (!await writeAll(connection, reply) || closes) return;
      }
    });
    await using pool = poolTo(server.url);
    for (let times = 0; times < 3; times++) {
      assertEquals(await pool.text(), "ok");
      if (closes) await sleep(20); // until the end is here
    }
    assertEquals(server.connections, connections);
  });
}

/** Time limits that are looked at when the test says so. */
class HandTimers extends CoarseTimers {
  look: () => void = () => {};

  override after(_ms: number, act: () => void) {
    this.look = act;
    return () => {};
  }
}

Deno.test("what came while the process was busy is read before it is found late", async () => {
  const timers = new HandTimers();
  await using server = rawServer(async (connection) => {
    await readRequest(connection);
    await writeAll(connection, `${OK}\r\nok`);
    for (let looks = 0; looks < 2; looks++) timers.look(); // nothing was read between the two
    await readRequest(connection);
  });
  await using pool = poolTo(server.url, { headMs: -1, timers });
  assertEquals(await pool.text(), "ok");
});

Deno.test("a response that does not come in time is given up", async () => {
  const timers = new HandTimers();
  await using server = rawServer(async (connection) => {
    await readRequest(connection);
    for (let looks = 0; looks < 3; looks++) timers.look();
    await readRequest(connection);
  });
  await using pool = poolTo(server.url, { headMs: -1, timers });
  await assertRejects(() => pool.text(), HttpFault, "no response in time");
});

Deno.test("a body that stalls is given up, however often it is waited for meanwhile", async () => {
  const timers = new HandTimers();
  await using server = rawServer(async (connection) => {
    await readRequest(connection);
    await writeAll(connection, `${OK}\r\no`);
    await readRequest(connection);
  });
  await using pool = poolTo(server.url, { bodyMs: -1, timers });
  const reply = pool.send();
  await reply.began;
  assertEquals(await reply.read(), new TextEncoder().encode("o"));
  for (let looks = 0; looks < 3; looks++) {
    reply.whenReady({ wake() {} }); // as one does who sends a ping in between
    timers.look();
  }
  assertThrows(() => reply.take(), HttpFault, "no more of it came in time");
});

Deno.test("what nobody reads stays with its sender, and an abort closes the connection", async () => {
  let written = 0;
  let ended = false;
  await using server = rawServer(async (connection) => {
    await readRequest(connection);
    await writeAll(connection, "HTTP/1.1 200 OK\r\n\r\n");
    const piece = new Uint8Array(100_000);
    while (await writeAll(connection, piece)) written += piece.length;
    ended = true;
  });
  await using pool = poolTo(server.url);
  const leaving = new AbortController();
  const reply = pool.send(leaving.signal);
  await reply.began;
  assert((await reply.read())!.byteLength <= 65_536);
  let before = -1;
  await until(() => {
    const isStill = written === before;
    before = written;
    return isStill;
  }, { what: "the end of writing" });
  assert(written < 32_000_000, `${written} bytes`);
  leaving.abort();
  await assertRejects(() => reply.read(), DOMException);
  await until(() => ended, { what: "the end of the connection" });
});

const LATE: readonly { code: string; reply: string; limits: Partial<HttpPoolOptions> }[] = [
  { code: "ERR_REPLY_HEAD_TIMEOUT", reply: "HTTP/1.1 200 OK\r\n", limits: { headMs: 50 } },
  { code: "ERR_REPLY_BODY_TIMEOUT", reply: `${OK}\r\no`, limits: { bodyMs: 50 } },
  { code: "ERR_REPLY_TOTAL_TIMEOUT", reply: `${OK}\r\no`, limits: { totalMs: 50 } },
  { code: "ERR_REPLY_HEAD_SIZE", reply: `${OK}${"a: b\r\n".repeat(6_000)}`, limits: {} },
  { code: "ERR_REPLY_INVALID", reply: `${OK}${"a: b\r\n".repeat(300)}\r\n`, limits: {} },
  { code: "ERR_REPLY_INVALID", reply: "SSH-2.0", limits: {} },
  { code: "ERR_REPLY_INVALID", reply: "HTTP/1.1 101 Switching Protocols\r\n\r\n", limits: {} },
  { code: "ERR_REPLY_INVALID", reply: "HTTP/1.1 102 Processing\r\n\r\n".repeat(33), limits: {} },
];

for (const { code, reply, limits } of LATE) {
  Deno.test(`${code} after ${JSON.stringify(reply.slice(0, 40))}, and the connection ends`, async () => {
    let ended = false;
    await using server = rawServer(async (connection) => {
      await readRequest(connection);
      await writeAll(connection, reply);
      await connection.read(new Uint8Array(1)).catch(() => {});
      ended = true;
    });
    await using pool = poolTo(server.url, limits);
    const fault = await assertRejects(() => pool.text(), HttpFault);
    assertEquals(fault.code, code);
    await until(() => ended, { what: "the end of the connection" });
  });
}

const IN_DOUBT: readonly string[] = [
  "content-length: 2\r\ntransfer-encoding: chunked",
  "transfer-encoding: chunked\r\ncontent-length: 2",
  "transfer-encoding: gzip, chunked",
  "transfer-encoding: chunked\r\ntransfer-encoding: chunked",
  "content-length: 2\r\ncontent-length: 2",
  "content-length: 2, 2",
  "content-length: +2",
];

Deno.test("a response that ends in doubt is a fault", async () => {
  let fields = "";
  await using server = rawServer(async (connection) => {
    await readRequest(connection);
    await writeAll(connection, `HTTP/1.1 200 OK\r\n${fields}\r\n\r\n2\r\nok\r\n0\r\n\r\n`);
  });
  await using pool = poolTo(server.url);
  for (fields of IN_DOUBT) {
    const fault = await assertRejects(() => pool.text(), HttpFault);
    assertEquals(fault.code, "ERR_REPLY_INVALID", fields);
  }
  assertEquals(server.connections, IN_DOUBT.length);
});

Deno.test("a request has its length, its headers, and nothing that would end it early", async () => {
  let sent = "";
  await using server = rawServer(async (connection) => {
    while ((sent = await readRequest(connection) ?? "") !== "") {
      await writeAll(connection, `${OK}\r\nok`);
    }
  });
  await using pool = poolTo(server.url);
  for (const body of ["", "ö", "ö".repeat(5_000), "x".repeat(100_000)]) {
    const reply = pool.send(undefined, body);
    await reply.began;
    const [head = "", rest] = sent.split("\r\n\r\n");
    assert(head.startsWith("POST /a?b HTTP/1.1\r\nhost: "), head);
    const size = new TextEncoder().encode(body).byteLength;
    assert(head.endsWith(`content-length: ${size}`), head);
    assert(head.includes("\r\nx-a: é\r\n"), head);
    const bytes = Uint8Array.from(rest!, (char) => char.charCodeAt(0));
    assert(new TextDecoder().decode(bytes) === body, `${bytes.length} bytes`);
    while (await reply.read() !== undefined);
  }
  assertEquals(server.connections, 1);
});

Deno.test("a request that would break its own head is not sent", async () => {
  const options = { headMs: 1, bodyMs: 1, totalMs: DEADLINE_MS };
  await using server = rawServer(() => Promise.resolve());
  const timers = new CoarseTimers();
  const pool = new HttpPool({
    ...options,
    host: "x",
    headers: {},
    keepsConnections: true,
    connect: () => Promise.reject(new Error("connected")),
    makeFault: (cause) => cause as Error,
    timers,
  });
  const { signal } = new AbortController();
  const wrong: [string, Record<string, string>][] = [
    ["/a b", {}],
    ["/a\r\nx: y", {}],
    ["/", { "x": "a\r\nb: c" }],
    ["/", { "x\r\n": "a" }],
    ["/", { "x:": "a" }],
    ["/", { "Content-Length": "1" }],
    ["/", { "transfer-encoding": "chunked" }],
  ];
  for (const [target, headers] of wrong) {
    const { began } = pool.send({ method: "POST", target, headers, body: "", signal });
    assertEquals((await assertRejects(() => began, HttpFault)).code, "ERR_REQUEST_INVALID");
  }
  assertEquals(server.connections, 0);
  await pool.close();
  timers.close();
});

Deno.test("a reply that is drained ends in time, even if a decoder goes on reading it", async () => {
  let ended = false;
  await using server = rawServer(async (connection) => {
    await readRequest(connection);
    await writeAll(connection, `${OK}\r\no`);
    await connection.read(new Uint8Array(1)).catch(() => {});
    ended = true;
  });
  await using pool = poolTo(server.url, { bodyMs: 1e9, totalMs: 1e9 });
  const reply = pool.send();
  await reply.began;
  reply.drain();
  const reading = assertRejects(() => reply.read(), HttpFault);
  await until(() => ended, { what: "the end of the connection" });
  await reading;
});

Deno.test("an empty body is empty in each content coding", async () => {
  await using server = rawServer(async (connection) => {
    for (
      const framing of ["content-length: 0\r\n\r\n", "transfer-encoding: chunked\r\n\r\n0\r\n\r\n"]
    ) {
      await readRequest(connection);
      await writeAll(connection, PACKED + framing);
    }
  });
  await using pool = poolTo(server.url);
  for (let times = 0; times < 2; times++) {
    const reply = pool.send();
    const { headers } = await reply.began;
    assertEquals(await decodedBody(reply, headers, (cause) => cause as Error).read(), undefined);
  }
  assertEquals(server.connections, 1);
});

Deno.test("a response that ends before its request was sent is read, and its connection is not used again", async () => {
  await using server = rawServer(async (connection) => {
    await connection.read(new Uint8Array(100));
    await writeAll(connection, `${OK}\r\nok`);
    await connection.read(new Uint8Array(100)).catch(() => {});
  });
  await using pool = poolTo(server.url);
  for (let times = 1; times <= 3; times++) {
    const reply = pool.send(undefined, "x".repeat(8_000_000));
    await reply.began;
    assertEquals(new TextDecoder().decode(await reply.read()), "ok");
    assertEquals(server.connections, times);
  }
});

Deno.test("a head full of spaces is read in linear time: a square of these would take an hour", () => {
  const spaces = " ".repeat(1_000_000);
  for (const field of [spaces, `b${spaces}`, `${spaces}b`, "b ".repeat(100_000)]) {
    const head = Buffer.from(`HTTP/1.1 200 OK\r\na:${field}\x01\r\n\r\n`, "latin1");
    assertThrows(() => parseHead(head, 0, head.length), HttpFault);
  }
});
