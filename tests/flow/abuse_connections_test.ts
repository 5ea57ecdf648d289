import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { type ChildGateway, startChild } from "../fake/child_gateway.ts";
import { connectTo, exchange, postHead, readReply, writeAll } from "../fake/raw_http.ts";
import { Random, testSeed } from "../fake/random.ts";
import { sleep, until } from "../fake/temp.ts";

const SAID = "an echo of it";

/** A chat that is answered with {@linkcode SAID}. */
function chatBody(more: Record<string, unknown> = {}): string {
  return JSON.stringify({
    model: "svc-k2",
    messages: [{ role: "user", content: `[[say ${SAID}]]` }],
    ...more,
  });
}

/** A body in chunks of so many bytes. */
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
  await using gateway = await startChild();
  const [key] = gateway.keys;
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
  await using gateway = await startChild();
  for (const pieces of [1, 3]) {
    const bytes = new TextEncoder().encode(chatBody());
    const size = Math.ceil(bytes.length / pieces);
    const parts = Array.from(
      { length: pieces },
      (_, at) => bytes.slice(at * size, (at + 1) * size),
    );
    const reply = await gateway.post("/v1/chat/completions", ReadableStream.from(parts));
    const text = await reply.text();
    assertEquals(reply.status, 200, `${pieces}: ${text}`);
    assertStringIncludes(text, SAID);
  }
});

/** Connections to a gateway that send nothing; those that are not taken yet may still be standing up. */
async function idle(url: string, count: number): Promise<Deno.TcpConn[] & AsyncDisposable> {
  const all: Deno.TcpConn[] = [];
  let over = false;
  const opening = Promise.all(Array.from({ length: count }, () =>
    connectTo(url).then(
      (one) => over ? one.close() : void all.push(one),
      () => {}, // nobody listens: the test looks at the process
    )));
  const patience = sleep(1_000);
  await Promise.race([opening, patience]);
  return Object.assign(all, {
    async [Symbol.asyncDispose]() {
      over = true;
      for (const one of all) close(one);
      await Promise.all([opening, patience]);
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
      await using _connections = await idle(gateway.url, 300);
      await sleep(500);
      assert(gateway.alive(), `the process ended: ${gateway.process.err()}`);
    }
    await until(() => gateway.smallChat(gateway.keys[1], 5_000).then(() => true, () => false), {
      withinMs: 30_000,
      what: "being served again",
    });
  }
  assert(gateway.alive(), gateway.process.err());
});

Deno.test("idle connections are closed after limits.idleConnectionMs", async () => {
  await using gateway = await startChild({ settings: { limits: { idleConnectionMs: 1_000 } } });
  // one that never asked, one that began to ask, one that was answered
  await using connections = await idle(gateway.url, 3);
  const [silent, begun, used] = connections as unknown as [
    Deno.TcpConn,
    Deno.TcpConn,
    Deno.TcpConn,
  ];
  await writeAll(begun, "POST /v1/chat/completions HTTP/1.1\r\nhost: loc");
  await writeAll(used, "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
  assertEquals((await readReply(used)).status, 200);
  const start = performance.now();
  const ended = await Promise.all(
    [silent, begun, used].map(async (one) => {
      const limit = setTimeout(() => close(one), 20_000);
      const after = new Uint8Array(1_024);
      // an answer that says why may come first
      while (await one.read(after).catch(() => null) !== null);
      clearTimeout(limit);
      return performance.now() - start;
    }),
  );
  for (const ms of ended) assert(ms > 500 && ms < 15_000, ended.join(" "));
  // who is being answered is not idle
  const slow = await gateway.post(
    "/v1/chat/completions",
    chatBody({ messages: [{ role: "user", content: `[[stall 3s]] [[say ${SAID}]]` }] }),
  );
  assertStringIncludes(await slow.text(), SAID);
});

Deno.test("what was declared and never sent keeps nobody else's body or image out", async () => {
  const png = await Deno.readFile(new URL("../requests/images/files/rgb.png", import.meta.url));
  await using host = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response(png.slice(), { headers: { "content-type": "image/png" } }),
  );
  const images = `127.0.0.1:${host.addr.port}`;
  await using gateway = await startChild({ settings: { images: { allowPrivateHosts: [images] } } });
  const [hoarder, other] = gateway.keys;
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
    await sleep(300);
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
      const start = performance.now();
      const said = await gateway.post("/v1/chat/completions", JSON.stringify(body), {
        key: other,
        withinMs: 20_000,
      }).then(async (reply) => `${reply.status} ${await reply.text()}`, String);
      const ms = Math.round(performance.now() - start);
      assert(
        said.startsWith("200") && said.includes(SAID),
        `${why}, ${what}: ${ms} ms, ${said.slice(0, 300)}`,
      );
    }
  }
});

