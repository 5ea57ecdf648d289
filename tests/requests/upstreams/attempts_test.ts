/** One attempt in memory: what came of it is told to the circuit, the upstream's health, the key, the metrics and the record. */

import { CoarseTimers } from "../../../src/ground/platform/mod.ts";
import { type Metrics, NO_TRACING, SILENT } from "../../../src/ground/telemetry/mod.ts";
import { Attempts, type Exchange, type Tally } from "../../../src/requests/upstreams/attempts.ts";
import { Bound } from "../../../src/requests/upstreams/bound.ts";
import { Health } from "../../../src/requests/upstreams/health.ts";
import { KeyHealth } from "../../../src/requests/upstreams/key_health.ts";
import { KeyPool } from "../../../src/requests/upstreams/key_pool.ts";
import type { Upstream, UpstreamReply } from "../../../src/requests/upstreams/mod.ts";
import { Routing, type TargetPlan } from "../../../src/requests/upstreams/routing.ts";
import { TransportFault, type UpstreamRequest } from "../../../src/requests/upstreams/transport.ts";
import { Turns } from "../../../src/requests/upstreams/turns.ts";
import { assert, assertEquals } from "../../assert.ts";

/** What an upstream does with a request: replies with a status, or fails. */
type Step = number | Error | ((request: UpstreamRequest) => Promise<UpstreamReply>);

interface Case {
  readonly steps: readonly Step[];
  /** Whether it is sent with a key of the caller's own, or one of the gateway's several. */
  readonly key?: "own" | "pool";
  /** Called before each reply. */
  readonly meanwhile?: (client: AbortController) => void;
  /** Whether the client leaves as soon as it is tried. */
  readonly leaves?: boolean;
  readonly open?: () => void;
  readonly bounds?: { readonly upstream?: Bound; readonly target?: Bound; readonly key?: Bound };
  readonly canFailOver?: boolean;
  readonly headersMs?: number;
  readonly unstreamedTokens?: number;
  readonly traceparent?: string;
}

function replyOf(status: number, body = '{"error":{"message":"no"}}') {
  const reply = { status, headers: {}, left: [new TextEncoder().encode(body)], discarded: 0 };
  return Object.assign(reply, {
    body: { read: () => Promise.resolve(reply.left.shift()) },
    discard: () => void reply.discarded++,
    drain() {},
  });
}

function keysOf(ids: readonly string[], bound: Bound | undefined, name?: string): KeyPool {
  const keys = ids.map((id, at) => ({
    id,
    position: at + 1,
    weight: 1,
    headers: { authorization: id },
    health: new KeyHealth(() => 1),
    bound,
  }));
  return new KeyPool(keys, new Turns(), name);
}

