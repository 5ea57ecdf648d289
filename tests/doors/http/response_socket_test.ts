/** A WebSocket over which responses are created, with a client that the test is: what is sent, remembered and refused. */

import { ConnectionMemory } from "../../../src/doors/http/connection_memory.ts";
import { RecentResponses } from "../../../src/doors/http/recent_responses.ts";
import {
  ResponseSocket,
  type ResponseSocketOptions,
  type TurnOptions,
} from "../../../src/doors/http/response_socket.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { sleep, until } from "../../fake/temp.ts";

/** A WebSocket whose client reads only when told to. */
class UnreadSocket extends EventTarget {
  readyState: number = WebSocket.OPEN;
  bufferedAmount = 0;
  /** Frames, and the reasons for which it was closed. */
  readonly sent: string[] = [];
  readonly closed: (string | undefined)[] = [];
  onopen: (() => void) | undefined;
  onmessage: ((event: { data: unknown }) => void) | undefined;
  onerror: (() => void) | undefined;
  onclose: (() => void) | undefined;

  send(frame: string): void {
    this.sent.push(frame);
    this.bufferedAmount += frame.length;
  }

  close(code: number, reason: string | undefined): void {
    if (this.readyState === WebSocket.CONNECTING) throw new DOMException("not open yet");
    assertEquals(code, 1_000);
    this.closed.push(reason);
    this.readyState = WebSocket.CLOSING;
  }

  /** The errors that it was sent. */
  get errors(): string[] {
    return this.sent.map((frame) => JSON.parse(frame)).filter(({ type }) => type === "error")
      .map(({ error }) => error.message);
  }
}

/** A connection, and what is told of it. */
function opened(options: Partial<ResponseSocketOptions> = {}, state: number = WebSocket.OPEN) {
  const socket = new UnreadSocket();
  socket.readyState = state;
  const seen = {
    bodies: [] as string[],
    turns: [] as TurnOptions[],
    rejected: [] as number[],
    messages: [] as number[],
    faults: [] as unknown[],
    closes: 0,
  };
  const recent = new RecentResponses(new ConnectionMemory(100_000), "acct_1", 100_000);
  const connection = new ResponseSocket(socket as unknown as WebSocket, {
    recent,
    maxChars: 1_000,
    holds: () => {},
    rejected: (size) => (seen.rejected.push(size), true),
    onMessage: (bytes) => (seen.messages.push(bytes), true),
    onFault: (error) => seen.faults.push(error),
    onClose: () => seen.closes++,
    ...options,
    request(body, turn) {
      const text = body.map((piece) => new TextDecoder().decode(piece)).join("");
      seen.bodies.push(text);
      seen.turns.push(turn);
      return options.request?.(body, turn) ?? Promise.resolve(stream("resp_1"));
    },
  });
  const receive = (data: unknown) => socket.onmessage!({ data });
  return {
    socket,
    seen,
    recent,
    connection,
    receive,
    /** Sends a frame, and waits until its turn is over. */
    async turn(more: object = {}) {
      receive(create(more));
      await until(() => !connection.isRunning, { what: "the end of the turn" });
    },
  };
}

const create = (more: object = {}) =>
  JSON.stringify({ type: "response.create", model: "m", input: "Hi", ...more });

/** A response as a stream of events. */
function stream(id: string, status = "completed", output: object[] = [{ type: "message", id }]) {
  const event = { type: "response.completed", response: { id, status, output } };
  const text = `event: response.${status}\ndata: ${JSON.stringify(event)}\n\ndata: [DONE]\n\n`;
  return new Response(text, { headers: { "content-type": "text/event-stream; charset=utf-8" } });
}

/** A response that comes when the test says so. */
function held() {
  const gates: ((response: Response) => void)[] = [];
  return {
    gates,
    request: () => new Promise<Response>((resolve) => gates.push(resolve)),
    async release(response = stream("resp_1")) {
      await until(() => gates.length > 0, { what: "a request" });
      gates.shift()!(response);
    },
  };
}

Deno.test("the next turn waits until the client has read the errors of those before", async () => {
  let requests = 0;
  const { socket, receive } = opened({
    request: () => {
      requests++;
      return Promise.resolve(
        Response.json({ error: { message: "x".repeat(300_000) } }, { status: 400 }),
      );
    },
  });
  receive(create());
  receive(create());
  await until(() => requests === 1, { what: "the first request" });
  await sleep(100);
  assertEquals(requests, 1);
  socket.bufferedAmount = 262_144; // most was read
  await until(() => requests === 2, { what: "the second request" });
  socket.bufferedAmount = 0;
  await sleep(50);
});

