/** `GET /v1/responses`: responses over a WebSocket, one turn after the other. */

import { Buffer } from "node:buffer";
import type { SettingsInput } from "../../src/settings/config/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { startCommand } from "../fake/command.ts";
import { assertLedgerClean } from "../fake/customer.ts";
import { startGateway, type TestGateway, usageRecords } from "../fake/gateway.ts";
import { BINARY, RawWebSocket, TEXT } from "../fake/raw_websocket.ts";
import { connectTo } from "../fake/raw_http.ts";
import { DEADLINE_MS, sleep, tempDir, until } from "../fake/temp.ts";
import {
  chunk,
  completion,
  eventStream,
  type FakeUpstream,
  fakeUpstream,
  pacedStream,
  sse,
} from "../fake/upstream.ts";

// deno-lint-ignore no-explicit-any -- frames as they came
type Frame = any;

const USAGE = JSON.stringify({
  id: "upstream-id",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [],
  usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
});

/** An upstream that numbers its replies; one to a prompt with `slow` begins, and goes on when it is let go. */
function counting(): FakeUpstream & { letGo(): Promise<void> } {
  let count = 0;
  let isHolding = false;
  let gate = Promise.withResolvers<void>();
  const upstream = fakeUpstream(({ body }) => {
    const text = `Reply ${++count}`;
    const pieces = [
      sse(chunk({ role: "assistant", content: "" })),
      ...text.split(" ").map((word, at) => sse(chunk({ content: at === 0 ? word : ` ${word}` }))),
      sse(chunk({}, "stop"), USAGE, "[DONE]"),
    ];
    if (body.stream !== true) return completion(text);
    const prompt = JSON.stringify(body.messages.at(-1));
    if (!prompt.includes("slow")) return eventStream(...pieces);
    isHolding = true;
    return heldStream(pieces, gate.promise);
  });
  return Object.assign(upstream, {
    async letGo() {
      // its request may be on the way
      await until(() => isHolding, { what: "a reply that is held" });
      isHolding = false;
      gate.resolve();
      gate = Promise.withResolvers();
    },
  });
}

/** A stream of which all wait for something but its beginning, up to the first output. */
function heldStream([role, first, ...rest]: readonly string[], goOn: Promise<void>): Response {
  const body = new ReadableStream<string>({
    start: (controller) => controller.enqueue(role! + first),
    async pull(controller) {
      await goOn;
      for (const piece of rest) controller.enqueue(piece);
      controller.close();
    },
  }, { highWaterMark: 0 });
  return new Response(body.pipeThrough(new TextEncoderStream()), {
    headers: { "content-type": "text/event-stream" },
  });
}

function connect(gateway: TestGateway, headers: Record<string, string | null> = {}) {
  return RawWebSocket.connect(`${gateway.url}/v1/responses`, {
    authorization: `Bearer ${gateway.key}`,
    ...headers,
  });
}

function start(upstream: { url: string }, settings: SettingsInput = {}, workers = 1) {
  return startGateway({ settings: { upstream: { url: upstream.url }, workers, ...settings } });
}

const ask = (input: unknown, more = {}) => ({ model: "svc-k2", input, ...more });
const typesOf = (frames: Frame[]) => frames.map(({ type }) => type);
const textOf = (frames: Frame[]) =>
  frames.at(-1).response.output.map((item: Frame) => item.content?.[0]?.text).join();
const codeOf = (frames: Frame[]) => [frames.length, frames[0].type, frames[0].error.code];

