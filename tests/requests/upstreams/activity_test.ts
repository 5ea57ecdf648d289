import { Activity, hourOf, sumOfActivity } from "../../../src/requests/upstreams/activity.ts";
import { assert, assertEquals } from "../../assert.ts";
import { ownersClient } from "../../fake/admin_client.ts";
import { startGateway } from "../../fake/gateway.ts";
import { until } from "../../fake/temp.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";

const MINUTE_MS = 60_000;

Deno.test("activity: an hour of counts and latencies, older minutes are forgotten", () => {
  let nowMs = Date.UTC(2026, 10, 23, 9, 0, 30);
  const activity = new Activity(() => nowMs);
  assertEquals(hourOf(activity.state), {
    attempts: 0,
    failed: 0,
    departed: 0,
    p50Ms: undefined,
    p95Ms: undefined,
  });
  for (let index = 0; index < 100; index++) activity.replied(index < 90 ? 100 : 5_000);
  activity.ended(true);
  activity.ended(false); // the client's fault
  activity.broke(); // counted as a reply before
  activity.departed(); // so were these
  assertEquals(hourOf(activity.state).departed, 1);
  const { attempts, failed, p50Ms = 0, p95Ms = 0 } = hourOf(activity.state);
  assertEquals([attempts, failed], [102, 2]);
  assert(p50Ms >= 100 && p50Ms <= 125, String(p50Ms));
  assert(p95Ms >= 5_000 && p95Ms <= 6_250, String(p95Ms));
  const { minutes } = activity.state;
  assertEquals([minutes.length, minutes.at(-1)!.attempts], [60, 102]);
  assertEquals(minutes.at(-1)!.atMs, Date.UTC(2026, 10, 23, 9, 0));

  nowMs += 59 * MINUTE_MS;
  activity.replied(0.2);
  assertEquals(hourOf(activity.state).attempts, 103);
  assertEquals(activity.state.minutes[0]!.attempts, 102);
  nowMs += MINUTE_MS; // the place of the first minute is another minute's now
  activity.replied(3_000_000);
  assertEquals([hourOf(activity.state).attempts, hourOf(activity.state).failed], [2, 0]);
  assertEquals(activity.state.total, { attempts: 104, failed: 2, departed: 1 });
  nowMs -= 30 * MINUTE_MS; // a clock that was set back
  activity.replied(1);
  assertEquals(hourOf(activity.state).attempts, 1);
});

Deno.test("activity: latencies are counted up to a quarter too high, from a millisecond to twenty minutes (table)", () => {
  for (
    const [latencies, p50Ms, p95Ms] of [
      [[0], 1, 1],
      [[0.2], 1, 1],
      [[1], 1, 1],
      [[1.01], 1, 1], // up to 1.25
      [[1.3], 2, 2], // up to 1.5625
      [[1_000_000], 1_019_579, 1_019_579],
      [[3_000_000], 1_274_474, 1_274_474],
      [[1, 1_000], 1, 1_010], // half took up to that
      [[...new Array(19).fill(1), 1_000], 1, 1], // 95 of 100
      [[...new Array(18).fill(1), 1_000, 1_000], 1, 1_010],
    ] as const
  ) {
    const activity = new Activity(() => 1_000 * MINUTE_MS);
    for (const ms of latencies) activity.replied(ms);
    const { p50Ms: half, p95Ms: most } = hourOf(activity.state);
    assertEquals([half, most], [p50Ms, p95Ms], latencies.join());
  }
});

Deno.test("activity of two threads adds up by minute", () => {
  let nowMs = 1_000 * MINUTE_MS;
  const [one, other] = [new Activity(() => nowMs), new Activity(() => nowMs)];
  one.replied(10);
  other.ended(true);
  one.departed();
  other.departed();
  nowMs += MINUTE_MS;
  other.replied(10);
  const sum = sumOfActivity(one.state, other.state);
  assertEquals(sum.minutes.slice(-2).map(({ attempts, failed }) => [attempts, failed]), [
    [2, 1],
    [1, 0],
  ]);
  assertEquals(sum.total, { attempts: 3, failed: 1, departed: 2 });
  assertEquals(sum.latencies.reduce((all, count) => all + count), 2);
});

Deno.test("each attempt at an upstream is counted, and what is the client's fault is no failure", async () => {
  let status = 200;
  await using upstream = fakeUpstream(() =>
    status === 200
      ? completion("well")
      : Response.json({ error: { message: "no", code: "x" } }, { status })
  );
  const settings = { upstream: { url: upstream.url, key: "sk-of-the-gateway" } };
  await using gateway = await startGateway({
    settings,
    looksInside: true,
  });
  const activity = () =>
    hourOf(
      gateway.gateway.upstreams.all.find(({ name }) => name === "default")!.health.activity.state,
    );
  await (await gateway.chat("Hi")).body?.cancel();
  assertEquals([activity().attempts, activity().failed], [1, 0]);
  status = 400;
  await (await gateway.chat("Hi")).body?.cancel();
  assertEquals([activity().attempts, activity().failed], [2, 0]);
  status = 503;
  await (await gateway.chat("Hi")).body?.cancel();
  assertEquals([activity().attempts, activity().failed], [4, 2], "tried twice");
  await gateway.reload({ ...settings, logLevel: "warn" });
  assertEquals(activity().attempts, 4, "a reload forgets nothing");

  // nor is it one of the upstream what comes of a caller's own key there, which others do not use
  status = 200;
  const admin = await ownersClient(gateway);
  const own = "sk-own-0123456789abcd";
  const account = gateway.gateway.owner.id;
  assertEquals(
    (await admin("PUT", "/upstream-keys", {
      body: { account, upstream: "default", key: own },
    })).status,
    200,
  );
  status = 503;
  const sent = async () => {
    await (await gateway.chat("Hi")).body?.cancel();
    return upstream.received.at(-1)!.headers.get("authorization");
  };
  await until(async () => await sent() === `Bearer ${own}`, { what: "the use of the key" });
  const before = activity();
  await sent();
  assert(activity().attempts > before.attempts);
  assertEquals(activity().failed, before.failed);
});