Deno.test("every frame of a turn says the name of its line, which is no part of the request", async () => {
  const lane = "lane.1";
  const replies = [stream("resp_1"), Response.json({ error: { message: "no" } }, { status: 403 })];
  const { gates, request, release } = held();
  const { socket, seen, receive, connection } = opened({ request });
  const idOf = (frame: string) => JSON.parse(frame).stream_id;
  for (const reply of replies) {
    receive(create({ stream_id: lane }));
    await release(reply);
    await until(() => !connection.isRunning, { what: "the end of the turn" });
  }
  receive(create({ stream_id: lane, previous_response_id: "resp_9" }));
  receive(`{"type":"response.cancel","stream_id":"${lane}"}`);
  await until(() => socket.sent.length === 4, { what: "the errors" });
  receive(create());
  await until(() => gates.length === 1, { what: "a turn in progress" });
  for (let at = 0; at < 4; at++) receive(create({ stream_id: "others" }));
  receive(create({ stream_id: lane }));
  assertEquals(socket.sent.map(idOf), Array(5).fill(lane));
  assertEquals(JSON.parse(socket.sent[0]!).type, "response.completed");
  await release();
  await until(() => socket.sent.length === 6, { what: "the end of a turn without a name" });
  assertEquals(idOf(socket.sent[5]!), undefined);
  assert(seen.bodies.every((body) => !body.includes("stream_id")), seen.bodies.join("\n"));
  socket.onclose!();
});

Deno.test("a response is remembered with what led to it, and one that fails forgets what it continued", async () => {
  const replies = [stream("resp_1"), stream("resp_2", "incomplete"), stream("resp_3", "failed")];
  const { seen, recent, socket, turn } = opened({
    request: () => Promise.resolve(replies.shift() ?? Response.json({}, { status: 500 })),
  });
  await turn();
  await turn({ previous_response_id: "resp_1", input: [{ type: "message", id: "in_2" }] });
  assertEquals(JSON.parse(seen.bodies[1]!).input.map(({ id }: { id?: string }) => id), [
    undefined,
    "resp_1",
    "in_2",
  ]);
  assertStringIncludes(socket.sent.at(-1)!, '"previous_response_id":"resp_1"');
  assert(recent.find("resp_1") !== undefined && recent.find("resp_2") !== undefined);
  // a failed one cannot be continued, nor what it continued
  await turn({ previous_response_id: "resp_2", input: undefined });
  assertEquals([recent.find("resp_2"), recent.find("resp_3")], [undefined, undefined]);
  await turn({ previous_response_id: "resp_1" });
  assertEquals(recent.find("resp_1"), undefined, "nor after an error");
  await turn({ previous_response_id: "resp_1" });
  assertEquals([seen.bodies.length, seen.rejected], [4, [
    create({ previous_response_id: "resp_1" }).length,
  ]]);
  assertStringIncludes(socket.errors.at(-1)!, "not known on this connection");
  // a turn of its own that fails has nothing to forget
  await turn();
  assertEquals(seen.bodies.length, 5);
});

Deno.test("an error is told with its status and the headers of limits, however it looks", async () => {
  const headers = {
    "x-request-id": "r",
    "request-id": "q",
    "retry-after": "3",
    "content-type": "application/json",
  };
  const replies = [
    Response.json({ error: { message: "no" } }, { status: 429, headers }),
    Response.json({ error: "no" }, { status: 400 }),
    Response.json([], { status: 400 }),
    new Response("<p>", { status: 502 }),
  ];
  const { socket, turn } = opened({ request: () => Promise.resolve(replies.shift()!) });
  for (let times = 0; times < 4; times++) await turn();
  const [first, ...others] = socket.sent.map((frame) => JSON.parse(frame));
  assertEquals(first, {
    type: "error",
    status: 429,
    error: { message: "no" },
    headers: { "x-request-id": "r", "request-id": "q", "retry-after": "3" },
  });
  assertEquals(others.map(({ status, error }) => [status, error]), [[400, {}], [400, {}], [
    502,
    {},
  ]]);
});