Deno.test("a handshake needs a key, an upgrade and an allowed origin", async () => {
  await using upstream = counting();
  await using gateway = await start(upstream, { cors: { origins: ["https://app.example"] } });
  const refused = async (headers: Record<string, string | null>) => {
    await using socket = await connect(gateway, headers);
    const { status, headers: received, body } = socket.handshake;
    return [status, body === "" ? undefined : JSON.parse(body).error.code, received.get("upgrade")];
  };
  assertEquals(await refused({ authorization: null }), [401, "invalid_api_key", null]);
  assertEquals(await refused({ authorization: "Bearer x" }), [401, "invalid_api_key", null]);
  assertEquals(await refused({ upgrade: null }), [426, "not_found", "websocket"]);
  assertEquals(await refused({ upgrade: "h2c" }), [426, "not_found", "websocket"]);
  assertEquals(await refused({ "sec-websocket-key": null }), [400, "invalid_request", null]);
  const foreign = { origin: "https://evil.example" };
  assertEquals(await refused(foreign), [403, "permission_denied", null]);
  for (const origin of ["https://app.example", gateway.url]) {
    await using socket = await connect(gateway, { origin });
    assertEquals(socket.handshake.status, 101);
    assertEquals(textOf(await socket.turn(ask("Hi"))).startsWith("Reply"), true);
  }
  const plain = await fetch(`${gateway.url}/v1/responses`, {
    headers: { authorization: `Bearer ${gateway.key}` },
  });
  assertEquals([plain.status, (await plain.json()).error.code], [426, "not_found"]);
});

Deno.test("a turn's frames are the events of the same request over HTTP, and it is charged the same", async () => {
  await using upstream = counting();
  await using gateway = await start(upstream);
  await using socket = await connect(gateway);
  const frames = await socket.turn(ask("Hi"));
  const reply = await gateway.post("/v1/responses", ask("Hi", { stream: true }));
  const events = (await reply.text()).split("\n\n")
    .flatMap((event) => event.match(/^data: ({.*})$/m)?.[1] ?? []).map((data) => JSON.parse(data));
  assertEquals(typesOf(frames), typesOf(events));
  assertEquals(frames.map((frame: Frame) => frame.sequence_number), frames.map((_, at) => at));
  await until(async () => (await usageRecords(gateway)).length === 2);
  const [one, other] = await usageRecords(gateway);
  for (
    const name of ["dialect", "status", "ending", "streamed", "charged_credits", "input_tokens"]
  ) {
    assertEquals(one![name], other![name], name);
  }
  assertEquals([one!.dialect, one!.ending], ["responses", "complete"]);
  await assertLedgerClean(gateway);
});

Deno.test("a turn continues an earlier one of its connection: the upstream gets the whole conversation", async () => {
  await using upstream = counting();
  await using gateway = await start(upstream);
  await using socket = await connect(gateway);
  const first: Frame = (await socket.turn(ask("One"))).at(-1);
  const second = await socket.turn(
    ask([{ role: "user", content: "Two" }], { previous_response_id: first.response.id }),
  );
  assertEquals(second.map((frame: Frame) => frame.response?.previous_response_id).filter(Boolean), [
    first.response.id,
    first.response.id,
    first.response.id,
  ]);
  const third = await socket.turn(
    ask("Three", {
      previous_response_id: (second.at(-1) as Frame).response.id,
      instructions: "Be brief.",
    }),
  );
  assertEquals(textOf(third), "Reply 3");
  const flat = (body: Frame) =>
    body.messages.map(({ role, content }: Frame) => [
      role,
      typeof content === "string" ? content : content.map(({ text }: Frame) => text).join(),
    ]);
  assertEquals(flat(upstream.received.at(-1)!.body), [
    ["system", "Be brief."],
    ["user", "One"],
    ["assistant", "Reply 1"],
    ["user", "Two"],
    ["assistant", "Reply 2"],
    ["user", "Three"],
  ]);
  // another branch of the same conversation
  await socket.turn(ask("Other", { previous_response_id: first.response.id }));
  assertEquals(flat(upstream.received.at(-1)!.body).length, 3);
});