/** Sends a body bit by bit; answers what was said, and when. */
async function slowUpload(
  gateway: ChildGateway,
  { headers, pieces, pauseMs }: { headers: string[]; pieces: string[]; pauseMs: number },
) {
  const start = performance.now();
  const [key] = gateway.keys;
  const head = postHead("/v1/chat/completions", { key, headers });
  const reply = await exchange(gateway.url, [head, ...pieces], { pauseMs, withinMs: 30_000 });
  return { ...reply, ms: performance.now() - start };
}

Deno.test("a body that comes slowly and steadily is read, whatever its size", async () => {
  await using gateway = await startChild({ settings: { limits: { bodyIdleMs: 1_500 } } });
  const upload = async (chars: number, inChunks: boolean) => {
    const body = chatBody({
      model: "svc-k3",
      messages: [{ role: "user", content: `[[say ${SAID}]]${" words".repeat(chars / 6)}` }],
    });
    const size = Math.ceil(body.length / 20);
    const pieces = Array.from({ length: 20 }, (_, at) => body.slice(at * size, (at + 1) * size));
    const reply = await slowUpload(gateway, {
      headers: inChunks ? [CHUNKED] : [`content-length: ${body.length}`],
      pieces: inChunks ? chunked(body, size) : pieces,
      pauseMs: 100,
    });
    const what = `${chars} ${inChunks ? "in chunks" : "declared"}`;
    return reply.status === 200 && reply.body.includes(SAID)
      ? []
      : [`${what}: ${reply.status} after ${Math.round(reply.ms)} ms ${reply.body.slice(0, 200)}`];
  };
  const failed = await Promise.all(
    [45_000, 900_000, 1_200_000].flatMap((chars) => [upload(chars, false), upload(chars, true)]),
  );
  assertEquals(failed.flat(), []);
});

const STALLING: readonly { why: string; headers: string[]; sent: string }[] = [
  { why: "a small body", headers: ["content-length: 5000"], sent: '{"model":' },
  { why: "a large body", headers: ["content-length: 5000000"], sent: '{"model":' },
  { why: "a body in chunks", headers: [CHUNKED], sent: '9\r\n{"model":\r\n' },
  { why: "nothing of a body", headers: ["content-length: 5000"], sent: "" },
];

Deno.test("a body that stops coming is refused after limits.bodyIdleMs", async () => {
  await using gateway = await startChild({ settings: { limits: { bodyIdleMs: 400 } } });
  for (const { why, headers, sent } of STALLING) {
    const reply = await slowUpload(gateway, { headers, pieces: [sent], pauseMs: 0 });
    assertEquals(reply.status, 400, why);
    assertMatch(reply.body, /invalid_request/);
    assert(reply.ms > 300 && reply.ms < 15_000, `${why}: ${reply.ms} ms`);
  }
  assertEquals(gateway.errors(), []);
});

for (
  const [setting, value] of [["bodyMs", 1_500], ["bodyMinBytesPerSecond", 1_000]] as const
) {
  Deno.test(`a body that drips is ended by limits.${setting}`, async () => {
    await using gateway = await startChild({
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
      return refused ? [] : [`${header}: ${reply.status} after ${Math.round(reply.ms)} ms`];
    }));
    assertEquals(failed.flat(), []);
    assertEquals(gateway.errors(), []);
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
  await using gateway = await startChild();
  const ours: string[] = [];
  let known = 0;
  let counted = "";
  for (const path of ["/v1/chat/completions", "/v1/messages/count_tokens"]) {
    for (const { why, headers, sent, leaves } of CALLERS_FAULTS) {
      const connection = await connectTo(gateway.url);
      await writeAll(connection, postHead(path, { key: gateway.keys[0], headers }) + sent);
      if (leaves) await sleep(50);
      else {
        const limit = setTimeout(() => close(connection), 20_000);
        const { status } = await readReply(connection);
        clearTimeout(limit);
        if (status !== 0 && status !== 400) ours.push(`${path}, ${why}: answered ${status}`);
      }
      close(connection);
      await sleep(50);
      const errors = gateway.errors();
      for (const line of errors.slice(known)) ours.push(`${path}, ${why}: logged ${line}`);
      known = errors.length;
      const [internal = ""] = /.*reason="internal".*/.exec(await gateway.metrics()) ?? [];
      if (internal !== counted) ours.push(`${path}, ${why}: counted ${internal}`);
      counted = internal;
    }
  }
  assertEquals(ours, []);
  await gateway.smallChat(gateway.keys[1]);
});
