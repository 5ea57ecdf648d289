/** Why requests failed, as their records say it. */

import fc from "fast-check";
import { Retention } from "../../src/money/usage/mod.ts";
import { requestRecord } from "../../src/money/usage/mod.ts";
import { SILENT } from "../../src/ground/telemetry/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { assertLedgerClean } from "../fake/customer.ts";
import { guardedDatabase } from "../fake/guarded_database.ts";
import { startGateway, statusOf, type TestGateway, usageRecords } from "../fake/gateway.ts";
import { testSeed } from "../fake/random.ts";
import { until } from "../fake/temp.ts";
import { chunk, completion, eventStream, fakeUpstream, sse } from "../fake/upstream.ts";
import { sized } from "../tier.ts";

const KEY = "sk-upstream-0123456789abcdef";

const cut = () => new Response('{"id":', { headers: { "content-type": "application/json" } });
const broken = sse(chunk({ content: "well begun" }));
const whole = sse(chunk({ content: "Hi" }), chunk({}, "stop"), "[DONE]");
const status = (code: number, error: unknown = { message: "no" }) => () =>
  Response.json({ error }, { status: code });

/** What an upstream does with a request, and what the record calls that. */
const DEEDS: Readonly<
  Record<string, { does: (streamed: boolean) => Response; says: readonly string[] }>
> = {
  ok: { does: (stream) => stream ? eventStream(whole) : completion("Hi"), says: ["replied"] },
  "500": { does: status(500), says: ["status 500"] },
  "429": { does: status(429), says: ["over its rate limit (status 429)"] },
  "401": { does: status(401), says: ["rejected the key (status 401)"] },
  "403": { does: status(403), says: ["refused the key or the request (status 403)"] },
  "402": { does: status(402), says: ["the key is out of credits (status 402)"] },
  "404": {
    does: status(404, { message: "no such model", code: "model_not_found" }),
    says: ["unknown model (status 404)"],
  },
  "400": { does: status(400), says: ["rejected the request (status 400)"] },
  long: {
    does: status(400, { message: "maximum context length is 8192 tokens, got 9000" }),
    says: ["input too long (status 400)"],
  },
  page: {
    does: () => new Response("<html>", { headers: { "content-type": "text/html" } }),
    says: ["unusable response"],
  },
  error: {
    does: () => Response.json({ error: { message: "overloaded" } }),
    says: ["reported an error", "unusable response"],
  },
  cut: { does: cut, says: ["unusable response"] },
  breaks: {
    does: (stream) => stream ? eventStream(broken) : cut(),
    says: ["replied, then broke off", "unusable response"],
  },
};

interface StoredAttempt {
  readonly upstream: string;
  readonly model: string;
  readonly outcome: string;
  readonly ms: number;
}

function attemptsIn(list: unknown): StoredAttempt[] | undefined {
  return list === null ? undefined : JSON.parse(String(list));
}

/** The message of the error that a client got, or undefined. */
function errorIn(text: string): string | undefined {
  const event = text.split("\n\n").findLast((one) => one.includes('"error"'));
  return event && JSON.parse(event.replace(/^data: /, "")).error?.message;
}

async function lastRecord(gateway: TestGateway) {
  return (await usageRecords(gateway)).at(-1)!;
}

