/** Responses are read as undici reads them, which parses with Node's own parser, however they are cut; where both may differ, ours is stricter. */

import { Buffer } from "node:buffer";
import { Pool } from "undici";
import { BodyPieces } from "../../../src/ground/http1/body_pieces.ts";
import { endOfHead, type Headers, parseHead } from "../../../src/ground/http1/response_head.ts";
import { assert, assertEquals } from "../../assert.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { rawServer, readRequest } from "../../fake/upstream.ts";
import { writeAll } from "../../fake/raw_http.ts";
import { sized } from "../../tier.ts";

/** What was read of a response; undefined for a fault. */
interface Read {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  /** Bytes after its end. */
  readonly rest: number;
}

/** Reads a response that comes in these pieces, up to the connection's end. */
function readInPieces(bytes: Uint8Array, cuts: readonly number[]): Read | undefined {
  const buffer = Buffer.from(bytes);
  let head: ReturnType<typeof parseHead> | undefined;
  let body: BodyPieces | undefined;
  let at = 0;
  let searched = 0;
  let text = "";
  try {
    for (const end of [...cuts, bytes.length]) {
      while (body === undefined) {
        const headEnd = endOfHead(buffer, at, end, searched);
        searched = end;
        if (headEnd < 0) break;
        const one = parseHead(buffer, at, headEnd);
        at = searched = headEnd;
        if (one.status === 101) return undefined;
        if (one.status < 200) continue;
        head = one;
        body = new BodyPieces(one.bodyEnd);
      }
      if (body === undefined || body.isEnded) continue;
      const found: number[] = [];
      at = body.walk(buffer, at, end, found);
      for (let run = 0; run < found.length; run += 2) {
        text += buffer.toString("latin1", found[run], found[run + 1]);
      }
    }
  } catch {
    return undefined;
  }
  if (head === undefined || !(body!.isEnded || body!.endsByClosing)) return undefined;
  return { status: head.status, headers: head.headers, body: text, rest: bytes.length - at };
}

/** How responses are made: lawful, and broken in each way that a smuggler might try. */
class Responses {
  readonly #random: Random;
  /** What was done that undici takes, or may take, and we do not. */
  oddity: string | undefined;

  constructor(random: Random) {
    this.#random = random;
  }

  make(): string {
    this.oddity = undefined;
    const random = this.#random;
    const body = "x".repeat(random.pick([0, 1, 5, 17, 300, 5_000]));
    const framing = random.pick(["length", "length", "chunks", "chunks", "close", "none"]);
    const status = framing === "none" ? random.pick([204, 304]) : random.pick([200, 200, 404, 500]);
    const fields = [
      `content-type: ${random.pick(["text/plain", "application/json; charset=utf-8"])}`,
      ...random.some([
        "Server: nginx",
        "X-Empty:",
        "x-space: \t a  b \t",
        "set-cookie: a=b",
        "Set-Cookie: c=d",
        "x-latin: \xa0caf\xe9\xa0",
        "connection: keep-alive",
        "Keep-Alive: timeout=5",
        "__proto__: x",
        "constructor: y",
        "x-token!#$%&'*+.^_`|~: 1",
      ], random.integer(0, 5)),
    ];
    if (framing === "length") fields.push(`Content-Length: ${body.length}`);
    if (framing === "chunks") {
      fields.push(`Transfer-Encoding: ${random.pick(["chunked", "Chunked"])}`);
    }
    const interim = random.next() < 0.2 ? "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" : "";
    const reason = random.pick([" OK", " ", " Not so bad"]);
    const head = `HTTP/1.1 ${status}${reason}\r\n${fields.join("\r\n")}\r\n\r\n`;
    const framed = framing === "chunks" ? this.#chunks(body) : framing === "none" ? "" : body;
    const whole = `${interim}${head}${framed}`;
    return random.next() < 0.5 ? whole : this.#broken(whole);
  }

