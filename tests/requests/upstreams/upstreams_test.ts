/** The order in which targets are tried in memory: who is asked after whom, how often, and who is left alone. */

import { CoarseTimers } from "../../../src/ground/platform/mod.ts";
import { type Metrics, NO_TRACING, SILENT } from "../../../src/ground/telemetry/mod.ts";
import type { Exchange } from "../../../src/requests/upstreams/attempts.ts";
import { Health } from "../../../src/requests/upstreams/health.ts";
import { KeyHealth } from "../../../src/requests/upstreams/key_health.ts";
import { KeyPool } from "../../../src/requests/upstreams/key_pool.ts";
import {
  ExchangeFailed,
  RoutingMemory,
  type Upstream,
  Upstreams,
} from "../../../src/requests/upstreams/mod.ts";
import { Routing, type TargetPlan } from "../../../src/requests/upstreams/routing.ts";
import { TransportFault } from "../../../src/requests/upstreams/transport.ts";
import { Turns } from "../../../src/requests/upstreams/turns.ts";
import { assert, assertEquals } from "../../assert.ts";

const RETRIES = { attemptsPerTarget: 2, firstWaitMs: 1, patienceMs: 2_000 };
const BROKEN = new TransportFault("broken", "");

/** Upstreams by their names, what is done before they are used, and while one is asked. */
interface Case {
  /** What each replies, one after the other: a status, or why there is none. */
  readonly steps: Readonly<Record<string, readonly (number | Error)[]>>;
  /** Those whose target rests, is to be probed, whose keys rest, and that are used with a key of the caller's own. */
  readonly open?: readonly string[];
  readonly probed?: readonly string[];
  readonly keysRest?: readonly string[];
  readonly own?: readonly string[];
  readonly meanwhile?: (to: {
    readonly client: AbortController;
    readonly open: (name: string) => void;
  }) => void;
  readonly retries?: typeof RETRIES;
  readonly leavesAfterMs?: number;
}

async function send(given: Case) {
  const clock = { ms: 1_000_000 };
  const now = () => clock.ms;
  const timers = new CoarseTimers();
  const client = new AbortController();
  const sent: string[] = [];
  const key = (id: string) => ({
    id,
    position: 1,
    weight: 1,
    headers: {},
    health: new KeyHealth(now),
  });
  const openOf = (name: string) => {
    const { health } = all.find((one) => one.name === name)!;
    health.circuit("m").pass()?.failed(true);
    return health.circuit("m").openUntilMs;
  };
  const all = Object.entries(given.steps).map(([name, steps]) => {
    const left = [...steps];
    const keys = given.keysRest?.includes(name)
      ? new KeyPool(["1", "2"].map(key), new Turns())
      : undefined;
    return {
      name,
      headers: {},
      bounds: [],
      keys,
      health: new Health(now, keys),
      headersMs: Infinity,
      redact: (text: string) => text,
      send() {
        sent.push(name);
        given.meanwhile?.({ client, open: openOf });
        const step = left.shift() ?? 200;
        if (typeof step !== "number") return Promise.reject(step);
        const body = { read: () => Promise.resolve(undefined) };
        return Promise.resolve({ status: step, headers: {}, body, discard() {}, drain() {} });
      },
    } as unknown as Upstream;
  });
  for (const name of given.probed ?? []) clock.ms = openOf(name);
  for (const name of given.open ?? []) openOf(name);
  for (const { keys } of all) {
    for (const { health } of keys?.all ?? []) health.limited(60_000);
  }
  const plans = all.map((upstream): TargetPlan => ({
    target: { upstream: upstream.name, model: "m" },
    upstream,
    ...(given.own?.includes(upstream.name) && {
      ownKey: {
        owner: "account" as const,
        keys: new KeyPool([key("own")], new Turns(), "own key"),
        redact: (text: string) => text,
      },
    }),
  }));
  const upstreams = new Upstreams(all, {
    log: SILENT,
    metrics: { attempt() {}, keyAttempt() {} } as unknown as Metrics,
    now,
    timers,
    memory: new RoutingMemory(now),
    retries: given.retries ?? RETRIES,
  });
  const exchange: Exchange<TargetPlan, string> = {
    routing: new Routing(plans),
    signal: client.signal,
    requestId: "r",
    account: "a",
    trace: NO_TRACING.named(""),
    unstreamedTokens: 0,
    tokens: 1,
    write: () => ({ path: "", body: "", headers: {} }),
    open: () => Promise.resolve("opened"),
  };
  const leaving = given.leavesAfterMs === undefined
    ? undefined
    : setTimeout(() => client.abort(), given.leavesAfterMs);
  const got = await upstreams.send(exchange).then(
    ({ plan, attempts }) => `${plan.upstream.name} replied, ${attempts} attempts`,
    (error) => {
      if (!(error instanceof ExchangeFailed)) throw error;
      const { refusal: { reason, retryAfterMs }, last, attempts } = error;
      return `${reason} after ${retryAfterMs}, ${attempts} attempts, last ${last?.upstream}`;
    },
  );
  clearTimeout(leaving);
  timers.close();
  const closed = all.filter(({ health }) => health.circuit("m").isClosed).map(({ name }) => name);
  return { got, sent: sent.join(" "), closed, usable: upstreams.usable };
}

