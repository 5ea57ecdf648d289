/** What is sent to an upstream, with a key and to a target, is bounded; what does not get its turn goes to the next one. */

import fc from "fast-check";
import { Bound } from "../../../src/requests/upstreams/bound.ts";
import { CoarseTimers } from "../../../src/ground/platform/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { startGateway } from "../../fake/gateway.ts";
import { completion, eventStream, fakeUpstream, sse } from "../../fake/upstream.ts";
import { until } from "../../fake/temp.ts";

/** An upstream that replies when it is told to, and counts how many requests it has. */
function slowUpstream(stream = false) {
  let open = 0;
  const seen = { most: 0, keys: [] as (string | null)[] };
  const waiting: (() => void)[] = [];
  const upstream = fakeUpstream(async ({ headers }) => {
    seen.most = Math.max(seen.most, ++open);
    seen.keys.push(headers.get("authorization"));
    await new Promise<void>((resolve) => waiting.push(resolve));
    open--;
    if (!stream) return completion("slow");
    const choice = (more: object) => JSON.stringify({ choices: [{ index: 0, ...more }] });
    return eventStream(sse(
      choice({ delta: { content: "slow" } }),
      choice({ delta: {}, finish_reason: "stop" }),
      "[DONE]",
    ));
  });
  return {
    url: upstream.url,
    seen,
    received: upstream.received,
    release: (count = Infinity) => waiting.splice(0, count).forEach((one) => one()),
    get waiting() {
      return waiting.length;
    },
    [Symbol.asyncDispose]: () => upstream[Symbol.asyncDispose](),
  };
}

const LIMITS = { context: 10_000, maxOutput: 100 };

for (const stream of [false, true]) {
  Deno.test(`requests at once: the next target gets what waits too long, and a place is free when a reply has ended (stream: ${stream})`, async () => {
    await using slow = slowUpstream(stream);
    await using other = fakeUpstream(() => completion("other"));
    await using gateway = await startGateway({
      settings: {
        upstreams: {
          slow: { url: slow.url, limits: { atOnce: 2, waitMs: 50 } },
          other: { url: other.url },
        },
        routes: {
          both: {
            ...LIMITS,
            targets: [{ upstream: "slow", model: "m" }, { upstream: "other", model: "m" }],
          },
          one: { ...LIMITS, targets: [{ upstream: "slow", model: "m" }] },
        },
      },
    });
    const ask = async (model: string) => {
      const reply = await gateway.chat("Hi", { model, stream });
      return { status: reply.status, said: await reply.text() };
    };
    const askInVain = async () => {
      const reply = await gateway.chat("Hi", { model: "one", stream });
      const { error: { code, message } } = await reply.json();
      return { status: reply.status, code, message, retryAfter: reply.headers.get("retry-after") };
    };
    const five = Array.from({ length: 5 }, () => ask("both"));
    await until(() => other.received.length === 3, { what: "three go elsewhere" });
    assertEquals(slow.waiting, 2);
    const refused = await askInVain();
    assertEquals(refused.status, 429);
    assertEquals(refused.code, "rate_limit_exceeded");
    assertStringIncludes(refused.message, "Too many requests at once to the upstream slow.");
    assertEquals(refused.retryAfter, "1");
    slow.release();
    const said = (await Promise.all(five)).map((one) => one.said);
    assertEquals(said.filter((one) => one.includes("slow")).length, 2);
    assertEquals(slow.seen.most, 2);
    const last = ask("one");
    await until(() => slow.waiting === 1, { what: "a place is free" });
    slow.release();
    assertEquals((await last).status, 200);
  });
}

