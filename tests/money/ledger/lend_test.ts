/** What is lent to a gateway: half of what is free, of credits and of places, and to whom nothing. */

import { newRequestId } from "../../../src/ground/platform/ids.ts";
import {
  admit,
  audit,
  awaitReturns,
  isRecalled,
  lend,
  loanNews,
  recallLoans,
  returnLoan,
  setBudget,
  TierList,
} from "../../../src/money/ledger/mod.ts";
import { assertEquals } from "../../assert.ts";
import { ledgerBench, settlePrice } from "../../fake/ledger.ts";

const NOW = Date.UTC(2030, 0, 1, 12, 30, 30);
const DAY = 86_400_000;
const tierList = new TierList([
  { above: 0, minute: 100, hour: 1_000, day: 10_000, account: { hour: 300 } },
  { above: 5_000, minute: 200, hour: 2_000, day: 20_000 },
]);

async function bench() {
  const ledger = await ledgerBench("file");
  const { database } = ledger;
  await database.batch(tierList.statements);
  const caller = await ledger.account();
  const { accountId } = caller;
  await ledger.grant(accountId, 1_000, null, NOW - DAY);
  return {
    ledger,
    database,
    caller,
    /** What is lent; undefined for nothing. */
    async lend(
      { gatewayId = "gw", loanId = `loan of ${gatewayId}`, isNew = true, nowMs = NOW, ...more }: {
        gatewayId?: string;
        loanId?: string;
        isNew?: boolean;
        nowMs?: number;
        keyId?: string;
        byKey?: boolean;
        leastCredits?: number;
        leastPlaces?: number;
      } = {},
    ) {
      const loan = await lend(database, {
        ...caller,
        gatewayId,
        loanId,
        isNew,
        nowMs,
        leaseMs: 60_000,
        tierList,
        leastCredits: 1,
        leastPlaces: 1,
        ...more,
      });
      return loan && [loan.added, ...Object.values(loan.places)];
    },
    async admit(credits: number, nowMs = NOW, keyId = caller.keyId) {
      const { verdict } = await admit(database, {
        accountId,
        keyId,
        requestId: newRequestId(nowMs),
        gatewayId: "gw",
        least: credits,
        wanted: credits,
        nowMs,
        leaseMs: 60_000,
        tierListId: tierList.id,
      });
      assertEquals(verdict, "admitted");
    },
    async [Symbol.asyncDispose]() {
      assertEquals((await audit(database)).mismatches, []);
      await ledger[Symbol.asyncDispose]();
    },
  };
}

Deno.test("half of what is free is lent, to each gateway of what the others leave", async () => {
  await using one = await bench();
  await one.admit(100);
  // one of a hundred places is taken
  assertEquals(await one.lend(), [450, 49, 149, 4_999]);
  assertEquals(await one.lend({ gatewayId: "other" }), [225, 25, 75, 2_500]);
  // it grows up to half, and never shrinks
  await one.ledger.grant(one.caller.accountId, 400, null, NOW - DAY);
  assertEquals(await one.lend({ isNew: false }), [87, 49, 149, 4_999]);
  assertEquals(await one.lend({ isNew: false }), [0, 49, 149, 4_999]);
  const lent = await one.database.one("select sum(credits) as credits from loans");
  const { balance, held } = (await one.database.one("select balance, held from balances"))!;
  assertEquals([lent!.credits, balance, held], [762, 1_400, 862]);
});

Deno.test("a gateway has one loan of an account: a new one takes the place of one that it does not know of", async () => {
  await using one = await bench();
  await one.lend({ loanId: "lost" });
  assertEquals(await one.lend({ loanId: "new" }), [500, 50, 150, 5_000]);
  // asked for again, as the answer was lost
  assertEquals(await one.lend({ loanId: "new" }), [0, 50, 150, 5_000]);
  // one that has ended is not renewed, and ends no other
  assertEquals(await one.lend({ loanId: "lost", isNew: false }), undefined);
  assertEquals(await one.lend({ loanId: "new", isNew: false }), [0, 50, 150, 5_000]);
  // nor does another gateway's
  await one.lend({ gatewayId: "other" });
  assertEquals(
    await one.database.all("select loan_id from loans order by 1").then((rows) =>
      rows.map(({ loan_id }) => loan_id)
    ),
    ["loan of other", "new"],
  );
});

Deno.test("a loan that is recalled does not grow, also if it is asked for as new again", async () => {
  await using one = await bench();
  await one.lend();
  await one.database.batch([{ sql: "update loans set recalled = 1, credits = 10" }]);
  for (const isNew of [false, true]) {
    await one.lend({ isNew });
    const row = await one.database.one("select credits, recalled from loans");
    assertEquals({ ...row }, { credits: 10, recalled: 1 });
  }
});