/** Tries a target once, and gathers what that told. */
async function attempt(given: Case, timers: CoarseTimers) {
  const { steps, key, bounds = {}, canFailOver = false, headersMs = Infinity } = given;
  const client = new AbortController();
  const told: string[] = [];
  const sent: UpstreamRequest[] = [];
  const replies: ReturnType<typeof replyOf>[] = [];
  const left = [...steps];
  const pool = key === "pool" ? keysOf(["key-1", "key-2"], bounds.key) : undefined;
  const health = new Health(() => 7, pool);
  const upstream = {
    name: "up",
    headers: { authorization: "only" },
    keys: pool,
    health,
    bounds: bounds.upstream === undefined ? [] : [bounds.upstream],
    boundOf: () => bounds.target,
    headersMs,
    redact: (text: string) => text.replaceAll("secret", "…"),
    async send(request: UpstreamRequest) {
      sent.push(request);
      given.meanwhile?.(client);
      const step = left.shift()!;
      if (step instanceof Error) throw step;
      if (typeof step === "function") return await step(request);
      replies.push(replyOf(step));
      return replies.at(-1)!;
    },
  } as unknown as Upstream;
  const plan: TargetPlan = {
    target: { upstream: "up", model: "m", ...(bounds.target && { limits: { waitMs: 0 } }) },
    upstream,
    ...(key === "own" && {
      ownKey: {
        owner: "account" as const,
        keys: keysOf(["own-key"], undefined, "own key"),
        redact: (text: string) => text,
      },
    }),
  };
  const metrics = {
    attempt: (_: string, outcome: string) => told.push(`metric ${outcome}`),
    keyAttempt: (_: string, key: string, outcome: string) => told.push(`key ${key} ${outcome}`),
  } as unknown as Metrics;
  const attempts = new Attempts({ log: SILENT, metrics, now: () => 7, timers });
  const exchange: Exchange<TargetPlan, string> = {
    routing: new Routing([plan], undefined, () => told.push("noted")),
    signal: client.signal,
    requestId: "r",
    account: "a",
    trace: {
      ...NO_TRACING.named(""),
      begin: () => ({ traceparent: given.traceparent, end() {} }),
    },
    unstreamedTokens: given.unstreamedTokens ?? 0,
    tokens: 1,
    write: (_, key) => ({ path: "/p", body: "{}", headers: { "x-key": key?.id ?? "none" } }),
    open() {
      given.open?.();
      return Promise.resolve("opened");
    },
  };
  const pass = {
    isProbe: false,
    succeeded: () => told.push("passed"),
    failed: (atOnce: boolean) => told.push(atOnce ? "failed at once" : "failed"),
    abandoned: () => told.push("abandoned"),
  };
  const tally: Tally = { attempts: 0, outcomes: undefined };
  const trying = attempts.attempt(exchange, { plan, pass, canFailOver, tally })
    .catch((error) => ({ error }));
  if (given.leaves) client.abort();
  const result = await trying;
  const { attempts: count, failed } = health.activity.state.total;
  return {
    result,
    sent,
    replies,
    client,
    told,
    health,
    outcomes: tally.outcomes?.map(({ key, outcome }) =>
      key === undefined ? outcome : `${key}: ${outcome}`
    ),
    activity: `${failed} of ${count} failed, ${health.state}`,
    refusal: "failure" in result ? result.failure.refusal : undefined,
  };
}

