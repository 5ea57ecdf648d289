import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { adminClient } from "../fake/admin_client.ts";
import { startChild } from "../fake/child_gateway.ts";
import { customer } from "../fake/customer.ts";
import { startGateway, statusOf, type TestGateway } from "../fake/gateway.ts";
import { guardedDatabase } from "../fake/guarded_database.ts";
import { connectTo, exchange, postHead, readReply, writeAll } from "../fake/raw_http.ts";
import { Random, testSeed } from "../fake/random.ts";
import { DEADLINE_MS, inTime, sleep, until } from "../fake/temp.ts";

const SAID = "an echo of it";

/** A chat that is answered with {@linkcode SAID}. */
function chatBody(more: Record<string, unknown> = {}): string {
  return JSON.stringify({
    model: "svc-k2",
    messages: [{ role: "user", content: `[[say ${SAID}]]` }],
    ...more,
  });
}

/** A body in chunks of that size. */
function chunked(body: string, size = body.length, extension = ""): string[] {
  const chunks: string[] = [];
  for (let at = 0; at < body.length; at += size) {
    const part = body.slice(at, at + size);
    chunks.push(`${part.length.toString(16)}${extension}\r\n${part}\r\n`);
  }
  return [...chunks, "0\r\n\r\n"];
}

const CHUNKED = "transfer-encoding: chunked";

/** Ways to send the same small body, as what is written one after the other. */
const FRAMINGS: readonly { why: string; pieces: (key: string, path: string) => string[] }[] = [
  {
    why: "in one write, in one chunk",
    pieces: (key, path) => [
      [postHead(path, { key, headers: [CHUNKED] }), ...chunked(chatBody({ max_tokens: 50 }))].join(
        "",
      ),
    ],
  },
  {
    why: "the head first, then one chunk",
    pieces: (key, path) => [
      postHead(path, { key, headers: [CHUNKED] }),
      chunked(chatBody({ max_tokens: 50 })).join(""),
    ],
  },
  {
    why: "a write for each chunk",
    pieces: (key, path) => [
      postHead(path, { key, headers: [CHUNKED] }),
      ...chunked(chatBody({ max_tokens: 50 }), 20),
    ],
  },
  {
    why: "all of many chunks in one write",
    pieces: (key, path) => [
      [
        postHead(path, { key, headers: [CHUNKED] }),
        ...chunked(chatBody({ max_tokens: 50 }), 1),
      ].join(""),
    ],
  },
  {
    why: "chunks with extensions",
    pieces: (key, path) => [
      [
        postHead(path, { key, headers: [CHUNKED] }),
        ...chunked(chatBody({ max_tokens: 50 }), 30, ";name=value"),
      ].join(""),
    ],
  },
  {
    why: "a length that is said twice",
    pieces: (key, path) => {
      const body = chatBody({ max_tokens: 50 });
      const length = `content-length: ${body.length}`;
      return [postHead(path, { key, headers: [length, length] }) + body];
    },
  },
  {
    why: "a length, in one write",
    pieces: (key, path) => {
      const body = chatBody({ max_tokens: 50 });
      return [postHead(path, { key, headers: [`content-length: ${body.length}`] }) + body];
    },
  },
];

Deno.test("a small body is read however it is framed", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  await using gateway = await startGateway();
  const { key } = gateway;
  const failed: string[] = [];
  for (const path of ["/v1/chat/completions", "/v1/messages"]) {
    for (const { why, pieces } of FRAMINGS) {
      const written = pieces(key, path);
      const { status, body } = await exchange(gateway.url, written, {
        pauseMs: written.length > 1 ? 5 : 0,
      });
      if (status !== 200 || !body.includes(SAID)) failed.push(`${path}, ${why}: ${status} ${body}`);
    }
    // cut anywhere, however little comes at a time
    for (let times = 0; times < 5; times++) {
      const { pieces } = random.pick(FRAMINGS);
      let rest = pieces(key, path).join("");
      const cut: string[] = [];
      while (rest !== "") {
        const size = random.integer(1, 300);
        cut.push(rest.slice(0, size));
        rest = rest.slice(size);
      }
      const { status, body } = await exchange(gateway.url, cut, { pauseMs: 1 });
      if (status !== 200 || !body.includes(SAID)) {
        failed.push(`${path}, cut (SLUICE_TEST_SEED=${seed}): ${status} ${JSON.stringify(cut)}`);
      }
    }
  }
  assertEquals(failed, []);
});

