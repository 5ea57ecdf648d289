/** Time that a body may take, where neither its pace nor a pause ends it first. */

import { assert, assertMatch } from "../../assert.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";
import { DEADLINE_MS, inTime, sleep } from "../../fake/temp.ts";

const encoder = new TextEncoder();

const HELLO = JSON.stringify({
  model: "svc-k2",
  max_tokens: 5,
  messages: [{ role: "user", content: "Hi" }],
});

/** Sends pieces of a request with pauses between; what is answered, and after how long. */
async function send(
  { url, key }: TestGateway,
  framing: string,
  pieces: readonly string[],
  pauseMs: number,
): Promise<{ text: string; ms: number }> {
  const { hostname, port } = new URL(url);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  const sentMs = Date.now();
  await connection.write(
    encoder.encode(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n` +
        `content-type: application/json\r\n${framing}\r\n\r\n`,
    ),
  );
  const buffer = new Uint8Array(4_096);
  const answered = { size: undefined as number | null | undefined };
  const reading = connection.read(buffer).then((size) => answered.size = size, () => null);
  for (const piece of pieces) {
    if (answered.size !== undefined) break;
    await connection.write(encoder.encode(piece)).catch(() => {});
    await sleep(pauseMs);
  }
  const size = await inTime(reading, DEADLINE_MS, 0);
  const text = new TextDecoder().decode(buffer.subarray(0, size ?? 0));
  return { text, ms: Date.now() - sentMs };
}

Deno.test("a body must arrive in a given time, however steadily it comes", async () => {
  await using gateway = await startGateway({
    settings: {
      limits: { bodyIdleMs: DEADLINE_MS, bodyMs: 800, bodyMinBytesPerSecond: 1, drainMs: 500 },
    },
  });
  const body = HELLO.padEnd(20_000);
  const pieces = Array.from({ length: 60 }, (_, at) => body.slice(at * 100, at * 100 + 100));
  const framings: [string, string[]][] = [
    ["content-length: 20000", pieces],
    ["transfer-encoding: chunked", pieces.map((one) => `64\r\n${one}\r\n`)],
  ];
  for (const [framing, sent] of framings) {
    const { text, ms } = await send(gateway, framing, sent, 50);
    assertMatch(text, /^HTTP\/1\.1 400 [\s\S]*the limit for the whole body is 0\.8 s/, framing);
    assert(ms > 700, `${framing}: ${ms} ms`);
  }
});

Deno.test("a body without its end is refused, whole as it looks", async () => {
  const limits = { bodyMs: DEADLINE_MS, drainMs: 500 };
  await using gateway = await startGateway({
    settings: { limits: { ...limits, bodyIdleMs: DEADLINE_MS } },
  });
  const chunk = `${HELLO.length.toString(16)}\r\n${HELLO}\r\n`;
  const framing = "transfer-encoding: chunked";
  const whole = await send(gateway, framing, [chunk, "0\r\n\r\n"], 20);
  assertMatch(whole.text, /^HTTP\/1\.1 200 /);
  await gateway.reload({ limits: { ...limits, bodyIdleMs: 500 } });
  const { text, ms } = await send(gateway, framing, [chunk], 20);
  assertMatch(text, /^HTTP\/1\.1 400 [\s\S]*no data for 0\.5 s/);
  assert(ms > 400, `${ms} ms`);
});
