/**
 * What does a stream hold whose reader has stopped?
 *
 * 100 callers ask for an endless stream and read nothing; the upstream would write as fast as it can.
 * Printed each second: resident memory of the gateway, and what the upstream could write so far. Both
 * must stand still once the sockets' buffers are full.
 *
 * `deno run -A bench/slow_readers.ts [STREAMS] [SECONDS]`
 */

import { startSluice } from "./gateways.ts";
import { pause, residentMb, say } from "./harness.ts";

const [streams = "100", seconds = "20"] = Deno.args;
const encoder = new TextEncoder();

let written = 0;
const chunk = {
  id: "x",
  object: "chat.completion.chunk",
  choices: [{ index: 0, delta: { content: "word ".repeat(200) }, finish_reason: null }],
};
const event = encoder.encode(`data: ${JSON.stringify(chunk)}\n\n`);
const upstream = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
  await request.body?.cancel();
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(event);
      written += event.length;
    },
  }, { highWaterMark: 0 });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
});

await using gateway = await startSluice(`http://127.0.0.1:${upstream.addr.port}/v1`);
const open: Deno.Conn[] = [];
try {
  say(`before: ${(await residentMb(gateway.pid)).toFixed(0)} MB resident`);
  const body = JSON.stringify({
    model: "svc-k2",
    stream: true,
    messages: [{ role: "user", content: "Hi" }],
  });
  for (let index = 0; index < Number(streams); index++) {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: gateway.port });
    open.push(connection);
    await connection.write(encoder.encode(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: ${gateway.headers.authorization}\r\n` +
        `content-length: ${body.length}\r\n\r\n${body}`,
    ));
  }
  for (let second = 1; second <= Number(seconds); second++) {
    await pause(1_000);
    say(
      `${second} s: ${(await residentMb(gateway.pid)).toFixed(0)} MB resident, ` +
        `${(written / 1e6).toFixed(1)} MB written upstream`,
    );
  }
} finally {
  for (const connection of open) connection.close();
  await upstream.shutdown();
}
