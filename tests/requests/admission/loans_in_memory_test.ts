/** The loans of a gateway over a ledger in memory: when it asks, spends, takes note and returns, at each bound and beside it. */

import { Loans } from "../../../src/requests/admission/loans.ts";
import { type AccountStatus, TierList } from "../../../src/money/ledger/mod.ts";
import {
  type Database,
  DatabaseError,
  type Row,
  type Statement,
} from "../../../src/ground/database/mod.ts";
import { SILENT } from "../../../src/ground/telemetry/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { until } from "../../fake/temp.ts";

const NOW = Date.UTC(2030, 0, 1);
const LEASE_MS = 60_000;
const BALANCE = 10_000;
const TIERS = new TierList([{ above: 0, minute: 1_000, hour: 1_000, day: 1_000 }]);

/** What a statement puts into a view, by column. */
function given({ sql, args = [] }: Statement): Readonly<Record<string, unknown>> {
  const columns = /\(([^)]+)\)/.exec(sql)![1]!.split(", ");
  return Object.fromEntries(columns.map((column, at) => [column, args[at]]));
}

/** A gateway's loans, and what they ask of a ledger that answers as the test says. */
function scene(
  { outbox, patienceMs, lendFrom = 1 }: {
    outbox?: Partial<Database["outbox"]>;
    patienceMs?: number;
    /** Null for the usual number. */
    lendFrom?: number | null;
  } = {},
) {
  const kept = new Map<string, { readonly accountId: string; readonly credits: number }>();
  const at = {
    tick: 0,
    /** Questions for loans. */
    asks: [] as Readonly<Record<string, unknown>>[],
    /** IDs of loans that were returned, with the requests that hold their credits then. */
    returns: [] as [id: string, requests: number][],
    /** Accounts of which each look has read the balance. */
    looks: [] as string[][],
    renewals: 0,
    warnings: 0,
    recalls: 0,
    /** Credits that a loan has after a question; undefined for none at all. */
    lends: (): number | undefined => 1_000,
    isAway: false,
    held: Promise.resolve(),
    /** Loans that are recalled, and balances that a look finds. */
    recalled: [] as { readonly accountId: string; readonly loanId: string }[],
    balances: {} as Record<string, number>,
    /** Whether it is still waited for others to return what was recalled. */
    isWaitedFor: (): boolean => false,
  };
  const lend = (ask: Readonly<Record<string, unknown>>): Row[][] => {
    const [accountId, id] = [String(ask.account_id), String(ask.loan_id)];
    const before = kept.get(id);
    const credits = at.lends();
    if (credits === undefined) kept.delete(id);
    else kept.set(id, { accountId, credits });
    const places = { minute: 100, hour: 100, day: 100 };
    const loan = { credits, ...places, expires_at_ms: null, until_ms: null };
    // limits of a thousand, whatever they are called
    const status = new Proxy({}, {
      get: (_, name) =>
        name === "balance"
          ? BALANCE
          : name === "budget"
          ? null
          : String(name).endsWith("_used")
          ? 0
          : 1_000,
    });
    return [
      before === undefined ? [] : [{ credits: before.credits }],
      [],
      credits === undefined ? [] : [loan as Row],
      [{ minute: 0, hour: 0, day: 0 }],
      [status],
      [],
    ];
  };
  const database: Database = {
    place: "memory",
    waiting: 0,
    ...(outbox !== undefined && {
      outbox: { isUsable: true, kept: 0, isDetached: false, isShared: false, ...outbox },
    }),
    all(sql) {
      if (at.isAway) return Promise.reject(new DatabaseError("SLUICE_SERVER", "away"));
      if (sql.startsWith("select distinct")) return Promise.resolve([]);
      at.renewals++;
      return Promise.resolve([...kept].map(([loan_id, { accountId }]) => (
        { account_id: accountId, loan_id, renewed: 1 }
      )));
    },
    one(sql, args = []) {
      if (!sql.includes("as news")) {
        at.recalls++;
        return Promise.resolve(at.isWaitedFor() ? { found: 1 } : undefined);
      }
      if (at.isAway) return Promise.reject(new DatabaseError("SLUICE_SERVER", "away"));
      at.looks.push(JSON.parse(String(args[1])));
      const { recalled, balances } = at;
      return Promise.resolve({ news: JSON.stringify({ recalled, balances }) });
    },
    async batch([first, second]) {
      if (first!.sql.includes("loan_returns")) {
        const { loan_id: id, requests } = given(first!);
        kept.delete(String(id));
        at.returns.push([String(id), JSON.parse(String(requests)).length]);
        return [[]];
      }
      const ask = given(second!);
      at.asks.push(ask);
      await at.held;
      if (at.isAway) throw new DatabaseError("SLUICE_SERVER", "away", { outcomeUnknown: true });
      return lend(ask);
    },
    write: () => Promise.reject(new Error("nothing is written")),
    close: () => Promise.resolve(),
  };
  const settings = { tierList: TIERS, leaseMs: LEASE_MS, patienceMs };
  const loans = new Loans({
    ...settings,
    database,
    gatewayId: "gw",
    log: { ...SILENT, warn: () => void at.warnings++ },
    now: () => NOW,
    monotonicNow: () => at.tick,
    lendFrom: lendFrom ?? undefined,
  });
  let requests = 0;
  return {
    at,
    kept,
    loans,
    settings,
    /** A request that no loan covers; resolves when a question that it led to is answered. */
    async uncovered(accountId = "acc", keyId = "key", more = {}): Promise<void> {
      loans.uncovered({ accountId, keyId, credits: 10, ...more });
      await turns();
    },
    /** A request of a loan, if it is admitted from one. */
    draw(credits = 1, accountId = "acc", keyId = "key") {
      const requestId = `req_${requests++}`;
      const draw = { requestId, keyId, credits, mostCredits: credits, nowMs: NOW };
      return loans.admit({ accountId, keyId }, draw);
    },
    /** Has it look after its loans. */
    async look(): Promise<void> {
      const before = at.isWaitedFor;
      let isFirst = true;
      at.isWaitedFor = () => {
        const is = isFirst;
        isFirst = false;
        return is;
      };
      await loans.recalled({ accountId: "elsewhere", keyId: "elsewhere" });
      at.isWaitedFor = before;
    },
  };
}

