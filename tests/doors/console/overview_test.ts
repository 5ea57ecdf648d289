import { lastAudit } from "../../../src/operating/alerts/mod.ts";
import { newRequestId } from "../../../src/ground/platform/ids.ts";
import { settle } from "../../../src/money/ledger/mod.ts";
import { requestLatency } from "../../../src/money/usage/mod.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";
import { sharedGateway } from "../../fake/shared_gateway.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";
import { signedIn } from "../../fake/visitor.ts";

const OWNER = "owner@localhost";
const PATH = "/console/operator";
const EVENTS = { accept: "text/event-stream", "sec-fetch-site": "same-origin" };
const DAY_MS = 86_400_000;

/** A settled request of the owner. */
async function request(
  { gateway }: TestGateway,
  atMs: number,
  { credits = 5, durationMs = 1_000, failed = false, route = "svc-k2" } = {},
): Promise<void> {
  const [key] = await gateway.keys.list(gateway.owner);
  await settle(gateway.database, {
    requestId: newRequestId(atMs),
    accountId: gateway.owner.id,
    keyId: key!.id,
    dialect: "chat",
    route,
    upstream: "simulator",
    upstreamModel: "svc-k2",
    attempts: 1,
    status: failed ? 503 : 200,
    ending: failed ? "upstream_failed" : "complete",
    streamed: false,
    usageSource: failed ? null : "upstream",
    inputTokens: failed ? 0 : 10,
    cachedTokens: 0,
    outputTokens: failed ? 0 : 5,
    reasoningTokens: 0,
    startedAtMs: atMs,
    firstTokenMs: failed ? null : 100,
    durationMs,
    priceCredits: failed ? 0 : credits,
    ignored: "",
    prices: failed ? null : { input: 100, cached: 25, output: 400, minimum: 1 },
    admittedAtMs: atMs,
    settledAtMs: atMs + durationMs,
  });
}

/** Text of a page without its tags. */
function wordsOf(html: string): string {
  return html.replace(/<[^>]*>/g, " ").replace(/\s+/g, " ");
}

Deno.test("the overview: figures of a range, compared with the same hours before", async () => {
  const nowMs = Date.UTC(2026, 10, 23, 9, 30);
  await using gateway = await startGateway({
    now: () => nowMs,
    settings: { credits: { perUsd: 100 } },
  });
  const owner = await signedIn(gateway, OWNER);
  const isEmpty = async (range = "today") =>
    (await (await owner.get(`${PATH}?range=${range}`)).text()).includes("time. Send one from");
  assertEquals([await isEmpty(), await isEmpty("7d")], [true, true]);
  await request(gateway, nowMs - DAY_MS - 60_000, { credits: 100, durationMs: 1_000 });
  assertEquals([await isEmpty(), await isEmpty("7d")], [false, false], "only before; only in it");
  await request(gateway, nowMs - 60_000, { credits: 400, durationMs: 2_000 });
  await request(gateway, nowMs - 120_000, { failed: true });
  await request(gateway, nowMs - DAY_MS + 2 * 3_600_000, { credits: 999 }); // later that day
  const today = wordsOf(await (await owner.get(PATH)).text());
  assertMatch(today, /Spend 400 credits, \$4\.00, before 100 \(\+300 %\)/);
  assertMatch(today, /Requests 2 before 1 \(\+100 %\)/);
  assertMatch(today, /Failed 50 % 1 of 2; before 0 %/);
  assertMatch(today, /Latency p50 2\.0 s before 1\.0 s/);
  assertStringIncludes(today, "compared with yesterday up to the same time");
  const week = wordsOf(await (await owner.get(`${PATH}?range=7d`)).text());
  assertMatch(week, /Spend 1,499 credits, \$14\.99, none before/);
  const strange = wordsOf(await (await owner.get(`${PATH}?range=constructor`)).text());
  assertMatch(strange, /Spend 400 credits/);
  for (const range of ["today", "7d", "30d", "90d"]) {
    const reply = await owner.get(`${PATH}?range=${range}`);
    assertEquals(reply.status, 200, range);
    const html = await reply.text();
    assertMatch(html, /aria-label="Range"/);
    assert(html.length < 100_000, `${range}: ${html.length} characters`);
  }
});

Deno.test("the overview's chart of credits has the top models, and all others as one", async () => {
  const nowMs = Date.UTC(2026, 10, 23, 9, 30);
  await using gateway = await startGateway({ now: () => nowMs });
  for (let at = 1; at <= 8; at++) {
    await request(gateway, nowMs - 60_000, { credits: at, route: `model-${at}` });
  }
  const owner = await signedIn(gateway, OWNER);
  const words = wordsOf(await (await owner.get(PATH)).text());
  assertMatch(words, /Credits by hour and model 36 credits/);
  assertMatch(words, /model-8 8 \(22 %\).* model-4 4 \(11 %\).* all others 6 \(17 %\)/);
});