Deno.test("frames that are too large, no text, or not masked are refused with their size", async () => {
  const fits = create({ input: "x".repeat(1_000 - create({ input: "" }).length) });
  assertEquals(fits.length, 1_000);
  const { seen, socket, receive, connection } = opened();
  receive(fits);
  await until(() => seen.bodies.length === 1 && !connection.isRunning, { what: "the turn" });
  receive(`${fits} `);
  receive(new Blob(["abc"]));
  receive(new ArrayBuffer(5));
  receive(undefined);
  assertEquals(seen.messages, [1_000, 1_001, 3, 5, 0]);
  assertEquals(seen.rejected, [1_001, 3, 5, 0]);
  assertEquals(socket.errors.map((one) => /too large/i.test(one)), [true, false, false, false]);
  assertEquals(socket.errors.slice(1).every((one) => one.startsWith("Binary frames")), true);

  const unmasked = opened({ onMessage: () => false });
  unmasked.receive(create());
  assertEquals([unmasked.seen.bodies, unmasked.seen.closes], [[], 1]);
  assertStringIncludes(unmasked.socket.errors[0]!, "must be masked");
  unmasked.receive(create());
  assertEquals([unmasked.seen.bodies, unmasked.socket.errors.length], [[], 1], "it is over");
});

Deno.test("four frames wait for the turn in progress, up to sixteen megabytes together; more are refused", async () => {
  const gate = held();
  const { seen, socket, receive, connection } = opened({
    request: gate.request,
    maxChars: 20_000_000,
  });
  for (let count = 0; count < 6; count++) receive(create());
  assertEquals(socket.errors.length, 1);
  assertStringIncludes(socket.errors[0]!, "Too many requests wait");
  for (let count = 0; count < 5; count++) await gate.release();
  await until(() => !connection.isRunning, { what: "all turns" });
  assertEquals([seen.bodies.length, seen.rejected.length], [5, 1]);

  const [half, frame] = ["x".repeat(8 * 1_048_576), create()];
  for (let times = 0; times < 2; times++) {
    receive(frame);
    receive(half); // which is no request, but waits as one
    receive(half);
    const before = socket.errors.length;
    receive("x");
    assertEquals(socket.errors.length, before + 1, "a character more");
    await gate.release();
    await until(() => !connection.isRunning, { what: "the turns" });
    assertEquals(socket.errors.length, before + 3);
    await gateTurn();
  }
  /** A turn between, so that invalid frames in a row are few. */
  async function gateTurn() {
    receive(frame);
    await gate.release();
    await until(() => !connection.isRunning, { what: "a turn" });
  }
});

Deno.test("twenty invalid frames in a row close a connection, or one that is too much for its quota or is not read", async () => {
  const one = opened();
  const invalid = async (times: number) => {
    for (let count = 0; count < times; count++) {
      one.receive("x");
      await until(() => !one.connection.isRunning, { what: "its end" });
    }
  };
  await invalid(19);
  await one.turn();
  await invalid(19);
  assertEquals(one.socket.closed, []);
  await invalid(1);
  assertEquals(one.socket.closed, ["too many invalid frames"]);
  const quota = opened({ rejected: () => false });
  quota.receive(new ArrayBuffer(1));
  assertEquals(quota.socket.closed, ["too many invalid frames"]);
  for (const [bytes, closed] of [[0, []], [1, ["too many invalid frames"]]] as const) {
    const unread = opened();
    const { socket } = unread;
    socket.send = (frame) => {
      socket.sent.push(frame);
      socket.bufferedAmount = 1_048_576 + bytes;
    };
    unread.receive(new ArrayBuffer(1));
    assertEquals(socket.closed, [...closed]);
  }
});

Deno.test("a connection is closed after the turn in progress, for the first reason, or once it is open", async () => {
  const gate = held();
  const { socket, seen, receive, connection } = opened({ request: gate.request });
  socket.onopen!();
  assertEquals(socket.closed, [], "nothing is to be closed");
  receive(create());
  receive(create());
  connection.close("first", { status: 400, error: { message: "too old" } });
  connection.close("second");
  assertEquals(socket.closed, []);
  receive(create()); // nothing more is taken
  await gate.release();
  await until(() => socket.closed.length > 0, { what: "its end" });
  assertEquals([socket.closed, socket.errors], [["first"], ["too old"]]);
  assertEquals([seen.bodies.length, connection.isRunning], [1, false]);

  const early = opened({}, WebSocket.CONNECTING);
  early.connection.close("soon");
  assertEquals(early.socket.closed, []);
  early.socket.readyState = WebSocket.OPEN;
  early.socket.onopen!();
  assertEquals([early.socket.closed, early.socket.sent], [["soon"], []]);
  early.connection.refuse(new Refusal("request_invalid", "Frame too large."));
  assertEquals(early.seen.closes, 1);
});

