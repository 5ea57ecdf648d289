/** What comes before a body in HTTP/1.x: request lines, headers, several requests at once. */

import type { Random } from "../fake/random.ts";
import { anyHead } from "./requests.ts";
import {
  anySize,
  chain,
  type Kind,
  latin,
  type Plan,
  repeated,
  send,
  type Target,
} from "./steps.ts";

export const HEAD_KINDS: readonly Kind[] = [
  { name: "request line", plan: requestLine },
  { name: "headers, unended", plan: headers },
  { name: "headers, odd", plan: oddHeaders },
  { name: "pipeline", plan: pipeline },
  { name: "upgrade", plan: upgrade },
  { name: "http/1.0", plan: oldVersion },
  { name: "no http", plan: noHttp },
];

/** Lines that are too long, or no lines of HTTP. */
function requestLine(random: Random, target: Target): Plan {
  const [what, start, unit, end] = random.pick(
    [
      ["long path", "GET /", "y", " HTTP/1.1\r\n\r\n"],
      ["long query", "GET /v1/models?", "a=b&", " HTTP/1.1\r\n\r\n"],
      ["long escapes", "GET /", "%2f", " HTTP/1.1\r\n\r\n"],
      ["many slashes", "GET ", "/", " HTTP/1.1\r\n\r\n"],
      ["long method", "", "G", " / HTTP/1.1\r\n\r\n"],
      ["blank lines", "", "\r\n", "GET / HTTP/1.1\r\n\r\n"],
      ["line feeds", "", "\n", "GET / HTTP/1.1\n\n"],
      ["spaces", "GET ", " ", "/ HTTP/1.1\r\n\r\n"],
      ["long version", "GET / HTTP/1.", "1", "\r\n\r\n"],
      ["absolute form", `GET http://${target.host}/`, "y", " HTTP/1.1\r\n\r\n"],
      ["parents", "GET /console/", "../", " HTTP/1.1\r\n\r\n"],
      ["bytes above 127", "GET /", "\xff", " HTTP/1.1\r\n\r\n"],
    ] as const,
  );
  const bytes = anySize(random, 2, random.pick([13, 16, 25]));
  return {
    told: `${what}, ${bytes} bytes`,
    steps: chain(send(latin(start)), repeated(unit, bytes), send(end)),
  };
}

/** Headers in number or length without bound. */
function headers(random: Random, target: Target): Plan {
  const { path, who, lines } = anyHead(random, target);
  const [what, start, unit] = random.pick(
    [
      ["many", "", "x: y\r\n"],
      ["many without a value", "", "x:\r\n"],
      ["one", "x: ", "y"],
      ["a name", "", "x"],
      ["folded", "x: y\r\n", " y\r\n"],
      ["cookies", "", "cookie: a=b; c=d\r\n"],
      ["a cookie", "cookie: ", "a=b; "],
      ["a key", "authorization: Bearer ", "y"],
      ["hosts", "", "host: a\r\n"],
      ["bare line feeds", "", "x: y\n"],
      ["spaces", "x: ", " "],
    ] as const,
  );
  const bytes = anySize(random, 4, random.pick([13, 17, 24]));
  const isEnded = random.next() < 0.5;
  return {
    told: `${path}, ${who}, ${what}, ${bytes} bytes, ${isEnded ? "ended" : "not ended"}`,
    steps: chain(
      send(`POST ${path} HTTP/1.1\r\n${lines}${start}`),
      repeated(unit, bytes),
      send(isEnded ? "\r\n\r\n" : "x"),
    ),
  };
}

/** Headers that are no headers, and methods that are rare. */
function oddHeaders(random: Random, target: Target): Plan {
  const { path, who, lines, body } = anyHead(random, target);
  const method = random.pick([
    "POST",
    "GET",
    "HEAD",
    "OPTIONS",
    "PUT",
    "TRACE",
    "CONNECT",
    "x",
    "get",
  ]);
  const odd = random.pick([
    " folded: at first\r\n",
    "x: y\r\n folded\r\n",
    ": no name\r\n",
    "no colon\r\n",
    "x\0y: z\r\n",
    "x: \0\r\n",
    "x: \xff\xfe\r\n",
    "x : space\r\n",
    "x: bare\ny: z\r\n",
    "x: \r y\r\n",
    "connection: close, keep-alive, te\r\n",
    "connection: content-length\r\n",
    "host: other\r\n",
    "x-forwarded-for: 1.2.3.4, , ,,,\r\n",
    "accept-encoding: gzip;q=9, br;q=x\r\n",
    "range: bytes=0-0,1-1\r\n",
    'if-none-match: "", W/"\r\n',
    "content-type: multipart/form-data; boundary=x\r\n",
  ]);
  const lineEnd = random.pick(["\r\n", "\r\n", "\n", "\r"]);
  const length = `content-length: ${body.length}\r\n`;
  const head = `${method} ${path} HTTP/1.1\r\n${lines}${odd}${length}\r\n`;
  const times = random.pick([1, 1, 3, 50]);
  return {
    told: `${method} ${path}, ${who}, ${JSON.stringify(odd)}, lines end with ${
      JSON.stringify(lineEnd)
    }, ${times} times`,
    steps: [send(latin((head.replaceAll("\r\n", lineEnd) + body).repeat(times)))],
  };
}