Deno.test("a target and a key are bounded by themselves, and a minute's requests and tokens are", async () => {
  await using slow = slowUpstream();
  await using other = fakeUpstream(() => completion("other", { usage: null }));
  await using gateway = await startGateway({
    settings: {
      upstreams: {
        keyed: {
          url: slow.url,
          keys: [{ key: "k1", limits: { atOnce: 1 } }, { key: "k2", limits: { atOnce: 1 } }],
        },
        plain: { url: other.url },
        minute: { url: other.url, limits: { requestsPerMinute: 3 } },
        tokens: { url: other.url, limits: { tokensPerMinute: 250 } },
      },
      routes: {
        keyed: { ...LIMITS, targets: [{ upstream: "keyed", model: "m" }] },
        target: {
          ...LIMITS,
          targets: [{
            upstream: "plain",
            model: "m",
            limits: { requestsPerMinute: 1 },
          }],
        },
        minute: { ...LIMITS, targets: [{ upstream: "minute", model: "m" }] },
        tokens: { ...LIMITS, targets: [{ upstream: "tokens", model: "m" }] },
      },
    },
  });
  const ask = async (model: string) => {
    const reply = await gateway.chat("Hi", { model, max_tokens: 100 });
    await reply.text();
    return reply.status;
  };
  const two = [ask("keyed"), ask("keyed")];
  await until(() => slow.waiting === 2, { what: "both keys are used" });
  assertEquals(new Set(slow.seen.keys).size, 2);
  assertEquals(await ask("keyed"), 429);
  slow.release();
  assertEquals(await Promise.all(two), [200, 200]);
  assertEquals([await ask("target"), await ask("target")], [200, 429]);
  const four = [await ask("minute"), await ask("minute"), await ask("minute"), await ask("minute")];
  assertEquals(four, [200, 200, 200, 429]);
  // each has some tokens of input and 100 of output, and nothing says that it used less
  assertEquals([await ask("tokens"), await ask("tokens"), await ask("tokens")], [200, 200, 429]);
  // nothing was sent, so that no upstream has failed, and no secret of a key is told
  const last = await gateway.chat("Hi", { model: "minute" });
  const { error } = await last.json();
  assertEquals(
    error.message,
    "Too many requests in a minute to the upstream minute. Please try again.",
  );
  const retryAfter = Number(last.headers.get("retry-after"));
  assert(retryAfter > 2 && retryAfter <= 60, `${retryAfter}`);
  const ended = await gateway.gateway.database.all(
    "select distinct ending, attempts from usage_records where status = 429",
  );
  assertEquals(ended, [{ ending: "refused", attempts: 0 }]);
});

Deno.test("the only key of an upstream is bounded, too, and a request waits as long as its limits say", async () => {
  await using slow = slowUpstream();
  await using gateway = await startGateway({
    settings: {
      upstreams: {
        keyed: { url: slow.url, keys: [{ key: "k1", limits: { atOnce: 1, waitMs: 60_000 } }] },
      },
      routes: { keyed: { ...LIMITS, targets: [{ upstream: "keyed", model: "m" }] } },
    },
  });
  const two = [gateway.chat("Hi", { model: "keyed" }), gateway.chat("Hi", { model: "keyed" })];
  for (const seen of [1, 2]) {
    await until(() => slow.waiting === 1, { what: `request ${seen} is sent` });
    slow.release();
  }
  for (const reply of await Promise.all(two)) {
    assertEquals(reply.status, 200);
    await reply.text();
  }
  assertEquals(slow.seen.most, 1);
});

for (const stream of [false, true]) {
  Deno.test(`tokens of a minute that a request did not use are there for the next (stream: ${stream})`, async () => {
    const usage = { prompt_tokens: 10, completion_tokens: 30, total_tokens: 40 };
    await using upstream = fakeUpstream(() => {
      if (!stream) return completion("Hi", { usage });
      const choices = [{ index: 0, delta: { content: "Hi" }, finish_reason: "stop" }];
      return eventStream(sse(JSON.stringify({ choices, usage }), "[DONE]"));
    });
    const keys = [{ key: "k", limits: { tokensPerMinute: 250 } }];
    await using gateway = await startGateway({
      settings: {
        upstreams: {
          keyed: { url: upstream.url, keys, limits: { tokensPerMinute: 250 } },
        },
        routes: { m: { ...LIMITS, targets: [{ upstream: "keyed", model: "m" }] } },
      },
    });
    const ask = async () => {
      const reply = await gateway.chat("Hi", { model: "m", max_tokens: 100, stream });
      await reply.text();
      return reply.status;
    };
    // 40 of 250 each: the fifth would not fit with the 100 and more that each may use
    for (let times = 0; times < 4; times++) assertEquals(await ask(), 200);
    assertEquals(await ask(), 429);
  });
}

