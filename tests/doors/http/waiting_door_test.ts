/** What clients may do to a door that answers 503 while the gateway waits for its database. */

import { WaitingDoor } from "../../../src/doors/http/mod.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";
import { connectTo, exchange, writeAll } from "../../fake/raw_http.ts";
import { sleep } from "../../fake/temp.ts";
import { sized } from "../../tier.ts";

const IDLE_MS = 50;
const HEAD = "GET /v1/models HTTP/1.1\r\nhost: localhost\r\n";
const linux = { ignore: Deno.build.os !== "linux" };

function open(idleMs: number) {
  const door = new WaitingDoor({
    ...{ host: "127.0.0.1", port: 0, now: () => 0, idleMs, origins: ["*"] },
    onInterruption() {},
  }, "the database does not answer");
  return { door, url: `http://127.0.0.1:${door.port}` };
}

/** Resolves when the other end has closed a connection. */
async function ended(connection: Deno.Conn): Promise<void> {
  const read = () => connection.read(new Uint8Array(65_536)).catch(() => null);
  while (await read() !== null);
}

Deno.test(
  "a waiting door ends slow headers, endless ones, and connections on which nothing comes",
  linux,
  async () => {
    const { door, url } = open(IDLE_MS);
    await using _ = door;
    const slow = await connectTo(url);
    let isOver = false;
    const dripping = (async () => {
      while (!isOver && await writeAll(slow, "x")) await sleep(10);
    })();
    const endless = await connectTo(url);
    await writeAll(endless, HEAD);
    const line = `x-more: ${"a".repeat(60_000)}\r\n`;
    const flooding = (async () => {
      while (await writeAll(endless, line));
    })();
    const silent = await Promise.all(
      Array.from({ length: sized(300, 1_000) }, () => connectTo(url)),
    );
    await Promise.all([slow, endless, ...silent].map(ended));
    isOver = true;
    await Promise.all([dripping, flooding]);
    for (const one of [slow, endless, ...silent]) one.close();
    const { status, headers } = await exchange(url, [`${HEAD}\r\n`]);
    assertEquals([status, headers.get("retry-after")], [503, "2"], "others are answered");
  },
);

Deno.test(
  "a waiting door that closes ends connections that stay, and leaves the port",
  linux,
  async () => {
    const { door, url } = open(60_000);
    using connection = await connectTo(url);
    await writeAll(connection, HEAD);
    const body = `content-length: 1000000\r\n\r\n${"x".repeat(1_000)}`;
    using posting = await connectTo(url);
    await writeAll(posting, `POST${HEAD.slice(3)}${body}`);
    await door[Symbol.asyncDispose]();
    await ended(connection);
    Deno.listen({ hostname: "127.0.0.1", port: door.port }).close();
    assert(door.port > 0);
  },
);

Deno.test(
  "a waiting door that could not listen, or has closed, leaves nothing open",
  { ...linux, sanitizeOps: true, sanitizeResources: true },
  async () => {
    const { door } = open(60_000);
    const taken = {
      ...{ host: "127.0.0.1", port: door.port, now: () => 0, idleMs: 60_000, origins: ["*"] },
    };
    assertThrows(
      () => new WaitingDoor({ ...taken, onInterruption() {} }, "why"),
      Deno.errors.AddrInUse,
    );
    await door[Symbol.asyncDispose]();
  },
);

Deno.test("a waiting door tells browsers of other origins to come again", async () => {
  const { door, url } = open(60_000);
  await using _ = door;
  const asked = await fetch(`${url}/v1/models`, { headers: { origin: "https://page.example" } });
  await asked.body?.cancel();
  assertEquals([asked.status, asked.headers.get("access-control-allow-origin")], [503, "*"]);
  assert(asked.headers.get("access-control-expose-headers")!.includes("Retry-After"));
  const preflight = await fetch(`${url}/v1/chat/completions`, {
    method: "OPTIONS",
    headers: {
      origin: "https://page.example",
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization",
    },
  });
  assertEquals(
    [preflight.status, preflight.headers.get("access-control-allow-headers")],
    [204, "authorization"],
  );
  const page = await fetch(`${url}/console/`);
  await page.body?.cancel();
  assertEquals([page.status, page.headers.has("access-control-allow-origin")], [503, false]);
});

Deno.test("a waiting door is alive, not ready for a reason, and refuses the rest in the dialect of its path", async () => {
  const { door, url } = open(60_000);
  await using _ = door;
  const ask = async (path: string) => {
    const reply = await fetch(url + path);
    assertEquals(reply.headers.get("x-request-id") !== null, path.startsWith("/v1"));
    return [reply.status, reply.headers.get("retry-after"), await reply.json()];
  };
  assertEquals(await ask("/healthz"), [200, null, { status: "ok" }]);
  const faults = ["the database does not answer"];
  assertEquals(await ask("/readyz"), [503, "2", { status: "not ready", faults }]);
  const [status, wait, { type, error }] = await ask("/v1/messages") as [number, string, Any];
  assertEquals([status, wait, type, typeof error.type], [503, "2", "error", "string"]);
});

// deno-lint-ignore no-explicit-any -- an error from the wire
type Any = any;
