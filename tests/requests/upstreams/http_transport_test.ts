/** Requests to an upstream over HTTP: whose connections they use, where they go, and what their failures mean. */

import { CoarseTimers } from "../../../src/ground/platform/mod.ts";
import { HttpTransport } from "../../../src/requests/upstreams/http_transport.ts";
import { TransportFault } from "../../../src/requests/upstreams/transport.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { DEADLINE_MS } from "../../fake/temp.ts";

const TIMEOUTS = {
  connectMs: DEADLINE_MS,
  readMs: DEADLINE_MS,
  streamMs: DEADLINE_MS,
  totalMs: DEADLINE_MS,
};
const signal = new AbortController().signal;

/** A server that says on which connection a request came, and how. */
function server(
  handler = (request: Request, port: number): Response | Promise<Response> =>
    new Response(`${request.method} ${port}`),
) {
  const serving = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request, { remoteAddr }) => handler(request, remoteAddr.port),
  );
  return {
    url: `http://127.0.0.1:${serving.addr.port}`,
    [Symbol.asyncDispose]: () => serving.shutdown(),
  };
}

function transportTo(
  url: string,
  { pool = "shared", timeouts = {} }: {
    pool?: "shared" | "account" | "none";
    timeouts?: Partial<typeof TIMEOUTS>;
  } = {},
) {
  const timers = new CoarseTimers();
  const transport = new HttpTransport({
    url,
    pool,
    timers,
    timeouts: { ...TIMEOUTS, ...timeouts },
  });
  return {
    transport,
    /** What a request of an account gets. */
    async ask(account: string | undefined, body?: string) {
      const reply = await transport.send({ path: "/", headers: {}, body, signal, account });
      let text = "";
      for (let bytes = await reply.body.read(); bytes; bytes = await reply.body.read()) {
        text += new TextDecoder().decode(bytes);
      }
      reply.drain();
      return text;
    },
    async [Symbol.asyncDispose]() {
      await transport.close();
      timers.close();
    },
  };
}

Deno.test("whose requests a connection is used again for: everybody's, one account's, nobody's (table)", async () => {
  await using here = server();
  for (
    const [pool, expected] of [
      ["shared", [0, 0, 0, 0, 0]],
      ["account", [0, 0, 2, 0, 4]],
      ["none", [0, 1, 2, 3, 4]],
    ] as const
  ) {
    await using to = transportTo(here.url, { pool });
    const ports: string[] = [];
    for (const account of ["a", "a", "b", "a", undefined]) ports.push(await to.ask(account));
    // each by the first request that came on its connection
    assertEquals(ports.map((port) => ports.indexOf(port)), [...expected], pool);
  }
});

Deno.test("of more accounts than connections are kept for, those of the one that was idle for longest are closed", async () => {
  await using here = server();
  await using to = transportTo(here.url, { pool: "account" });
  const ports: string[] = [];
  for (let account = 0; account < 256; account++) ports.push(await to.ask(`${account}`));
  assertEquals(await to.ask("0"), ports[0], "as many as are kept");
  await to.ask("256");
  assertEquals([await to.ask("0"), await to.ask("2")], [ports[0], ports[2]]);
  assert(await to.ask("1") !== ports[1], "it was idle for longest");
});

Deno.test("a path is appended to the upstream's address, before its query; without a body it is a GET", async () => {
  for (
    const [url, path, whole] of [
      ["http://h/", "/p", "http://h/p"],
      ["http://h/v1/", "/p?x=1", "http://h/v1/p?x=1"],
      ["http://h/v1?v=2", "/p", "http://h/v1/p?v=2"],
      ["http://h/v1?v=2", "/p?x=1", "http://h/v1/p?x=1&v=2"],
    ] as const
  ) {
    await using to = transportTo(url);
    assertEquals(to.transport.urlOf(path), whole);
  }
  await using here = server(({ method }) => new Response(method));
  await using to = transportTo(here.url);
  assertEquals([await to.ask("a"), await to.ask("a", "{}")], ["GET", "POST"]);
});

Deno.test("what a failure means: a client that left, nothing in time, a whole reply that takes too long", async () => {
  const silent = Promise.withResolvers<Response>();
  await using here = server(({ url }) => {
    if (!url.endsWith("/drips")) return silent.promise;
    let dripping: ReturnType<typeof setInterval>;
    return new Response(
      new ReadableStream({
        start: (controller) => {
          dripping = setInterval(() => controller.enqueue(new Uint8Array(1)), 10);
        },
        cancel: () => clearInterval(dripping),
      }),
    );
  });
  const faultOf = async (
    path: string,
    { timeouts = {}, client = new AbortController() }: {
      timeouts?: Partial<typeof TIMEOUTS>;
      client?: AbortController;
    },
  ) => {
    await using to = transportTo(here.url, { timeouts });
    const { kind, message, timedOut, isLimit } = await assertRejects(async () => {
      const reply = await to.transport.send({
        path,
        headers: {},
        body: "{}",
        signal: client.signal,
      });
      while (await reply.body.read() !== undefined);
    }, TransportFault);
    return { kind, message, timedOut, isLimit };
  };
  const left = { kind: "left", timedOut: false, isLimit: false };
  const gone = new AbortController();
  gone.abort();
  assertEquals(await faultOf("/silent", { client: gone }), {
    ...left,
    kind: "left",
    message: "the caller left",
  });
  const stopping = new AbortController();
  stopping.abort(new TransportFault("left", "the gateway is stopping"));
  assertEquals(await faultOf("/silent", { client: stopping }), {
    ...left,
    kind: "left",
    message: "the gateway is stopping",
  });
  const late = await faultOf("/silent", { timeouts: { readMs: 20 } });
  assertEquals([late.kind, late.timedOut, late.isLimit], ["no_reply", true, false]);
  const long = await faultOf("/drips", { timeouts: { totalMs: 50 } });
  assertEquals([long.kind, long.timedOut, long.isLimit], ["broken", true, true]);
  silent.resolve(new Response());
});