Deno.test("a client that leaves ends the turn in progress, and what waits; that is told once", async () => {
  const gate = held();
  const cancelled: unknown[] = [];
  const { socket, seen, recent, receive, connection } = opened({ request: gate.request });
  receive(create());
  receive(create());
  await until(() => gate.gates.length === 1, { what: "the request" });
  recent.remember("resp_0", [new Uint8Array(1)]);
  socket.readyState = WebSocket.CLOSED;
  socket.onerror!();
  socket.onclose!();
  assertEquals([seen.closes, seen.turns[0]!.signal.aborted], [1, true]);
  assertEquals(recent.find("resp_0"), undefined);
  const body = new ReadableStream({ cancel: (reason) => void cancelled.push(reason) });
  await gate.release(new Response(body, { headers: { "content-type": "text/event-stream" } }));
  await until(() => !connection.isRunning, { what: "its end" });
  assertEquals([cancelled.length, seen.bodies.length, socket.sent], [1, 1, []]);
});

Deno.test("a fault is told, and ends the connection", async () => {
  const { socket, seen, receive } = opened({
    request: () => Promise.reject(new TypeError("a bug")),
  });
  receive(create());
  await until(() => seen.closes === 1, { what: "its end" });
  assertEquals([seen.faults.map(String), socket.closed.length], [["TypeError: a bug"], 1]);
});

Deno.test("what breaks off a stream is an error frame, and nothing to continue", async () => {
  const replies = [stream("resp_1")];
  const { socket, recent, turn } = opened({
    request: () =>
      Promise.resolve(
        replies.shift() ?? new Response(
          new ReadableStream({
            start(controller) {
              controller.error(new Refusal("upstream_unavailable", "It broke off."));
            },
          }),
          { headers: { "content-type": "text/event-stream" } },
        ),
      ),
  });
  await turn();
  await turn({ previous_response_id: "resp_1" });
  assertEquals(socket.errors, ["It broke off."]);
  assertEquals(recent.find("resp_1"), undefined);
});

Deno.test("of a connection that is closed, or whose client has left, no frame is taken, and nothing is sent or remembered", async () => {
  const idle = opened();
  idle.connection.close("idle");
  idle.receive(create());
  const gone = opened();
  gone.socket.onclose!();
  gone.receive(create());
  await sleep(0);
  assertEquals([idle.seen.bodies, gone.seen.bodies], [[], []]);
  assertEquals([idle.seen.messages.length, gone.seen.messages.length], [1, 1], "but noted");

  const gate = held();
  const error = opened({ request: gate.request });
  error.receive(create());
  await until(() => gate.gates.length === 1, { what: "the request" });
  error.socket.readyState = WebSocket.CLOSED;
  error.socket.onclose!();
  await gate.release(Response.json({ error: { message: "no" } }, { status: 400 }));
  await until(() => !error.connection.isRunning, { what: "its end" });
  assertEquals(error.socket.sent, []);

  // one that leaves between the last event of its response and the end of the stream
  const end = Promise.withResolvers<void>();
  const whole = await stream("resp_1").text();
  const { socket, recent, connection, receive } = opened({
    request: () => {
      const body = new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode(whole)),
        pull: (controller) => end.promise.then(() => controller.close()),
      }, { highWaterMark: 0 });
      return Promise.resolve(
        new Response(body, { headers: { "content-type": "text/event-stream" } }),
      );
    },
  });
  receive(create());
  await until(() => socket.sent.length === 1, { what: "the response" });
  socket.readyState = WebSocket.CLOSED;
  socket.onclose!();
  end.resolve();
  await until(() => !connection.isRunning, { what: "the end of the stream" });
  assertEquals(recent.find("resp_1"), undefined);
});

Deno.test("since when a client reads nothing of what it was sent is known, as long as a turn waits for it", async () => {
  const { socket, connection, receive } = opened();
  socket.bufferedAmount = 300_000;
  receive(create());
  await until(() => connection.unreadTick !== undefined, { what: "the wait" });
  const since = connection.unreadTick;
  await sleep(80);
  assertEquals(connection.unreadTick, since, "it has read nothing");
  socket.bufferedAmount -= 1_000;
  await until(() => connection.unreadTick !== since, { what: "that it has read something" });
  assertEquals(connection.isRunning, true);
  socket.bufferedAmount = 0;
  await until(() => !connection.isRunning, { what: "the end of the turn" });
  assertEquals(connection.unreadTick, undefined);
});
