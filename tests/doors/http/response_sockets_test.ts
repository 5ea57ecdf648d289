/** The WebSockets of a thread over real connections: who gets one, what their turns are sent with, and when they are closed. */

import type { Connections } from "../../../src/doors/http/connections.ts";
import type { RequestState } from "../../../src/doors/http/request_state.ts";
import { ResponseSockets } from "../../../src/doors/http/response_sockets.ts";
import { FairShare } from "../../../src/ground/fair_share/mod.ts";
import { CoarseTimers } from "../../../src/ground/platform/mod.ts";
import { RateLimit } from "../../../src/ground/rate_limits/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { SILENT } from "../../../src/ground/telemetry/mod.ts";
import type { Caller } from "../../../src/people/accounts/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { DEADLINE_MS, sleep, until } from "../../fake/temp.ts";

const LONG = { socketIdleMs: DEADLINE_MS, socketMs: DEADLINE_MS };

/** A server of nothing but WebSockets. */
function served({ limits = LONG, hasPeer = true } = {}) {
  const timers = new CoarseTimers();
  const share = (capacity: number) =>
    new FairShare({ resource: "places", capacity, perAccount: capacity, waitMs: 0, timers });
  const places = { accounts: share(10), keys: share(10) };
  const ended: (Deno.Addr | undefined)[] = [];
  const unbilledBytes = new RateLimit({ limit: 1_000, windowMs: 60_000, now: () => 0 });
  const turns: { request: Request; body: string; from: Deno.Addr | undefined }[] = [];
  const refused: string[] = [];
  const clients: { readonly closed: string | undefined }[] = [];
  let reply = (): Response | Promise<Response> => Response.json({ error: {} }, { status: 400 });
  const sockets = new ResponseSockets({
    request: async (request, info) => {
      turns.push({ request, body: await request.text(), from: info?.remoteAddr });
      return await reply();
    },
    connections: { occupy: () => () => {} } as unknown as Connections,
    arrivals: {
      watch: () => ({ boundary: () => undefined, delivered: () => false, end() {} }),
      endSoon: (peer) => void ended.push(peer),
    },
    memory: share(1_000_000),
    frameChars: 7_000,
    places,
    unbilledBytes,
    log: SILENT,
  });
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request, { remoteAddr }) => {
      try {
        return sockets.open({
          request,
          state: {
            requestId: "req_1",
            peer: hasPeer ? remoteAddr : undefined,
          } as unknown as RequestState,
          caller: { accountId: "a", keyId: "k" } as unknown as Caller,
          settings: { responses: limits, limits: { bodyBytes: 10_000 } as never } as never,
        });
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        refused.push(error.reason);
        return new Response(error.message, { status: error.status });
      }
    },
  );
  const { port } = server.addr;
  return {
    sockets,
    places,
    unbilledBytes,
    ended,
    turns,
    refused,
    replyWith: (given: typeof reply) => void (reply = given),
    url: `http://127.0.0.1:${port}/v1/responses`,
    async connect() {
      const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/responses`);
      const seen = { frames: [] as string[], closed: undefined as string | undefined };
      clients.push(seen);
      socket.onmessage = ({ data }) => seen.frames.push(data);
      socket.onerror = () => {};
      socket.onclose = ({ reason }) => seen.closed = reason;
      await until(() => socket.readyState !== WebSocket.CONNECTING, { what: "the handshake" });
      return Object.assign(seen, { socket, isOpen: socket.readyState === WebSocket.OPEN });
    },
    async [Symbol.asyncDispose]() {
      await sockets.close(0);
      await until(() => clients.every(({ closed }) => closed !== undefined), { what: "all ends" });
      await server.shutdown();
      timers.close();
    },
  };
}

Deno.test("a connection takes a place, and gives it back; none while connections are closed, for who sent too much, or without a handshake", async () => {
  await using one = served();
  const { accounts, keys } = one.places;
  const first = await one.connect();
  assertEquals([first.isOpen, accounts.used, keys.used], [true, 1, 1]);
  first.socket.close();
  await until(() => accounts.used + keys.used === 0, { what: "its places" });
  const plain = await fetch(one.url);
  assertEquals([plain.status, (await plain.text()).startsWith("Invalid WebSocket")], [400, true]);
  one.sockets.drain(true);
  assertEquals((await one.connect()).isOpen, false);
  one.sockets.drain(false);
  const second = await one.connect();
  assertEquals(second.isOpen, true);
  one.unbilledBytes.add("k", 1_000);
  assertEquals((await one.connect()).isOpen, false);
  assertEquals(one.refused, ["request_invalid", "gateway_unavailable", "rate_exceeded"]);
  assertEquals([accounts.used, keys.used], [1, 1]);
  one.sockets.drain(true);
  await until(() => second.closed !== undefined, { what: "the end of what was open" });
  assertEquals(second.closed, "the gateway is shutting down");
});

Deno.test("a turn is sent with the headers of its handshake, but those of the handshake itself, from where its client is", async () => {
  for (const hasPeer of [true, false]) {
    await using one = served({ hasPeer });
    const { socket } = await one.connect();
    socket.send(JSON.stringify({ type: "response.create", model: "m", input: "Hi" }));
    await until(() => one.turns.length === 1, { what: "the turn" });
    const [{ request, body, from }] = one.turns as [typeof one.turns[number]];
    assertEquals([request.method, new URL(request.url).pathname], ["POST", "/v1/responses"]);
    assertEquals(JSON.parse(body), { stream: true, model: "m", input: "Hi" });
    const { headers } = request;
    assertEquals(
      ["content-type", "content-length", "accept"].map((name) => headers.get(name)),
      ["application/json", String(body.length), "text/event-stream"],
    );
    const ofHandshake = [...headers.keys()].filter((name) =>
      /upgrade|^sec-|^connection/.test(name)
    );
    assertEquals(ofHandshake, []);
    assert(headers.has("host"));
    assertEquals(from !== undefined, hasPeer);
    socket.close();
  }
});

Deno.test("frames have a bound of memory over all connections, the last one of each included", async () => {
  await using server = served();
  const gate = Promise.withResolvers<void>();
  server.replyWith(async () => {
    await gate.promise;
    return Response.json({ error: { message: "done" } }, { status: 400 });
  });
  const open = [await server.connect(), await server.connect(), await server.connect()];
  const send = (at: number, chars: number) => {
    const input = "x".repeat(chars);
    open[at]!.socket.send(JSON.stringify({ type: "response.create", model: "m", input }));
  };
  const errors = () =>
    open.map(({ frames }) => frames.map((one) => JSON.parse(one).error.message.slice(0, 14)));
  for (const [at] of open.entries()) {
    send(at, 1);
    await until(() => server.turns.length === at + 1, { what: "a turn in progress" });
  }
  send(0, 1_000); // waits, and is the last one of its connection: it counts twice
  await sleep(50);
  send(0, 10);
  send(1, 1_500);
  await sleep(50);
  assertEquals([errors(), server.ended.length], [[[], [], []], 0]);
  send(2, 1_500);
  await until(() => open[0]!.closed !== undefined, { what: "the end of the one unused longest" });
  assertEquals([errors(), server.ended.length], [[["Too many large"], [], []], 1]);
  gate.resolve();
  await until(() => server.turns.length === 5, { what: "the turns of the others" });
  // each has one frame in memory still: 1,500 characters and some
  await until(() => open[2]!.frames.length === 2, { what: "the ends of turns" });
  send(1, 1_500);
  await until(() => open[1]!.frames.length === 3, { what: "the end of a turn" });
  assertEquals(server.ended.length, 1, "what was let go of came back");
});

Deno.test("an idle connection is closed, and one that is too old with a reason; not while a turn is in progress", async () => {
  await using idle = served({ limits: { ...LONG, socketIdleMs: 100 } });
  const gate = Promise.withResolvers<Response>();
  idle.replyWith(() => gate.promise);
  const [still, running, left] = [await idle.connect(), await idle.connect(), await idle.connect()];
  running.socket.send(JSON.stringify({ type: "response.create", model: "m", input: "Hi" }));
  await until(() => idle.turns.length === 1, { what: "the turn" });
  left.socket.close(); // which ends no looks at the others
  await until(() => still.closed !== undefined, { what: "the end of what is idle" });
  assertEquals([still.closed, still.frames, running.closed], ["idle", [], undefined]);
  gate.resolve(Response.json({ error: {} }, { status: 400 }));
  await until(() => running.closed !== undefined, { what: "the end after its turn" });
  assertEquals([running.closed, running.frames.length], ["idle", 1]);

  await using old = served({ limits: { ...LONG, socketMs: 100 } });
  const aged = await old.connect();
  await until(() => aged.closed !== undefined, { what: "the end of what is old" });
  assertEquals(aged.closed, "too old");
  assert(aged.frames[0]!.includes("websocket_connection_limit_reached"), aged.frames[0]);
});

Deno.test("connections are looked at four times in the shorter of their limits, each second at least (table)", async () => {
  for (
    const [socketIdleMs, socketMs, everyMs] of [
      [400, DEADLINE_MS, 100],
      [DEADLINE_MS, 2_000, 500],
      [40, 40, 20],
      [DEADLINE_MS, DEADLINE_MS, 1_000],
    ]
  ) {
    await using one = served({ limits: { socketIdleMs: socketIdleMs!, socketMs: socketMs! } });
    const { setInterval: real } = globalThis;
    const said: (number | undefined)[] = [];
    const noted = (act: () => void, ms?: number) => (said.push(ms), real(act, ms));
    const { open } = one.sockets;
    one.sockets.open = (socket) => {
      globalThis.setInterval = noted as typeof setInterval;
      try {
        return open.call(one.sockets, socket);
      } finally {
        globalThis.setInterval = real;
      }
    };
    const [first, second] = [await one.connect(), await one.connect()];
    assertEquals(new Set(said), new Set([everyMs]));
    if (everyMs === 1_000) assertEquals(said.length, 1, "one timer for all");
    for (const { socket } of [first, second]) socket.close();
  }
});

Deno.test("at the end connections have a time to take their last frames, and are abandoned then", async () => {
  const one = served();
  const connection = await one.connect();
  let isOver = false;
  const closing = one.sockets.close(DEADLINE_MS).then(() => isOver = true);
  await until(() => connection.closed !== undefined, { what: "its end" });
  await closing;
  assertEquals(isOver, true, "as soon as none is open");
  await one[Symbol.asyncDispose]();
  const other = served();
  other.replyWith(() => new Promise(() => {}));
  const stuck = await other.connect();
  stuck.socket.send(JSON.stringify({ type: "response.create", model: "m", input: "Hi" }));
  await until(() => other.turns.length === 1, { what: "the turn" });
  await other.sockets.close(50);
  assertEquals(other.places.keys.used, 0, "its place is free");
  assertEquals(other.turns[0]!.request.signal.aborted, true);
  stuck.socket.close();
  await sleep(0);
  await other[Symbol.asyncDispose]();
});