Deno.test("requests of later windows count, each span by itself: the clock may have been set back", async () => {
  await using one = await bench();
  const hourMs = Date.UTC(2030, 0, 1, 12);
  for (const atMs of [0, 0, 0, 300_000, 300_000, 300_000, 300_000]) {
    await one.admit(1, hourMs + atMs);
  }
  // four in the fullest minute, seven in the hour
  assertEquals((await one.lend({ nowMs: hourMs }))?.slice(1), [48, 146, 4_996]);
});

for (const  of of["key", "account"] as const) {
  for (const span of ["minute", "hour", "day"] as const) {
    Deno.test(`places of a ${span} of the ${of} that are lent are left to the gateway that has them`, async () => {
      await using ledger = await ledgerBench("file");
      const { database } = ledger;
      const wide = { minute: 1e6, hour: 1e6, day: 1e6 };
      const tier = of === "key" ? { ...wide, [span]: 6 } : { ...wide, account: { [span]: 6 } };
      const tierList = new TierList([{ above: 0, ...tier }]);
      await database.batch(tierList.statements);
      const caller = await ledger.account();
      await ledger.grant(caller.accountId, 1_000, null, NOW);
      const gateway = { ...caller, nowMs: NOW, leaseMs: 60_000 };
      const loan = await lend(database, {
        ...gateway,
        gatewayId: "gw",
        loanId: "loan",
        isNew: true,
        tierList,
        leastCredits: 1,
        leastPlaces: 1,
      });
      assertEquals(loan?.places[span], 3);
      const verdicts = [];
      for (const mayRecall of [false, true, true, false, true]) {
        const { verdict } = await admit(database, {
          ...gateway,
          gatewayId: "other",
          requestId: newRequestId(NOW),
          least: 1,
          wanted: 1,
          tierListId: tierList.id,
          mayRecall,
        });
        verdicts.push(verdict);
      }
      assertEquals(verdicts, ["admitted", "admitted", "admitted", "rate", "recall"]);
    });
  }
}

Deno.test("less than is wanted at least is not lent", async () => {
  for (
    const [least, isLent] of [
      [{ leastCredits: 500 }, true],
      [{ leastCredits: 501 }, false],
      [{ leastPlaces: 50 }, true],
      [{ leastPlaces: 51 }, false],
    ] as const
  ) {
    await using one = await bench();
    assertEquals(await one.lend(least) !== undefined, isLent, JSON.stringify(least));
  }
});

Deno.test("places are those of the balance's tier, less the requests of this minute, hour and day, of key and account", async () => {
  await using one = await bench();
  const sibling = await one.ledger.key(one.caller.accountId);
  const HOUR = 3_600_000;
  for (const nowMs of [NOW, NOW - 60_000, NOW - 60_000, NOW - 2 * HOUR, NOW - DAY]) {
    await one.admit(1, nowMs);
  }
  for (let count = 0; count < 10; count++) await one.admit(1, NOW, sibling);
  assertEquals(await one.lend(), [492, 49, 143, 4_998], "in an hour those of the account");
  await one.ledger.grant(one.caller.accountId, 4_001, null, NOW - DAY);
  assertEquals(
    (await one.lend({ gatewayId: "other" }))!.slice(1),
    [75, 927, 7_499],
    "the next tier",
  );
});

Deno.test("requests that are in flight when a loan is returned take places of their key and account, once", async () => {
  await using one = await bench();
  const { accountId, keyId } = one.caller;
  const sibling = await one.ledger.key(accountId);
  assertEquals(await one.lend(), [500, 50, 150, 5_000]);
  const requests = Array.from({ length: 10 }, (_, at) => ({
    requestId: newRequestId(NOW),
    keyId: at % 2 === 0 ? keyId : sibling,
    credits: 1,
    admittedAtMs: NOW,
  }));
  const returned = { accountId, gatewayId: "gw", loanId: "loan of gw", leaseMs: 60_000, requests };
  for (let time = 0; time < 2; time++) await returnLoan(one.database, returned);
  assertEquals(await one.lend({ gatewayId: "other" }), [495, 47, 145, 4_997]);
});