Deno.test("a response of another connection is not known, and what fails to continue one forgets it", async () => {
  await using upstream = counting();
  await using gateway = await start(upstream);
  await using socket = await connect(gateway);
  const { response: { id } }: Frame = (await socket.turn(ask("One"))).at(-1);
  const unknown = [1, "error", "previous_response_not_found"];
  {
    await using other = await connect(gateway);
    assertEquals(codeOf(await other.turn(ask("Two", { previous_response_id: id }))), unknown);
    assertEquals(textOf(await other.turn(ask("Two"))), "Reply 2");
  }
  const strange = { previous_response_id: "resp_0" };
  assertEquals(codeOf(await socket.turn(ask("Two", strange))), unknown);
  const output = [{ type: "function_call_output", call_id: "call_x", output: "1" }];
  const failed: Frame[] = await socket.turn(ask(output, { previous_response_id: id }));
  assertEquals([failed.length, failed[0].type, failed[0].status], [1, "error", 400]);
  assertEquals(codeOf(await socket.turn(ask("Two", { previous_response_id: id }))), unknown);
  assertEquals(textOf(await socket.turn(ask("Two"))), "Reply 3");
});

Deno.test("generate: false notes the input without a reply, a charge or a place in a window", async () => {
  await using upstream = counting();
  await using gateway = await start(upstream);
  await using socket = await connect(gateway);
  const noted: Frame[] = await socket.turn(ask("One", { generate: false }));
  assertEquals(typesOf(noted), ["response.created", "response.in_progress", "response.completed"]);
  assertEquals([noted[2].response.output, upstream.received.length], [[], 0]);
  const { id } = noted[2].response;
  assertEquals(textOf(await socket.turn(ask("Two", { previous_response_id: id }))), "Reply 1");
  assertEquals(upstream.received[0]!.body.messages.length, 2);
  const wrong = { model: "nothing", input: "x", generate: false };
  assertEquals((await socket.turn(wrong) as Frame[])[0].status, 404);
  await until(async () => (await usageRecords(gateway)).length === 1);
  await assertLedgerClean(gateway);
});

Deno.test("turns run one after the other; a few wait, more are refused", async () => {
  await using upstream = counting();
  await using gateway = await start(upstream);
  await using socket = await connect(gateway);
  for (let at = 0; at < 6; at++) {
    await socket.send({ type: "response.create", ...ask(at === 0 ? "slow" : `Number ${at}`) });
  }
  const ends: string[] = [];
  while (ends.length < 6) {
    const last: Frame = (await socket.rest()).at(-1);
    if (ends.length === 0) await upstream.letGo(); // the last of them is refused while the first one runs
    ends.push(last.type === "error" ? last.error.code : last.response.output[0].content[0].text);
  }
  assertEquals(ends[0], "rate_limit_exceeded");
  assertEquals(ends.slice(1), ["Reply 1", "Reply 2", "Reply 3", "Reply 4", "Reply 5"]);
  const prompts = upstream.received.map(({ raw }) => /slow|Number \d/.exec(raw)![0]);
  assertEquals(prompts, ["slow", "Number 1", "Number 2", "Number 3", "Number 4"]);
});

Deno.test("frames that wait have a bound of size together, and leave room when their turn comes", async () => {
  await using upstream = counting();
  await using gateway = await start(upstream);
  await using socket = await connect(gateway);
  const large = ask("Hi", { model: "nobody", metadata: { a: "x".repeat(9_000_000) } });
  for (let round = 0; round < 3; round++) {
    await socket.send({ type: "response.create", ...ask("slow") });
    await socket.send({ type: "response.create", ...large });
    await socket.send({ type: "response.create", ...large });
    const errors: string[] = [];
    while (errors.length < 2) {
      const last: Frame = (await socket.rest()).at(-1);
      if (last.type === "error") errors.push(last.error.code);
      if (errors.length === 1 && last.type === "error") await upstream.letGo();
    }
    assertEquals(errors, ["rate_limit_exceeded", "model_not_found"], `round ${round}`);
  }
});

