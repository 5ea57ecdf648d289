import { assert, assertEquals } from "../assert.ts";
import { startChild } from "../fake/child_gateway.ts";
import { connectTo, postHead, readReply, writeAll } from "../fake/raw_http.ts";
import { sleep, until } from "../fake/temp.ts";
import { completion, fakeUpstream } from "../fake/upstream.ts";
import { PROOF, sized } from "../tier.ts";

const LIMIT = 256;
const FORM = [
  "POST /console/sign-in HTTP/1.1",
  "host: localhost",
  "content-type: application/x-www-form-urlencoded",
  "content-length: 60000",
  "\r\n",
].join("\r\n");

/** Keeps more connections open than there are descriptors; each sends `head`, then a byte now and then. */
function press(
  url: string,
  head: string,
  byteEveryMs: number | undefined,
): { readonly opened: number } & AsyncDisposable {
  let opened = 0;
  const open = new Set<Deno.TcpConn>();
  let over = false;
  const close = (connection: Deno.TcpConn) => {
    if (open.delete(connection)) connection.close();
  };
  const keep = async (connection: Deno.TcpConn) => {
    let alive = await writeAll(connection, head);
    if (byteEveryMs === undefined) {
      await connection.read(new Uint8Array(1)).catch(() => null); // until it is closed
      alive = false;
    }
    while (alive && !over) {
      await sleep(byteEveryMs!);
      alive = await writeAll(connection, "a");
    }
    close(connection);
  };
  const keeping: Promise<void>[] = [];
  const opening = (async () => {
    while (!over) {
      const connection = await connectTo(url).catch(() => undefined);
      if (connection !== undefined) {
        open.add(connection);
        opened++;
        keeping.push(keep(connection));
      }
      await sleep(connection === undefined || open.size > LIMIT ? 20 : 0);
    }
  })();
  return {
    get opened() {
      return opened;
    },
    async [Symbol.asyncDispose]() {
      over = true;
      await opening;
      for (const connection of open) close(connection);
      await Promise.all(keeping);
    },
  };
}

Deno.test("forms of nobody that drip keep no caller out", async () => {
  await using gateway = await startChild({ descriptors: LIMIT });
  await gateway.smallChat(gateway.keys[1]);
  await using pressing = press(gateway.url, FORM, 700);
  await until(() => pressing.opened > LIMIT, { what: "more connections than descriptors" });
  for (let at = 0; at < sized(10, 20); at++) {
    // on a busy machine new connections may come faster than idle ones are closed: a caller may have to try again
    const isServed = () => gateway.smallChat(gateway.keys[1]).then(() => true, () => false);
    await until(isServed, { what: "a reply to a caller" });
    await sleep(sized(50, 500));
  }
  const faults = gateway.errors().filter((line) => line.includes("console page failed"));
  assertEquals(faults.length, 0, `a caller's fault as an error of ours, ${faults.length} times`);
});

/** Chats of each client that keeps its connection. */
const ROUNDS = sized(5, 12);

Deno.test("with half of the descriptors in use, callers are told that connections close, and none is cut off", async () => {
  await using gateway = await startChild({ descriptors: LIMIT });
  const [key] = gateway.keys;
  const others: Deno.TcpConn[] = [];
  try {
    while (others.length < LIMIT * 0.55) others.push(await connectTo(gateway.url));
    const body = JSON.stringify({ model: "svc-k2", messages: [{ role: "user", content: "Hi" }] });
    const headers = [`content-length: ${body.length}`];
    const isTold = async () => {
      using connection = await connectTo(gateway.url);
      await writeAll(connection, postHead("/v1/chat/completions", { key, headers }) + body);
      const reply = await readReply(connection);
      assertEquals(reply.status, 200);
      return reply.headers.get("connection") === "close";
    };
    await until(isTold, { what: "responses that close their connection" });
    // as clients do that keep connections, with pauses of about the time after which idle ones are closed
    const failed: string[] = [];
    await Promise.all(Array.from({ length: 20 }, async (_, client) => {
      for (let at = 0; at < ROUNDS; at++) {
        await gateway.smallChat(key).catch((error) => failed.push(String(error)));
        await sleep(240 + (client * ROUNDS + at) % 25);
      }
    }));
    assertEquals(failed, []);
  } finally {
    for (const one of others) one.close();
  }
});

Deno.test(
  "an answer whose caller reads slowly is not cut off for idle connections of others",
  PROOF,
  async () => {
    const text = "word ".repeat(5_000_000);
    await using upstream = fakeUpstream(async () => {
      await sleep(2_000);
      return completion(text);
    });
    await using gateway = await startChild({
      descriptors: LIMIT,
      settings: {
        upstreams: { a: { url: upstream.url } },
        routes: {
          r: {
            targets: [{ upstream: "a", model: "x" }],
            context: 1_000_000,
            maxOutput: 100_000,
            minimum: 1,
            prices: { input: 1, cached: 1, output: 1 },
          },
        },
      },
    });
    const body = JSON.stringify({ model: "r", messages: [{ role: "user", content: "Hi" }] });
    const [key] = gateway.keys;
    const headers = [`content-length: ${body.length}`, "connection: close"];
    using connection = await connectTo(gateway.url);
    await writeAll(connection, postHead("/v1/chat/completions", { key, headers }) + body);
    await sleep(200);
    await using _pressing = press(gateway.url, "", undefined);
    const buffer = new Uint8Array(65_536);
    let received = 0;
    for (let pieces = 0;; pieces++) {
      const size = await connection.read(buffer);
      if (size === null) break;
      received += size;
      if (pieces === 0) await sleep(7_000);
    }
    assert(received > text.length, `${received} bytes of ${text.length} came`);
  },
);
