import { Buffer } from "node:buffer";
import OpenAI from "openai";
import Anthropic from "@anthropic-ai/sdk";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { customer } from "../fake/customer.ts";
import { startGateway, usageRecords } from "../fake/gateway.ts";
import { Random, testSeed } from "../fake/random.ts";
import { simulateServer } from "../fake/simulate.ts";
import { sleep, until } from "../fake/temp.ts";
import { completion, fakeUpstream } from "../fake/upstream.ts";
import { sized } from "../tier.ts";

const read = (name: string) =>
  Deno.readFile(new URL(`../requests/images/files/${name}`, import.meta.url));
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");
const png = await read("rgb.png");
const jpeg = await read("progressive.jpg");

/** A host of images; counts what is asked of it. */
function imageHost(files: Readonly<Record<string, Uint8Array>>) {
  const asked: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    const { pathname } = new URL(request.url);
    asked.push(pathname);
    const file = files[pathname];
    return file === undefined
      ? new Response("no", { status: 404 })
      : new Response(file.slice(), { headers: { "content-type": "image/png" } });
  });
  const host = `127.0.0.1:${server.addr.port}`;
  return {
    host,
    asked,
    url: (path: string) => `http://${host}${path}`,
    async [Symbol.asyncDispose]() {
      await server.shutdown();
    },
  };
}

/** The base64 of all images that a body of either dialect holds. */
// deno-lint-ignore no-explicit-any -- a body as it was sent
function imagesIn(body: any): string[] {
  const found: string[] = [];
  const look = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(look);
    if (typeof value !== "object" || value === null) return;
    const { image_url: part, source, type } = value as Record<
      string,
      { url?: string; data?: string }
    >;
    if (part?.url !== undefined) found.push(part.url);
    if (source?.data !== undefined && String(type) === "image") {
      found.push(`data:${(source as { media_type?: string }).media_type};base64,${source.data}`);
    }
    Object.values(value).forEach(look);
  };
  look(body.messages);
  return found;
}

const MODELS = ["svc-k2.6", "svc-k2.7-code", "svc-k3"];

for (const behind of ["chat", "messages"] as const) {
  Deno.test(`images of both SDKs reach a ${behind} upstream byte for byte`, async () => {
    await using images = imageHost({ "/a.png": png, "/b": jpeg });
    await using server = simulateServer();
    await using gateway = await startGateway({
      settings: {
        upstream: { url: server.url, dialect: behind },
        images: { allowPrivateHosts: [images.host] },
      },
    });
    const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
    const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
    const expected = [
      `data:image/png;base64,${base64(png)}`,
      `data:image/jpeg;base64,${base64(jpeg)}`, // told by its bytes, not as it was declared
      `data:image/png;base64,${base64(png)}`,
    ];
    for (const model of sized([new Random(testSeed()).pick(MODELS)], MODELS)) {
      for (const stream of [false, true]) {
        const parts = [images.url("/a.png"), images.url("/b"), expected[0]!].map((url) => ({
          type: "image_url" as const,
          image_url: { url },
        }));
        const chat = {
          model,
          messages: [{
            role: "user" as const,
            content: [{ type: "text" as const, text: "What are these?" }, ...parts],
          }],
        };
        const said = stream
          ? await openai.chat.completions.stream(chat).finalContent()
          : (await openai.chat.completions.create(chat)).choices[0]!.message.content;
        assertStringIncludes(said!, "PNG of 48 × 32 pixels");
        assertEquals(imagesIn(server.bodies.at(-1)), expected, `${model} ${stream}`);

        const message = {
          model,
          max_tokens: 500,
          messages: [{
            role: "user" as const,
            content: [
              {
                type: "image" as const,
                source: { type: "url" as const, url: images.url("/a.png") },
              },
              { type: "image" as const, source: { type: "url" as const, url: images.url("/b") } },
              {
                type: "image" as const,
                source: {
                  type: "base64" as const,
                  media_type: "image/png" as const,
                  data: base64(png),
                },
              },
              { type: "text" as const, text: "What are these?" },
            ],
          }],
        };
        if (stream) await anthropic.messages.stream(message).finalMessage();
        else await anthropic.messages.create(message);
        assertEquals(imagesIn(server.bodies.at(-1)), expected, `${model} ${stream}`);
      }
    }
  });
}

const part = (url: string) => ({ type: "image_url", image_url: { url } });
const ask = (...urls: string[]) => ({
  model: "svc-k2.6",
  messages: [{ role: "user", content: urls.map(part) }],
});

