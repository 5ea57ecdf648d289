/** Clients of `GET /v1/responses` that send much, and read and pay for nothing. */

import { collectGarbage } from "../../src/ground/platform/mod.ts";
import { assert, assertEquals } from "../assert.ts";
import { assertLedgerClean } from "../fake/customer.ts";
import { startGateway, type TestGateway, usageRecords } from "../fake/gateway.ts";
import { BINARY, RawWebSocket } from "../fake/raw_websocket.ts";
import { sleep, until } from "../fake/temp.ts";
import { chunk, fakeUpstream, sse } from "../fake/upstream.ts";

function connect(gateway: TestGateway) {
  const headers = { authorization: `Bearer ${gateway.key}` };
  return RawWebSocket.connect(`${gateway.url}/v1/responses`, headers);
}

const create = (members: Record<string, unknown>) =>
  JSON.stringify({ type: "response.create", model: "svc-k2", ...members });

Deno.test("frames that continue nothing are rejected ones: a client that sends on is not answered on", async () => {
  await using gateway = await startGateway();
  await using socket = await connect(gateway);
  const frame = create({ input: "x", previous_response_id: "resp_0" });
  const sending = (async () => {
    try {
      for (let at = 0; at < 2_000; at++) await socket.send(frame);
    } catch {
      // it was closed
    }
  })();
  const codes: unknown[] = [];
  while (true) {
    const answer = await socket.next().catch(() => undefined);
    if (answer === undefined) break;
    codes.push((answer.error as { code: string }).code);
  }
  socket.drop();
  await sending;
  assertEquals(codes[0], "previous_response_not_found");
  assert(codes.length <= 20, `${codes.length} answers`);
});

Deno.test("rejected frames count in the quota of bytes, and who has used it up gets no connection", async () => {
  await using gateway = await startGateway({
    settings: { limits: { drainMs: 5_000, unbilledBytesPerMinute: 300_000 } },
  });
  for (
    const send of [
      (socket: RawWebSocket) => socket.sendFrame(BINARY, new Uint8Array(100_000)),
      (socket: RawWebSocket) =>
        socket.send(create({ input: "x".repeat(100_000), previous_response_id: "resp_0" })),
      (socket: RawWebSocket) => socket.send(`{${"x".repeat(100_000)}`),
    ]
  ) {
    await using socket = await connect(gateway);
    assertEquals(socket.handshake.status, 101);
    await send(socket);
    assertEquals((await socket.next())?.type, "error");
  }
  await using socket = await connect(gateway);
  assertEquals(socket.handshake.status, 429);
  assertEquals(JSON.parse(socket.handshake.body).error.code, "rate_limit_exceeded");
});

Deno.test("a turn whose client reads nothing ends with the idle time, and is paid for", async () => {
  await using upstream = fakeUpstream(() => {
    const event = new TextEncoder().encode(sse(chunk({ content: "x".repeat(10_000) })));
    const body = new ReadableStream<Uint8Array>({ pull: (to) => to.enqueue(event) });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  });
  await using gateway = await startGateway({
    settings: {
      upstream: { url: upstream.url },
      responses: { socketIdleMs: 1_000 },
      onClientDisconnect: "abort", // it never ends
      routes: {
        big: { targets: [{ upstream: "default", model: "m" }], context: 1e9, maxOutput: 9e8 },
      },
    },
  });
  const socket = await connect(gateway);
  await socket.send(create({ model: "big", input: "Hi" }));
  await until(async () => (await usageRecords(gateway)).length === 1, { what: "the record" });
  const [record] = await usageRecords(gateway);
  assertEquals([record!.ending, record!.usage_source], ["client_left", "counted"]);
  assert(Number(record!.charged_credits) > 0);
  await assertLedgerClean(gateway);
  socket.drop();
});

const MEGABYTE = 1_048_576;

/** The head of a text frame of a length that it announces. */
function headOf(bytes: number): Uint8Array {
  const head = new Uint8Array(14); // the mask is zeros
  head.set([0x81, 0x80 | 127]);
  new DataView(head.buffer).setBigUint64(2, BigInt(bytes));
  return head;
}

