/**
 * What do pictures cost beside text?
 *
 * Callers send a 5 MB image each, again and again, while others ask in text at a steady pace, each kind from
 * a process of its own, to upstreams of their own. Printed: resident memory before and at its highest, and the text requests' times
 * without and with pictures.
 *
 * `deno run -A bench/images.ts [CALLERS] [SECONDS] [ROUNDS]`
 */

import { baseUrl, startSluice, startUpstream } from "./gateways.ts";
import { pause, residentMb, say } from "./harness.ts";

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

/** A caller: posts one body and expects an answer. */
function poster(port: number, key: string, body: BodyInit) {
  const headers = { "content-type": "application/json", authorization: key };
  return async () => {
    const url = `http://127.0.0.1:${port}/v1/chat/completions`;
    const reply = await fetch(url, { method: "POST", headers, body });
    const text = await reply.text();
    if (reply.status !== 200) throw new Error(`${reply.status} ${text}`);
  };
}

/** The process that sends pictures, until its standard input ends; prints how many. */
async function send(port: number, key: string, callers: number): Promise<void> {
  const image = { type: "image_url", image_url: { url: `data:image/png;base64,${picture()}` } };
  const messages = [{ role: "user", content: [image] }];
  const body = new TextEncoder().encode(JSON.stringify({ model: "svc-k2.6", messages }));
  const post = poster(port, key, body);
  let [sent, stop] = [0, false];
  const sending = Array.from({ length: callers }, async () => {
    while (!stop) {
      await post();
      if (sent++ === 0) say("begun");
    }
  });
  for await (const _ of Deno.stdin.readable) { /* nothing is said */ }
  stop = true;
  await Promise.all(sending);
  say(`${sent} images`);
}

async function measure(callers: number, seconds: number, rounds: number): Promise<void> {
  await using texting = await startUpstream();
  await using pictures = await startUpstream();
  await using sluice = await startSluice(baseUrl(texting), {
    settings: {
      upstreams: { texts: { url: baseUrl(texting) }, pictures: { url: baseUrl(pictures) } },
      routes: {
        "svc-k2": { targets: [{ upstream: "texts", model: "k2" }] },
        "svc-k2.6": { targets: [{ upstream: "pictures", model: "k2.6" }] },
      },
    },
  });
  const key = sluice.headers.authorization!;
  const messages = [{ role: "user", content: "Hi" }];
  const post = poster(sluice.port, key, JSON.stringify({ model: "svc-k2", messages }));
  const texts = async (forMs: number): Promise<string> => {
    const times: number[] = [];
    const running: Promise<void>[] = [];
    const began = performance.now();
    while (performance.now() - began < forMs) {
      const at = performance.now();
      running.push(post().then(() => void times.push(performance.now() - at)));
      await pause(TEXT_EVERY_MS);
    }
    await Promise.all(running);
    times.sort((a, b) => a - b);
    const part = (of: number) => times[Math.floor(times.length * of)]!.toFixed(1);
    return `${times.length} texts: p50 ${part(0.5)} ms, p99 ${part(0.99)} ms`;
  };

  await texts(2_000); // warm up
  for (let round = 0; round < rounds; round++) {
    const before = await residentMb(sluice.pid);
    say(`idle: ${before.toFixed(0)} MB resident, ${await texts(seconds * 1_000)}`);
    let [highest, stop] = [0, false];
    const watching = (async () => {
      while (!stop) {
        highest = Math.max(highest, await residentMb(sluice.pid));
        await pause(50);
      }
    })();
    const sender = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", import.meta.filename!, "send", String(sluice.port), key, `${callers}`],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const said = sender.stdout.pipeThrough(new TextDecoderStream()).getReader();
    await said.read(); // an image has been answered: the sender's own start is over
    const beside = await texts(seconds * 1_000);
    await sender.stdin.close();
    const { value } = await said.read();
    await sender.status;
    stop = true;
    await watching;
    say(
      `  ${callers} callers: ${value?.trim()}, at most ${
        highest.toFixed(0)
      } MB resident, ${beside}`,
    );
  }
}

if (Deno.args[0] === "send") {
  const [, port, key, callers] = Deno.args;
  await send(Number(port), key!, Number(callers));
} else {
  const [callers = "64", seconds = "10", rounds = "1"] = Deno.args;
  await measure(Number(callers), Number(seconds), Number(rounds));
}