Deno.test("the same address is fetched once for a request; its size counts as input", async () => {
  await using images = imageHost({ "/a.png": png });
  await using upstream = fakeUpstream(() => completion("ok", { usage: undefined }));
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, images: { allowPrivateHosts: [images.host] } },
  });
  const url = images.url("/a.png");
  const reply = await gateway.post("/v1/chat/completions", ask(url, url, url));
  assertEquals(reply.status, 200);
  await reply.body?.cancel();
  assertEquals(images.asked, ["/a.png"]);
  const [record] = await usageRecords(gateway);
  assert(
    Number(record!.input_tokens) < 50,
    `${record!.input_tokens} tokens for three small images`,
  );
});

Deno.test("nothing is fetched for a caller who is over a limit or cannot pay", async () => {
  await using images = imageHost({ "/a.png": png });
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: {
      upstream: { url: upstream.url },
      images: { allowPrivateHosts: [images.host] },
      tiers: [{ above: 0, minute: 1, hour: 100, day: 100 }],
    },
    now: () => Date.UTC(2030, 0, 1),
  });
  const body = ask(images.url("/a.png"));
  await (await gateway.chat("Hi")).body?.cancel(); // the one request of this minute
  upstream.received.length = 0;
  const limited = await gateway.post("/v1/chat/completions", body);
  assertEquals(limited.status, 429);
  await limited.body?.cancel();
  const poor = await customer(gateway, 0);
  const refused = await gateway.post("/v1/chat/completions", body, { key: poor.keys[0]! });
  assertEquals(refused.status, 403);
  await refused.body?.cancel();
  assertEquals([images.asked, upstream.received.length], [[], 0]);
});

Deno.test("a bad image is named, and costs nothing", async () => {
  await using images = imageHost({ "/a.png": png, "/text": new TextEncoder().encode("hello") });
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, images: { allowPrivateHosts: [images.host] } },
  });
  const one = await customer(gateway, 100);
  const good = images.url("/a.png");
  const wrong: [string, string][] = [
    [images.url("/text"), "is not a PNG, JPEG, WEBP or GIF"],
    [images.url("/missing"), "could not be fetched"],
    ["http://169.254.169.254/latest/meta-data/", "has a URL that is not allowed"],
    ["http://localhost:1/a.png", "has a URL that is not allowed"],
    ["ftp://host.example/a.png", "has a URL that is not allowed"],
    ["data:image/png;base64,!!!!", "is not valid base64"],
    [`data:image/png;base64,${base64(png.subarray(0, 100))}`, "is a PNG that is truncated"],
    [`data:text/html;base64,${base64(png)}`, "is declared as text/html"],
    ["data:image/png,plain", "must be a base64 data URL"],
  ];
  for (const [url, why] of wrong) {
    const reply = await gateway.post("/v1/chat/completions", ask(good, url), { key: one.keys[0]! });
    const { error } = await reply.json();
    assertEquals([reply.status, error.code, error.param], [
      400,
      "invalid_request",
      "messages[0].content[1].image_url",
    ]);
    assertStringIncludes(error.message, `The image at messages[0].content[1].image_url ${why}`);
  }
  assertEquals([upstream.received.length, await one.balance()], [0, 100]);
});

/** A PNG of exactly that size: its pixels' chunk is filled up. */
function pngOf(size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  bytes.set(png.subarray(0, 33)); // signature and header
  const view = new DataView(bytes.buffer);
  view.setUint32(33, size - 33 - 12 - 12);
  bytes.set(new TextEncoder().encode("IDAT"), 37);
  bytes.set(png.subarray(png.length - 12), size - 12);
  return bytes;
}

Deno.test("6 MB exactly pass and a byte more does not; 8 MB of base64 likewise", async () => {
  const limit = 6 * 1_048_576;
  await using images = imageHost({ "/whole": pngOf(limit), "/more": pngOf(limit + 1) });
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, images: { allowPrivateHosts: [images.host] } },
  });
  const inline = (size: number) => `data:image/png;base64,${base64(pngOf(size))}`;
  const told = async (...urls: string[]) => {
    const reply = await gateway.post("/v1/chat/completions", ask(...urls));
    const { error } = await reply.json();
    return [reply.status, error?.code];
  };
  assertEquals(await told(images.url("/whole")), [200, undefined]);
  assertEquals(await told(images.url("/more")), [400, "invalid_request"]);
  // 6 MB are exactly 8 MB of base64: alone they pass, with another image they are too much
  assertEquals(await told(inline(limit)), [200, undefined]);
  assertEquals(await told(inline(limit), inline(300)), [400, "encoded_image_too_large"]);
  assertEquals(await told(inline(limit + 1)), [400, "encoded_image_too_large"]);
  assertEquals(await told(images.url("/whole"), images.url("/whole")), [
    400,
    "encoded_image_too_large",
  ]);
});