  #chunks(body: string): string {
    const random = this.#random;
    let framed = "";
    for (let at = 0; at < body.length;) {
      const size = random.integer(1, Math.max(1, body.length >> 1));
      const data = body.slice(at, at + size);
      const digits = random.pick([
        data.length.toString(16),
        data.length.toString(16).toUpperCase(),
        `00${data.length.toString(16)}`,
      ]);
      framed += `${digits}${random.pick(["", "", ";a=b", ';a="b c"'])}\r\n${data}\r\n`;
      at += size;
    }
    return `${framed}0\r\n${random.pick(["", "", "x-sum: 1\r\n", "a: b\r\nc: d\r\n"])}\r\n`;
  }

  #broken(whole: string): string {
    const random = this.#random;
    const replaced = (from: RegExp, to: string) => whole.replace(from, to);
    const [what, text] = random.pick<[string, string]>([
      ["cut", whole.slice(0, random.integer(0, whole.length - 1))],
      ["bare line feed", replaced(/\r\n/, "\n")],
      ["bare line feed at the end of a field", replaced(/(content-type[^\r]*)\r\n/, "$1\n")],
      ["bare return", replaced(/\r\n/, "\r")],
      ["return within a value", replaced(/text\/plain/, "text\r/plain")],
      ["fold", replaced(/content-type: /, "content-type:\r\n ")],
      ["space before the colon", replaced(/content-type:/, "content-type :")],
      ["no name", replaced(/content-type:/, ":")],
      ["no colon", replaced(/content-type: /, "content-type ")],
      ["NUL", replaced(/text\/plain/, "text\0plain")],
      ["two lengths", replaced(/(Content-Length: \d+)/, "$1\r\n$1")],
      ["other lengths", replaced(/(Content-Length: \d+)/, "$1\r\nContent-Length: 3")],
      ["list of lengths", replaced(/Content-Length: (\d+)/, "Content-Length: $1, $1")],
      ["signed length", replaced(/Content-Length: /, "Content-Length: +")],
      ["hex length", replaced(/Content-Length: /, "Content-Length: 0x")],
      ["endless length", replaced(/Content-Length: /, "Content-Length: 99999999999999999999")],
      ["both", replaced(/(Content-Length: \d+)/, "$1\r\nTransfer-Encoding: chunked")],
      ["both", replaced(/(Transfer-Encoding: chunked)/i, "Content-Length: 3\r\n$1")],
      ["coding", replaced(/Transfer-Encoding: chunked/i, "Transfer-Encoding: chunked, gzip")],
      ["coding", replaced(/Transfer-Encoding: chunked/i, "Transfer-Encoding: xchunked")],
      ["two codings", replaced(/(Transfer-Encoding: chunked)/i, "$1\r\n$1")],
      ["chunk size", replaced(/\r\n\r\n([0-9a-f]+)/i, "\r\n\r\ng$1")],
      ["chunk size", replaced(/\r\n\r\n([0-9a-f]+)/i, "\r\n\r\n0x$1")],
      ["chunk size", replaced(/\r\n\r\n([0-9a-f]+)/i, "\r\n\r\n-$1")],
      ["chunk size", replaced(/\r\n\r\n([0-9a-f]+)/i, "\r\n\r\n$1 ")],
      ["chunk size", replaced(/\r\n\r\n([0-9a-f]+)/i, "\r\n\r\nfffffffffffffffff$1")],
      ["bare line feed after an extension", replaced(/(;a=b)\r\n/, "$1\n")],
      ["longer chunk", replaced(/x\r\n0/, "xx\r\n0")],
      ["version", replaced(/HTTP\/1\.1/, "HTTP/2.0")],
      ["version", replaced(/HTTP\/1\.1/, "http/1.1")],
      ["status", replaced(/HTTP\/1\.1 \d/, "HTTP/1.1 ")],
      ["status", replaced(/HTTP\/1\.1 /, "HTTP/1.1  ")],
      ["random byte", this.#spoilt(whole)],
    ]);
    if (text !== whole) this.oddity = what;
    return text;
  }

  #spoilt(whole: string): string {
    const random = this.#random;
    const at = random.integer(0, Math.min(whole.length - 1, 200));
    const byte = String.fromCharCode(random.pick([0, 9, 10, 13, 32, 58, 59, 127, 255, 65]));
    return whole.slice(0, at) + byte + whole.slice(at + random.integer(0, 1));
  }
}