Deno.test("a small body that is a stream of fetch's is read", async () => {
  await using gateway = await startGateway();
  for (const pieces of [1, 3]) {
    const bytes = new TextEncoder().encode(chatBody());
    const size = Math.ceil(bytes.length / pieces);
    const parts = Array.from(
      { length: pieces },
      (_, at) => bytes.slice(at * size, (at + 1) * size),
    );
    const reply = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" },
      body: ReadableStream.from(parts),
    });
    const text = await reply.text();
    assertEquals(reply.status, 200, `${pieces}: ${text}`);
    assertStringIncludes(text, SAID);
  }
});

/** For how long to wait for connections that the system does not take. */
const PATIENCE_MS = 1_000;

/** Connections to a gateway that send nothing; after `patienceMs` some of them may not be established yet. */
async function idle(
  url: string,
  count: number,
  patienceMs = DEADLINE_MS,
): Promise<Deno.TcpConn[] & AsyncDisposable> {
  const all: Deno.TcpConn[] = [];
  let over = false;
  const opening = Promise.all(Array.from({ length: count }, () =>
    connectTo(url).then(
      (one) => over ? one.close() : void all.push(one),
      () => {}, // nobody listens: the test looks at the process
    )));
  await inTime(opening, patienceMs, undefined);
  return Object.assign(all, {
    async [Symbol.asyncDispose]() {
      over = true;
      for (const one of all) close(one);
      await opening;
    },
  });
}

function close(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // closed already
  }
}

Deno.test("the process outlives more connections than it may have descriptors", async () => {
  await using gateway = await startChild({ descriptors: 128 });
  await gateway.smallChat(gateway.keys[1]);
  for (let round = 0; round < 2; round++) {
    {
      await using connections = await idle(gateway.url, 300, PATIENCE_MS);
      // idle ones are closed sooner when descriptors are scarce
      const closed = connections.map((one) => one.read(new Uint8Array(1)).catch(() => null));
      await inTime(Promise.race(closed), DEADLINE_MS, "open");
      assert(gateway.alive(), `the process ended: ${gateway.process.err()}`);
    }
    await until(() => gateway.smallChat(gateway.keys[1]).then(() => true, () => false), {
      what: "being served again",
    });
  }
  assert(gateway.alive(), gateway.process.err());
});

Deno.test("idle connections are closed after limits.idleConnectionMs", async () => {
  const idleMs = 1_000;
  await using gateway = await startGateway({ settings: { limits: { idleConnectionMs: idleMs } } });
  const startMs = Date.now();
  // one that never asked, one that began to ask, one that was answered
  await using connections = await idle(gateway.url, 3);
  const [silent, begun, used] = connections as unknown as [
    Deno.TcpConn,
    Deno.TcpConn,
    Deno.TcpConn,
  ];
  await writeAll(begun, "POST /v1/chat/completions HTTP/1.1\r\nhost: loc");
  await writeAll(used, "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
  const ended = Promise.all([silent, begun, used].map(async (one) => {
    const after = new Uint8Array(1_024);
    // an answer that says why may come first
    while (await one.read(after).catch(() => null) !== null);
    return Date.now() - startMs;
  }));
  const waited = await inTime(ended, DEADLINE_MS, undefined);
  assert(waited !== undefined, "they are open");
  for (const ms of waited) assert(ms > idleMs / 2, waited.join(" "));
  // who is being answered is not idle; a busy machine may connect and only send a second later
  const slow = chatBody({ messages: [{ role: "user", content: `[[stall 3s]] [[say ${SAID}]]` }] });
  const isAnswered = async () => {
    const reply = await gateway.post("/v1/chat/completions", slow);
    return (await reply.text()).includes(SAID);
  };
  await until(() => isAnswered().catch(() => false), { what: "a reply after the idle time" });
});

Deno.test("a connection is not idle while an operator's request takes long", async () => {
  const held = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  await using gateway = await startGateway({
    settings: { limits: { idleConnectionMs: 500 } },
    wrapDatabase: (database) => ({
      ...guardedDatabase(database, () => {}),
      async all(sql, ...more) {
        if (sql.includes("loan_write_offs")) { // of an audit, near its end
          asked.resolve();
          await held.promise;
        }
        return await database.all(sql, ...more);
      },
    }),
  });
  const { keys, owner } = gateway.gateway;
  const { secret } = await keys.issue(owner, { scopes: ["admin"] });
  const report = adminClient(gateway.url, secret)("GET", "/audit");
  await asked.promise;
  await using later = await idle(gateway.url, 1);
  const ended = later[0]!.read(new Uint8Array(1_024)).catch(() => null);
  await inTime(ended, DEADLINE_MS, undefined);
  held.resolve();
  const { status, json } = await report;
  assertEquals([status, json.mismatches], [200, []]);
});

Deno.test("what was declared and never sent keeps nobody else's body or image out", async () => {
  const png = await Deno.readFile(new URL("../requests/images/files/rgb.png", import.meta.url));
  await using host = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response(png.slice(), { headers: { "content-type": "image/png" } }),
  );
  const images = `127.0.0.1:${host.addr.port}`;
  await using gateway = await startGateway({
    settings: {
      images: { allowPrivateHosts: [images] },
      // what is declared is kept for longer than others wait
      limits: { bodyIdleMs: 10 * DEADLINE_MS },
    },
  });
  const [{ keys: [hoarder = ""] }, { keys: [other = ""] }] = [
    await customer(gateway, 1_000_000),
    await customer(gateway, 1_000_000),
  ];
  for (
    const [why, headers, sent] of [
      ["declared", ["content-length: 67108864"], '{"a":'],
      ["in chunks", [CHUNKED], `100000\r\n${" ".repeat(0x10_0000)}\r\n100000\r\n `],
    ] as const
  ) {
    await using connections = await idle(gateway.url, 4);
    for (const one of connections) {
      await writeAll(one, postHead("/v1/chat/completions", { key: hoarder, headers }) + sent);
    }
    const text = "some words, ".repeat(175_000); // 2.1 MB
    const bodies = {
      "2 MB body": {
        model: "svc-k3",
        max_tokens: 50,
        user: "u",
        messages: [{ role: "user", content: `[[say ${SAID}]] ${text}` }],
      },
      "remote image": {
        model: "svc-k2.6",
        messages: [{
          role: "user",
          content: [
            { type: "text", text: `[[say ${SAID}]]` },
            { type: "image_url", image_url: { url: `http://${images}/a.png` } },
          ],
        }],
      },
    };
    for (const [what, body] of Object.entries(bodies)) {
      const said = await gateway.post("/v1/chat/completions", body, {
        key: other,
        signal: AbortSignal.timeout(DEADLINE_MS),
      }).then(async (reply) => `${reply.status} ${await reply.text()}`, String);
      assert(
        said.startsWith("200") && said.includes(SAID),
        `${why}, ${what}: ${said.slice(0, 300)}`,
      );
    }
  }
});