for (const behind of ["chat", "messages"] as const) {
  Deno.test(`large images in either dialect reach a ${behind} upstream byte for byte`, async () => {
    const large = [pngOf(4_000_000), pngOf(200_000), pngOf(1_500_001)];
    for (const bytes of large) crypto.getRandomValues(bytes.subarray(1_000, 60_000));
    const [first, second, third] = large.map(base64) as [string, string, string];
    await using images = imageHost({ "/a.png": large[1]! });
    const bodies: string[] = [];
    await using upstream = fakeUpstream(({ body, raw }) => {
      bodies.push(raw);
      return behind === "chat" ? completion("ok") : Response.json({
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: body.model,
        content: [{ type: "text", text: "ok" }],
        stop_reason: "end_turn",
        stop_sequence: null,
        usage: { input_tokens: 7, output_tokens: 3 },
      });
    });
    await using gateway = await startGateway({
      settings: {
        upstream: { url: upstream.url, dialect: behind },
        images: { allowPrivateHosts: [images.host] },
      },
    });
    const expected = [first, second, third].map((data) => `data:image/png;base64,${data}`);
    const wrong = `data:image/webp;base64,${third}`; // declared as what it is not
    const source = (data: string, media_type = "image/png") => ({
      type: "image",
      source: { type: "base64", media_type, data },
    });
    const byAddress = { type: "image", source: { type: "url", url: images.url("/a.png") } };
    const asked: [string, Record<string, unknown>][] = [
      ["/v1/chat/completions", ask(expected[0]!, images.url("/a.png"), wrong)],
      ["/v1/messages", {
        model: "svc-k2.6",
        max_tokens: 10,
        messages: [{
          role: "user",
          content: [source(first), byAddress, source(third, "image/webp")],
        }],
      }],
    ];
    for (const [path, body] of asked) {
      const reply = await gateway.post(path, body);
      assertEquals(reply.status, 200, await reply.text());
      assertEquals(imagesIn(upstream.received.at(-1)!.body), expected, path);
      assert(!bodies.at(-1)!.includes("sluice-blob"));
    }
  });
}

Deno.test("long base64 that is no image is text: counted, and sent as it is", async () => {
  await using upstream = fakeUpstream(() => completion("ok", { usage: undefined }));
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  const data = base64(crypto.getRandomValues(new Uint8Array(60_000))).repeat(2); // no = in between
  const inputTokens = async (content: string) => {
    const messages = [{ role: "user", content }];
    const reply = await gateway.post("/v1/chat/completions", { model: "svc-k2", messages });
    assertEquals(reply.status, 200, await reply.text());
    assertEquals(upstream.received.at(-1)!.body.messages[0].content, content);
    return Number((await usageRecords(gateway)).at(-1)!.input_tokens);
  };
  const short = await inputTokens(data.slice(0, 120_000)); // stays where it is
  const long = await inputTokens(data);
  assert(long > short * 1.2, `${short} and ${long} tokens`);
  const counted = await gateway.post("/v1/messages/count_tokens", {
    model: "svc-k2",
    messages: [{ role: "user", content: data }],
  });
  const { input_tokens } = await counted.json();
  assert(input_tokens > short * 1.2, `${input_tokens} tokens`);
});

/** A gateway that has room for one large body, and whose upstream answers once it is let. */
async function oneLargeBody(limits: Record<string, number>) {
  await using started = new AsyncDisposableStack();
  const answered = Promise.withResolvers<void>();
  const upstream = started.use(fakeUpstream(async () => {
    await answered.promise;
    return completion("ok");
  }));
  const gateway = started.use(
    await startGateway({
      settings: {
        upstream: { url: upstream.url },
        limits: { largeBodiesBytes: 4_000_000, drainMs: 5_000, ...limits },
      },
    }),
  );
  const body = ask(`data:image/png;base64,${base64(pngOf(2_000_000))}`);
  const post = () => gateway.post("/v1/chat/completions", body);
  const first = post();
  await until(() => upstream.received.length > 0, { what: "the first one" });
  const owned = started.move();
  return {
    first,
    post,
    answer: () => answered.resolve(),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

Deno.test("large bodies are refused when their turn does not come", async () => {
  await using bodies = await oneLargeBody({ bodyIdleMs: 500 });
  const second = await bodies.post();
  const { error } = await second.json();
  assertEquals([second.status, error.code, second.headers.get("retry-after")], [
    503,
    "service_unavailable",
    "2",
  ]);
  bodies.answer();
  const first = await bodies.first;
  assertEquals(first.status, 200, await first.text());
});

Deno.test("large bodies wait for their turn", async () => {
  await using bodies = await oneLargeBody({ bodyIdleMs: 120_000 });
  const second = bodies.post();
  await sleep(100);
  bodies.answer();
  for (const reply of [await bodies.first, await second]) {
    assertEquals(reply.status, 200, await reply.text());
  }
});
