/** Settings that are read again while requests are served. */

import type { SettingsInput } from "../../src/settings/config/mod.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { startCommand } from "../fake/command.ts";
import { assertLedgerClean } from "../fake/customer.ts";
import { startGateway, statusOf, usageRecords } from "../fake/gateway.ts";
import { sluice } from "../fake/shell.ts";
import { sleep, tempDir, until } from "../fake/temp.ts";
import { chunk, completion, fakeUpstream, pacedStream, sse } from "../fake/upstream.ts";
import { sized } from "../tier.ts";

const STREAMS = sized(60, 200);
const REQUESTS = sized(120, 400);
const GENERATIONS = 8;

/** Settings whose price, route, upstream key and alias are those of one generation. */
function generation(at: number, urls: readonly string[]): SettingsInput {
  const price = 1_000_000 * (at + 1); // a credit for each generation and token
  return {
    upstreams: {
      one: { url: urls[0]!, key: `key-${at}` },
      other: { url: urls[1]!, key: `key-${at}` },
    },
    routes: {
      steady: {
        targets: [{ upstream: at % 2 === 0 ? "one" : "other", model: `model-${at}` }],
        prices: { input: 0, cached: 0, output: price },
        context: 1_000,
        maxOutput: 20,
      },
    },
    aliases: { latest: "steady", [`alias-${at}`]: "steady" },
    credits: { ownerGrant: 100_000_000 },
  };
}

Deno.test("a price, a route, a key and an alias change under load without a failed request", async () => {
  const answers = ({ body }: { body: { stream?: boolean } }) => {
    const usage = { prompt_tokens: 1, completion_tokens: 3, total_tokens: 4 };
    if (!body.stream) return completion("a b c", { usage });
    const pieces = ["a", " b", " c"].map((content) => sse(chunk({ content })));
    return pacedStream(120, [
      ...pieces,
      sse(chunk({}, "stop", { usage }), "[DONE]"),
    ]);
  };
  await using one = fakeUpstream(answers);
  await using other = fakeUpstream(answers);
  const urls = [one.url, other.url];
  await using gateway = await startGateway({ settings: generation(0, urls) });

  const failures: string[] = [];
  const ask = async (stream: boolean) => {
    const reply = await gateway.chat("Hi", { model: "latest", stream });
    const text = await reply.text();
    if (reply.status !== 200 || (stream && !text.includes("[DONE]"))) failures.push(text);
  };
  const streams = Array.from({ length: STREAMS }, async (_, at) => {
    await sleep(at * sized(30, 10));
    await ask(true);
  });
  const requests = Array.from({ length: REQUESTS }, async (_, at) => {
    await sleep(at * sized(15, 10));
    await ask(false);
  });
  let isOver = false;
  const further = (async () => { // a busy machine may take longer to reload than those last
    while (!isOver) {
      await ask(false);
      await sleep(20);
    }
  })();
  const seen = (at: number) =>
    [...one.received, ...other.received].some(({ body }) => body.model === `model-${at}`);
  for (let at = 1; at < GENERATIONS; at++) {
    await sleep(200);
    assertEquals((await gateway.reload(generation(at, urls))).fault, null);
    await until(() => seen(at), { what: "be used" });
  }
  isOver = true;
  await Promise.all([...streams, ...requests, further]);
  assertEquals(failures, []);

  // each request was sent by one generation: its key, its model, its upstream, its price
  const received = [
    ...one.received.map((sent) => ({ ...sent, from: 0 })),
    ...other.received
      .map((sent) => ({ ...sent, from: 1 })),
  ];
  const sent = received.map(({ headers, body, from }) => {
    const at = Number(headers.get("authorization")?.replace("Bearer key-", ""));
    assertEquals([body.model, from], [`model-${at}`, at % 2]);
    return 3 * (at + 1);
  });
  const records = await usageRecords(gateway);
  const charged = records.map(({ charged_credits }) => Number(charged_credits));
  const ascending = (a: number, b: number) => a - b;
  assertEquals(charged.toSorted(ascending), sent.toSorted(ascending));
  assertEquals(new Set(charged).size, GENERATIONS);
  await assertLedgerClean(gateway);

  // the old aliases are gone, the new one is there, and no earlier upstream is left open
  assertEquals(await statusOf(gateway.chat("Hi", { model: "alias-0" })), 404);
  assertEquals(await statusOf(gateway.chat("Hi", { model: `alias-${GENERATIONS - 1}` })), 200);
});

/** Faults of a settings file, and what is said about each. */
const FAULTY: readonly [string | SettingsInput, RegExp][] = [
  ["{ not JSON", /:1:3 {2}syntax error: text must be in double quotes/],
  ["[]", /:1:1 {2}must be an object/],
  [
    { routes: { small: { targets: [{ upstream: "none", model: "m" }] } } },
    /:\d+:\d+ {2}routes\.small\.targets\[0\]\.upstream: unknown upstream/,
  ],
  [{ aliases: { mine: "svc-nothing" } }, /unknown route/],
  [{ upstreams: { one: { url: "http://127.0.0.1:1", caCert: "none.pem" } } }, /cannot read/],
  [{ port: "here" as unknown as number }, /port/],
];

