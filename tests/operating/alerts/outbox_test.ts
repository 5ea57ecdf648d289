import { type NewAlert, Outbox } from "../../../src/operating/alerts/mod.ts";
import { notices } from "../../../src/operating/alerts/mod.ts";
import { settings } from "../../../src/settings/config/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { type LedgerBench, ledgerBench, possible } from "../../fake/ledger.ts";
import { canRunSqld } from "../../fake/sqld.ts";
import { sized } from "../../tier.ts";

const { alerts: { receivers: RECEIVERS } } = settings.parse({
  alerts: {
    receivers: {
      hook: { url: "https://example.com/hook", secret: "secret" },
      chat: { url: "https://example.com/chat", kind: "slack", alerts: ["audit_failed"] },
    },
  },
});
const BACKOFF = { firstMs: 100, maxMs: 1_000, giveUpMs: 10_000, minAttempts: 3 };
const LEASE = { limit: 50, leaseMs: 5_000 };

function alert(mark: string, more: Partial<NewAlert> = {}): NewAlert {
  return {
    mark,
    kind: "disk_low",
    accountId: null,
    title: `About ${mark}`,
    text: "Text",
    data: {},
    ...more,
  };
}

const onServer = await canRunSqld() ? ["server" as const] : [];

for (const kind of possible(["file", ...onServer, "postgres"])) {
  const tests: [string, (bench: LedgerBench) => Promise<void>][] = [];
  const test = (name: string, run: (bench: LedgerBench) => Promise<void>) =>
    tests.push([name, run]);

  test("a mark is raised once, by two gateways that race and after a restart", async (bench) => {
    const second = await bench.connect();
    const outboxes = [bench.database, second].map((one) => new Outbox(one, () => 1_000));
    const marks = Array.from({ length: 20 }, (_, at) => `mark:${at % 10}`);
    const raised = await Promise.all(
      marks.map((mark, at) => outboxes[at % 2]!.raise([alert(mark)], RECEIVERS)),
    );
    await second.close();
    assertEquals(raised.reduce((sum, one) => sum + (one.get("disk_low") ?? 0), 0), 10);
    await bench.reopen();
    const again = new Outbox(bench.database, () => 2_000);
    assertEquals((await again.raise([alert("mark:3"), alert("mark:3")], RECEIVERS)).size, 0);
    const all = await notices(bench.database, { limit: 100 });
    assertEquals(all.map(({ mark }) => mark).toSorted(), [...new Set(marks)].toSorted());
    for (const { deliveries } of all) {
      assertEquals(deliveries.map(({ receiver }) => receiver), ["hook"]);
    }
  });

  test("a delivery is claimed by one of several, and again when the lease has ended", async (bench) => {
    let nowMs = 1_000;
    const second = await bench.connect();
    const outboxes = Array.from(
      { length: 6 },
      (_, at) => new Outbox(at % 2 === 0 ? bench.database : second, () => nowMs, BACKOFF),
    );
    await outboxes[0]!.raise([alert("a"), alert("b")], RECEIVERS);
    const claims = await Promise.all(outboxes.map((one) => one.claim("hook", LEASE)));
    assertEquals(claims.flatMap((one) => one?.alerts.map(({ mark }) => mark) ?? []).toSorted(), [
      "a",
      "b",
    ]);
    assertEquals(await outboxes[0]!.retry(), 0, "what is being sent is not made due");
    nowMs += LEASE.leaseMs;
    const later = await outboxes[1]!.claim("hook", LEASE);
    assertEquals(later?.alerts.length, 2);
    // the first one has delivered it after all: it is not sent again
    const first = claims.find((one) => one !== undefined)!;
    await outboxes[0]!.finish(first, { status: 200, error: null });
    await outboxes[1]!.finish(later!, { status: 500, error: "status 500" });
    nowMs += 60_000;
    assertEquals(await outboxes[1]!.claim("hook", LEASE), undefined);
    await second.close();
  });

  test("failures wait longer each time, and are given up after a day and a few attempts", async (bench) => {
    let nowMs = 1_000;
    const outbox = new Outbox(bench.database, () => nowMs, BACKOFF);
    await outbox.raise([alert("a")], RECEIVERS);
    const fail = async () => {
      const claim = await outbox.claim("hook", LEASE);
      return claim && await outbox.finish(claim, { status: null, error: "no reply" });
    };
    assertEquals(await fail(), 0);
    assertEquals(await fail(), undefined, "not due yet");
    nowMs += 100;
    assertEquals(await fail(), 0);
    // a clock that jumps ahead gives nothing up before it was tried a few times
    await bench.database.batch([{ sql: "update alert_deliveries set attempts = 0" }]);
    nowMs += 1e9;
    assertEquals(await fail(), 0);
    nowMs += 1_000;
    assertEquals(await fail(), 0);
    // one that jumps back makes it due
    nowMs -= 1e9;
    assertEquals(await fail(), 0, "due although its time is far ahead");
    nowMs += 1e9;
    assertEquals(await fail(), 1);
    const [one] = await notices(bench.database, { limit: 1, state: "given_up" });
    assertEquals(one?.deliveries[0]?.error, "no reply");
    assertEquals(await fail(), undefined);
    assertEquals([await outbox.retry({ receiver: "chat" }), await outbox.retry()], [0, 1]);
    const claim = await outbox.claim("hook", LEASE);
    await outbox.finish(claim!, { status: 204, error: null });
    assertEquals((await notices(bench.database, { limit: 1, state: "delivered" })).length, 1);
  });

  test("texts are stored safely whatever they contain", async (bench) => {
    const outbox = new Outbox(bench.database, () => 1_000);
    const text = `half \ud800 a pair, \u202e turned, \u0000 nul ${"x".repeat(5_000)}`;
    await outbox.raise([alert("a", { title: text, text, data: { text } })], RECEIVERS);
    const [one] = await notices(bench.database, { limit: 10 });
    assert(one!.text.startsWith("half \ufffd a pair, \\u202e turned, \\u0000 nul"), one!.text);
    assert(one!.text.length < 1_100);
  });

  test("thousands at once are claimed in groups", async (bench) => {
    const outbox = new Outbox(bench.database, () => 1_000);
    const groups = sized(kind === "file" ? 40 : 10, 60);
    const all = Array.from({ length: 50 * groups }, (_, at) => alert(`mark:${at}`));
    assertEquals((await outbox.raise(all, RECEIVERS)).get("disk_low"), 50 * groups);
    const sizes: number[] = [];
    for (let claim; (claim = await outbox.claim("hook", LEASE)) !== undefined;) {
      sizes.push(claim.alerts.length);
      await outbox.finish(claim, { status: 200, error: null });
    }
    assertEquals(sizes, Array.from({ length: groups }, () => 50));
  });

  Deno.test(`outbox (${kind})`, async (t) => {
    await using bench = await ledgerBench(kind);
    for (const [name, run] of tests) {
      await t.step(name, async () => {
        await bench.database.batch([
          { sql: "delete from alert_deliveries" },
          { sql: "delete from alerts" },
        ]);
        await run(bench);
      });
    }
  });
}

