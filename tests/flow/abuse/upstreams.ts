import { gzipSync } from "node:zlib";
import { writeAll } from "../../fake/raw_http.ts";
import { sleep } from "../../fake/temp.ts";
import { chunk, readRequest, sse } from "../../fake/upstream.ts";
import { COMPLETE, type Converse, error, failedStream, free, paid, type Row } from "./row.ts";

const UNAVAILABLE = error(503, "upstream_unavailable");
const FAILED = "warn upstream attempt failed";
const JSON_TYPE = "content-type: application/json";
const EVENTS = "content-type: text/event-stream";

/** Waits until the gateway closes the connection. */
export const hang: Converse = async (connection) => {
  const buffer = new Uint8Array(65_536);
  while (await connection.read(buffer).catch(() => null) !== null);
};

/** Answers every request with these bytes. */
function always(bytes: string | Uint8Array): Converse {
  return async (connection) => {
    while (await readRequest(connection) !== undefined) {
      if (!await writeAll(connection, bytes)) return;
    }
  };
}

/** Answers with these bytes, then does something else with the connection. */
function then(bytes: string, next: Converse): Converse {
  return async (connection) => {
    if (await readRequest(connection) === undefined) return;
    if (await writeAll(connection, bytes)) await next(connection);
  };
}

function reply(
  body: string | Uint8Array,
  { status = 200, headers = [JSON_TYPE] }: { status?: number; headers?: readonly string[] } = {},
): Uint8Array {
  const encoder = new TextEncoder();
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  const head = encoder.encode(
    [`HTTP/1.1 ${status} Status`, ...headers, `content-length: ${bytes.length}`, "\r\n"]
      .join("\r\n"),
  );
  return new Uint8Array([...head, ...bytes]);
}

/** A reply that is not streamed. */
function completion(more: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({
    id: "id",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
    usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
    ...more,
  });
}

const healthy = always(reply(completion()));
const BEGUN = sse(chunk({ role: "assistant", content: "well begun" }));

/** A stream with output, then what `next` does with the connection. */
export function streamThen(next: Converse): Converse {
  return then(`${STREAM_HEAD}${framed(BEGUN)}`, next);
}

/** The head of a stream in chunks. */
export const STREAM_HEAD = `HTTP/1.1 200 OK\r\n${EVENTS}\r\ntransfer-encoding: chunked\r\n\r\n`;

