/** An upstream as its settings make it: which keys it has and takes, what bounds it, and what it takes out of texts. */

import { CoarseTimers } from "../../../src/ground/platform/mod.ts";
import { settings } from "../../../src/settings/config/mod.ts";
import type { Bound } from "../../../src/requests/upstreams/bound.ts";
import {
  configuredUpstreams,
  httpUpstream,
  mergedStates,
  RoutingMemory,
  stateOf,
} from "../../../src/requests/upstreams/mod.ts";
import { assertEquals } from "../../assert.ts";

const URL = "http://10.0.0.1/v1";

/** An upstream of these settings. */
function made(
  more: object,
  { threads, memory = new RoutingMemory(() => 0), timers = new CoarseTimers() }: {
    readonly threads?: number | undefined;
    readonly memory?: RoutingMemory;
    readonly timers?: CoarseTimers;
  } = {},
) {
  const { one } = settings.parse({ upstreams: { one: { url: URL, ...more } } }).upstreams;
  return httpUpstream("one", one!, { now: () => 0, timers, memory, threads });
}

Deno.test("which keys an upstream has and takes, and what its requests carry (table)", async () => {
  const bearer = (key: string) => `Bearer ${key}`;
  for (
    const [more, authorization, keys, hasKey, takesKeys, takesForwardedKeys] of [
      [{}, undefined, undefined, true, false, false],
      [{ allowForwardedKeys: true }, undefined, undefined, true, false, false],
      [{ key: "k" }, bearer("k"), undefined, true, true, false],
      [{ key: "k", allowForwardedKeys: true }, bearer("k"), undefined, true, true, true],
      [{ keys: ["k"] }, bearer("k"), undefined, true, true, false],
      [{ keys: ["k", "l"] }, undefined, [bearer("k"), bearer("l")], true, true, false],
      [{ credentials: { kind: "key", key: "k" } }, bearer("k"), undefined, true, true, false],
      [{ credentials: { kind: "forward" } }, undefined, undefined, false, true, true],
      [{ credentials: { kind: "file", path: "/f" } }, undefined, undefined, true, false, false],
    ] as const
  ) {
    const upstream = await made(more);
    const { headers, hasKey: has } = upstream;
    assertEquals(
      [headers.authorization, upstream.keys?.all.map((one) => one.headers.authorization)],
      [authorization, keys],
      JSON.stringify(more),
    );
    assertEquals(
      [has, upstream.takesKeys, upstream.takesForwardedKeys],
      [hasKey, takesKeys, takesForwardedKeys],
      JSON.stringify(more),
    );
  }
});

Deno.test("what an upstream says is shown without its keys, headers, address and proxy", async () => {
  const direct = await made({
    key: "the-long-key",
    headers: { "x-six": "abcdef", "x-five": "vwxyz" },
  });
  assertEquals(
    direct.redact("the-long-key abcdef vwxyz at 10.0.0.1, sk-another-1"),
    "[secret] [secret] vwxyz at [upstream], [secret]",
  );
  for (
    const [proxy, said] of [
      ["http://proxy.corp:3128", "the proxy [proxy]"],
      ["http://proxy:3128", "the proxy proxy.corp"], // a word, too
      ["http://name:password-1@proxy.corp:3128", "the proxy [proxy]"],
    ] as const
  ) {
    const { redact } = await made({ url: "http://models.example/v1", proxy });
    assertEquals(redact("the proxy proxy.corp"), said);
    assertEquals(redact("password-1"), proxy.includes("@") ? "[secret]" : "password-1");
  }
});

Deno.test("each thread has its part of what an upstream, a target and a key may be sent, one at least", async () => {
  const signal = new AbortController().signal;
  const timers = new CoarseTimers();
  /** How many requests of a number of tokens it lets through at once. */
  const room = async (bound: Bound | undefined, tokens = 1) => {
    if (bound === undefined) return Infinity;
    const turns = [];
    try {
      while (turns.length < 100) {
        turns.push(await bound.take({ account: "a", tokens, signal }));
      }
      return Infinity;
    } catch {
      return turns.length;
    } finally {
      for (const { end } of turns) end();
    }
  };
  assertEquals(await room((await made({}, { timers })).bounds[0]), Infinity);
  const limits = { waitMs: 0 };
  for (
    const [more, tokens, threads, most] of [
      [{ atOnce: 5 }, 1, undefined, 5],
      [{ atOnce: 5 }, 1, 2, 2],
      [{ atOnce: 1 }, 1, 2, 1],
      [{ requestsPerMinute: 9 }, 1, 3, 3],
      [{ tokensPerMinute: 100 }, 10, 2, 5],
    ] as const
  ) {
    const upstream = await made({ limits: { ...limits, ...more } }, { threads, timers });
    assertEquals(await room(upstream.bounds[0], tokens), most, JSON.stringify(more));
    const target = { upstream: "one", model: "m", limits: { ...limits, ...more } };
    const other = await made({}, { threads, timers });
    assertEquals(await room(other.boundOf(target), tokens), most, JSON.stringify(more));
  }
  const keyed = await made({
    keys: [{ key: "k", limits: { atOnce: 2, waitMs: 0 } }, "l"],
  }, { timers });
  const [first, second] = keyed.keys!.all.map(({ bound }) => bound);
  assertEquals([await room(first), second], [2, undefined]);
  // what bounded it before is lifted when the settings no longer say it
  const memory = new RoutingMemory(() => 0);
  const before = await made({ limits: { atOnce: 1, waitMs: 60_000 } }, { memory, timers });
  const take = () => before.bounds[0]!.take({ account: "a", tokens: 1, signal });
  const [held, waiting] = [await take(), take()];
  assertEquals(await room((await made({}, { memory, timers })).bounds[0]), Infinity);
  for (const { end } of [held, await waiting]) end(); // what waited is let go as well
  timers.close();
});

