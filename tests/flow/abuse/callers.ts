import { connectTo, exchange, postHead, writeAll } from "../../fake/raw_http.ts";
import { sleep, until } from "../../fake/temp.ts";
import { chunk, readRequest, sse } from "../../fake/upstream.ts";
import { PlainBrowser } from "../../fake/visitor.ts";
import {
  type Bench,
  chatBody,
  type ClientSees,
  close,
  COMPLETE,
  error,
  free,
  NOT_RECORDED,
  paid,
  type Row,
  seenOf,
  seenOfRaw,
  seenOn,
} from "./row.ts";
import { framed, hang, STREAM_HEAD, streamThen } from "./upstreams.ts";

const REJECTED = error(400, "invalid_request");
const REFUSED_LINE = "info request refused";
/** Why rows are left out. */
export const SMALL = JSON.stringify(chatBody());
const LENGTH = `content-length: ${SMALL.length}`;
const CHUNKED = "transfer-encoding: chunked";

/** A body with an unknown field of this text. */
const withField = (text: string) => `${SMALL.slice(0, -1)},"unknown":${text}}`;

async function sendAndLeave(bench: Bench, headers: readonly string[], sent: string) {
  const connection = await connectTo(bench.gateway.url);
  await writeAll(connection, postHead("/v1/chat/completions", { key: bench.key, headers }) + sent);
  await sleep(100);
  close(connection);
  return "disconnected" as const;
}

/** Asks for a stream, reads until `text` was seen, and closes the connection. */
async function leaveAfter(bench: Bench, text: string): Promise<ClientSees> {
  const leaving = new AbortController();
  const reply = await bench.gateway.post(
    "/v1/chat/completions",
    chatBody({ stream: true }),
    { key: bench.key, signal: leaving.signal },
  );
  const decoder = new TextDecoder();
  let seen = "";
  for await (const bytes of reply.body!) {
    seen += decoder.decode(bytes, { stream: true });
    if (seen.includes(text)) break;
  }
  leaving.abort();
  return "disconnected";
}

/** Streams of an account that go on until the row has been checked. */
async function running(bench: Bench, keys: readonly string[]): Promise<void> {
  const before = bench.gateway.gateway.inFlight.count;
  for (const key of keys) {
    const connection = await bench.open(JSON.stringify(chatBody({ stream: true })), key);
    bench.defer(() => close(connection));
  }
  await until(() => bench.gateway.gateway.inFlight.count === before + keys.length, {
    what: "streams of other requests",
  });
}