/** What waits for a settled promise has gone on. */
async function turns(): Promise<void> {
  for (let count = 0; count < 20; count++) await Promise.resolve();
}

Deno.test("a loan is asked for from the fourth request within a second on; at a server that others share, from the first", async () => {
  const own = scene({ lendFrom: null });
  for (const asked of [0, 0, 0, 1]) {
    await own.uncovered();
    assertEquals(own.at.asks.length, asked);
  }
  const shared = scene({ lendFrom: null, outbox: { isShared: true } });
  await shared.uncovered();
  assertEquals([shared.at.asks.length, shared.loans.lendsBudgets], [1, true]);
  assertEquals(own.loans.lendsBudgets, false);
});

Deno.test("a loan is for sixteen requests, that of a key with budgets for one; it lasts as long as it may be spent", async () => {
  for (const [outbox, leaseMs] of [[undefined, 60_000], [{}, 660_000]] as const) {
    const { at, uncovered } = scene({ patienceMs: 600_000, ...(outbox && { outbox }) });
    await uncovered();
    await uncovered("acc", "bound", { byKey: true });
    const asked = at.asks.map((ask) => [ask.least_credits, ask.by_key, ask.lease_ms]);
    assertEquals(asked, [[160, 0, leaseMs], [10, 1, leaseMs]]);
  }
});

Deno.test("a loan is asked to grow when it is low, again soon if it grew or has a new key, and else not for a while", async () => {
  const { at, draw, uncovered } = scene();
  let credits = 1_000;
  at.lends = () => credits;
  await uncovered();
  assert(draw(10) !== undefined);
  at.tick = 100;
  assert(draw(700) !== undefined);
  assertEquals(at.asks.length, 1, "a quarter is left");
  credits = 2_000;
  assert(draw(41) !== undefined);
  await turns();
  assertEquals(at.asks.length, 2);
  assert(draw(1_000) !== undefined);
  assertEquals(at.asks.length, 2, "it was asked a moment ago");
  at.tick = 199;
  await uncovered();
  assertEquals(at.asks.length, 2);
  at.tick = 200;
  await uncovered();
  assertEquals(at.asks.length, 3, "which adds nothing");
  at.tick = 5_199;
  await uncovered();
  assertEquals(at.asks.length, 3);
  at.tick = 5_200;
  await uncovered("acc", "new");
  assertEquals(at.asks.length, 4, "nor does this, but it takes up a key");
  at.tick = 5_300;
  await uncovered();
  assertEquals([at.asks.length, at.warnings], [5, 0]);
  assertEquals(at.asks.map((ask) => ask.is_new), [1, 0, 0, 0, 0]);
  assertEquals(new Set(at.asks.map((ask) => ask.loan_id)).size, 1);
});

