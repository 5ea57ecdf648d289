/** A server that is trusted by its own certificate, as `openssl req -x509` makes it. */

import { Buffer } from "node:buffer";
import { HttpFault, HttpPool } from "../../../src/ground/http1/mod.ts";
import { CoarseTimers } from "../../../src/ground/platform/mod.ts";
import { checkConnection } from "../../../src/ground/ways_out/mod.ts";
import { openConnection } from "../../../src/ground/ways_out/open_connection.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { SELF_SIGNED, TEST_CA } from "../../fake/certificate.ts";
import { DEADLINE_MS, sleep } from "../../fake/temp.ts";

/** Node's TLS of Deno 2.4 refuses it, as the platform's does. */
const ignore = Deno.version.deno.startsWith("2.4.");
const PIECE = new Uint8Array(100_000).map((_, at) => at % 251);

/** Replies with what it gets, piece after piece; `/stop` breaks off. */
function listening() {
  let open = 0;
  const server = Deno.serve(
    { ...SELF_SIGNED, port: 0, hostname: "127.0.0.1", onListen() {} },
    (request) => {
      const body = request.url.endsWith("/stop")
        ? new ReadableStream({
          start(controller) {
            controller.enqueue(PIECE);
            setTimeout(() => controller.error(new Error("stopped")), 10);
          },
        })
        : request.body;
      open++;
      return new Response(body);
    },
  );
  return {
    url: new URL(`https://localhost:${server.addr.port}`),
    requests: () => open,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

async function bytesOf(reply: { read(): Promise<Uint8Array | undefined> }): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for (let piece; (piece = await reply.read()) !== undefined;) {
    pieces.push(piece);
    if (pieces.length % 3 === 0) await sleep(1); // a reader that is slower than the sender
  }
  return new Uint8Array(await new Blob(pieces as Uint8Array<ArrayBuffer>[]).arrayBuffer());
}

Deno.test("requests and replies pass unchanged; one that breaks off is noticed", {
  ignore,
}, async () => {
  await using server = listening();
  const timers = new CoarseTimers();
  const pool = new HttpPool({
    host: server.url.host,
    headers: {},
    keepsConnections: true,
    connect: (signal) =>
      openConnection(server.url, { timeoutMs: DEADLINE_MS, ca: SELF_SIGNED.cert, signal }),
    headMs: DEADLINE_MS,
    bodyMs: DEADLINE_MS,
    totalMs: DEADLINE_MS,
    makeFault: (cause) => cause instanceof Error ? cause : new Error("aborted", { cause }),
    timers,
  });
  const send = (target: string, body: Uint8Array) => {
    const signal = new AbortController().signal;
    return pool.send({ method: "POST", target, headers: {}, body, signal });
  };
  for (const size of [0, 1, 9_000, 3_000_000]) {
    const body = new Uint8Array(size).map((_, at) => at % 253);
    const reply = send("/", body);
    assertEquals((await reply.began).status, 200);
    assert(Buffer.from(await bytesOf(reply)).equals(body), `${size} bytes`);
  }
  const stopped = send("/stop", new Uint8Array());
  await stopped.began;
  await assertRejects(() => bytesOf(stopped), HttpFault, "closed early");
  await pool.close();
  timers.close();
});

Deno.test(
  "another name, and a certificate that nobody named, are refused",
  { ignore },
  async () => {
    await using server = listening();
    const options = { timeoutMs: DEADLINE_MS, ca: SELF_SIGNED.cert };
    await checkConnection({ ...options, url: server.url });
    const other = new URL(`https://127.0.0.1:${server.url.port}`);
    await assertRejects(() => checkConnection({ ...options, url: other }), Error, "altnames");
    await assertRejects(
      () => checkConnection({ ...options, url: server.url, ca: TEST_CA }),
      Error,
      "certificate",
    );
    await assertRejects(
      () => checkConnection({ ...options, url: server.url, ca: undefined }),
      Error,
      "certificate",
    );
    assertEquals(server.requests(), 0);
  },
);