/** Many requests at once, whose responses may not be read. */
function pipeline(random: Random, target: Target): Plan {
  const { path, who, lines, body } = anyHead(random, target);
  const method = random.pick(["GET", "POST", "HEAD", "OPTIONS"]);
  const count = anySize(random, 1, 13);
  const place = random.pick([
    path,
    path,
    "/healthz",
    "/openapi.json",
    "/console/sign-in",
    "/metrics",
  ]);
  const unit = method === "POST"
    ? `POST ${place} HTTP/1.1\r\n${lines}content-length: ${body.length}\r\n\r\n${body}`
    : `${method} ${place} HTTP/1.1\r\n${lines}\r\n`;
  return {
    told: `${count} × ${method} ${place}, ${who}`,
    steps: repeated(unit, count * unit.length),
  };
}

/** Requests to speak something else, complete or not, with more behind them. */
function upgrade(random: Random, target: Target): Plan {
  const { path, who, lines, body } = anyHead(random, target);
  const method = random.pick(["GET", "POST", "CONNECT"]);
  const to = random.pick(["websocket", "WebSocket", "TLS/1.0", "h2c, websocket", "x", ""]);
  const more = random.pick([
    "",
    "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n",
  ]);
  const length = random.pick([
    "",
    `content-length: ${body.length}\r\n`,
    "transfer-encoding: chunked\r\n",
  ]);
  const bytes = anySize(random, 0, 22);
  return {
    told: `${method} ${path}, ${who}, upgrade: ${to}, ${more === "" ? "no" : "with"} key, ${
      JSON.stringify(length)
    }, ${bytes} bytes behind it`,
    steps: chain(
      send(
        `${method} ${path} HTTP/1.1\r\n${lines}connection: upgrade\r\nupgrade: ${to}\r\n${more}${length}\r\n`,
      ),
      repeated(random.pick(["x", "\0", "\x89\x80\0\0\0\0", "GET / HTTP/1.1\r\n\r\n"]), bytes),
    ),
  };
}

/** The versions before 1.1, and those that do not exist. */
function oldVersion(random: Random, target: Target): Plan {
  const { path, who, lines, body } = anyHead(random, target);
  const version = random.pick([
    "HTTP/1.0",
    "HTTP/1.0",
    "HTTP/0.9",
    "HTTP/1.2",
    "HTTP/2.0",
    "HTTP/3",
    "",
  ]);
  const framing = random.pick([
    "",
    `content-length: ${body.length}\r\n`,
    "transfer-encoding: chunked\r\n",
    `connection: keep-alive\r\ncontent-length: ${body.length}\r\n`,
    "expect: 100-continue\r\ncontent-length: 5\r\n",
  ]);
  const bytes = anySize(random, 0, 20);
  return {
    told: `${path} ${version}, ${who}, ${JSON.stringify(framing)}, ${bytes} bytes more`,
    steps: chain(
      send(`POST ${path} ${version}\r\n${random.pick([lines, ""])}${framing}\r\n${body}`),
      repeated(body, bytes),
    ),
  };
}

/** Bytes of other protocols, and of none. */
function noHttp(random: Random): Plan {
  const kind = random.pick(["TLS", "SSH", "zeros", "random", "nothing", "SMTP", "proxy protocol"]);
  const bytes = kind === "nothing" ? 0 : anySize(random, 0, random.pick([8, 16, 23]));
  const noise = Uint8Array.from({ length: 4_096 }, () => random.integer(0, 255));
  const start = {
    TLS: latin("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
    SSH: latin("SSH-2.0-OpenSSH_9.6\r\n"),
    SMTP: latin("EHLO a.example\r\n"),
    "proxy protocol": latin("PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n"),
    zeros: new Uint8Array(64),
    random: noise,
    nothing: new Uint8Array(),
  }[kind];
  const unit = kind === "zeros" ? new Uint8Array(4_096) : noise;
  return {
    told: `${kind}, ${bytes} bytes`,
    steps: chain(
      send(start ?? ""),
      bytes === 0 ? [] : repeated(unit.subarray(0, Math.min(bytes, 4_096)), bytes),
    ),
  };
}
