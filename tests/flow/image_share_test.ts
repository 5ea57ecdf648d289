/** Remote images take turns: no account's images keep another's waiting, and a client that disconnects is gone. */

import type { SettingsInput } from "../../src/settings/config/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { assertLedgerClean, type Customer, customer } from "../fake/customer.ts";
import { startGateway, statusOf, type TestGateway, usageRecords } from "../fake/gateway.ts";
import { DEADLINE_MS, inTime, sleep, until } from "../fake/temp.ts";
import { completion, fakeUpstream, rawServer, readRequest } from "../fake/upstream.ts";

const png = await Deno.readFile(new URL("../requests/images/files/rgb.png", import.meta.url));
const inline = `data:image/png;base64,${btoa(String.fromCharCode(...png))}`;

/** A host whose pictures below `/slow` come only when they are let go; counts what is asked of it. */
function pictureHost() {
  const asked: string[] = [];
  const gate = Promise.withResolvers<void>();
  let waiting = 0;
  const server = rawServer(async (connection) => {
    const path = (await readRequest(connection))?.split(" ")[1] ?? "";
    asked.push(path);
    if (path.startsWith("/slow")) {
      waiting++;
      const gone = connection.read(new Uint8Array(1)).catch(() => null);
      await Promise.race([gone, gate.promise]).finally(() => waiting--);
    }
    const head = `HTTP/1.1 200 OK\r\ncontent-type: image/png\r\nconnection: close\r\n` +
      `content-length: ${png.byteLength}\r\n\r\n`;
    await connection.write(new TextEncoder().encode(head));
    await connection.write(png);
  });
  const { host } = new URL(server.url);
  return {
    host,
    asked,
    url: (path: string) => `http://${host}${path}`,
    /** Slow pictures that somebody still waits for. */
    get waiting() {
      return waiting;
    },
    letGo: () => gate.resolve(),
    async [Symbol.asyncDispose]() {
      gate.resolve();
      await server[Symbol.asyncDispose]();
    },
  };
}

const ask = (...urls: string[]) => ({
  model: "svc-k2.6",
  messages: [{
    role: "user",
    content: urls.map((url) => ({ type: "image_url", image_url: { url } })),
  }],
});

/** Somebody who asks and may leave. */
function asking(gateway: TestGateway, who: Customer, urls: readonly string[]) {
  const leaving = new AbortController();
  const reply = gateway.post("/v1/chat/completions", ask(...urls), {
    key: who.keys[0]!,
    signal: leaving.signal,
  });
  const status = statusOf(reply).catch(() => undefined);
  return { status, leave: () => leaving.abort() };
}

/** What nobody handled while this was open; such a rejection ends a gateway. */
function unhandledRejections() {
  const found: unknown[] = [];
  const note = (event: PromiseRejectionEvent) => {
    event.preventDefault();
    found.push(String(event.reason));
  };
  globalThis.addEventListener("unhandledrejection", note);
  return {
    found,
    [Symbol.dispose]: () => globalThis.removeEventListener("unhandledrejection", note),
  };
}

Deno.test("a caller who leaves while its picture waits for a turn: nothing is fetched, nothing breaks", async () => {
  using unhandled = unhandledRejections();
  await using pictures = pictureHost();
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, images: { allowPrivateHosts: [pictures.host] } },
  });
  // each of 16 turns is another account's, so that no way of sharing has one left
  const others = await Promise.all(Array.from({ length: 16 }, () => customer(gateway, 100)));
  const slow = others.map((one, at) => asking(gateway, one, [pictures.url(`/slow/${at}`)]));
  await until(() => pictures.waiting === 16, { what: "16 pictures being fetched" });
  const leaver = await customer(gateway, 100);
  const left = asking(gateway, leaver, [pictures.url("/mine")]);
  await until(() => gateway.gateway.inFlight.count === 17);
  await sleep(100);
  left.leave();
  assertEquals(await left.status, undefined);
  const isOver = async () =>
    (await usageRecords(gateway)).some((one) => one.account_id === leaver.accountId);
  await until(isOver, { what: "the end of the request of a caller who left" })
    .catch((error) => unhandled.found.push(String(error)));
  pictures.letGo();
  for (const one of slow) assertEquals(await one.status, 200);
  await sleep(200); // a turn that is taken after all would be by now
  assertEquals(unhandled.found, []);
  assertEquals(pictures.asked.filter((path) => path === "/mine"), []);
  assertEquals(upstream.received.length, 16);
  assertEquals(await leaver.balance(), 100);
  await assertLedgerClean(gateway);
});