Deno.test("faulty settings change nothing, and the fault is told", async () => {
  await using gateway = await startGateway();
  for (const [settings, told] of FAULTY) {
    const reload = await gateway.reload(settings);
    assertMatch(reload.fault ?? "", told);
    assertEquals(await statusOf(gateway.chat("Hi")), 200);
    assertStringIncludes(gateway.log(), "settings not reloaded");
  }
  assertEquals(gateway.gateway.config.settings.port, 0);
});

Deno.test("settings that a running gateway keeps are named, the rest is applied", async () => {
  await using gateway = await startGateway();
  const reload = await gateway.reload({
    port: 1,
    durability: "normal",
    aliases: { mine: "svc-k2" },
  });
  assertEquals(reload.needRestart, ["port", "durability"]);
  assertEquals(await statusOf(gateway.chat("Hi", { model: "mine" })), 200);
});

Deno.test("bounds, tiers, retention and the owner's key change as well", async () => {
  const key = `sk-${"n".repeat(40)}`;
  await using gateway = await startGateway();
  await gateway.reload({
    owner: { key },
    tiers: [{ above: 0, minute: 1, hour: 1_000, day: 1_000 }],
    limits: { openRequestsPerKey: 7, countsPerMinute: 1 },
  });
  const first = await gateway.chat("Hi", {}, { key });
  await first.body?.cancel();
  assertEquals([first.status, first.headers.get("x-ratelimit-limit")], [200, "1"]);
  assertEquals(await statusOf(gateway.chat("Hi", {}, { key })), 429);
  const count = async () => {
    const body = { model: "svc-k2", messages: [{ role: "user", content: "Hi" }] };
    return await statusOf(gateway.post("/v1/messages/count_tokens", body, { key }));
  };
  assertEquals([await count(), await count()], [200, 429]);
});

Deno.test("what earlier settings opened is closed once their last request has ended", async () => {
  let release = () => {};
  await using upstream = fakeUpstream(() =>
    new Promise((resolve) => release = () => resolve(completion("late")))
  );
  const settings = { upstreams: { one: { url: upstream.url } } };
  await using gateway = await startGateway({ settings, looksInside: true });
  const before = gateway.gateway.upstreams;
  let closed = false;
  const close = before.close.bind(before);
  before.close = async () => {
    closed = true;
    await close();
  };
  const reply = gateway.chat("Hi");
  await until(() => upstream.received.length === 1, { what: "be sent" });
  await gateway.reload(settings);
  await sleep(50);
  assertEquals(closed, false);
  release();
  assertEquals(await statusOf(reply), 200);
  await until(() => closed, { what: "close" });
});

Deno.test({
  name: "SIGHUP and sluice reload; doctor and models tell what the gateway does not use yet",
  ignore: Deno.build.os === "windows",
  async fn() {
    await using dir = await tempDir();
    const file = `${dir.path}/sluice.jsonc`;
    const write = (aliases: Record<string, string>) =>
      Deno.writeTextFile(file, JSON.stringify({ port: 0, aliases }));
    const run = (...args: string[]) => sluice(args, { directory: dir.path });
    await write({});
    await using gateway = startCommand([], { directory: dir.path });
    const [, url] = await gateway.waitFor(/listening on (http:\S+)/);
    await gateway.waitFor(/curl/);
    const isServed = async (model: string) => {
      const reply = await fetch(`${url}/v1/models/${model}`);
      await reply.body?.cancel();
      return reply.status === 200;
    };

    await write({ one: "svc-k2" });
    assertStringIncludes((await run("models")).err, "has changed since");
    assertMatch((await run("doctor", "--local")).out, /has changed since.*\n.*sluice reload/);
    const done = await run("reload");
    assertEquals([done.code, done.out], [0, `Reloaded ${file}.\n`], done.err);
    assert(await isServed("one"));
    assert(!(await run("models")).err.includes("has changed since"));

    await Deno.writeTextFile(file, "{ broken");
    gateway.signal("SIGHUP");
    await until(() => gateway.err().includes("settings not reloaded"), { what: "tell" });
    assert(await isServed("one"));
    assertEquals((await run("reload")).code, 1);

    await write({ two: "svc-k2" });
    assertMatch((await run("doctor", "--local")).out, /could not read its settings/);
    gateway.signal("SIGHUP");
    await until(() => isServed("two"), { what: "be served" });
    assertEquals(await isServed("one"), false);

    // a file that was truncated or removed is a fault, not a gateway without settings
    for (const lose of [() => Deno.writeTextFile(file, ""), () => Deno.remove(file)]) {
      await lose();
      const told = gateway.err().split("settings not reloaded").length;
      gateway.signal("SIGHUP");
      await until(() => gateway.err().split("settings not reloaded").length > told, {
        what: "tell",
      });
      assert(await isServed("two"));
    }
    // each of two reloads tells its own outcome
    await write({ two: "svc-k2" });
    const good = run("reload");
    await Promise.all([good, Deno.writeTextFile(file, "{ broken").then(() => run("reload"))]);
    const { code, err } = await run("reload");
    assertEquals(code, 1, err);

    gateway.signal("SIGTERM");
    assertEquals((await gateway.status).code, 0);
    await write({});
    assertMatch((await run("reload")).err, /No gateway is running/);
  },
});