Deno.test("hostile frames are refused, and the connection stays usable until there are too many", async () => {
  await using upstream = counting();
  await using gateway = await start(upstream, {
    limits: { drainMs: 5_000, bodyBytes: 100_000, bodyDepth: 50 },
  });
  await using socket = await connect(gateway);
  const refusedAs = async (send: () => Promise<void>) => {
    await send();
    const frame: Frame = await socket.next();
    return [frame.type, frame.status, frame.error.message.split(":")[0]];
  };
  const deep = "[".repeat(60) + "]".repeat(60);
  const create = (members: string) => `{"type":"response.create","model":"svc-k2",${members}}`;
  for (
    const [send, message, status] of [
      [() => socket.sendFrame(BINARY, new Uint8Array(9)), "Binary frames are not supported", 400],
      [() => socket.send("{"), "The frame is not a JSON object.", 400],
      [() => socket.send(""), "The frame is not a JSON object.", 400],
      [() => socket.send({ type: "session.update" }), "type must be 'response.create'", 400],
      [() => socket.send("x".repeat(100_001)), "Frame too large", 400],
      [() => socket.send(create(`"input":${deep}`)), "Request body nested too deeply", 400],
      [() => socket.send(create(`"input":[}`)), "Request body is not valid JSON", 400],
      [() => socket.send(create(`"input":[x]`)), "Request body is not valid JSON", 400],
    ] as const
  ) {
    assertEquals(await refusedAs(send), ["error", status, message]);
  }
  assertEquals(textOf(await socket.turn(ask("Hi"))), "Reply 1");
  // in pieces, with a ping in between
  const text = new TextEncoder().encode(
    JSON.stringify({ type: "response.create", ...ask("Hi é") }),
  );
  await socket.sendFrame(TEXT, text.subarray(0, 20), { isLast: false });
  await socket.sendFrame(9, new Uint8Array(3));
  await socket.sendFrame(0, text.subarray(20));
  assertEquals(textOf(await socket.rest()), "Reply 2");
  for (let at = 0; at < 20; at++) await socket.send("{");
  for (let at = 0; at < 20; at++) assertEquals((await socket.next())?.type, "error");
  assertEquals(await socket.next(), undefined);
  assertEquals(socket.closeCode, 1000);
  assertEquals((await usageRecords(gateway)).length, 2);
});

Deno.test("bytes that are no frames end the connection, not the gateway", async () => {
  await using upstream = counting();
  await using gateway = await start(upstream);
  const huge = Buffer.from([
    0x81,
    0xff,
    0x7f,
    0xff,
    0xff,
    0xff,
    0xff,
    0xff,
    0xff,
    0xff,
    0,
    0,
    0,
    0,
  ]);
  for (
    const bytes of [
      huge,
      Buffer.from("GET / HTTP/1.1\r\n\r\n"),
      Buffer.from([0x81, 0x02, 0x68, 0x69]), // not masked
      Buffer.from([0xf1, 0x80, 0, 0, 0, 0]), // reserved bits
      Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0xc3, 0x28]), // no UTF-8
      crypto.getRandomValues(new Uint8Array(2_000)),
    ]
  ) {
    await using socket = await connect(gateway);
    await socket.sendBytes(bytes).catch(() => {});
    await socket.sendBytes(bytes).catch(() => {});
    socket.drop();
  }
  await using socket = await connect(gateway);
  assertEquals(textOf(await socket.turn(ask("Hi"))), "Reply 1");
});

Deno.test("a client that disconnects cancels the turn in progress, and pays for what it was sent", async () => {
  const count = 400; // twenty seconds of them
  await using upstream = fakeUpstream(() => {
    const words = Array.from({ length: count }, (_, at) => sse(chunk({ content: `word ${at} ` })));
    return pacedStream(50, words);
  });
  await using gateway = await start(upstream, { onClientDisconnect: "abort" });
  for (const ends of ["drop", "close"] as const) {
    const socket = await connect(gateway);
    await socket.send({ type: "response.create", ...ask("Hi") });
    for (let frames = 0; frames < 8; frames++) await socket.next();
    if (ends === "drop") socket.drop();
    else await socket[Symbol.asyncDispose]();
  }
  await until(async () => (await usageRecords(gateway)).length === 2);
  for (const record of await usageRecords(gateway)) {
    assertEquals([record.ending, record.usage_source], ["client_left", "counted"]);
    assert(Number(record.charged_credits) > 0);
    assert(Number(record.output_tokens) < count, `read on for ${record.output_tokens} tokens`);
  }
  await until(() => gateway.gateway.inFlight.count === 0);
  await assertLedgerClean(gateway);
});