for (const count of [1, 2, 3, 4, 8]) {
  Deno.test(`a caller who leaves while pictures are fetched is noticed: ${count} of them`, async () => {
    using unhandled = unhandledRejections();
    await using pictures = pictureHost();
    await using upstream = fakeUpstream(() => completion("ok"));
    await using gateway = await startGateway({
      settings: { upstream: { url: upstream.url }, images: { allowPrivateHosts: [pictures.host] } },
    });
    const who = await customer(gateway, 100);
    const urls = Array.from({ length: count }, (_, at) => pictures.url(`/slow/${at}`));
    const request = asking(gateway, who, urls);
    const atOnce = Math.min(count, 4);
    await until(() => pictures.waiting === atOnce, { what: "all pictures being fetched" });
    await sleep(100);
    request.leave();
    await request.status;
    await until(() => pictures.waiting === 0, { what: "the end of the fetches" });
    await until(() => gateway.gateway.inFlight.count === 0, { what: "the end of the request" });
    pictures.letGo();
    await sleep(100);
    assertEquals([pictures.asked.length, upstream.received.length], [atOnce, 0]);
    assertEquals(unhandled.found, []);
    assertEquals((await usageRecords(gateway)).map((one) => [one.ending, one.charged_credits]), [
      ["client_left", 0],
    ]);
    assertEquals(await who.balance(), 100);
    await assertLedgerClean(gateway);
  });
}

Deno.test("one account's waiting pictures never starve another's", async () => {
  using unhandled = unhandledRejections();
  await using pictures = pictureHost();
  await using others = pictureHost();
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: {
      upstream: { url: upstream.url },
      images: { allowPrivateHosts: [pictures.host, others.host] },
    },
  });
  const [greedy, modest] = [await customer(gateway, 1_000), await customer(gateway, 100)];
  const crowd = Array.from(
    { length: 32 }, // with four pictures each: more would not be let to wait
    (_, at) =>
      asking(gateway, greedy, [0, 1, 2, 3].map((one) => pictures.url(`/slow/${at}/${one}`))),
  );
  await until(() => gateway.gateway.inFlight.count === 32);
  await until(() => pictures.waiting >= 8, { what: "the crowd's fetches" });
  await sleep(200);
  // the crowd's pictures come only after this
  const one = asking(gateway, modest, [others.url("/quick")]);
  const status = await inTime(one.status, DEADLINE_MS, "late");
  one.leave();
  for (const { leave } of crowd) leave();
  await Promise.all([one, ...crowd].map((each) => each.status));
  pictures.letGo();
  await until(() => gateway.gateway.inFlight.count === 0);
  assertEquals(status, 200);
  assertEquals(unhandled.found, []);
});

/** The same pictures in either dialect. */
const WAYS = {
  "/v1/chat/completions": ask,
  "/v1/messages": (...urls: string[]) => ({
    model: "svc-k2.6",
    max_tokens: 50,
    messages: [{
      role: "user",
      content: urls.map((url) => ({
        type: "image",
        source: url.startsWith("data:")
          ? { type: "base64", media_type: "image/png", data: url.slice(url.indexOf(",") + 1) }
          : { type: "url", url },
      })),
    }],
  }),
};

for (const [path, body] of Object.entries(WAYS)) {
  Deno.test(`${path}: a request has a bound of images, inline or not`, async () => {
    await using pictures = pictureHost();
    await using upstream = fakeUpstream(() => completion("ok"));
    const start = (images: Record<string, unknown>) =>
      startGateway({
        settings: {
          upstream: { url: upstream.url },
          images: { allowPrivateHosts: [pictures.host], ...images },
        } as SettingsInput,
      });
    const rows: [images: Record<string, unknown>, most: number][] = [[{}, 100], [
      { maxImages: 3 },
      3,
    ]];
    for (const [images, most] of rows) {
      await using gateway = await start(images);
      for (const one of [inline, pictures.url("/one")]) {
        const before = [pictures.asked.length, upstream.received.length];
        const refused = await gateway.post(path, body(...Array(most + 1).fill(one)));
        const { error } = await refused.json();
        assertEquals(refused.status, 400, `${most + 1} images`);
        assertStringIncludes(error.message, "messages");
        assertStringIncludes(error.message, `${most}`);
        assertEquals([pictures.asked.length, upstream.received.length], before);
        assertEquals(await statusOf(gateway.post(path, body(...Array(most).fill(one)))), 200);
      }
    }
  });
}

Deno.test("a turn is not waited for forever: 503 with Retry-After, and nothing is fetched later", async () => {
  await using pictures = pictureHost();
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: {
      upstream: { url: upstream.url },
      images: { allowPrivateHosts: [pictures.host], fetches: 1, waitMs: 300 },
    } as SettingsInput,
  });
  const [first, second] = [await customer(gateway, 100), await customer(gateway, 100)];
  const slow = asking(gateway, first, [pictures.url("/slow")]);
  await until(() => pictures.waiting === 1);
  const reply = await gateway.post("/v1/chat/completions", ask(pictures.url("/late")), {
    key: second.keys[0]!,
    signal: AbortSignal.timeout(DEADLINE_MS),
  });
  await reply.body?.cancel();
  assertEquals(reply.status, 503);
  assert(Number(reply.headers.get("retry-after")) >= 1, `${reply.headers.get("retry-after")}`);
  pictures.letGo(); // what holds the only turn ends after the refusal
  assertEquals(await slow.status, 200);
  await sleep(100);
  assertEquals([pictures.asked, upstream.received.length], [["/slow"], 1]);
  assertEquals(await second.balance(), 100);
  // the turn is free again
  const again = asking(gateway, second, [pictures.url("/quick")]);
  assertEquals(await again.status, 200);
  await assertLedgerClean(gateway);
});