Deno.test("what came of an attempt is told to the circuit, the health, the key, the metrics and the record (table)", async () => {
  const timers = new CoarseTimers();
  const leave = (client: AbortController) => client.abort();
  const cases: readonly (readonly [
    what: string,
    given: Case,
    told: string,
    activity: string,
    outcomes: readonly string[] | undefined,
  ])[] = [
    ["200", { steps: [200] }, "metric answered, noted, passed", "0 of 1 failed, ok", undefined],
    ["299", { steps: [299] }, "metric answered, noted, passed", "0 of 1 failed, ok", undefined],
    [
      "302",
      { steps: [302] },
      "metric unusable, passed",
      "1 of 1 failed, failing",
      ["status 302"],
    ],
    [
      "400: the target works",
      { steps: [400] },
      "metric refused, passed",
      "0 of 1 failed, ok",
      ["rejected the request (status 400)"],
    ],
    [
      "503",
      { steps: [503] },
      "metric failed, failed",
      "1 of 1 failed, failing",
      ["status 503"],
    ],
    [
      "nothing in time",
      { steps: [new TransportFault("no_reply", "")] },
      "metric unusable, failed at once",
      "1 of 1 failed, failing",
      ["timed out"],
    ],
    [
      "the client left: that says nothing",
      { steps: [new TransportFault("left", "")] },
      "metric refused, abandoned",
      "0 of 1 failed, unknown",
      ["cancelled"],
    ],
    [
      "what breaks after the client left is not the upstream's failure",
      { steps: [new TransportFault("broken", "")], meanwhile: leave },
      "metric cancelled, abandoned",
      "0 of 1 failed, unknown",
      ["cancelled"],
    ],
    [
      "an own key's success says nothing of the upstream",
      { steps: [200], key: "own" },
      "metric answered, key own answered, passed",
      "0 of 1 failed, unknown",
      undefined,
    ],
    [
      "nor does its failure",
      { steps: [503], key: "own" },
      "metric failed, key own failed, failed",
      "0 of 1 failed, unknown",
      ["own key: status 503"],
    ],
    [
      "nor that it is rejected",
      { steps: [401], key: "own" },
      "metric unusable, key own rejected, passed",
      "0 of 1 failed, unknown",
      ["own key: rejected the key (status 401)"],
    ],
    [
      "the second of several keys",
      { steps: [401, 200], key: "pool" },
      "metric unusable, key 1 rejected, metric answered, key 2 answered, noted, passed",
      "1 of 2 failed, ok",
      ["key 1 of 2: rejected the key (status 401)", "key 2 of 2: replied"],
    ],
    [
      "none of several keys",
      { steps: [401, 429], key: "pool" },
      "metric unusable, key 1 rejected, metric busy, key 2 limited, failed",
      "2 of 2 failed, failing",
      [
        "key 1 of 2: rejected the key (status 401)",
        "key 2 of 2: over its rate limit (status 429)",
      ],
    ],
    [
      "a failure that is not the key's ends the way through them",
      { steps: [500, 200], key: "pool" },
      "metric failed, key 1 failed, failed",
      "1 of 1 failed, failing",
      ["key 1 of 2: status 500"],
    ],
    [
      "no other key for a client that has left",
      { steps: [401, 200], key: "pool", meanwhile: leave },
      "metric cancelled, key 1 rejected, passed",
      "1 of 1 failed, failing",
      ["key 1 of 2: rejected the key (status 401)"],
    ],
  ];
  for (const [what, given, told, activity, outcomes] of cases) {
    const got = await attempt(given, timers);
    assertEquals(got.told.join(", "), told, what);
    assertEquals([got.activity, got.outcomes], [activity, outcomes], what);
  }
  timers.close();
});

Deno.test("an attempt is sent with its key's headers, and its trace; what a failure says names the key, no secret", async () => {
  const timers = new CoarseTimers();
  const plain = await attempt({ steps: [200] }, timers);
  const [{ path, body, headers, account, signal }] = plain.sent as [UpstreamRequest];
  assertEquals([path, body, account], ["/p", "{}", "a"]);
  assertEquals(headers, { "x-key": "none", authorization: "only" });
  assert(signal === plain.client.signal, "nothing else ends it while no other target can be tried");
  assertEquals(plain.health.lastLatencyMs !== undefined, true);

  const keyed = await attempt({ steps: [503], key: "pool", traceparent: "00-trace" }, timers);
  assertEquals(keyed.sent[0]!.headers, {
    "x-key": "key-1",
    authorization: "key-1",
    traceparent: "00-trace",
  });
  assertEquals(keyed.health.lastFailure, { detail: "key 1 of 2: status 503", atMs: 7 });
  const secret = await attempt({ steps: [new TransportFault("broken", "a secret")] }, timers);
  assertEquals(secret.health.lastFailure?.detail, "a …");

  // an own key's owner is told what is wrong with it, but not that it only has to wait
  for (const [status, reason] of [[401, "permission_denied"], [429, "rate_exceeded"]] as const) {
    const { refusal } = await attempt({ steps: [status], key: "own" }, timers);
    assertEquals(refusal?.reason, reason);
  }
  const other = await attempt({ steps: [503], key: "own" }, timers);
  assertEquals(other.refusal?.reason, "upstream_unavailable");
  timers.close();
});

