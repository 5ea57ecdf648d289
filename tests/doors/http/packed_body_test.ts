/** Compressed bodies are bodies: the same limits hold for what they are unpacked. `HEAD` is answered as GET. */

import fc from "fast-check";
import { unpack } from "../../../src/doors/http/packed_body.ts";
import { assert, assertEquals, assertMatch, assertRejects } from "../../assert.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";
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

async function sendPacked(gateway: TestGateway, text: string) {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.key}`, "content-encoding": "gzip" },
    body: await packed(new TextEncoder().encode(text), "gzip"),
  });
  return { status: response.status, text: await response.text() };
}

Deno.test("a compressed body takes one share of the memory, which both its forms fit in", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: {
      upstream: { url: upstream.url },
      limits: { largeBodiesBytes: 400_000, bodyIdleMs: 1_000 },
    },
  });
  const random = Array.from(
    crypto.getRandomValues(new Uint8Array(60_000)),
    (byte) => byte.toString(16).padStart(2, "0"),
  ).join(""); // of which half is left
  const messages = [{ role: "user", content: random }, { role: "user", content: random }];
  const { status, text } = await sendPacked(gateway, JSON.stringify({ model: "svc-k2", messages }));
  assertEquals(status, 200, text);
});

Deno.test("of a rejected body the bytes count that it has when unpacked", async () => {
  await using gateway = await startGateway({
    settings: { limits: { unbilledBytesPerMinute: 500_000 } },
  });
  const statuses: number[] = [];
  for (let sent = 0; sent < 4; sent++) {
    statuses.push((await sendPacked(gateway, " ".repeat(200_000))).status);
  }
  assertEquals(statuses, [400, 400, 400, 429]);
});

Deno.test("what is no body compressed as it says is refused", async (t) => {
  await using gateway = await startGateway();
  const whole = await packed(new TextEncoder().encode('{"model":"svc-k2"}'), "gzip");
  const bodies: Readonly<Record<string, readonly [string, Uint8Array<ArrayBuffer>]>> = {
    "twice": ["gzip, gzip", whole],
    "another": ["zstd", whole],
    "nothing": ["gzip", new Uint8Array()],
    "half": ["gzip", whole.slice(0, whole.length / 2)],
    "more": ["gzip", new Uint8Array([...whole, 1, 2, 3])],
    "plain": ["gzip", new TextEncoder().encode("{}")],
    "raw deflate": ["deflate", whole.slice(10, -8)],
  };
  for (const [what, [encoding, body]] of Object.entries(bodies)) {
    await t.step(what, async () => {
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${gateway.key}`, "content-encoding": encoding },
        body,
      });
      const { error } = await response.json();
      assertEquals([response.status, error.code], [400, "invalid_request"]);
      assertMatch(error.message, /^Request bod(y|ies) /);
    });
  }
});