/** Reads a response by undici. */
function readByUndici(pool: Pool): Promise<Read | undefined> {
  return new Promise((resolve) => {
    let head: { status: number; headers: Headers } | undefined;
    let body = "";
    pool.dispatch({ path: "/", method: "GET" }, {
      onRequestStart() {},
      onResponseStart(_controller, status, headers) {
        if (status >= 200) head = { status, headers };
      },
      onResponseData(_controller, piece) {
        body += piece.toString("latin1");
      },
      onResponseEnd: () => resolve({ ...head!, body, rest: 0 }),
      onResponseError: () => resolve(undefined),
    });
  });
}

/** undici leaves spaces behind a value, which do not belong to it (RFC 9112, section 5). */
function trimmed(headers: Headers): Headers {
  const trim = (value: string) => value.replace(/[ \t]+$/, "");
  return Object.fromEntries(
    Object.entries(headers).map(([name, value = ""]) => [
      name,
      typeof value === "string" ? trim(value) : value.map(trim),
    ]),
  );
}

function randomCuts(random: Random, size: number): number[] {
  const cuts: number[] = [];
  for (let at = 0; at < size;) {
    at += random.pick([1, 1, 2, 5, 40, 1_000]);
    if (at < size) cuts.push(at);
  }
  return cuts;
}

Deno.test("responses, lawful or not, are read as undici reads them, however they are cut", {
  sanitizeOps: false, // undici's clock ticks on
  sanitizeResources: false,
}, async () => {
  const seed = testSeed();
  const random = new Random(seed);
  const responses = new Responses(random);
  let bytes = new Uint8Array();
  await using server = rawServer(async (connection) => {
    if (await readRequest(connection) !== undefined) await writeAll(connection, bytes);
  });
  const pool = new Pool(new URL(server.url).origin, { pipelining: 0, headersTimeout: 0 });
  const rejected = new Map<string, number>();
  let accepted = 0;
  try {
    for (let round = 0; round < sized(300, 20_000); round++) {
      const text = responses.make();
      bytes = Uint8Array.from(text, (char) => char.charCodeAt(0));
      const what = `SLUICE_TEST_SEED=${seed}, round ${round}: ${
        JSON.stringify(text.slice(0, 500))
      }`;
      const whole = readInPieces(bytes, []);
      for (let times = 0; times < 3; times++) {
        assertEquals(readInPieces(bytes, randomCuts(random, bytes.length)), whole, what);
      }
      if (bytes.length < 400) {
        const every = Array.from({ length: bytes.length }, (_, at) => at);
        assertEquals(readInPieces(bytes, every), whole, what);
        for (const cut of every) assertEquals(readInPieces(bytes, [cut]), whole, what);
      }
      const theirs = await readByUndici(pool);
      const { oddity } = responses;
      if (oddity === undefined) assert(whole !== undefined && theirs !== undefined, what);
      if (whole === undefined) {
        rejected.set(oddity!, (rejected.get(oddity!) ?? 0) + 1);
        continue;
      }
      accepted++;
      // what follows a response makes undici fail it; the pool ends the connection instead
      if (theirs === undefined && whole.rest > 0) continue;
      // nobody reads extensions of chunks: here any text is one, undici has a grammar for it
      if (theirs === undefined && /\r\n[0-9a-f]+;/i.test(text)) continue;
      assert(theirs !== undefined, `undici rejects it (${oddity}): ${what}`);
      const { status, headers, body } = theirs;
      assertEquals(
        { status: whole.status, headers: { ...whole.headers }, body: whole.body },
        { status, headers: trimmed(headers), body },
        what,
      );
    }
  } finally {
    await pool.destroy();
  }
  assert(accepted > 50 && rejected.size > 10, `${accepted}, ${[...rejected.keys()]}`);
});