export const CALLERS: readonly Row[] = [
  {
    name: "a body that is declared too large",
    sent: "a `Content-Length` above `limits.bodyBytes`",
    clientSees: REJECTED,
    charged: NOT_RECORDED,
    logged: [REFUSED_LINE],
    settings: { limits: { bodyBytes: 1_000 } },
    run: ({ raw }) => raw(["content-length: 2000"], [SMALL.padEnd(2_000)]),
  },
  {
    name: "a body that becomes too large",
    sent: "chunks that add up to more than `limits.bodyBytes`",
    clientSees: REJECTED,
    charged: NOT_RECORDED,
    logged: [REFUSED_LINE],
    settings: { limits: { bodyBytes: 1_000 } },
    run: ({ raw }) => raw([CHUNKED], [`7d0\r\n${SMALL.padEnd(2_000)}\r\n0\r\n\r\n`]),
  },
  {
    name: "a body nested too deeply",
    sent: "JSON nested deeper than `limits.bodyDepth`",
    clientSees: REJECTED,
    charged: NOT_RECORDED,
    logged: [REFUSED_LINE],
    run: ({ post }) =>
      post("/v1/chat/completions", withField(`${"[".repeat(101)}${"]".repeat(101)}`)),
  },
  {
    name: "a body with too many values",
    sent: "more JSON values than `limits.bodyValues`",
    clientSees: REJECTED,
    charged: NOT_RECORDED,
    logged: [REFUSED_LINE],
    settings: { limits: { bodyValues: 1_000 } },
    run: ({ post }) => post("/v1/chat/completions", withField(`[${"0,".repeat(1_000)}0]`)),
  },
  {
    name: "an object with too many keys",
    sent: "an object with more keys than `limits.bodyKeys`",
    clientSees: REJECTED,
    charged: NOT_RECORDED,
    logged: [REFUSED_LINE],
    settings: { limits: { bodyKeys: 100 } },
    run: ({ post }) =>
      post("/v1/chat/completions", {
        ...chatBody(),
        ...Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`key${at}`, 0])),
      }),
  },
  {
    name: "a body that is not UTF-8",
    sent: "bytes that are not valid UTF-8",
    clientSees: REJECTED,
    charged: NOT_RECORDED,
    logged: [REFUSED_LINE],
    run: ({ raw }) => raw(["content-length: 12"], ['{"model":"', new Uint8Array([0xff, 0x7d])]),
  },
  {
    name: "a body that is not JSON",
    sent: "text that is not JSON",
    clientSees: REJECTED,
    charged: NOT_RECORDED,
    logged: [REFUSED_LINE],
    run: ({ post }) => post("/v1/chat/completions", '{"model":'),
  },
  {
    name: "a body that is not compressed as it says",
    sent: "`Content-Encoding: gzip` for a body that is not compressed",
    clientSees: REJECTED,
    charged: NOT_RECORDED,
    logged: [REFUSED_LINE],
    run: ({ raw }) => raw([LENGTH, "content-encoding: gzip"], [SMALL]),
  },
  {
    name: "a body in chunks",
    sent: "a small body with `Transfer-Encoding: chunked`, head and body in one packet",
    clientSees: COMPLETE,
    charged: paid(1, "upstream"),
    logged: ["info request"],
    run: async ({ gateway, key }) =>
      seenOfRaw(
        await exchange(gateway.url, [
          `${postHead("/v1/chat/completions", { key, headers: [CHUNKED] })}${
            SMALL.length.toString(16)
          }\r\n${SMALL}\r\n0\r\n\r\n`,
        ]),
      ),
  },
  {
    name: "invalid chunks",
    sent: "a chunk whose size is not a number",
    clientSees: REJECTED,
    charged: NOT_RECORDED,
    logged: [REFUSED_LINE],
    run: ({ raw }) => raw([CHUNKED], ['9\r\n{"model":\r\n', "zz\r\n"], { pauseMs: 50 }),
  },
  {
    name: "a truncated body",
    sent: "less than the `Content-Length`, then the end of the client's half of the connection",
    clientSees: REJECTED,
    charged: NOT_RECORDED,
    logged: [REFUSED_LINE],
    async run({ gateway, key }) {
      const connection = await connectTo(gateway.url);
      const head = postHead("/v1/chat/completions", { key, headers: ["content-length: 50000"] });
      await writeAll(connection, `${head}{"model":`);
      await sleep(50);
      await connection.closeWrite();
      return await seenOn(connection).finally(() => close(connection));
    },
  },
  {
    name: "a body that stalls",
    sent: "part of a body, then nothing for `limits.bodyIdleMs`",
    clientSees: REJECTED,
    charged: NOT_RECORDED,
    logged: [REFUSED_LINE],
    settings: { limits: { bodyIdleMs: 200 } },
    run: ({ raw }) => raw(["content-length: 50000"], ['{"model":']),
  },
  {
    name: "a body that drips",
    sent: "less than `limits.bodyMinBytesPerSecond`, for longer than `limits.bodyIdleMs`",
    clientSees: REJECTED,
    charged: NOT_RECORDED,
    logged: [REFUSED_LINE],
    settings: { limits: { bodyIdleMs: 200 } },
    run: ({ raw }) => raw(["content-length: 50000"], [...SMALL.slice(0, 8)], { pauseMs: 60 }),
  },
  {
    name: "a body that takes too long",
    sent: "a body that is not complete after `limits.bodyMs`",
    clientSees: REJECTED,
    charged: NOT_RECORDED,
    logged: [REFUSED_LINE],
    settings: { limits: { bodyMs: 300, bodyMinBytesPerSecond: 0 } },
    run: ({ raw }) => raw(["content-length: 50000"], [...SMALL.slice(0, 10)], { pauseMs: 60 }),
  },
  {
    name: "a disconnect before the body",
    sent: "the headers of a request, then a disconnect",
    clientSees: "disconnected",
    charged: NOT_RECORDED,
    logged: [REFUSED_LINE],
    run: (bench) => sendAndLeave(bench, ["content-length: 50000"], ""),
  },
  {
    name: "a disconnect during the upload",
    sent: "part of a body, then a disconnect",
    clientSees: "disconnected",
    charged: NOT_RECORDED,
    logged: [REFUSED_LINE],
    run: (bench) => sendAndLeave(bench, ["content-length: 50000"], '{"model":'),
  },
  {
    name: "a disconnect before the first output",
    sent: "a request, then a disconnect while the upstream is silent",
    clientSees: "disconnected",
    charged: free("client_left"),
    logged: ["warn upstream attempt failed", "info request", REFUSED_LINE],
    upstreams: [hang],
    async run(bench) {
      const connection = await bench.open(SMALL);
      await until(() => bench.upstreams[0]!.connections === 1, { what: "the attempt" });
      close(connection);
      return "disconnected";
    },
  },
  {
    name: "a disconnect in mid-stream",
    sent: 'a disconnect after some output (`onClientDisconnect: "abort"`)',
    clientSees: "disconnected",
    charged: paid(1, "counted", "client_left"),
    logged: ["info request"],
    settings: { onClientDisconnect: "abort" },
    upstreams: [streamThen(hang)],
    run: (bench) => leaveAfter(bench, "well begun"),
  },
  {
    name: "a disconnect in mid-stream that is drained",
    sent: 'the same with `onClientDisconnect: "drain"`; the upstream finishes in time',
    clientSees: "disconnected",
    charged: paid(1, "upstream", "client_left"),
    logged: ["info request"],
    upstreams: [streamThen(async (connection) => {
      // in many turns, so that the gateway has had its own to notice the disconnect, however busy the machine is
      for (let times = 0; times < 15; times++) await sleep(20);
      const usage = { prompt_tokens: 7, completion_tokens: 60, total_tokens: 67 };
      const last = sse(chunk({ content: " and done" }), chunk({}, "stop", { usage }), "[DONE]");
      await writeAll(connection, `${last.length.toString(16)}\r\n${last}\r\n0\r\n\r\n`);
    })],
    run: (bench) => leaveAfter(bench, "well begun"),
  },
  {
    name: "a slow reader",
    sent: "a client that reads nothing of its stream for a while, then everything",
    clientSees: COMPLETE,
    charged: paid(27, "upstream"),
    logged: ["info request"],
    upstreams: [async (connection) => {
      while (await readRequest(connection) !== undefined) {
        await writeAll(connection, STREAM_HEAD);
        // more bytes than sockets hold, of fewer words than the request permits
        const piece = sse(chunk({ content: "some words " })).repeat(200);
        for (let at = 0; at < 100; at++) {
          if (!await writeAll(connection, framed(piece))) return;
        }
        const usage = { prompt_tokens: 7, completion_tokens: 40_000, total_tokens: 40_007 };
        await writeAll(
          connection,
          `${framed(sse(chunk({}, "stop", { usage }), "[DONE]"))}0\r\n\r\n`,
        );
      }
    }],
    async run({ gateway, key }) {
      const body = chatBody({ stream: true, model: "svc-k2.6", max_tokens: 100_000 });
      const reply = await gateway.post("/v1/chat/completions", body, { key });
      await sleep(500);
      return await seenOf(reply);
    },
  },
  {
    name: "too many requests of one account",
    sent: "more requests in progress than the account's share of `limits.openRequests`",
    clientSees: error(503, "service_unavailable"),
    charged: NOT_RECORDED,
    logged: [REFUSED_LINE],
    settings: { limits: { openRequests: 4, accountShare: 0.5 } },
    upstreams: [hang],
    async run(bench) {
      await running(bench, [bench.key, bench.key]);
      return await bench.chat();
    },
  },
  {
    name: "too many requests of all accounts",
    sent: "more requests in progress than `limits.openRequests`",
    clientSees: error(503, "service_unavailable"),
    charged: NOT_RECORDED,
    logged: [REFUSED_LINE],
    settings: { limits: { openRequests: 2, accountShare: 0.5 } },
    upstreams: [hang],
    async run(bench) {
      const others = [await bench.another(), await bench.another()];
      await running(bench, others.map(({ keys }) => keys[0]!));
      return await bench.chat();
    },
  },
  {
    name: "no memory for a large body",
    sent: "a body over 1 MB while the account's share of `limits.largeBodiesBytes` is in use",
    clientSees: error(503, "service_unavailable"),
    charged: NOT_RECORDED,
    logged: [REFUSED_LINE],
    settings: { limits: { largeBodiesBytes: 3_000_000, bodyIdleMs: 1_500 } },
    upstreams: [hang],
    async run(bench) {
      const body = SMALL.padEnd(1_300_000);
      const connection = await bench.open(body);
      bench.defer(() => close(connection));
      await until(() => bench.gateway.gateway.inFlight.count === 1, { what: "the other body" });
      return await bench.post("/v1/chat/completions", body);
    },
  },
  {
    name: "too many rejected bytes",
    sent: "more bytes of rejected bodies than `limits.unbilledBytesPerMinute`",
    clientSees: error(429, "rate_limit_exceeded"),
    charged: NOT_RECORDED,
    logged: [REFUSED_LINE],
    settings: { limits: { unbilledBytesPerMinute: 1_000 } },
    async run({ post }) {
      const rejected = withField("[".repeat(2_000));
      while ("status" in Object(await post("/v1/chat/completions", rejected))) {
        const seen = await post("/v1/chat/completions", SMALL);
        if (seen !== COMPLETE) return seen;
      }
      return "closed";
    },
  },
  {
    name: "too many requests to count_tokens",
    sent: "more requests to `count_tokens` than `limits.countsPerMinute`",
    clientSees: error(429, "rate_limit_error"),
    charged: NOT_RECORDED,
    logged: [REFUSED_LINE],
    settings: { limits: { countsPerMinute: 1 } },
    async run({ post }) {
      let seen: ClientSees = COMPLETE;
      // the third, when a minute ends between the first two
      for (let times = 0; times < 3; times++) {
        seen = await post("/v1/messages/count_tokens", chatBody());
        if (typeof seen === "object" && "status" in seen && seen.status !== 200) return seen;
      }
      return seen;
    },
  },
  {
    name: "an unknown key",
    sent: "an API key that does not exist, with any body",
    clientSees: error(401, "invalid_api_key"),
    charged: NOT_RECORDED,
    logged: [REFUSED_LINE],
    run: ({ post }) => post("/v1/chat/completions", "[".repeat(100_000), `sk-${"x".repeat(40)}`),
  },
  {
    name: "a Host header that is not a host",
    sent: "`Host: localhost/admin?`",
    clientSees: REJECTED,
    charged: NOT_RECORDED,
    logged: [],
    run: async ({ gateway, key }) => {
      const head = postHead("/v1/chat/completions", { key, headers: [LENGTH] });
      return seenOfRaw(
        await exchange(gateway.url, [head.replace("localhost", "localhost/admin?"), SMALL]),
      );
    },
  },
  {
    name: "an encoded path",
    sent: "`POST /%761/chat/completions`: a path that matches an endpoint only once decoded",
    clientSees: error(404, "not_found"),
    charged: NOT_RECORDED,
    logged: [],
    run: ({ post }) => post("/%761/chat/completions", SMALL),
  },
  {
    name: "a forged X-Forwarded-For",
    sent:
      "six wrong passwords, each with another `X-Forwarded-For`, from an address outside `trustedProxies`",
    clientSees: { status: 429, code: "(an HTML page)" },
    charged: NOT_RECORDED,
    logged: [],
    async run({ gateway, who }) {
      const account = await gateway.gateway.accounts.get(who.email);
      await gateway.gateway.passwords.set(account, "a long enough password");
      let status = 0;
      for (let at = 0; at < 6; at++) {
        const fields = { email: who.email, password: "a wrong password" };
        const headers = { "x-forwarded-for": `203.0.113.${at}` };
        const browser = new PlainBrowser(gateway.url);
        const reply = await browser.post("/console/sign-in", fields, { headers });
        await reply.body?.cancel();
        status = reply.status;
      }
      return { status, code: "(an HTML page)" };
    },
  },
  {
    name: "an idle connection",
    sent: "a connection on which nothing is sent for `limits.idleConnectionMs` (on Linux)",
    clientSees: "closed",
    charged: NOT_RECORDED,
    logged: [],
    settings: { limits: { idleConnectionMs: 200 } },
    onlyOn: "linux",
    run: async ({ gateway }) => seenOfRaw(await exchange(gateway.url, [])),
  },
  {
    name: "no descriptors left",
    sent: "more connections than the process may have file descriptors",
    clientSees: COMPLETE,
    charged: "as usual, once idle connections have been closed",
    logged: ["error stopped listening: out of file descriptors? closing idle connections"],
    proof: {
      file: "tests/flow/abuse_connections_test.ts",
      test: "the process outlives more connections than it may have descriptors",
    },
  },
];