Deno.test("whatever upstreams do: a failure has the reason and message that the client got, a success none", async () => {
  /** What each target does with the next requests. */
  let plan: Record<string, string[]> = {};
  const target = (name: string) =>
    fakeUpstream(({ body }) => DEEDS[plan[name]!.shift() ?? "500"]!.does(body.stream === true));
  await using a = target("a");
  await using b = target("b");
  let skewMs = 0;
  await using gateway = await startGateway({
    firstWaitMs: 1,
    now: () => Date.now() + skewMs,
    settings: {
      upstreams: { a: { url: a.url, key: KEY }, b: { url: b.url, key: KEY } },
      routes: {
        r: { targets: [{ upstream: "a", model: "x" }, { upstream: "b", model: "y" }] },
      },
    },
  });
  const seed = testSeed();
  const deeds = fc.array(fc.constantFrom(...Object.keys(DEEDS)), { minLength: 2, maxLength: 2 });
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(fc.boolean(), deeds, deeds, async (stream, ofA, ofB) => {
      skewMs += 70_000; // no circuit is open for so long: each target is tried
      plan = { a: [...ofA], b: [...ofB] };
      const reply = await gateway.chat("Hi", { model: "r", stream });
      const text = await reply.text();
      const said = errorIn(text);
      await until(() => gateway.gateway.inFlight.count === 0);
      const { ending, reason, message, attempts, attempt_list } = await lastRecord(gateway);
      const list = attemptsIn(attempt_list);
      assertEquals(ending === "complete", said === undefined, text);
      assertEquals([message, reason === null], [said ?? null, said === undefined]);
      assertEquals(list !== undefined, said !== undefined || Number(attempts) > 1);
      if (list === undefined) return void seen.add(ofA[0]!);
      assertEquals(list.length, attempts);
      assertEquals(list.at(-1)!.outcome === "replied", said === undefined);
      const left = { a: [...ofA], b: [...ofB] };
      for (const { upstream, model, outcome, ms } of list) {
        const deed = left[upstream as "a" | "b"].shift() ?? "500";
        assert(DEEDS[deed]!.says.includes(outcome), `${deed}: ${outcome}`);
        assertEquals([model, ms >= 0], [upstream === "a" ? "x" : "y", true]);
        seen.add(deed);
      }
    }),
    {
      seed,
      numRuns: sized(60, 1_500),
      examples: Object.keys(DEEDS).map((deed) => [false, [deed, deed], [deed, deed]]),
    },
  );
  assertEquals([...seen].toSorted(), Object.keys(DEEDS).toSorted(), `SLUICE_TEST_SEED=${seed}`);
  const stored = JSON.stringify(await usageRecords(gateway));
  assert(!stored.includes(KEY) && !stored.includes("127.0.0.1"));
  await assertLedgerClean(gateway);

  // records are pruned with their reasons, and credits are reported as ever
  const { database } = gateway.gateway;
  const now = () => Date.now() + skewMs + 2 * 86_400_000;
  await new Retention({ database, log: SILENT, now, days: 1, rows: 1_000_000 }).prune();
  assertEquals((await usageRecords(gateway)).length, 0);
  await assertLedgerClean(gateway);
  const reply = await fetch(`${gateway.url}/user/credits`, {
    headers: { authorization: `Bearer ${gateway.key}` },
  });
  assertEquals(Object.keys(await reply.json()).toSorted(), [
    "average_tokens_per_request",
    "budgets",
    "credits_consumed",
    "credits_held",
    "credits_remaining",
    "lots",
    "object",
    "requests",
    "usage_by_day",
    "usage_by_hour",
  ]);
});

Deno.test("a complete response with one attempt writes nothing of it", async () => {
  const items: Readonly<Record<string, unknown>>[] = [];
  await using gateway = await startGateway({
    wrapDatabase: (database) => ({
      ...guardedDatabase(database, () => {}),
      write: (write, item) => {
        if (write.name === "settlement") items.push(JSON.parse(JSON.stringify(item)));
        return database.write(write, item);
      },
    }),
  });
  assertEquals(await statusOf(gateway.chat("Hi")), 200);
  assertEquals(items.length, 1);
  for (const column of ["reason", "message", "attempt_list"]) assert(!(column in items[0]!));
});

Deno.test("targets without a connection, and such that hang, are told apart, each with its time", async () => {
  await using hung = fakeUpstream(async (_, signal) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return new Response();
  });
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  await using gateway = await startGateway({
    settings: {
      upstreams: {
        a: { url: `http://127.0.0.1:${port}/v1` },
        b: { url: hung.url, timeouts: { headersMs: 200, readMs: 300 } },
      },
      routes: { r: { targets: [{ upstream: "b", model: "x" }, { upstream: "a", model: "x" }] } },
    },
  });
  // a stream, as the time for a whole response grows with its length
  const { error } = await (await gateway.chat("Hi", { model: "r", stream: true })).json();
  const record = await lastRecord(gateway);
  assertEquals([record.reason, record.message], ["upstream_unavailable", error.message]);
  const list = attemptsIn(record.attempt_list)!;
  assertEquals(list.map(({ upstream, outcome }) => [upstream, outcome]), [
    ["b", "timed out"],
    ["a", "no connection"],
    ["a", "no connection"],
  ]);
  assert(list[0]!.ms >= 150 && list[0]!.ms < 5_000, `${list[0]!.ms} ms`);
  assert(!String(record.attempt_list).includes(String(port)));
});

