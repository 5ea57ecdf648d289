import { sleep } from "../fake/temp.ts";

const file = (name: string) =>
  Deno.readFile(new URL(`../requests/images/files/${name}`, import.meta.url));

/** Pictures of a few hundred bytes and one of 300 KB. */
export interface Pictures {
  readonly small: Uint8Array<ArrayBuffer>;
  readonly large: Uint8Array<ArrayBuffer>;
}

export async function readPictures(): Promise<Pictures> {
  const small = await file("rgb.png");
  return { small, large: padded(small, 300_000) };
}

/** The picture with a chunk more that readers pass over. */
function padded(png: Uint8Array, bytes: number): Uint8Array<ArrayBuffer> {
  const atEnd = png.length - 12; // before IEND, which is an empty chunk
  const all = new Uint8Array(png.length + 12 + bytes);
  all.set(png.subarray(0, atEnd));
  new DataView(all.buffer).setUint32(atEnd, bytes);
  all.set(new TextEncoder().encode("juNk"), atEnd + 4);
  let state = 1;
  for (let at = 0; at < bytes; at++) {
    state = Math.imul(state, 1_103_515_245) + 12_345;
    all[atEnd + 8 + at] = state >>> 16;
  }
  new DataView(all.buffer).setUint32(atEnd + 8 + bytes, crc32(all, atEnd + 4, atEnd + 8 + bytes));
  all.set(png.subarray(atEnd), atEnd + 12 + bytes);
  return all;
}

function crc32(bytes: Uint8Array, from: number, to: number): number {
  let crc = -1;
  for (let at = from; at < to; at++) {
    crc ^= bytes[at]!;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

/** The base64 of bytes. */
export function base64(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += 8_192) {
    binary += String.fromCharCode(...bytes.subarray(at, at + 8_192));
  }
  return btoa(binary);
}

/**
 * A host of pictures: `/small`, `/large`, `/slow/MS` (after so long), `/stalls`, `/none` (404),
 * `/circle` (redirects to itself), `/text`.
 */
export function imageHost(pictures: Pictures) {
  const picture = (bytes: Uint8Array<ArrayBuffer>) =>
    new Response(bytes, { headers: { "content-type": "image/png" } });
  const ending = new AbortController();
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    signal: ending.signal,
    onListen() {},
  }, async (request) => {
    const [, kind, ms] = new URL(request.url).pathname.split("/");
    switch (kind) {
      case "small":
        return picture(pictures.small);
      case "large":
        return picture(pictures.large);
      case "slow":
        await sleep(Number(ms));
        return picture(pictures.small);
      case "stalls":
        return new Response(
          new ReadableStream({ start: (one) => one.enqueue(pictures.small.slice(0, 40)) }),
          { headers: { "content-type": "image/png" } },
        );
      case "circle":
        return new Response(null, { status: 302, headers: { location: "/circle" } });
      case "text":
        return new Response("no picture");
      default:
        return new Response("none", { status: 404 });
    }
  });
  const host = `127.0.0.1:${server.addr.port}`;
  return {
    host,
    async [Symbol.asyncDispose]() {
      ending.abort();
      await server.finished;
    },
  };
}
