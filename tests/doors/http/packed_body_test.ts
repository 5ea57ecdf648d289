/** Compressed bodies are bodies: the same limits hold for what they are unpacked. `HEAD` is answered as GET. */

import fc from "fast-check";
import { unpack } from "../../../src/doors/http/packed_body.ts";
import { assert, assertEquals, assertMatch, assertRejects } from "../../assert.ts";
import { startGateway } from "../../fake/gateway.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";

type Format = "gzip" | "deflate";

async function packed(bytes: Uint8Array<ArrayBuffer>, format: Format) {
  const stream = new Response(bytes).body!.pipeThrough(new CompressionStream(format));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const FORMAT = fc.constantFrom<Format>("gzip", "deflate");
const free = () => Promise.resolve();

Deno.test("what is packed is unpacked, and something else is refused", async () => {
  const bytes = fc.uint8Array({ maxLength: 5_000 }).map((one) => new Uint8Array(one));
  await fc.assert(fc.asyncProperty(bytes, FORMAT, async (sent, format) => {
    const all = await packed(sent, format);
    assertEquals(await unpack(all, format, free), sent);
  }));
  await assertRejects(() => unpack(new Uint8Array([123, 125]), "gzip", free), Error, "not valid");
});

Deno.test("of a body that grows a thousandfold no more is unpacked than may be", async () => {
  const bomb = await packed(new Uint8Array(40_000_000), "gzip");
  assert(bomb.byteLength < 50_000);
  let most = 0;
  const within = (size: number) => {
    most = size;
    return size > 100_000 ? Promise.reject(new Error("too large")) : Promise.resolve();
  };
  await assertRejects(() => unpack(bomb, "gzip", within), Error, "too large");
  assert(most < 2_000_000, `${most}`);
});

Deno.test("a compressed body is read as any other, by its bytes when unpacked", async (t) => {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, limits: { bodyBytes: 200_000 } },
  });
  const post = async (encoding: string, format: Format, content: string) => {
    const body = { model: "svc-k2", messages: [{ role: "user", content }] };
    const bytes = await packed(new TextEncoder().encode(JSON.stringify(body)), format);
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${gateway.key}`,
        "content-type": "application/json",
        "content-encoding": encoding,
      },
      body: bytes,
    });
    return { status: response.status, text: await response.text() };
  };
  for (
    const [encoding, format] of [["gzip", "gzip"], ["GZIP", "gzip"], ["x-gzip", "gzip"], [
      "deflate",
      "deflate",
    ]] as const
  ) {
    for (const content of ["Grüße", "word ".repeat(30_000)]) {
      await t.step(`${encoding}, ${content.length} characters`, async () => {
        const { status, text } = await post(encoding, format, content);
        assertEquals(status, 200, text);
        const [said] = upstream.received.at(-1)!.body.messages as { content: string }[];
        assertEquals(said!.content, content);
      });
    }
  }
  const { status, text } = await post("gzip", "gzip", "x".repeat(300_000));
  assertEquals(status, 400);
  assertMatch(text, /Request body too large/);
});

Deno.test("HEAD is answered as GET is, without a body", async () => {
  await using gateway = await startGateway();
  const headers = { authorization: `Bearer ${gateway.key}` };
  for (
    const path of [
      "/",
      "/v1/models",
      "/v1/models/svc-k2",
      "/v1/models/none",
      "/api/hello",
      "/healthz",
    ]
  ) {
    const ask = async (method: string) => {
      const response = await fetch(gateway.url + path, { method, headers, redirect: "manual" });
      const text = await response.text();
      const retry = response.headers.get("x-should-retry");
      return [text !== "", response.status, response.headers.get("content-type"), retry];
    };
    const [, ...get] = await ask("GET");
    assertEquals(await ask("HEAD"), [false, ...get], path);
  }
});