/** Sends a body bit by bit. */
async function slowUpload(
  gateway: TestGateway,
  { headers, pieces, pauseMs }: { headers: string[]; pieces: string[]; pauseMs: number },
) {
  const head = postHead("/v1/chat/completions", { key: gateway.key, headers });
  return await exchange(gateway.url, [head, ...pieces], { pauseMs });
}

/** A machine that is busy may pause for as long as a sender may. */
const TRIES = 3;

Deno.test("a body that comes slowly and steadily is read, whatever its size", async () => {
  // all of it takes longer than the idle time
  await using gateway = await startGateway({ settings: { limits: { bodyIdleMs: 2_000 } } });
  const upload = async (chars: number, inChunks: boolean) => {
    const body = chatBody({
      model: "svc-k3",
      messages: [{ role: "user", content: `[[say ${SAID}]]${" words".repeat(chars / 6)}` }],
    });
    const size = Math.ceil(body.length / 20);
    const pieces = Array.from({ length: 20 }, (_, at) => body.slice(at * size, (at + 1) * size));
    let last = "";
    for (let tries = 0; tries < TRIES; tries++) {
      const reply = await slowUpload(gateway, {
        headers: inChunks ? [CHUNKED] : [`content-length: ${body.length}`],
        pieces: inChunks ? chunked(body, size) : pieces,
        pauseMs: 130,
      });
      if (reply.status === 200 && reply.body.includes(SAID)) return [];
      last = `${chars} ${inChunks ? "in chunks" : "declared"}: ${reply.status} ${
        reply.body.slice(0, 200)
      }`;
    }
    return [last];
  };
  const failed = await Promise.all(
    [45_000, 900_000, 1_200_000].flatMap((chars) => [upload(chars, false), upload(chars, true)]),
  );
  assertEquals(failed.flat(), []);
});

/** Lines of the log with level error. */
function errorsOf({ log }: TestGateway): string[] {
  return log().split("\n").filter((line) => line.includes('"level":"error"'));
}

const STALLING: readonly { why: string; headers: string[]; sent: string }[] = [
  { why: "a small body", headers: ["content-length: 5000"], sent: '{"model":' },
  { why: "a large body", headers: ["content-length: 5000000"], sent: '{"model":' },
  { why: "a body in chunks", headers: [CHUNKED], sent: '9\r\n{"model":\r\n' },
  { why: "nothing of a body", headers: ["content-length: 5000"], sent: "" },
];