Deno.test("deliveries to receivers that are gone are given up after a day", async () => {
  await using bench = await ledgerBench("file");
  let nowMs = 1_000;
  const outbox = new Outbox(bench.database, () => nowMs);
  await outbox.raise([alert("a")], RECEIVERS);
  assertEquals(await outbox.giveUpOthers({}), 0);
  nowMs += 86_400_000;
  assertEquals([await outbox.giveUpOthers(RECEIVERS), await outbox.giveUpOthers({})], [0, 1]);
});

Deno.test("a lease lasts beyond the longest wait, and a wait beyond the longest lease", async () => {
  for (const [leaseMs, waitMs] of [[600_000, 1_000], [1_000, 3_600_000]] as const) {
    await using bench = await ledgerBench("file");
    let nowMs = 1_000;
    const backoff = { ...BACKOFF, firstMs: waitMs, maxMs: waitMs };
    const outbox = new Outbox(bench.database, () => nowMs, backoff);
    await outbox.raise([alert("a")], RECEIVERS);
    const claim = () => outbox.claim("hook", { limit: 50, leaseMs });
    const first = await claim();
    assert(first !== undefined);
    nowMs += leaseMs - 1;
    assertEquals(await claim(), undefined, "it is being delivered");
    nowMs += 1;
    const second = await claim();
    assert(second !== undefined, "the gateway that claimed it has ended");
    await outbox.finish(second, { status: 500, error: "status 500" });
    nowMs += waitMs / 2 - 1;
    assertEquals(await claim(), undefined, "it waits");
    nowMs += waitMs / 2 + 1;
    assert(await claim() !== undefined);
  }
});