Deno.test("nothing is lent where a budget applies to the key, or one that keys share to the account", async () => {
  const owners = {
    "its own": { is: false, owner: "key", of: "key" },
    "a sibling's own": { is: true, owner: "key", of: "sibling" },
    "the account's": { is: false, owner: "account", of: "account" },
    "a stranger's": { is: true, owner: "account", of: "stranger" },
  } as const;
  for (const [name, { is, owner, of }] of Object.entries(owners)) {
    await using one = await bench();
    const { accountId, keyId } = one.caller;
    const sibling = await one.ledger.key(accountId);
    const stranger = await one.ledger.account();
    const ids = { key: keyId, sibling, account: accountId, stranger: stranger.accountId };
    const terms = { owner, ownerId: ids[of], period: "day", credits: 100 } as const;
    await setBudget(one.database, terms, { nowMs: NOW });
    assertEquals(await one.lend() !== undefined, is, name);
  }
  // one that another key shares with keys of a team: its account lends nothing either
  await using one = await bench();
  const { teamId } = await one.ledger.team([one.caller.accountId]);
  const terms = { owner: "team", ownerId: teamId, period: "day", credits: 100 } as const;
  await setBudget(one.database, terms, { nowMs: NOW });
  assertEquals(await one.lend(), undefined);
});

Deno.test("nothing is lent to an account that owes for a charge, until it gets credits", async () => {
  await using one = await bench();
  await settlePrice(one.database, {
    ...one.caller,
    requestId: newRequestId(NOW),
    price: 1_001,
    nowMs: NOW,
  });
  await one.ledger.grant(one.caller.accountId, 50, null, NOW - 1);
  assertEquals(await one.lend(), undefined);
  await one.ledger.grant(one.caller.accountId, 50, null, NOW + 1);
  assertEquals((await one.lend({ nowMs: NOW + 2 }))?.[0], 50);
});

Deno.test("what has expired is not lent", async () => {
  await using one = await bench();
  await one.ledger.grant(one.caller.accountId, 600, NOW, NOW - DAY);
  assertEquals((await one.lend({ nowMs: NOW - 1 }))?.[0], 800);
  assertEquals((await one.lend({ gatewayId: "other" }))?.[0], 100);
});

Deno.test("what is lent is recalled for a request that cannot hold its reserve, also if a budget is what is short", async () => {
  await using one = await bench();
  const keyId = await one.ledger.key(one.caller.accountId);
  const terms = { owner: "key", ownerId: keyId, period: "day", credits: 10 } as const;
  await setBudget(one.database, terms, { nowMs: NOW });
  assertEquals((await one.lend())![0], 500);
  const ask = {
    accountId: one.caller.accountId,
    keyId,
    gatewayId: "gw 2",
    least: 1,
    nowMs: NOW,
    leaseMs: 60_000,
    tierListId: tierList.id,
    mayRecall: true,
  };
  const verdictOf = async (wanted: number, reserved: number) => {
    const requestId = newRequestId(NOW);
    return (await admit(one.database, { ...ask, requestId, wanted, reserved })).verdict;
  };
  assertEquals(await verdictOf(600, 590), "recall", "it would wait for a loan that lasts");
  assertEquals(await verdictOf(600, 0), "admitted", "text needs no more than its budget");
});

Deno.test("what was settled from a loan is not settled again, whether it cost something or nothing", async () => {
  await using one = await bench();
  await one.lend();
  for (const price of [0, 7]) {
    const end = {
      ...one.caller,
      requestId: newRequestId(NOW),
      price,
      nowMs: NOW,
      admittedAtMs: NOW,
      lent: { loanId: "loan of gw", credits: price },
    };
    const first = await settlePrice(one.database, end);
    assertEquals(await settlePrice(one.database, end), first);
  }
  const { requests, consumed } = (await one.database.one("select * from balances"))!;
  assertEquals([requests, consumed], [2, 7]);
});

Deno.test("a loan ends with the first lot that has credits, or a period of its key's budgets", async () => {
  await using one = await bench();
  const { database, caller } = one;
  const { accountId } = caller;
  const inTwoDays = NOW + 2 * DAY;
  const ask = {
    ...caller,
    gatewayId: "gw",
    isNew: true,
    nowMs: NOW,
    leaseMs: 60_000,
    tierList,
    leastCredits: 1,
    leastPlaces: 1,
  };
  const endOf = async (more: object = {}) =>
    (await lend(database, { ...ask, loanId: crypto.randomUUID(), ...more }))?.expiresAtMs;
  assertEquals(await endOf(), Number.MAX_SAFE_INTEGER, "no lot has an end");
  // what expires first is spent first
  await one.ledger.grant(accountId, 10, NOW + DAY, NOW - DAY);
  await one.ledger.grant(accountId, 10, inTwoDays, NOW - DAY);
  await settlePrice(database, { ...caller, requestId: newRequestId(NOW), price: 10, nowMs: NOW });
  assertEquals(await endOf(), inTwoDays);
  const keyId = await one.ledger.key(accountId);
  const terms = { owner: "key", ownerId: keyId, period: "day", credits: 10 } as const;
  await setBudget(database, terms, { nowMs: NOW, patienceMs: 0 });
  const midnight = Math.ceil(NOW / DAY) * DAY;
  assertEquals(await endOf({ keyId, byKey: true }), midnight);
  await one.ledger.grant(accountId, 10, NOW + 1_000, NOW - DAY);
  assertEquals(await endOf({ keyId, byKey: true }), NOW + 1_000);
});