Deno.test("a key has at most 16 connections at once, and each place comes back", async () => {
  await using upstream = counting();
  await using gateway = await start(upstream);
  const sockets = await Promise.all(Array.from({ length: 17 }, () => connect(gateway)));
  const statuses = sockets.map(({ handshake }) => handshake.status).toSorted();
  assertEquals(statuses, [...Array.from({ length: 16 }, () => 101), 503]);
  for (const [at, socket] of sockets.entries()) {
    if (at % 2 === 0) socket.drop();
    else await socket[Symbol.asyncDispose]();
  }
  let more: RawWebSocket[] = [];
  await until(async () => {
    for (const socket of more) socket.drop();
    more = await Promise.all(Array.from({ length: 16 }, () => connect(gateway)));
    return more.every(({ handshake }) => handshake.status === 101);
  }, { what: "16 places" });
  for (const socket of more) await socket[Symbol.asyncDispose]();
});

Deno.test("an idle connection is closed, an old one after its turn and with a reason", async () => {
  await using upstream = counting();
  {
    await using gateway = await start(upstream, { responses: { socketIdleMs: 400 } });
    await using idle = await connect(gateway);
    assertEquals(await idle.next(), undefined);
    assertEquals(idle.closeCode, 1000);
  }
  await using gateway = await start(upstream, { responses: { socketMs: 2_000 } });
  const limit = "websocket_connection_limit_reached";
  let busy: RawWebSocket;
  while (true) { // on a busy machine it may be old before its turn has begun
    busy = await connect(gateway);
    await busy.send({ type: "response.create", ...ask("slow") }).catch(() => {});
    if ((await busy.next())?.type === "response.created") break;
    busy.drop();
  }
  await using _closed = busy;
  // one that was opened later is old: so is this one
  await using later = await connect(gateway);
  assertEquals((await later.next() as Frame).error.code, limit);
  assertEquals(await later.next(), undefined);
  await upstream.letGo();
  const frames: Frame[] = await busy.rest();
  assertEquals(frames.at(-1).type, "response.completed");
  assertEquals((await busy.next() as Frame).error.code, limit);
  assertEquals(await busy.next(), undefined);
});

Deno.test("the sweep of idle connections leaves open WebSockets alone", async () => {
  await using upstream = counting();
  await using gateway = await start(upstream);
  await using socket = await connect(gateway);
  // a connection that is idle for a shorter time is swept
  using later = await connectTo(gateway.url);
  await gateway.reload({
    upstream: { url: upstream.url },
    limits: { drainMs: 5_000, idleConnectionMs: 500 },
  });
  assertEquals(await later.read(new Uint8Array(1)), null);
  assertEquals(textOf(await socket.turn(ask("Hi"))), "Reply 1");
});

Deno.test("a key that is revoked is refused at the next turn", async () => {
  await using upstream = counting();
  await using gateway = await start(upstream);
  const { keys, owner } = gateway.gateway;
  const issued = await keys.issue(owner, { name: "socket" });
  await using socket = await connect(gateway, { authorization: `Bearer ${issued.secret}` });
  assertEquals(textOf(await socket.turn(ask("Hi"))), "Reply 1");
  await keys.revoke(issued.id);
  await until(async () => (await socket.turn(ask("Hi")) as Frame[])[0].status === 401);
});

Deno.test("shutting down ends idle connections at once, and others after their turn", async () => {
  await using upstream = counting();
  const gateway = await start(upstream, { limits: { drainMs: DEADLINE_MS } });
  const idle = await connect(gateway);
  const busy = await connect(gateway);
  await busy.send({ type: "response.create", ...ask("slow") });
  await busy.send({ type: "response.create", ...ask("later") });
  await busy.next();
  const stopped = gateway.gateway.stop();
  assertEquals([await idle.next(), idle.closeCode], [undefined, 1000]);
  await upstream.letGo();
  const frames: Frame[] = await busy.rest();
  assertEquals(frames.at(-1).type, "response.completed");
  assertEquals([await busy.next(), busy.closeCode], [undefined, 1000]);
  assertEquals(await stopped, { cutOff: 0 });
  for (const socket of [idle, busy]) socket.drop();
  await gateway[Symbol.asyncDispose]();
});