Deno.test("of an account with nothing to lend nothing is asked for a while; that is no fault", async () => {
  const { at, uncovered, loans } = scene();
  at.lends = () => undefined;
  await uncovered();
  at.tick = 4_999;
  await uncovered();
  assertEquals(at.asks.length, 1);
  at.tick = 5_000;
  await uncovered();
  assertEquals([at.asks.length, at.warnings, loans.size], [2, 0, 0]);
});

Deno.test("a loan that the database does not have any more is given up when it is to grow", async () => {
  const { at, uncovered, loans, draw } = scene();
  await uncovered();
  const running = draw(10);
  at.lends = () => undefined;
  at.tick = 100;
  await uncovered();
  assertEquals([at.returns.map(([, requests]) => requests), loans.size], [[1], 0]);
  assertEquals([draw(), at.warnings], [undefined, 0]);
  loans.end(running!.loan, running!.hold, { charged: 1, balance: undefined });
  await turns();
  assertEquals(at.returns.length, 1, "it is returned once");
});

Deno.test("a loan is spent for a second after the database was heard, and longer where charges can be kept", async () => {
  for (
    const [outbox, patienceMs, lastMs] of [
      [undefined, undefined, 999],
      [undefined, 5_000, 999],
      [{}, 5_000, 4_999],
      [{}, 500, 999],
      [{ isUsable: false }, 5_000, 999],
    ] as const
  ) {
    const options = { ...(outbox && { outbox }), ...(patienceMs && { patienceMs }) };
    const { at, draw, uncovered, look } = scene(options);
    await uncovered();
    at.tick = lastMs;
    const what = `${JSON.stringify(outbox)} ${patienceMs}`;
    assert(draw() !== undefined, what);
    at.tick = lastMs + 1;
    assertEquals(draw(), undefined, what);
    await look();
    assert(draw() !== undefined, what);
  }
});

Deno.test("a loan is not spent in the last quarter of its lease, however well the database is heard", async () => {
  const { at, draw, uncovered, look, loans } = scene();
  await uncovered();
  assert(draw() !== undefined);
  at.tick = 44_999;
  await look();
  assert(draw() !== undefined);
  at.tick = 45_000;
  await look();
  assertEquals(draw(), undefined);
  await loans.renew();
  assert(draw() !== undefined);
  assertEquals(at.returns, [], "what was renewed is not returned");
});

Deno.test("another loan makes the first none the fresher", async () => {
  const { at, draw, uncovered } = scene();
  await uncovered();
  at.tick = 900;
  await uncovered("other");
  assert(draw() !== undefined && draw(1, "other") !== undefined);
  at.tick = 1_000;
  assertEquals([draw(), draw(1, "other")], [undefined, undefined]);
});

Deno.test("a loan that nobody uses is returned after ten seconds, at a server that may be away after as long as it may be", async () => {
  for (
    const [outbox, patienceMs, idleMs] of [
      [undefined, undefined, 10_000],
      [undefined, 20_000, 10_000],
      [{ isShared: true }, undefined, 10_000],
      [{ isShared: true }, 20_000, 20_000],
      [{ isShared: true }, 5_000, 10_000],
    ] as const
  ) {
    const options = { ...(outbox && { outbox }), ...(patienceMs && { patienceMs }) };
    const { at, draw, uncovered, look, loans } = scene(options);
    await uncovered();
    await uncovered("busy");
    assert(draw(1, "busy") !== undefined);
    at.tick = idleMs;
    await look();
    assertEquals([loans.size, at.returns.length], [2, 0]);
    at.tick = idleMs + 1;
    await look();
    assertEquals([loans.size, at.returns.length], [1, 1], "a request of the other one runs");
    const { length } = at.asks;
    await uncovered();
    assertEquals([at.asks.length, loans.size], [length + 1, 2], "it may be lent again at once");
  }
});