Deno.test("a body that stops coming is refused after limits.bodyIdleMs", async () => {
  const idleMs = 400;
  await using gateway = await startGateway({ settings: { limits: { bodyIdleMs: idleMs } } });
  for (const { why, headers, sent } of STALLING) {
    const startMs = Date.now();
    const reply = await slowUpload(gateway, { headers, pieces: [sent], pauseMs: 0 });
    assertEquals(reply.status, 400, why);
    assertMatch(reply.body, /invalid_request/);
    assert(Date.now() - startMs > 0.75 * idleMs, why);
  }
  assertEquals(errorsOf(gateway), []);
});

for (
  const [setting, value] of [["bodyMs", 1_500], ["bodyMinBytesPerSecond", 1_000]] as const
) {
  Deno.test(`a body that drips is ended by limits.${setting}`, async () => {
    await using gateway = await startGateway({
      settings: { limits: { bodyIdleMs: 1_000, [setting]: value } },
    });
    const body = chatBody().padEnd(3_000);
    const drips: [string, string[]][] = [
      ["content-length: 3000", [...body]],
      ["content-length: 3000000", [...body]],
      [CHUNKED, chunked(body, 1)],
    ];
    const failed = await Promise.all(drips.map(async ([header, pieces]) => {
      const reply = await slowUpload(gateway, { headers: [header], pieces, pauseMs: 300 });
      const refused = reply.status === 400 && reply.body.includes("invalid_request");
      return refused ? [] : [`${header}: ${reply.status}`];
    }));
    assertEquals(failed.flat(), []);
    assertEquals(errorsOf(gateway), []);
  });
}

/** What goes wrong at a caller's end, and is no fault of ours. */
const CALLERS_FAULTS: readonly { why: string; headers: string[]; sent: string; leaves: boolean }[] =
  [
    {
      why: "leaves during a small upload",
      headers: ["content-length: 5000"],
      sent: '{"model":',
      leaves: true,
    },
    {
      why: "leaves during a large upload",
      headers: ["content-length: 5000000"],
      sent: `{"model":"${"a".repeat(100_000)}`,
      leaves: true,
    },
    { why: "leaves before a body", headers: ["content-length: 5000"], sent: "", leaves: true },
    { why: "leaves between chunks", headers: [CHUNKED], sent: '9\r\n{"model":\r\n', leaves: true },
    {
      why: "leaves within a chunk",
      headers: [CHUNKED],
      sent: '900\r\n{"model":\r\n',
      leaves: true,
    },
    {
      why: "leaves within a large upload in chunks",
      headers: [CHUNKED],
      sent: `200000\r\n${" ".repeat(1_500_000)}`,
      leaves: true,
    },
    {
      why: "a chunk extension of 30 KB",
      headers: [CHUNKED],
      sent: `9;${"x".repeat(30_000)}\r\n{"model":\r\n0\r\n\r\n`,
      leaves: false,
    },
    {
      why: "a chunk size that is none",
      headers: [CHUNKED],
      sent: 'zz\r\n{"model":\r\n0\r\n\r\n',
      leaves: false,
    },
    {
      why: "a chunk that is longer than its size",
      headers: [CHUNKED],
      sent: '3\r\n{"model":\r\n0\r\n\r\n',
      leaves: false,
    },
    {
      why: "a chunk size without bound",
      headers: [CHUNKED],
      sent: `${"f".repeat(17)}\r\n{"model":\r\n0\r\n\r\n`,
      leaves: false,
    },
    {
      why: "trailers of 30 KB",
      headers: [CHUNKED],
      sent: `2\r\n{}\r\n0\r\nx: ${"x".repeat(30_000)}\r\n\r\n`,
      leaves: false,
    },
  ];

Deno.test("a caller's fault is neither logged nor counted as ours", async () => {
  await using gateway = await startGateway();
  const internal = async () => {
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    return /.*reason="internal".*/.exec(metrics)?.[0];
  };
  const before = await internal();
  const wrong: string[] = [];
  const ends = () => gateway.log().match(/"request (?:refused|failed)"/g)?.length ?? 0;
  for (const path of ["/v1/chat/completions", "/v1/messages/count_tokens"]) {
    for (const { why, headers, sent, leaves } of CALLERS_FAULTS) {
      const connection = await connectTo(gateway.url);
      await writeAll(connection, postHead(path, { key: gateway.key, headers }) + sent);
      if (leaves) {
        await sleep(50); // so that some of it is read before
        const before = ends();
        close(connection);
        await until(() => ends() > before, { what: `${path}, ${why}: the end of the request` });
      } else {
        const { status } = await readReply(connection);
        if (status !== 0 && status !== 400) wrong.push(`${path}, ${why}: answered ${status}`);
        close(connection);
      }
      for (const line of errorsOf(gateway)) wrong.push(`${path}, ${why}: logged ${line}`);
    }
  }
  assertEquals(wrong, []);
  assertEquals(await internal(), before);
  assertEquals(await statusOf(gateway.chat("Hi")), 200);
});