Deno.test("other settings hold for the next turn of an open connection", async () => {
  await using upstream = counting();
  await using gateway = await start(upstream);
  await using socket = await connect(gateway);
  assertEquals(textOf(await socket.turn(ask("Hi"))), "Reply 1");
  await gateway.reload({
    port: 0,
    upstream: { url: upstream.url },
    aliases: { other: "svc-k2" },
    workers: 1,
  });
  assertEquals(textOf(await socket.turn({ model: "other", input: "Hi" })), "Reply 2");
});

Deno.test({
  name: "several threads serve WebSockets, and a key's limit holds for all of them",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using upstream = counting();
    await using gateway = await start(upstream, {}, 2);
    const sockets = await Promise.all(Array.from({ length: 20 }, () => connect(gateway)));
    const open = sockets.filter(({ handshake }) => handshake.status === 101);
    assertEquals(open.length, 16);
    const replies = await Promise.all(open.map((socket) => socket.turn(ask("Hi"))));
    assertEquals(new Set(replies.map(textOf)).size, 16);
    const stopped = gateway.gateway.stop();
    assertEquals(await Promise.all(open.map((socket) => socket.next())), open.map(() => undefined));
    await stopped;
    for (const socket of sockets) socket.drop();
  },
});

/** What buffers on the way take, those of the system included. */
const MAX_CHUNKS = 5_000;

Deno.test("a client that does not read slows its upstream down, and holds no more than a few megabytes", async () => {
  let sent = 0;
  await using upstream = fakeUpstream(() =>
    new Response(
      new ReadableStream<Uint8Array>({
        pull(controller) {
          sent++;
          controller.enqueue(new TextEncoder().encode(sse(chunk({ content: "x".repeat(10_000) }))));
        },
      }),
      { headers: { "content-type": "text/event-stream" } },
    )
  );
  await using gateway = await start(upstream, {
    onClientDisconnect: "abort", // it never ends
    routes: {
      big: { targets: [{ upstream: "default", model: "m" }], context: 1e9, maxOutput: 9e8 },
    },
  });
  const socket = await connect(gateway);
  await socket.send({ type: "response.create", model: "big", input: "Hi" });
  let before: number;
  do {
    before = sent;
    await sleep(500);
  } while (sent > before && sent < MAX_CHUNKS || sent === 0); // what the sockets' buffers take flows
  assert(sent < MAX_CHUNKS, `${sent} chunks, and more`);
  socket.drop();
  await until(() => gateway.gateway.inFlight.count === 0);
});

Deno.test({
  name: "a process that is taken over finishes the turns of its WebSockets and closes them",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using upstream = counting();
    await using dir = await tempDir();
    const key = `sk-${"w".repeat(40)}`;
    const settings = {
      port: 0,
      data: `${dir.path}/data`,
      owner: { key },
      upstream: { url: upstream.url, discover: false },
    };
    await Deno.writeTextFile(`${dir.path}/sluice.jsonc`, JSON.stringify(settings));
    await using first = startCommand([], { directory: dir.path });
    const [, url] = await first.waitFor(/listening on (http:\S+)/);
    await first.waitFor(/curl/);
    const open = () =>
      RawWebSocket.connect(`${url}/v1/responses`, { authorization: `Bearer ${key}` });
    await using idle = await open();
    await using busy = await open();
    await busy.send({ type: "response.create", ...ask("slow") });
    await busy.next();
    await using second = startCommand(["--takeover"], { directory: dir.path });
    await second.waitFor(/listening on (http:\S+)/);
    assertEquals([await idle.next(), idle.closeCode], [undefined, 1000]);
    await upstream.letGo();
    const frames: Frame[] = await busy.rest();
    assertEquals(frames.at(-1)?.type, "response.completed");
    assertEquals(await busy.next(), undefined);
    assertEquals((await first.status).code, 0);
    await using next = await open();
    assertStringIncludes(textOf(await next.turn(ask("Hi"))), "Reply");
  },
});
