/**
 * What does a stream hold whose reader has stopped?
 *
 * 100 callers ask for an endless stream and read nothing; the upstream would write as fast as it can.
 * Printed each second: resident memory of the gateway, and what the upstream could write so far. Both
 * must stand still once the sockets' buffers are full.
 *
 * `deno run -A bench/slow_readers.ts [STREAMS] [SECONDS]`
 */

const [streams = "100", seconds = "20"] = Deno.args;
const root = new URL("../", import.meta.url).pathname;
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

const data = await Deno.makeTempDir();
const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
const port = (listener.addr as Deno.NetAddr).port;
listener.close();
const gateway = new Deno.Command(Deno.execPath(), {
  args: [
    "run",
    "-A",
    "--quiet",
    `--config=${root}deno.json`,
    `${root}bench/sluice.ts`,
    String(port),
    `http://127.0.0.1:${upstream.addr.port}/v1`,
    data,
  ],
}).spawn();

async function residentMb(): Promise<string> {
  const status = await Deno.readTextFile(`/proc/${gateway.pid}/status`);
  return (Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1_024).toFixed(0);
}

const open: Deno.Conn[] = [];
try {
  let key = "";
  while (key === "") {
    await new Promise((resolve) => setTimeout(resolve, 100));
    key = await Deno.readTextFile(`${data}/key`).catch(() => "");
  }
  Deno.stdout.writeSync(encoder.encode(`before: ${await residentMb()} MB resident\n`));
  const body = JSON.stringify({
    model: "svc-k2",
    stream: true,
    messages: [{ role: "user", content: "Hi" }],
  });
  for (let index = 0; index < Number(streams); index++) {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    open.push(connection);
    await connection.write(encoder.encode(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n` +
        `content-length: ${body.length}\r\n\r\n${body}`,
    ));
  }
  for (let second = 1; second <= Number(seconds); second++) {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const line = `${second} s: ${await residentMb()} MB resident, ${
      (written / 1e6).toFixed(1)
    } MB written upstream\n`;
    Deno.stdout.writeSync(encoder.encode(line));
  }
} finally {
  for (const connection of open) connection.close();
  gateway.kill("SIGTERM");
  await gateway.status;
  await upstream.shutdown();
  await Deno.remove(data, { recursive: true });
}
