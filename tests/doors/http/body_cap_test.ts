import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";
import { connectTo, readReply, writeAll } from "../../fake/raw_http.ts";
import { DEADLINE_MS, inTime, sleep } from "../../fake/temp.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";

const encoder = new TextEncoder();

/**
 * Sends a body in chunks, each in a write of its own, and reads what comes back until the answer's end.
 */
async function chunked({ url, key }: TestGateway, chunks: readonly string[]): Promise<string> {
  const { hostname, port } = new URL(url);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  const said = { text: "" };
  const reading = (async () => {
    const buffer = new Uint8Array(65_536);
    for (let size; (size = await connection.read(buffer)) !== null;) {
      said.text += new TextDecoder().decode(buffer.subarray(0, size));
      if (/\r\n\r\n[\s\S]*\}\s*$/.test(said.text)) return;
    }
  })().catch(() => {}); // it may be closed while the rest is on its way
  const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n` +
    "content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
  try {
    await connection.write(encoder.encode(head));
    for (const chunk of [...chunks, ""]) {
      await sleep(20);
      const framed = `${chunk.length.toString(16)}\r\n${chunk}\r\n`;
      for (let bytes = encoder.encode(framed); bytes.length > 0;) {
        bytes = bytes.subarray(await connection.write(bytes));
      }
    }
  } catch {
    // refused before all was sent
  }
  await inTime(reading, DEADLINE_MS, undefined);
  return said.text;
}

/** A good body of that size, in that number of pieces. */
function bodyOf(size: number, pieces: number): string[] {
  const text = JSON.stringify({
    model: "svc-k2",
    messages: [{ role: "user", content: "Hi" }],
    pad: "",
  });
  const whole = text.replace('"pad":""', `"pad":"${"x".repeat(size - text.length)}"`);
  const step = Math.ceil(size / pieces);
  return Array.from({ length: pieces }, (_, at) => whole.slice(at * step, (at + 1) * step));
}

for (const limit of [1_000, 1_500_000]) {
  Deno.test(`a chunked body may have ${limit} bytes and not one more`, async () => {
    await using upstream = fakeUpstream(() => completion("ok"));
    await using gateway = await startGateway({
      settings: {
        upstream: { url: upstream.url },
        routes: { "svc-k2": { context: 10_000_000, maxInput: 10_000_000 } }, // what is unknown counts as well
        limits: { bodyBytes: limit, drainMs: 1_000 },
      },
    });
    assertMatch(await chunked(gateway, bodyOf(limit, 3)), /^HTTP\/1\.1 200 /);
    for (const pieces of [2, 7]) {
      const over = await chunked(gateway, bodyOf(limit + 1, pieces));
      assertMatch(over, /^HTTP\/1\.1 400 /);
      assertStringIncludes(over, `the limit is ${limit} bytes`);
    }
    assertEquals(upstream.received.length, 1);
  });
}

Deno.test("a chunked body without an end is refused at its limit, not read on", async () => {
  await using gateway = await startGateway({
    settings: { limits: { bodyBytes: 100_000, drainMs: 1_000, bodyIdleMs: DEADLINE_MS } },
  });
  const { hostname, port } = new URL(gateway.url);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  const head = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n" +
    `authorization: Bearer ${gateway.key}\r\ntransfer-encoding: chunked\r\n\r\n`;
  await connection.write(encoder.encode(head));
  await sleep(20);
  for (let times = 0; times < 3; times++) {
    await connection.write(encoder.encode(`c350\r\n${"x".repeat(50_000)}\r\n`));
  }
  const buffer = new Uint8Array(4_096);
  const size = await inTime(connection.read(buffer), DEADLINE_MS, 0);
  const reply = new TextDecoder().decode(buffer.subarray(0, size ?? 0));
  assertMatch(reply, /^HTTP\/1\.1 400 [\s\S]*the limit is 100000 bytes/); // not that of a pause
});

Deno.test("a connection is used again after long bodies", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  using connection = await connectTo(gateway.url);
  for (const size of [20_000, 100_000, 300, 70_000]) {
    const [body] = bodyOf(size, 1);
    const head =
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}` +
      `\r\ncontent-type: application/json\r\ncontent-length: ${size}\r\n\r\n`;
    assert(await writeAll(connection, head + body));
    assertEquals((await readReply(connection)).status, 200, `${size} bytes`);
  }
});