Deno.test({
  name: "frames that never end hold no more than their account's share of memory",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using gateway = await startGateway({
      settings: { limits: { largeBodiesBytes: 32 * MEGABYTE } },
    });
    const sockets: RawWebSocket[] = [];
    for (let at = 0; at < 8; at++) sockets.push(await connect(gateway));
    const piece = new Uint8Array(MEGABYTE).fill(97);
    const sent = await Promise.all(sockets.map(async (socket) => {
      let megabytes = 0;
      try {
        await socket.sendBytes(headOf(40 * MEGABYTE));
        for (; megabytes < 5; megabytes++) {
          await socket.sendBytes(piece);
          await sleep(60);
        }
      } catch {
        // it was cut
      }
      return megabytes;
    }));
    const isOpen = sockets.map(() => true);
    const told: string[] = [];
    const reading = Promise.all(sockets.map(async (socket, at) => {
      // a connection that is cut may lose what it was told
      const answer = await socket.next().catch(() => undefined);
      isOpen[at] = false;
      if (answer !== undefined) told.push((answer.error as { code: string }).code);
    }));
    const held = () => sent.reduce((sum, megabytes, at) => sum + (isOpen[at] ? megabytes : 0), 0);
    await until(() => held() <= 16 + 3, { what: "memory within the share" });
    assert(held() > 8, `${held()} MB: ${sent}; open: ${isOpen}`);
    for (const socket of sockets) socket.drop();
    await reading;
    assertEquals(told.filter((code) => code !== "service_unavailable"), []);
    // what they held is there for frames that end
    await until(async () => {
      await using other = await connect(gateway);
      const input = "x".repeat(12 * MEGABYTE);
      const frames = await other.turn({ model: "svc-k2", input, generate: false }).catch(() => []);
      return frames.some(({ type, error }) =>
        type === "response.completed" ||
        (error as { code: string }).code === "context_length_exceeded"
      );
    }, { what: "room for a frame that ends" });
  },
});

Deno.test({
  name: "a frame above the limit is refused before it has come",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using gateway = await startGateway({
      settings: { limits: { bodyBytes: 3 * MEGABYTE } },
    });
    await using socket = await connect(gateway);
    await socket.sendBytes(headOf(60 * MEGABYTE));
    const piece = new Uint8Array(MEGABYTE).fill(97);
    let megabytes = 0;
    try {
      for (; megabytes < 60; megabytes++) {
        await socket.sendBytes(piece);
        await sleep(30);
      }
    } catch {
      // it was cut
    }
    assert(megabytes < 30, `${megabytes} MB were taken`);
    const answer = await socket.next().catch(() => undefined);
    if (answer !== undefined) {
      assertEquals(
        (answer.error as { message: string }).message,
        "Frame too large: the limit is 3 MiB.",
      );
    }
    assertEquals(await socket.next().catch(() => undefined), undefined);
  },
});

Deno.test("a turn in progress does not keep its body in memory", async () => {
  await using upstream = fakeUpstream(() =>
    new Response(
      new ReadableStream<Uint8Array>({
        start(to) {
          to.enqueue(new TextEncoder().encode(sse(chunk({ role: "assistant", content: "Hi" }))));
        },
      }),
      { headers: { "content-type": "text/event-stream" } },
    )
  );
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, onClientDisconnect: "abort" }, // it never ends
  });
  const used = () => {
    collectGarbage();
    return Deno.memoryUsage().external / MEGABYTE;
  };
  const before = used();
  const sockets: RawWebSocket[] = [];
  for (let at = 0; at < 3; at++) {
    const socket = await connect(gateway);
    sockets.push(socket);
    const metadata = `{"a":"b"${" ".repeat(16 * MEGABYTE)}}`;
    await socket.send(
      create({ input: "Hi", metadata: 0 }).replace('"metadata":0', () => `"metadata":${metadata}`),
    );
    assertEquals((await socket.next())?.type, "response.created");
  }
  await until(() => used() < before + 16, { what: "memory that is free again" });
  for (const socket of sockets) socket.drop();
  await until(() => gateway.gateway.inFlight.count === 0, { what: "the ends" });
});
