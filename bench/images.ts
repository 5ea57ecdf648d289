/**
 * What do pictures cost beside text?
 *
 * Callers send a 5 MB image each, again and again, while others ask in text at a steady pace. Printed:
 * resident memory before and at its highest, and the text requests' times without and with pictures.
 *
 * `deno run -A bench/images.ts [CALLERS] [SECONDS]`
 */

import { freePort, listening, pause, residentMb, say, start, startSluice } from "./harness.ts";

const [callers = "64", seconds = "10"] = Deno.args;
const SIZE = 5 * 1_048_576;
const TEXT_EVERY_MS = 10;

/** A PNG of 5 MB: one black chunk of pixels, filled up. */
function picture(): string {
  const bytes = new Uint8Array(SIZE);
  const view = new DataView(bytes.buffer);
  bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]);
  bytes.set([0, 0, 2, 0, 0, 0, 2, 0, 8, 6, 0, 0, 0], 16);
  view.setUint32(33, SIZE - 33 - 12 - 12);
  bytes.set([0x49, 0x44, 0x41, 0x54], 37);
  bytes.set([0x49, 0x45, 0x4e, 0x44], SIZE - 8);
  let binary = "";
  for (let at = 0; at < SIZE; at += 32_768) {
    binary += String.fromCharCode(...bytes.subarray(at, at + 32_768));
  }
  return btoa(binary);
}

const upstreamPort = freePort();
const upstream = start("upstream.ts", String(upstreamPort));
try {
  await listening(upstreamPort);
  await using sluice = await startSluice(`http://127.0.0.1:${upstreamPort}/v1`);
  const url = `http://127.0.0.1:${sluice.port}/v1/chat/completions`;
  const headers = { "content-type": "application/json", ...sluice.headers };
  const post = async (body: string) => {
    const reply = await fetch(url, { method: "POST", headers, body });
    const text = await reply.text();
    if (reply.status !== 200) throw new Error(`${reply.status} ${text}`);
  };
  const textBody = JSON.stringify({
    model: "svc-k2",
    messages: [{ role: "user", content: "Hi" }],
  });
  const image = { type: "image_url", image_url: { url: `data:image/png;base64,${picture()}` } };
  const imageBody = JSON.stringify({
    model: "svc-k2.6",
    messages: [{ role: "user", content: [image] }],
  });
  const texts = async (forMs: number): Promise<string> => {
    const times: number[] = [];
    const running: Promise<void>[] = [];
    const began = performance.now();
    while (performance.now() - began < forMs) {
      const at = performance.now();
      running.push(post(textBody).then(() => void times.push(performance.now() - at)));
      await pause(TEXT_EVERY_MS);
    }
    await Promise.all(running);
    times.sort((a, b) => a - b);
    const part = (of: number) => times[Math.floor(times.length * of)]!.toFixed(1);
    return `${times.length} texts: p50 ${part(0.5)} ms, p99 ${part(0.99)} ms`;
  };

  await texts(2_000); // warm up
  const before = await residentMb(sluice.pid);
  say(`idle: ${before.toFixed(0)} MB resident, ${await texts(Number(seconds) * 1_000)}`);
  let [highest, sent, stop] = [0, 0, false];
  const watching = (async () => {
    while (!stop) {
      highest = Math.max(highest, await residentMb(sluice.pid));
      await pause(50);
    }
  })();
  const sending = Array.from({ length: Number(callers) }, async () => {
    while (!stop) {
      await post(imageBody);
      sent++;
    }
  });
  const beside = await texts(Number(seconds) * 1_000);
  stop = true;
  await Promise.all([watching, ...sending]);
  say(
    `${callers} callers with a 5 MB image each: ${sent} images, at most ${
      highest.toFixed(0)
    } MB resident, ${beside}`,
  );
} finally {
  upstream.kill("SIGTERM");
  await upstream.status;
}