Deno.test("a loan that was recalled is returned, and not asked for again for five seconds", async () => {
  const { at, kept, uncovered, look, loans, draw } = scene();
  await uncovered();
  const [[loanId] = []] = [...kept];
  at.recalled = [{ accountId: "acc", loanId: loanId! }];
  at.tick = 200;
  const running = draw(3);
  await look();
  assertEquals([loans.size, at.returns[0]], [0, [loanId, 1]]);
  loans.end(running!.loan, running!.hold, undefined);
  at.recalled = [];
  for (const [tick, asked] of [[5_199, 1], [5_200, 2]] as const) {
    at.tick = tick;
    await uncovered();
    assertEquals(at.asks.length, asked);
  }
});

Deno.test("a loan that is recalled and not known is returned, unless it may be the one that is asked for", async () => {
  const { at, uncovered, look, draw } = scene();
  const asked = Promise.withResolvers<void>();
  await uncovered("other"); // so that it looks at all
  at.recalled = [{ accountId: "acc", loanId: "lost" }];
  at.held = asked.promise;
  await uncovered();
  await look();
  assertEquals(at.returns, []);
  asked.resolve();
  await turns();
  assert(draw() !== undefined);
  await look();
  assertEquals(at.returns, [["lost", 0]]);
});

Deno.test("without loans there is nothing to look after, and loans are renewed in between only when one may be unknown", async () => {
  const { at, uncovered, look, loans } = scene();
  await look();
  assertEquals([at.looks, at.renewals], [[], 0]);
  await uncovered("other");
  await look();
  assertEquals([at.looks.length, at.renewals], [1, 0]);
  at.isAway = true;
  await uncovered();
  assertEquals([at.warnings, loans.size], [1, 1]);
  await look(); // nothing is heard
  at.isAway = false;
  await look();
  assertEquals([at.looks.length, at.renewals], [2, 1]);
  await look();
  assertEquals([at.looks.length, at.renewals, at.returns], [3, 1, []]);
});

Deno.test("a loan that may have grown is returned, and one that the database does not have any more", async () => {
  const { at, kept, uncovered, look, loans } = scene();
  await uncovered();
  at.isAway = true;
  at.tick = 100;
  await uncovered();
  assertEquals([at.asks.length, loans.size], [2, 1]);
  at.isAway = false;
  await look();
  assertEquals([at.returns.length, loans.size], [1, 0]);
  at.tick = 20_000;
  await uncovered();
  assertEquals(loans.size, 1);
  kept.clear();
  await loans.renew();
  await turns();
  assertEquals([at.returns.length, loans.size], [2, 0]);
});

Deno.test("a charge that is sent while a balance is read is taken off it", async () => {
  const { at, uncovered, look, loans, draw } = scene();
  await uncovered();
  loans.charge("acc", 30);
  const read = { toJSON: () => (loans.charge("acc", 7), { acc: 5_000 }) };
  at.balances = read as never;
  await look();
  assertEquals(draw()!.loan.balance, 5_000 - 7);
});

Deno.test("of very many accounts those are forgotten that have no loan", async () => {
  const { at, uncovered, loans, draw } = scene({ lendFrom: null });
  const ask = (accountId: string) => loans.uncovered({ accountId, keyId: "key", credits: 10 });
  for (let count = 0; count < 4; count++) await uncovered("lent");
  assertEquals(loans.charge("lent", 30), BALANCE - 30);
  for (let count = 0; count < 3; count++) ask("first");
  for (let count = 0; count < 10_000; count++) ask(`acc_${count}`);
  ask("first");
  assertEquals(at.asks.length, 1, "the first is as good as new");
  assertEquals(draw(1, "lent")!.loan.balance, BALANCE - 30);
});