/** A text as one chunk. */
export function framed(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

/** A stream with output, then this text over and over. */
function endless(text: string): Converse {
  return streamThen(async (connection) => {
    await sleep(50);
    while (await writeAll(connection, framed(text))) await sleep(20);
  });
}

/** A whole stream of events. */
function streamed(...events: readonly string[]): Converse {
  return always(reply(events.join(""), { headers: [EVENTS] }));
}

const REFUSES: Converse = (connection) => Promise.resolve(connection.close());

export const UPSTREAMS: readonly Row[] = [
  {
    name: "a first target that cannot be reached",
    sent: "the first target refuses connections; the second is healthy",
    clientSees: COMPLETE,
    charged: paid(1, "upstream"),
    logged: [FAILED, "info request"],
    upstreams: ["unreachable", healthy],
    run: ({ chat }) => chat(),
  },
  {
    name: "a first target that hangs",
    sent: "no response within `timeouts.headersMs`; the second target is healthy",
    clientSees: COMPLETE,
    charged: paid(1, "upstream"),
    logged: [FAILED, "info request"],
    upstreams: [hang, healthy],
    timeouts: { headersMs: 200 },
    run: ({ chat }) => chat(),
  },
  {
    name: "a first target with a 500 that stalls",
    sent: "a 500 whose body never ends; the second target is healthy",
    clientSees: COMPLETE,
    charged: paid(1, "upstream"),
    logged: [FAILED, "info request"],
    upstreams: [
      then(`HTTP/1.1 500 Status\r\n${JSON_TYPE}\r\ncontent-length: 500\r\n\r\n{"err`, hang),
      healthy,
    ],
    run: ({ chat }) => chat(),
  },
  {
    name: "an only target that cannot be reached",
    sent: "the only target closes every connection before a response",
    clientSees: UNAVAILABLE,
    charged: free("upstream_failed"),
    logged: [FAILED, "info request", "info request refused"],
    upstreams: [REFUSES],
    run: ({ chat }) => chat(),
  },
  {
    name: "an only target that hangs",
    sent: "no response within `timeouts.readMs`, and no other target",
    clientSees: UNAVAILABLE,
    charged: free("upstream_failed"),
    logged: [FAILED, "info request", "info request refused"],
    upstreams: [hang],
    timeouts: { readMs: 300 },
    run: ({ chat }) => chat(),
  },
  {
    name: "every target over its rate limit",
    sent: "429 from every target",
    clientSees: error(429, "rate_limit_exceeded"),
    charged: free("upstream_failed"),
    logged: [FAILED, "info request", "info request refused"],
    upstreams: [
      always(reply("{}", { status: 429, headers: [JSON_TYPE, "retry-after: 7"] })),
      always(reply("{}", { status: 429, headers: [JSON_TYPE, "retry-after: 9"] })),
    ],
    run: ({ chat }) => chat(),
  },
  {
    name: "every target fails",
    sent: "500 from every target",
    clientSees: UNAVAILABLE,
    charged: free("upstream_failed"),
    logged: [FAILED, "info request", "info request refused"],
    upstreams: [always(reply("{}", { status: 500 })), always(reply("{}", { status: 500 }))],
    run: ({ chat }) => chat(),
  },
  {
    name: "a key that the upstream rejects",
    sent: "401 from the only target",
    clientSees: UNAVAILABLE,
    charged: free("upstream_failed"),
    logged: [FAILED, "info request", "info request refused"],
    upstreams: [always(reply('{"error":{"message":"bad key"}}', { status: 401 }))],
    run: ({ chat }) => chat(),
  },
  {
    name: "a 400 that stalls",
    sent: "a 400 whose body never ends; the gateway waits 2 seconds for it",
    clientSees: error(400, "invalid_request"),
    charged: free("refused"),
    logged: [FAILED, "info request", "info request refused"],
    upstreams: [
      then(`HTTP/1.1 400 Status\r\n${JSON_TYPE}\r\ncontent-length: 500\r\n\r\n{"err`, hang),
    ],
    run: ({ chat }) => chat(),
  },
  {
    name: "a redirect",
    sent: "a 307 to another host: not followed, since it would carry the upstream's key there",
    clientSees: UNAVAILABLE,
    charged: free("upstream_failed"),
    logged: [FAILED, "info request", "info request refused"],
    upstreams: [
      always(reply("", { status: 307, headers: ["location: http://images.example/"] })),
    ],
    run: ({ chat }) => chat(),
  },
  {
    name: "interim responses without end",
    sent: "more than 32 interim (1xx) responses",
    clientSees: UNAVAILABLE,
    charged: free("upstream_failed"),
    logged: [FAILED, "info request", "info request refused"],
    upstreams: [always("HTTP/1.1 102 Processing\r\nx: y\r\n\r\n".repeat(1_000))],
    run: ({ chat }) => chat(),
  },
  {
    name: "a response that is not JSON",
    sent: "200 with an HTML page",
    clientSees: UNAVAILABLE,
    charged: free("upstream_failed"),
    logged: [FAILED, "info request", "info request refused"],
    upstreams: [always(reply("<html></html>", { headers: ["content-type: text/html"] }))],
    run: ({ chat }) => chat(),
  },
  {
    name: "a stream of another content type",
    sent: "200 with an HTML page for a streamed request",
    clientSees: UNAVAILABLE,
    charged: free("upstream_failed"),
    logged: [FAILED, "info request", "info request refused"],
    upstreams: [always(reply("<html></html>", { headers: ["content-type: text/html"] }))],
    run: ({ chat }) => chat({ stream: true }),
  },
  {
    name: "a response that is nested too deeply",
    sent: "JSON nested deeper than 200 levels",
    clientSees: UNAVAILABLE,
    charged: free("upstream_failed"),
    logged: [FAILED, "info request", "info request refused"],
    upstreams: [
      always(reply(completion().replace(/}$/, `,"a":${"[".repeat(5_000)}${"]".repeat(5_000)}}`))),
    ],
    run: ({ chat }) => chat(),
  },
  {
    name: "a response with too many values",
    sent: "a response with more JSON values than `replies.values`",
    clientSees: UNAVAILABLE,
    charged: free("upstream_failed"),
    logged: [FAILED, "info request", "info request refused"],
    settings: { replies: { values: 1_000 } },
    upstreams: [always(reply(completion({ unknown: Array(1_000).fill(0) })))],
    run: ({ chat }) => chat(),
  },
  {
    name: "a response that is too large",
    sent: "a response of more than `replies.bytes`",
    clientSees: UNAVAILABLE,
    charged: free("upstream_failed"),
    logged: [FAILED, "info request", "info request refused"],
    settings: { replies: { bytes: 10_000 } },
    upstreams: [always(reply(completion({ unknown: "a".repeat(10_000) })))],
    run: ({ chat }) => chat(),
  },
  {
    name: "a compressed bomb",
    sent: "a small gzip response that becomes more than `replies.bytes`",
    clientSees: UNAVAILABLE,
    charged: free("upstream_failed"),
    logged: [FAILED, "info request", "info request refused"],
    settings: { replies: { bytes: 1_000_000 } },
    upstreams: [
      always(
        reply(gzipSync(completion({ unknown: "a".repeat(10_000_000) })), {
          headers: [JSON_TYPE, "content-encoding: gzip"],
        }),
      ),
    ],
    run: ({ chat }) => chat(),
  },
  {
    name: "a flood of comments",
    sent: "more than `replies.silentBytes` of comments between two events",
    clientSees: failedStream("upstream_unavailable"),
    charged: paid(1, "counted", "upstream_failed"),
    logged: ["info request"],
    settings: { replies: { silentBytes: 10_000 } },
    upstreams: [endless(": comment\n\n".repeat(100))],
    run: ({ chat }) => chat({ stream: true }),
  },
  {
    name: "a flood of events",
    sent: "more events than `replies.events`",
    clientSees: failedStream("upstream_unavailable"),
    charged: paid(1, "counted", "upstream_failed"),
    logged: ["info request"],
    settings: { replies: { events: 50 } },
    upstreams: [endless(sse(chunk({ content: "" })).repeat(20))],
    run: ({ chat }) => chat({ stream: true }),
  },
  {
    name: "too many values in one event",
    sent: "an event with more JSON values than `replies.eventValues`",
    clientSees: failedStream("upstream_unavailable"),
    charged: paid(1, "counted", "upstream_failed"),
    logged: ["info request"],
    settings: { replies: { eventValues: 1_000 } },
    upstreams: [endless(sse(chunk({ content: "a" }, null, { unknown: Array(1_000).fill(0) })))],
    run: ({ chat }) => chat({ stream: true }),
  },
  {
    name: "events that are not JSON",
    sent: "an event in the middle of a stream that is not JSON",
    clientSees: failedStream("upstream_unavailable"),
    charged: free("upstream_failed"),
    logged: ["info request"],
    upstreams: [endless(sse('{"choices":['))],
    run: ({ chat }) => chat({ stream: true }),
  },
  {
    name: "a stream that takes too long",
    sent: "a stream that has not ended after `timeouts.totalMs`",
    clientSees: failedStream("upstream_unavailable"),
    charged: paid(1, "counted", "upstream_failed"),
    logged: ["info request"],
    upstreams: [endless(sse(chunk({ content: "a" })))],
    timeouts: { totalMs: 1_500 },
    run: ({ chat }) => chat({ stream: true, max_tokens: 1_000 }),
  },
  {
    name: "a stream that stalls",
    sent: "no bytes in the middle of a stream for `timeouts.streamMs`",
    clientSees: failedStream("upstream_unavailable"),
    charged: free("upstream_failed"),
    logged: ["info request"],
    upstreams: [streamThen(hang)],
    timeouts: { streamMs: 1_000 },
    run: ({ chat }) => chat({ stream: true }),
  },
  {
    name: "a stream that ends without a finish",
    sent: "a stream that ends cleanly without a finish reason",
    clientSees: failedStream("upstream_unavailable"),
    charged: free("upstream_failed"),
    logged: ["info request"],
    upstreams: [streamed(BEGUN)],
    run: ({ chat }) => chat({ stream: true }),
  },
  {
    name: "a connection that breaks in mid-stream",
    sent: "the connection breaks in the middle of a stream",
    clientSees: failedStream("upstream_unavailable"),
    charged: free("upstream_failed"),
    logged: ["info request"],
    upstreams: [streamThen(async (connection) => {
      await sleep(100);
      connection.close();
    })],
    run: ({ chat }) => chat({ stream: true }),
  },
  {
    name: "an error with status 200",
    sent: "200 with an error as JSON for a streamed request",
    clientSees: UNAVAILABLE,
    charged: free("upstream_failed"),
    logged: [FAILED, "info request", "info request refused"],
    upstreams: [always(reply('{"error":{"message":"overloaded","type":"server_error"}}'))],
    run: ({ chat }) => chat({ stream: true }),
  },
  {
    name: "no usage",
    sent: "a complete response without usage",
    clientSees: COMPLETE,
    charged: paid(1, "counted"),
    logged: ["info request"],
    upstreams: [always(reply(completion({ usage: undefined })))],
    run: ({ chat }) => chat(),
  },
  {
    name: "absurd usage",
    sent: "usage of more tokens than twice the route's context",
    clientSees: COMPLETE,
    charged: paid(1, "counted"),
    logged: ["info request"],
    upstreams: [
      always(reply(completion({
        usage: { prompt_tokens: 7, completion_tokens: 1e9, total_tokens: 1e9 + 7 },
      }))),
    ],
    run: ({ chat }) => chat(),
  },
];
