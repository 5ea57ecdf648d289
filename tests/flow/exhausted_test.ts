/** One account takes all it can of everything that is shared; another is served beside it. */

import { assert, assertEquals } from "../assert.ts";
import { startChild } from "../fake/child_gateway.ts";
import { connectTo, postHead, writeAll } from "../fake/raw_http.ts";
import { DEADLINE_MS, sleep, until } from "../fake/temp.ts";
import {
  chunk,
  completion,
  fakeUpstream,
  pacedStream,
  rawServer,
  readRequest,
  sse,
} from "../fake/upstream.ts";
import { sized } from "../tier.ts";

const png = await Deno.readFile(new URL("../requests/images/files/rgb.png", import.meta.url));
const MB = 1_048_576;
const STREAMS = sized(125, 250);
const ENDLESS_MS = 5 * DEADLINE_MS;

/** A host whose pictures below `/slow` never come. */
function pictures() {
  const server = rawServer(async (connection) => {
    const path = (await readRequest(connection))?.split(" ")[1] ?? "";
    if (path.startsWith("/slow")) {
      await connection.read(new Uint8Array(1)).catch(() => null);
      return;
    }
    const head = "HTTP/1.1 200 OK\r\ncontent-type: image/png\r\nconnection: close\r\n" +
      `content-length: ${png.byteLength}\r\n\r\n`;
    await connection.write(new TextEncoder().encode(head));
    await connection.write(png);
  });
  const { host } = new URL(server.url);
  return Object.assign(server, { host, url: (path: string) => `http://${host}${path}` });
}

Deno.test("with everything exhausted by one account, another's chat, 2 MB body and image are answered", async () => {
  await using host = pictures();
  const endless = () =>
    pacedStream(200, Array(ENDLESS_MS / 200).fill(sse(chunk({ content: "word " }))));
  await using upstream = fakeUpstream(({ body }) =>
    body.stream === true ? endless() : completion("ok")
  );
  await using gateway = await startChild({
    settings: {
      upstreams: { one: { url: upstream.url } },
      routes: {
        seeing: {
          targets: [{ upstream: "one", model: "m" }],
          context: 10_000_000,
          minimum: 1,
          prices: { input: 1, cached: 1, output: 1 },
          images: "remote",
        },
      },
      // nothing of what is taken is given back for as long as another account may wait
      images: { allowPrivateHosts: [host.host], totalMs: ENDLESS_MS, waitMs: ENDLESS_MS },
      limits: { openRequests: sized(240, 400), bodyIdleMs: ENDLESS_MS },
      onClientDisconnect: "abort",
    },
  });
  const [greedy, modest] = gateway.keys;
  const leaving = new AbortController();
  const ask = (key: string, body: unknown, signal?: AbortSignal) =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    });
  const withImage = (...urls: string[]) => ({
    model: "seeing",
    messages: [{
      role: "user",
      content: urls.map((url) => ({ type: "image_url", image_url: { url } })),
    }],
  });
  const text = (size: number) => ({
    model: "seeing",
    messages: [{ role: "user", content: "some words ".repeat(size / 11) }],
  });

  const taking: Promise<unknown>[] = [];
  // uploads: as much memory as the account may have, and more, sent and never finished
  const uploads: Deno.TcpConn[] = [];
  for (let at = 0; at < 8; at++) {
    const connection = await connectTo(gateway.url);
    uploads.push(connection);
    const headers = [`content-length: ${40 * MB}`];
    const head = postHead("/v1/chat/completions", { key: greedy, headers });
    taking.push(
      writeAll(connection, head).then(async () => {
        const piece = "x".repeat(MB);
        for (let sent = 0; sent < 30 && await writeAll(connection, piece); sent++);
      }),
    );
  }
  // pictures that never come
  for (let at = 0; at < 40; at++) {
    const urls = [0, 1, 2, 3].map((one) => host.url(`/slow/${at}/${one}`));
    taking.push(
      ask(greedy, withImage(...urls), leaving.signal).then((reply) => reply.body?.cancel()),
    );
  }
  let begun = 0;
  // streams, up to the account's places
  for (let at = 0; at < STREAMS; at++) {
    const body = { ...text(11), stream: true };
    taking.push(
      ask(greedy, body, leaving.signal).then((reply) => {
        begun++; // or refused
        return reply.text();
      }),
    );
  }
  // bodies that are refused, over and over
  const refused = `{"model":"seeing","messages":[${"{},".repeat(2_000_000)}{}]}`;
  const refusing = Array.from({ length: 2 }, async () => {
    while (!leaving.signal.aborted) {
      const reply = await gateway.post("/v1/chat/completions", refused, { key: greedy })
        .catch(() => undefined);
      await reply?.body?.cancel();
      if (reply?.status === 429) await sleep(sized(200, 20));
    }
  });
  taking.push(...refusing);
  for (const one of taking) one.catch(() => {});
  await until(() => begun === STREAMS && host.connections > 0, {
    what: "all streams, and pictures",
  });
  assert(upstream.received.length > 50, `${upstream.received.length} streams`);

  for (let round = 0; round < sized(1, 3); round++) {
    for (
      const [what, body] of [
        ["chat", text(11)],
        ["2 MB", text(2 * MB)],
        ["image", withImage(host.url("/quick"))],
      ] as const
    ) {
      const reply = await ask(modest, body, AbortSignal.timeout(DEADLINE_MS));
      const said = await reply.text();
      assertEquals(reply.status, 200, `${what}: ${said}`);
    }
  }
  leaving.abort();
  for (const connection of uploads) connection.close();
  await Promise.allSettled(taking);
  assert(gateway.alive());
  assertEquals(gateway.errors(), []);
});