Deno.test("which of an upstream's keys an attempt was made with", async () => {
  await using upstream = fakeUpstream(({ headers }) =>
    headers.get("authorization")?.endsWith("good-key")
      ? completion("Hi")
      : Response.json({}, { status: 401 })
  );
  await using gateway = await startGateway({
    settings: {
      upstreams: { a: { url: upstream.url, keys: ["sk-the-bad-key", "sk-the-good-key"] } },
      routes: { r: { targets: [{ upstream: "a", model: "x" }] } },
    },
  });
  assertEquals(await statusOf(gateway.chat("Hi", { model: "r" })), 200);
  const { reason, attempt_list } = await lastRecord(gateway);
  assertEquals(reason, null);
  const list = JSON.parse(String(attempt_list));
  assertEquals(
    list.map(({ key, outcome }: Record<string, string>) => [key, outcome]),
    [["key 1 of 2", "rejected the key (status 401)"], ["key 2 of 2", "replied"]],
  );
});

Deno.test("an upstream's hostile message is bounded and spelt out", async () => {
  const messages = [
    `\u001b[2J\u001b]0;owned\u0007 \u202e ${KEY}`,
    `half \ud83d a pair, ${"\ud83d\ude00".repeat(400)}`,
    `\ud83d${"\u0000".repeat(900)}`,
    "x".repeat(5_000),
  ];
  let at = 0;
  await using upstream = fakeUpstream(() =>
    Response.json({ error: { message: messages[at] } }, { status: 400 })
  );
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url, key: KEY } },
  });
  for (; at < messages.length; at++) {
    assertEquals(await statusOf(gateway.chat("Hi")), 400);
    const { message } = await lastRecord(gateway);
    const text = String(message);
    assert(text.length <= 700 && text.isWellFormed(), text);
    // deno-lint-ignore no-control-regex -- control characters are what must be gone
    assert(!/[\u0000-\u001f\u007f-\u009f\u202e]/.test(text), text);
    assert(!text.includes(KEY));
  }
  assertStringIncludes(String((await lastRecord(gateway)).message), "xxx…");
  await assertLedgerClean(gateway);
});

Deno.test("several choices: the attempts of all count, and each failed one is listed", async () => {
  let sent = 0;
  await using upstream = fakeUpstream(() => sent++ === 0 ? completion("one") : status(500)());
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  assertEquals(await statusOf(gateway.chat("Hi", { n: 3 })), 503);
  const { attempts, attempt_list, reason } = await lastRecord(gateway);
  assertEquals(reason, "upstream_unavailable");
  const list = attemptsIn(attempt_list)!;
  assert(list.length >= 2 && list.every(({ outcome }) => outcome === "status 500"));
  assertEquals(Number(attempts), list.length + 1, "the one that replied is only counted");
});

Deno.test("a client that disconnects, and a shutdown, are not the upstream's failure", async () => {
  await using upstream = fakeUpstream(async ({ body }, signal) => {
    if (body.stream) {
      return eventStream(
        broken,
        ...Array.from({ length: 400 }, () => sse(chunk({ content: "." }))),
      );
    }
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return new Response();
  });
  const settings = { upstream: { url: upstream.url }, limits: { drainMs: 100 } };
  await using gateway = await startGateway({ settings });
  {
    const leaving = new AbortController();
    const reply = gateway.chat("Hi", {}, { signal: leaving.signal }).catch(() => undefined);
    await until(() => upstream.received.length === 1);
    leaving.abort();
    await reply;
    await until(async () => (await usageRecords(gateway)).length === 1);
    const { reason, message, attempt_list, request_id } = await lastRecord(gateway);
    assertEquals(
      [reason, message],
      ["client_disconnected", "The client disconnected before the response began."],
    );
    assertEquals(attemptsIn(attempt_list)!.map(({ outcome }) => outcome), ["cancelled"]);
    const record = await requestRecord(gateway.gateway.database, String(request_id));
    assertEquals(record?.attemptList?.map(({ outcome }) => outcome), ["cancelled"]);
  }
  {
    const { body } = await gateway.chat("Hi", { stream: true, max_tokens: 5_000 });
    const reader = body!.getReader();
    await reader.read();
    await reader.cancel();
    await until(async () => (await usageRecords(gateway)).length === 2);
    const { reason, message } = await lastRecord(gateway);
    assertEquals(
      [reason, message],
      ["client_disconnected", "The client disconnected in the middle of the response."],
    );
  }
  const reply = gateway.chat("Hi").then((one) => one.json());
  await until(() => upstream.received.length === 3);
  await gateway.gateway.inFlight.finish(50);
  const { error } = await reply;
  const { ending, reason, message, status: recorded } = await lastRecord(gateway);
  assertEquals([ending, reason, recorded], ["refused", "gateway_unavailable", 503]);
  assertEquals(message, error.message);
});