Deno.test("an upstream that fails often is in trouble although its last request went well", async () => {
  let number = 0;
  await using upstream = fakeUpstream(() =>
    number++ % 4 === 0
      ? Response.json({ error: { message: "overloaded" } }, { status: 503 })
      : completion("well")
  );
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  for (let index = 0; index < 11; index++) await (await gateway.chat("Hi")).body?.cancel();
  const owner = await signedIn(gateway, OWNER);
  const words = wordsOf(await (await owner.get(PATH)).text());
  assertMatch(words, /Upstreams 0 of 1 ok 1 in trouble/);
  assertMatch(words, /default 2\d % fail/);
  const html = await (await owner.get(`${PATH}/upstreams`)).text();
  assertMatch(html, /aria-label="default, last hour: 1\d attempts, \d failed, at most/);
});

Deno.test("an upstream is tested by a form, which is recorded in the log", async () => {
  await using upstream = fakeUpstream(() =>
    Response.json({ object: "list", data: [{ id: "gpt-<b>one" }] })
  );
  let status = 401;
  await using rejecting = fakeUpstream(() => Response.json({ error: "no" }, { status }));
  await using gateway = await startGateway({
    settings: {
      upstreams: {
        good: { url: upstream.url, key: "sk-secret-of-the-upstream" },
        "a/b": { url: rejecting.url },
        gone: { url: "http://127.0.0.1:9/v1" },
      },
    },
  });
  const owner = await signedIn(gateway, OWNER);
  const tested = async (name: string) => {
    const reply = await owner.post(`${PATH}/upstreams`, { upstream: name }, {
      from: `${PATH}/upstreams`,
    });
    return { status: reply.status, html: await reply.text() };
  };
  const good = await tested("good");
  assertEquals(good.status, 200);
  assertStringIncludes(good.html, "It listed 1 model.");
  assertStringIncludes(good.html, "gpt-&lt;b&gt;one");
  for (
    const [given, words] of [
      [401, "It rejected the key."],
      [403, "It rejected the key."],
      [404, "It replied, but lists no models"],
      [405, "It replied, but lists no models"],
      [500, "It replied, but not with a list of models."],
    ] as const
  ) {
    status = given;
    assertStringIncludes((await tested("a/b")).html, words);
  }
  assertStringIncludes((await tested("gone")).html, "It did not reply.");
  const unknown = await tested("constructor");
  assertEquals(unknown.status, 400);
  assertStringIncludes(unknown.html, "constructor");
  const rows = await gateway.gateway.database.all(
    "select operation, object_id, door from operation_log order by at_ms, id",
  );
  assertEquals(rows.length, 7);
  assert(rows.every(({ operation, door }) => operation === "upstream.test" && door === "console"));
  const log = JSON.stringify(await gateway.gateway.database.all("select * from operation_log"));
  assert(!log.includes("sk-secret"));
});

// those below share a gateway
const shared = sharedGateway();

shared(
  "the overview without a price of credits shows no dollars, and without requests no faults",
  async (gateway) => {
    const owner = await signedIn(gateway, OWNER);
    const words = wordsOf(await (await owner.get(PATH)).text());
    assertStringIncludes(words, "No requests in this time. Send one from the Playground");
    assert(!words.includes("Spend") && !words.includes("Latency"), words);
    assert(!words.includes("$") && !words.includes("NaN"), words);
    assertStringIncludes(words, "Last audit none yet");
    await (await owner.post(`${PATH}/audit`, {}, { from: PATH + "/audit" })).body?.cancel();
    assertEquals((await lastAudit(gateway.gateway.database))!.mismatches, 0);
    assertStringIncludes(
      wordsOf(await (await owner.get(PATH)).text()),
      "Last audit clean just now",
    );
  },
);

shared("the overview shows what a role may see, also in parts that come later", async (gateway) => {
  const { accounts } = gateway.gateway;
  for (const role of ["operator", "finance"] as const) {
    await accounts.create({ email: `${role}@example.com`, role });
  }
  const finance = await signedIn(gateway, "finance@example.com");
  const seen = wordsOf(await (await finance.get(PATH)).text());
  assertStringIncludes(seen, "Unread alerts");
  assert(!seen.includes("In flight") && !seen.includes("simulator"), seen);
  const operator = await signedIn(gateway, "operator@example.com");
  const page = await (await operator.get(PATH)).text();
  const part = /data-part="([^"]+)"/.exec(page)![1]!;
  const reply = await operator.get(`/console/events?part=${encodeURIComponent(part)}`, EVENTS);
  const reader = reply.body!.pipeThrough(new TextDecoderStream()).getReader();
  const next = async () => {
    let text = "";
    while (!text.includes("As of")) {
      const { done, value } = await reader.read();
      assert(!done, "the stream ended");
      text += value;
    }
    return text;
  };
  assertStringIncludes(await next(), "simulator");
  await accounts.setRole("operator@example.com", "finance");
  const later = await next();
  assert(!later.includes("simulator"), later);
  await reader.cancel();
});

shared("latency of a range reads a bounded number of records, within it", async (gateway) => {
  const untilMs = Date.now();
  for (let index = 1; index <= 20; index++) {
    await request(gateway, untilMs - index * 1_000, { durationMs: index * 100 });
  }
  await request(gateway, untilMs - 500, { failed: true, durationMs: 90_000 });
  const of = (sinceMs: number, limit: number) =>
    requestLatency(gateway.gateway.database, { sinceMs, untilMs, limit });
  const all = await of(0, 1_000);
  assertEquals([all.requests, all.p50Ms, all.p95Ms, all.firstTokenP95Ms], [20, 1_000, 1_900, 100]);
  assertEquals((await of(0, 5)).requests, 4, "the failed one is read, and not counted");
  assertEquals((await of(untilMs - 3_000, 1_000)).requests, 3);
  assertEquals((await of(untilMs, 1_000)).p50Ms, undefined);
});