Deno.test("the upstream of the settings is the default one, with its key if it has one", () => {
  const of = (more: object) => configuredUpstreams(settings.parse(more));
  assertEquals(Object.keys(of({})), []);
  assertEquals(Object.keys(of({ upstreams: { one: { url: URL } } })), ["one"]);
  const plain = of({ upstream: { url: URL } });
  assertEquals([Object.keys(plain), plain.default?.key], [["default"], undefined]);
  assertEquals(of({ upstream: { url: URL, key: "k" } }).default?.key?.reveal(), "k");
});

Deno.test("quirks are those that are set, or of the host; they say how a key is sent, and what is read", async () => {
  const of = (more: object) =>
    configuredUpstreams(settings.parse({ upstreams: { one: { url: URL, ...more } } })).one!.quirks;
  assertEquals([of({}), of({ quirks: "vllm" })], [undefined, "vllm"]);
  assertEquals(of({ url: "https://api.moonshot.ai/v1" }), "moonshot");
  assertEquals(of({ url: "https://api.moonshot.ai/v1", quirks: "vllm" }), "vllm");
  const [plain, azure] = [await made({ key: "k" }), await made({ key: "k", quirks: "azure" })];
  assertEquals([plain.headers["api-key"], azure.headers["api-key"]], [undefined, "k"]);
  const { shaping } = await made({ quirks: "moonshot" });
  assertEquals([plain.shaping, shaping.singleChoice], [{}, true]);
});

Deno.test("a certificate may be text or a file; a path has the model and the method in it", async () => {
  const caCert = "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----";
  await made({ caCert });
  const request = { model: "a/b", stream: true };
  assertEquals((await made({})).pathFor(request), undefined);
  const path = "/models/{model}/chat";
  assertEquals((await made({ path })).pathFor(request), "/models/a%2Fb/chat");
});

Deno.test("states of two threads: the later outcome and failure count, and what rests in one of them rests (table)", async () => {
  const clock = { ms: 0 };
  const memory = () => new RoutingMemory(() => clock.ms);
  const of = async () => {
    const { one } = settings.parse({ upstreams: { one: { url: URL, keys: ["k", "l"] } } })
      .upstreams;
    return await httpUpstream("one", one!, {
      now: () => clock.ms,
      timers: new CoarseTimers(),
      memory: memory(),
    });
  };
  for (const [earlier, later] of [[0, 1], [1, 0]] as const) {
    const threads = [await of(), await of()] as const;
    const merged = () => mergedStates(threads.map((one) => [stateOf(one)]))[0]!;
    assertEquals([merged().state, merged().lastFailure], ["unknown", undefined]);
    clock.ms = 10;
    threads[earlier].health.failed("first");
    clock.ms = 20;
    threads[later].health.failed("second");
    assertEquals(merged().lastFailure, { detail: "second", atMs: 20 });
    clock.ms = 30;
    threads[earlier].health.succeeded(7);
    assertEquals(
      [merged().state, merged().lastLatencyMs, merged().lastOutcomeAtMs],
      ["ok", 7, 30],
    );
    assertEquals(merged().lastFailure?.detail, "second");
    clock.ms = 40;
    threads[later].health.succeeded(9);
    assertEquals([merged().lastLatencyMs, merged().resting], [9, false]);
    threads[later].health.circuit("m").pass()!.failed(true);
    threads[later].keys!.all[1]!.health.limited(1_000);
    const { resting, failingModels, keys } = merged();
    assertEquals([resting, failingModels], [true, ["m"]]);
    assertEquals(keys, { count: 2, resting: [2] });
    threads[earlier].keys!.all[0]!.health.limited(1_000);
    assertEquals(merged().keys?.resting, [1, 2]);
    clock.ms = 0;
  }
  // of the same moment, the first thread's
  const [one, other] = [await of(), await of()];
  one.health.failed("one");
  other.health.failed("other");
  const states = [[stateOf(one)], [{ ...stateOf(other), name: "other" }, stateOf(other)]];
  assertEquals(mergedStates(states).map(({ lastFailure }) => lastFailure?.detail), ["one"]);
  one.health.succeeded(1);
  assertEquals(mergedStates([[stateOf(other)], [stateOf(one)]])[0]!.state, "failing");
  const plain = stateOf(await made({}));
  assertEquals(mergedStates([[plain], [plain]])[0]!.keys, undefined);
});