Deno.test("who is asked after whom, until one replies or nobody else may (table)", async () => {
  const UNAVAILABLE = "upstream_unavailable after 5000";
  const cases: readonly (readonly [what: string, given: Case, sent: string, got: string])[] = [
    ["one that replies", { steps: { a: [200], b: [] } }, "a", "a replied, 1 attempts"],
    ["the next", { steps: { a: [503], b: [200] } }, "a b", "b replied, 2 attempts"],
    ["the only one once more", { steps: { a: [503, 200] } }, "a a", "a replied, 2 attempts"],
    [
      "twice, not more often",
      { steps: { a: [503, 503, 503] } },
      "a a",
      `${UNAVAILABLE}, 2 attempts, last a`,
    ],
    [
      "once more only who may be asked again",
      { steps: { a: [401], b: [503, 503] } },
      "a b b",
      `${UNAVAILABLE}, 3 attempts, last b`,
    ],
    ["all once more", { steps: { a: [503], b: [503] } }, "a b a", "a replied, 3 attempts"],
    [
      "nobody after what would be rejected elsewhere, too",
      { steps: { a: [400], b: [] } },
      "a",
      "request_invalid after undefined, 1 attempts, last a",
    ],
    [
      "nor after what may have generated",
      { steps: { a: [BROKEN], b: [] } },
      "a",
      "upstream_unavailable after undefined, 1 attempts, last a",
    ],
    [
      "unless it was a probe, which the gateway chose",
      { steps: { a: [BROKEN], b: [] }, probed: ["a"] },
      "a b",
      "b replied, 2 attempts",
    ],
    [
      "a probe that was rejected for what is in it is final",
      { steps: { a: [400], b: [] }, probed: ["a"] },
      "a",
      "request_invalid after undefined, 1 attempts, last a",
    ],
    [
      "nobody is left after the last",
      { steps: { a: [BROKEN] }, probed: ["a"] },
      "a",
      "upstream_unavailable after undefined, 1 attempts, last a",
    ],
    ["one that rests is left alone", { steps: { a: [], b: [] }, open: ["a"] }, "b", "b replied, 1"],
    [
      "if all rest, the last is asked",
      { steps: { a: [], b: [] }, open: ["a", "b"] },
      "b",
      "b replied, 1",
    ],
    [
      "and so if their keys do",
      { steps: { a: [], b: [] }, keysRest: ["a", "b"] },
      "b",
      "b replied, 1",
    ],
    [
      "one that rests by now is not asked while another may be asked again",
      { steps: { a: [503, 200], b: [] }, meanwhile: ({ open }) => open("b") },
      "a a",
      "a replied, 2 attempts",
    ],
    [
      "nobody for a client that has left",
      { steps: { a: [503], b: [] }, meanwhile: ({ client }) => client.abort() },
      "a",
      "upstream_unavailable after undefined, 1 attempts, last a",
    ],
    [
      "nor after it has left during a wait",
      {
        steps: { a: [503], b: [503] },
        retries: { ...RETRIES, firstWaitMs: 600_000 },
        leavesAfterMs: 20,
      },
      "a b",
      `${UNAVAILABLE}, 2 attempts, last b`,
    ],
    [
      "nothing is waited for if nobody may be asked again",
      { steps: { a: [401] }, retries: { ...RETRIES, firstWaitMs: 600_000 } },
      "a",
      `${UNAVAILABLE}, 1 attempts, last a`,
    ],
    [
      "an own key's target although it rests for the gateway's",
      { steps: { a: [], b: [] }, open: ["a"], own: ["a"] },
      "a",
      "a replied, 1",
    ],
  ];
  for (const [what, given, sent, got] of cases) {
    const result = await send(given);
    assertEquals(result.sent, sent, what);
    assert(result.got.startsWith(got), `${what}: ${result.got}`);
  }
});

Deno.test("what fails with a caller's own key says nothing of the target", async () => {
  const steps = new Array(20).fill(new TransportFault("no_reply", ""));
  const [own, shared] = [{ steps: { a: steps }, own: ["a"] }, { steps: { a: steps } }];
  assertEquals((await send(own)).closed, ["a"]);
  assertEquals((await send(shared)).closed, []);
  assertEquals([(await send(own)).usable, (await send(shared)).usable], [true, false]);
});