Deno.test("a balance is read after a charge, of up to 200 accounts at a look; one that is not found changes nothing", async () => {
  const { at, uncovered, look, loans, draw } = scene();
  for (let count = 0; count < 201; count++) {
    await uncovered(`acc_${count}`);
    assertEquals(loans.charge(`acc_${count}`, 30), BALANCE - 30);
  }
  at.balances = { acc_0: 5_000 };
  for (let looks = 0; looks < 3; looks++) await look();
  assertEquals(at.looks.map(({ length }) => length), [200, 1, 0]);
  const balances = [0, 1, 200].map((count) => draw(1, `acc_${count}`)!.loan.balance);
  assertEquals(balances, [5_000, BALANCE - 30, BALANCE - 30]);
  assertEquals(loans.charge("unknown", 5), undefined);
});

Deno.test("what a decision says of windows is completed by the requests of the loan, if that covers the key", async () => {
  const { uncovered, loans, draw } = scene();
  await uncovered();
  assert(draw() !== undefined && draw() !== undefined);
  const [one, other] = ["key", "other"].map((keyId) => ({ accountId: "acc", keyId }));
  const used = (windows: AccountStatus["windows"]) => windows.map((window) => window.used);
  const windows = loans.learn(one!, { balance: 1, windows: [] }, NOW);
  assertEquals(windows, []);
  const spans = ["minute", "hour", "day"] as const;
  const status: AccountStatus = {
    balance: 1,
    windows: spans.map((span) => ({ of: "key", span, limit: 1_000, used: 1 })),
  };
  assertEquals(used(loans.learn(other!, status, NOW)), [1, 1, 1]);
  assertEquals(used(loans.learn(one!, status, NOW)), [2, 2, 2, 2, 2, 2]);
});

Deno.test("who has not returned what was recalled is waited for up to two seconds, and not again for ten", async () => {
  const { at, loans } = scene();
  const borrower = { accountId: "acc", keyId: "key" };
  assertEquals(loans.mayRecall(borrower), true);
  at.isWaitedFor = () => (at.tick += 1_000, true);
  await loans.recalled(borrower);
  assertEquals([at.recalls, at.tick], [2, 2_000]);
  at.tick = 11_999;
  assertEquals(loans.mayRecall(borrower), false);
  assertEquals(loans.mayRecall({ accountId: "other", keyId: "key" }), true);
  at.tick = 12_000;
  assertEquals(loans.mayRecall(borrower), true);
});

Deno.test("what was lent by other settings is returned, also if its answer comes after they have changed", async () => {
  const { at, uncovered, loans, settings, draw, look } = scene();
  await uncovered("before");
  const asked = Promise.withResolvers<void>();
  at.held = asked.promise;
  await uncovered();
  await loans.configure({ ...settings });
  assertEquals([at.returns.length, loans.size], [1, 0]);
  asked.resolve();
  await turns();
  assertEquals([loans.size, draw()], [1, undefined]);
  await look();
  assertEquals([at.returns.length, loans.size], [2, 0]);
});

Deno.test("a request whose charge is not known ends its loan, and holds its credits itself", async () => {
  const { at, uncovered, loans, draw } = scene();
  await uncovered();
  const [one, other] = [draw(3)!, draw(4)!];
  loans.end(one.loan, one.hold, { charged: 1, balance: undefined });
  await turns();
  assertEquals(at.returns, [], "a charge that is known ends none");
  loans.end(other.loan, other.hold, undefined);
  await until(() => loans.size === 0);
  assertEquals(at.returns.map(([, requests]) => requests), [1]);
  assertEquals(other.hold.isReturned, true);
  await loans.close();
});

Deno.test("a return that fails is tried again, and known to who needs it", async () => {
  const { at, uncovered, loans, kept } = scene();
  await uncovered();
  const remove = kept.delete.bind(kept);
  kept.delete = () => {
    throw new DatabaseError("SLUICE_SERVER", "away", { outcomeUnknown: true });
  };
  await assertRejects(() => loans.giveBack("acc"), DatabaseError);
  assertEquals([loans.size, at.returns, at.warnings], [1, [], 1]);
  kept.delete = remove;
  await Promise.all([loans.giveBack("acc"), loans.giveBack("acc")]);
  assertEquals([loans.size, at.returns.length], [0, 1], "once, for all that need it");
});