Deno.test("an attempt waits for its first output only while another target can be tried, longer for a whole reply", async () => {
  const timers = new CoarseTimers();
  const silent = ({ signal }: UpstreamRequest) =>
    new Promise<UpstreamReply>((_, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason))
    );
  const steps = [silent];
  const late = await attempt({ steps, canFailOver: true, headersMs: 5 }, timers);
  assertEquals(late.outcomes, ["timed out"]);
  assertEquals(late.health.lastFailure?.detail, "no response within 5 ms");
  const whole = await attempt(
    { steps, canFailOver: true, headersMs: 5, unstreamedTokens: 2_000 },
    timers,
  );
  assertEquals(whole.health.lastFailure?.detail, "no response within 10 ms");
  timers.close();
});

Deno.test("a bug is not hidden: the reply is given up, the circuit does not wait, and its place is free", async () => {
  const timers = new CoarseTimers();
  const bound = new Bound("one", timers).set({ atOnce: 1, waitMs: 0 });
  const open = () => {
    throw new TypeError("a bug");
  };
  for (const bounds of [{}, { upstream: bound }]) {
    const { result, told, replies } = await attempt({ steps: [200], open, bounds }, timers);
    assert("error" in result && result.error instanceof TypeError);
    assertEquals([told, replies[0]!.discarded], [["abandoned"], 1]);
  }
  (await bound.take({ account: "a", tokens: 1, signal: new AbortController().signal })).end();
  timers.close();
});

Deno.test("what bounds an upstream, a target and a key: its place is taken until the reply ends, and free after a failure", async () => {
  const timers = new CoarseTimers();
  for (const place of ["upstream", "target", "key"] as const) {
    const bound = new Bound("one", timers).set({ atOnce: 1, waitMs: 0 });
    const bounds = { [place]: bound };
    const key = place === "key" ? { key: "pool" } as const : {};
    for (let times = 0; times < 2; times++) {
      const failed = await attempt({ steps: [503], bounds, ...key }, timers);
      assertEquals(failed.sent.length, 1, place);
    }
    const first = await attempt({ steps: [200], bounds, ...key }, timers);
    assert("reply" in first.result, place);
    const second = await attempt({ steps: [200], bounds, ...key }, timers);
    assertEquals([second.sent.length, second.refusal?.reason], [0, "rate_exceeded"], place);
    const { outcomes } = second;
    assertEquals(outcomes?.every((one) => one === "over its limit here"), true, place);
    const { body } = first.result.reply;
    assertEquals(await body.read() === undefined, false);
    const begun = await attempt({ steps: [200], bounds, ...key }, timers);
    assertEquals(begun.sent.length, 0, `${place}: the reply has only begun`);
    assertEquals(await body.read(), undefined);
    const third = await attempt({ steps: [200], bounds, ...key }, timers);
    assert("reply" in third.result, place);
    third.result.reply.discard();
    const fourth = await attempt({ steps: [200], bounds, ...key }, timers);
    assert("reply" in fourth.result, place);
    fourth.result.reply.drain();
    // keys of the caller's own have their owners' bounds
    if (place === "key") continue;
    const held = await attempt({ steps: [200], bounds }, timers);
    const own = await attempt({ steps: [200], bounds, key: "own" }, timers);
    assert("reply" in held.result && "reply" in own.result, place);
  }
  timers.close();
});

Deno.test("a client that leaves while its request waits for its turn: nothing was sent, and nobody is to blame", async () => {
  const timers = new CoarseTimers();
  const bound = new Bound("one", timers).set({ atOnce: 1, waitMs: 60_000 });
  for (const key of [undefined, "pool"] as const) {
    const held = await bound.take({
      account: "a",
      tokens: 1,
      signal: new AbortController().signal,
    });
    const bounds = key === undefined ? { upstream: bound } : { key: bound };
    const given = { steps: [200], bounds, leaves: true, ...(key && { key }) };
    const { result, sent, told, activity } = await attempt(given, timers);
    assert("failure" in result);
    const { outcome, blame, trips } = result.failure;
    assertEquals([outcome, blame, trips], ["cancelled", false, false]);
    assertEquals([sent, told, activity], [[], ["abandoned"], "0 of 0 failed, unknown"]);
    held.end();
  }
  timers.close();
});