Deno.test("tokens of a minute are there again where an upstream rejected the request, and not where it may have replied", async () => {
  let reply: () => Response = () => completion("Hi");
  await using upstream = fakeUpstream(() => reply());
  const settings = (url: string) => ({ url, limits: { tokensPerMinute: 250 } });
  await using gateway = await startGateway({
    settings: {
      upstreams: {
        rejecting: settings(upstream.url),
        broken: settings(upstream.url),
        keyed: { url: upstream.url, keys: [{ key: "k", limits: { tokensPerMinute: 250 } }] },
      },
      routes: Object.fromEntries(
        ["rejecting", "broken", "keyed"].map((
          name,
        ) => [name, { ...LIMITS, targets: [{ upstream: name, model: "m" }] }]),
      ),
    },
  });
  const ask = async (model: string) => {
    const response = await gateway.chat("Hi", { model, max_tokens: 100 });
    await response.text();
    return response.status;
  };
  reply = () => Response.json({ error: { message: "no" } }, { status: 400 });
  for (const model of ["rejecting", "keyed"]) {
    for (let times = 0; times < 4; times++) assertEquals(await ask(model), 400, model);
  }
  reply = () => new Response("{", { headers: { "content-type": "application/json" } });
  assertEquals([await ask("broken"), await ask("broken")], [503, 503]);
  assertEquals(await ask("broken"), 429);
  reply = () => completion("Hi");
  assertEquals([await ask("rejecting"), await ask("keyed")], [200, 200]);
});

Deno.test("what was sent counts for a minute from then on, timed by the oldest of it alone", async () => {
  const due: { readonly ms: number; readonly act: () => void }[] = [];
  const timers = {
    after: (ms: number, act: () => void) => (due.push({ ms, act }), () => {}),
  } as unknown as CoarseTimers;
  const now = performance.now;
  let tick = 1_000;
  performance.now = () => tick;
  try {
    const bound = new Bound("requests to x", timers).set({ requestsPerMinute: 2, waitMs: 0 });
    const signal = new AbortController().signal;
    const take = () =>
      bound.take({ account: "a", tokens: 1, signal }).then(() => "sent", () => "refused");
    /** Lets the timer go off that is due by then. */
    const at = (later: number) => {
      tick = later;
      assertEquals(due.length, 1, "one timer at a time");
      due.shift()!.act();
    };
    assertEquals(await take(), "sent");
    tick = 31_000;
    assertEquals([await take(), await take()], ["sent", "refused"]);
    assertEquals(due.map(({ ms }) => ms), [60_000]);
    at(60_999);
    assertEquals([await take(), due.map(({ ms }) => ms)], ["refused", [1]]);
    at(61_000);
    assertEquals([await take(), await take()], ["sent", "refused"]);
    assertEquals(due.map(({ ms }) => ms), [30_000]);
    at(121_000); // both are over
    assertEquals(due.length, 0, "nothing is left to be timed");
    assertEquals([await take(), await take(), await take()], ["sent", "sent", "refused"]);
    assertEquals(due.map(({ ms }) => ms), [60_000]);
  } finally {
    performance.now = now;
  }
});

Deno.test("however requests of several accounts come and end, there are never more at once than allowed (random)", async () => {
  const timers = new CoarseTimers();
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.tuple(fc.constantFrom("a", "b", "c"), fc.integer({ min: 0, max: 3 })), {
        minLength: 1,
        maxLength: 20,
      }),
      async (atOnce, all) => {
        const bound = new Bound("x", timers).set({ atOnce, waitMs: 60_000 });
        let open = 0;
        let most = 0;
        const signal = new AbortController().signal;
        await Promise.all(all.map(async ([account, turns]) => {
          const { end } = await bound.take({ account, tokens: 1, signal });
          most = Math.max(most, ++open);
          for (let turn = 0; turn < turns; turn++) await Promise.resolve();
          open--;
          end();
        }));
        assert(most <= atOnce);
        assertEquals(open, 0);
      },
    ),
    { numRuns: 50 },
  );
  timers.close();
});