Deno.test("a claim whose lease has ended says nothing of the next one", async () => {
  await using bench = await ledgerBench("file");
  let nowMs = 1_000;
  const outbox = new Outbox(bench.database, () => nowMs, BACKOFF);
  await outbox.raise([alert("a")], RECEIVERS);
  const late = await outbox.claim("hook", LEASE);
  nowMs += LEASE.leaseMs;
  const next = await outbox.claim("hook", LEASE);
  assertEquals(await outbox.finish(late!, { status: null, error: "no reply" }), 0);
  nowMs += BACKOFF.maxMs;
  assertEquals(await outbox.claim("hook", LEASE), undefined, "it is being delivered");
  await outbox.finish(next!, { status: null, error: "no reply" });
  nowMs += BACKOFF.maxMs;
  assertEquals((await outbox.claim("hook", LEASE))?.alerts.length, 1);
});

Deno.test("a delivery is what it was when it first arrived", async () => {
  await using bench = await ledgerBench("file");
  let nowMs = 1_000;
  const outbox = new Outbox(bench.database, () => nowMs, BACKOFF);
  await outbox.raise([alert("a")], RECEIVERS);
  const first = await outbox.claim("hook", LEASE);
  nowMs += LEASE.leaseMs;
  const again = await outbox.claim("hook", LEASE);
  await outbox.finish(first!, { status: 200, error: null });
  nowMs += 1;
  await outbox.finish(again!, { status: 204, error: null });
  const [one] = await notices(bench.database, { limit: 1 });
  const { deliveredAtMs, status } = one!.deliveries[0]!;
  assertEquals([deliveredAtMs, status], [nowMs - 1, 200]);
});

Deno.test("where there is nothing to do, nothing is written", async () => {
  await using bench = await ledgerBench("file");
  const uses: string[] = [];
  const database = guardedDatabase(bench.database, (use) => uses.push(use));
  const outbox = new Outbox(database, () => 1_000, BACKOFF);
  assertEquals((await outbox.raise([], RECEIVERS)).size, 0);
  assertEquals([...await outbox.known([])], []);
  assertEquals(uses, []);
  await outbox.raise([alert("a"), alert("b")], RECEIVERS);
  assertEquals([...await outbox.known(["a", "c"])], ["a"]);
  uses.length = 0;
  assertEquals(await outbox.claim("chat", LEASE), undefined);
  assertEquals(uses, ["one"], "it is asked whether something is due");
});

Deno.test("a delivery is made due again by its alert and its receiver, each or both", async () => {
  await using bench = await ledgerBench("file");
  let nowMs = 1_000;
  const outbox = new Outbox(bench.database, () => nowMs, { ...BACKOFF, minAttempts: 1 });
  const kind = "audit_failed"; // for both receivers
  await outbox.raise([alert("a", { kind }), alert("b", { kind })], RECEIVERS);
  const ids = new Map(
    (await notices(bench.database, { limit: 9 })).map((one) => [one.mark, one.id]),
  );
  const giveUp = async () => {
    for (const receiver of ["hook", "chat"]) {
      const claim = await outbox.claim(receiver, LEASE);
      await outbox.finish(claim!, { status: null, error: "no reply" });
    }
  };
  nowMs += BACKOFF.giveUpMs;
  await giveUp();
  const [a, b] = [{ alertId: ids.get("a")! }, { alertId: ids.get("b")! }];
  const due = async (receiver: string) =>
    (await outbox.claim(receiver, LEASE))?.alerts.map(({ mark }) => mark);
  assertEquals(await outbox.retry({ ...a, receiver: "chat" }), 1);
  assertEquals([await due("hook"), await due("chat")], [undefined, ["a"]]);
  assertEquals(await outbox.retry(b), 2);
  assertEquals([await due("hook"), await due("chat")], [["b"], ["b"]]);
  assertEquals(await outbox.retry({ alertId: "alert_nothing" }), 0);
});