Deno.test("a loan says what others are lent, and is nothing to a key that has a budget", async () => {
  await using one = await bench();
  const { database, caller } = one;
  const ask = {
    ...caller,
    gatewayId: "gw",
    loanId: "loan of gw",
    isNew: true,
    nowMs: NOW,
    leaseMs: 60_000,
    tierList,
    leastCredits: 1,
    leastPlaces: 1,
  };
  const first = (await lend(database, ask))!;
  assertEquals(first.otherPlaces, { minute: 0, hour: 0, day: 0 });
  const second = (await lend(database, { ...ask, gatewayId: "other", loanId: "another" }))!;
  assertEquals(second.otherPlaces, first.places);
  const keyId = await one.ledger.key(caller.accountId);
  const terms = { owner: "key", ownerId: keyId, period: "day", credits: 10 } as const;
  await setBudget(database, terms, { nowMs: NOW, patienceMs: 0 });
  assertEquals(await lend(database, { ...ask, keyId, isNew: false }), undefined);
  assertEquals((await lend(database, { ...ask, isNew: false }))?.added, 0);
});

Deno.test("returns are awaited of one account, or of all", async () => {
  await using one = await bench();
  const { database, caller: { accountId } } = one;
  const { accountId: other } = await one.ledger.account();
  await one.lend();
  await recallLoans(database, accountId);
  const patienceMs = DAY;
  await awaitReturns(database, { accountId: other, patienceMs });
  let isOver = false;
  const all = awaitReturns(database, { patienceMs }).then(() => isOver = true);
  for (let looks = 0; looks < 5; looks++) await database.one("select 1 as one");
  assertEquals(isOver, false);
  const loan = { accountId, gatewayId: "gw", loanId: "loan of gw", leaseMs: 60_000 };
  await returnLoan(database, { ...loan, requests: [] });
  await all;
});

Deno.test("what is lent of an account is recalled once asked for, and nothing where nothing is lent", async () => {
  await using one = await bench();
  const { database, caller: { accountId } } = one;
  const { accountId: other } = await one.ledger.account();
  await one.lend();
  const news = () => loanNews(database, "gw", [accountId, other]);
  const states = async () => [
    await isRecalled(database, accountId),
    await isRecalled(database, other),
    (await news()).recalled,
  ];
  assertEquals(await recallLoans(database, other), false);
  assertEquals(await states(), [false, false, []]);
  assertEquals(await recallLoans(database, accountId), true);
  assertEquals(await states(), [true, false, [{ accountId, loanId: "loan of gw" }]]);
  assertEquals((await news()).balances, { [accountId]: 1_000, [other]: 0 });
  assertEquals((await loanNews(database, "another", [])).recalled, []);
});

Deno.test("a loan is returned by its gateway, once, and no other with it", async () => {
  await using one = await bench();
  const { database, caller } = one;
  const { accountId, keyId } = caller;
  await one.lend();
  await one.lend({ gatewayId: "other" });
  const budgeted = await one.ledger.key(accountId);
  const terms = { owner: "key", ownerId: budgeted, period: "day", credits: 10 } as const;
  await setBudget(database, terms, { nowMs: NOW, patienceMs: 0 });
  await one.lend({ loanId: "of a key", keyId: budgeted, byKey: true });
  await database.batch([{
    sql: "update loans set loan_id = 'loan of gw' where gateway_id = 'other'",
  }]);
  const requests = [{ requestId: newRequestId(NOW), keyId, credits: 5, admittedAtMs: NOW }];
  const loan = { accountId, gatewayId: "gw", loanId: "loan of gw", leaseMs: 60_000, requests };
  const left = async () => {
    const loans = await database.all("select gateway_id, key_id from loans order by gateway_id");
    const row = await database.one("select coalesce(sum(credits), 0) as held from holds");
    const used = await database.one("select coalesce(max(used), 0) as used from windows");
    return [...loans.map((row) => `${row.gateway_id} ${row.key_id}`), row?.held, used?.used];
  };
  await returnLoan(database, { ...loan, loanId: "another", requests: [] });
  await returnLoan(database, { ...loan, gatewayId: "another", requests: [] });
  assertEquals(await left(), ["gw ", `gw ${budgeted}`, "other ", 0, 0]);
  for (let times = 0; times < 2; times++) {
    await returnLoan(database, loan);
    assertEquals(await left(), [`gw ${budgeted}`, "other ", 5, 1]);
  }
});
