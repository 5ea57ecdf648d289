/** What is admitted from a loan without asking the database: no more than was lent, of credits and of places, for key and account. */

import fc from "fast-check";
import { AccountLoan, type LentHold } from "../../../src/requests/admission/account_loan.ts";
import {
  type Budget,
  type Loan,
  TierList,
  type WindowState,
} from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { sized } from "../../tier.ts";

const NOW = Date.UTC(2030, 0, 1);
const MINUTE_MS = 60_000;
const SPANS = ["minute", "hour", "day"] as const;
const TIERS = new TierList([{ above: 0, minute: 1_000, hour: 1_000, day: 1_000 }]);

/** A loan as the database lends it to requests of a key. */
function lent(
  { added = 1_000, places = 100, otherPlaces = 0, used = 0, limit = 1_000 }: {
    added?: number;
    /** In any span. */
    places?: number;
    otherPlaces?: number;
    /** Of the key, and what it may use. */
    used?: number;
    limit?: number;
  } = {},
): Loan {
  const each = (count: number) => ({ minute: count, hour: count, day: count });
  const windows = SPANS.flatMap((span): WindowState[] => [
    { of: "key", span, used, limit },
    { of: "account", span, used, limit: 1_000 },
  ]);
  return {
    added,
    places: each(places),
    otherPlaces: each(otherPlaces),
    accountStatus: { balance: 10_000, windows, budget: undefined },
    expiresAtMs: NOW + 24 * 60 * MINUTE_MS,
  };
}

/** A loan, first for requests of key a. */
function loanOf(loan: Loan) {
  const of = { accountId: "acc", keyId: "a", loanId: "loan" };
  const made = new AccountLoan(of, loan, { tierList: TIERS, nowMs: NOW });
  let requests = 0;
  return {
    loan: made,
    /** How many of the requests are admitted. */
    admitted(
      keyId: string,
      count: number,
      { credits = 1, mostCredits = credits, nowMs = NOW }: {
        credits?: number;
        mostCredits?: number;
        nowMs?: number;
      } = {},
    ) {
      return Array.from(
        { length: count },
        () => made.admit({ requestId: `req_${requests++}`, keyId, credits, mostCredits, nowMs }),
      ).filter((hold) => hold !== undefined).length;
    },
  };
}

Deno.test("a loan admits what its credits cover, and what upstreams are asked for beyond that not", () => {
  const { loan, admitted } = loanOf(lent({ added: 10 }));
  assertEquals(admitted("a", 1, { credits: 11 }), 0);
  assertEquals(admitted("a", 1, { credits: 1, mostCredits: 11 }), 0);
  assertEquals(admitted("a", 5, { credits: 4 }), 2);
  assertEquals(admitted("a", 5, { credits: 1 }), 2);
  assertEquals(admitted("a", 1, { credits: 1 }), 0);
  loan.renew("a", lent({ added: 3 }), NOW);
  assertEquals(admitted("a", 5, { credits: 1 }), 3);
  const asked = loanOf(lent({ added: 10 }));
  assertEquals(asked.admitted("a", 5, { credits: 1, mostCredits: 4 }), 2);
});

Deno.test("places of a key and of its account count both, and others' keys take no more than are lent", () => {
  const { loan, admitted } = loanOf(lent({ places: 5, used: 7, limit: 10 }));
  assertEquals(admitted("a", 9), 3, "the key has three left");
  assertEquals(admitted("b", 1), 0, "it is not covered");
  loan.renew("b", lent({ added: 0, places: 5 }), NOW);
  assertEquals(admitted("b", 9), 2, "five are lent in all");
  loan.renew("c", lent({ added: 0, places: 8 }), NOW);
  assertEquals(admitted("c", 9), 3, "it has grown to eight");
  assertEquals(admitted("a", 1) + admitted("b", 1), 0);
});

Deno.test("what other gateways were lent for a key may be used there: it leaves that much less here", () => {
  assertEquals(
    loanOf(lent({ places: 9, used: 2, limit: 10, otherPlaces: 3 })).admitted("a", 20),
    5,
  );
  assertEquals(
    loanOf(lent({ places: 4, used: 2, limit: 10, otherPlaces: 3 })).admitted("a", 20),
    4,
  );
  assertEquals(
    loanOf(lent({ places: 4, used: 9, limit: 10, otherPlaces: 3 })).admitted("a", 20),
    0,
  );
});

Deno.test("a new minute has the loan's places again, an earlier one none", () => {
  const { admitted } = loanOf(lent({ places: 4 }));
  assertEquals(admitted("a", 9), 4);
  assertEquals(admitted("a", 9, { nowMs: NOW + MINUTE_MS }), 0, "the hour has no more");
  const wide = loanOf({ ...lent(), places: { minute: 2, hour: 5, day: 100 } });
  assertEquals(wide.admitted("a", 9), 2);
  assertEquals(wide.admitted("a", 9, { nowMs: NOW + MINUTE_MS }), 2);
  assertEquals(wide.admitted("a", 9), 0, "of an earlier minute only the database knows");
  assertEquals(wide.admitted("a", 9, { nowMs: NOW + 2 * MINUTE_MS }), 1, "five an hour");
});

Deno.test("nothing is admitted from what has expired, and the loan is closed", () => {
  const { loan, admitted } = loanOf({ ...lent(), expiresAtMs: NOW + MINUTE_MS });
  assertEquals(admitted("a", 1, { nowMs: NOW + MINUTE_MS - 1 }), 1);
  assert(loan.isOpen);
  assertEquals(admitted("a", 1, { nowMs: NOW + MINUTE_MS }), 0);
  assertEquals([loan.isOpen, admitted("a", 1)], [false, 0]);
});

Deno.test("a loan is low when less than a quarter of it is left, by what it was when it grew", () => {
  const { loan, admitted } = loanOf(lent({ added: 100 }));
  admitted("a", 1, { credits: 75 });
  assertEquals(loan.isLow, false);
  admitted("a", 1, { credits: 1 });
  assertEquals(loan.isLow, true);
  loan.renew("a", lent({ added: 16 }), NOW);
  assertEquals(loan.isLow, false);
});

/** A request that was admitted, for one credit unless said otherwise. */
function running(loan: AccountLoan, credits = 1, mostCredits = credits): LentHold {
  const requestId = `req_${credits}_${Math.random()}`;
  const hold = loan.admit({ requestId, keyId: "a", credits, mostCredits, nowMs: NOW });
  assert(hold !== undefined);
  return hold;
}

const settled = (charged: number, balance = 10_000) => ({ charged, balance });

Deno.test("a request grows as far as its loan has credits, while the loan goes on", () => {
  const { loan, admitted } = loanOf({ ...lent({ added: 10 }), expiresAtMs: NOW + MINUTE_MS });
  const hold = running(loan, 4);
  const other = running(loan, 1);
  assertEquals(loan.grow(hold, 10, NOW), false);
  assertEquals(hold.credits, 4);
  assertEquals(loan.grow(hold, 9, NOW), true);
  assertEquals([hold.credits, admitted("a", 1)], [9, 0]);
  assertEquals(loan.grow(other, 2, NOW), false);
  other.isReturned = true;
  loan.end(hold, settled(2));
  assertEquals(loan.grow(other, 2, NOW), false, "the database holds it");
  other.isReturned = false;
  assertEquals(loan.grow(other, 2, NOW + MINUTE_MS), false, "it has expired");
  assertEquals(loan.grow(other, 2, NOW), false, "and stays closed");
});

Deno.test("what a request did not spend can be spent again; what it was charged cannot, once", () => {
  const { loan, admitted } = loanOf(lent({ added: 10 }));
  const hold = running(loan, 6, 8);
  assertEquals(admitted("a", 1, { credits: 3 }), 0, "eight were asked for");
  for (let times = 0; times < 2; times++) {
    loan.end(hold, settled(2));
    assertEquals([loan.requests, loan.isLow], [[], false]);
  }
  assertEquals(admitted("a", 9, { credits: 1 }), 8);
  const more = loanOf(lent({ added: 10 }));
  more.loan.end(running(more.loan, 3), settled(7));
  assertEquals(more.admitted("a", 9, { credits: 1 }), 7, "it takes no more than it held");
});

Deno.test("whatever comes in whatever order, a loan admits and grows exactly what its credits cover", () => {
  const some = fc.integer({ min: 0, max: 12 });
  const step = fc.oneof(
    fc.record({ kind: fc.constant("admit" as const), which: some, credits: some, more: some }),
    fc.record({ kind: fc.constant("end" as const), which: some, credits: some, more: some }),
    fc.record({ kind: fc.constant("grow" as const), which: some, credits: some, more: some }),
    fc.record({ kind: fc.constant("renew" as const), which: some, credits: some, more: some }),
  );
  const roomy = { places: 1e6, limit: 1e9 };
  const property = fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
    const { loan } = loanOf(lent({ added: 20, ...roomy }));
    let [credits, held, asked, size] = [20, 0, 0, 20];
    const holds: { readonly hold: LentHold; isOver: boolean }[] = [];
    for (const { kind, which, credits: amount, more } of steps) {
      const one = holds[which % Math.max(1, holds.length)];
      if (kind === "admit") {
        const mostCredits = amount + more;
        const draw = { requestId: `req_${holds.length}`, keyId: "a", nowMs: NOW };
        const hold = loan.admit({ ...draw, credits: amount, mostCredits });
        const fits = amount <= credits - held && mostCredits <= credits - asked;
        assertEquals(hold !== undefined, fits);
        if (hold === undefined) continue;
        holds.push({ hold, isOver: false });
        [held, asked] = [held + amount, asked + mostCredits];
      } else if (kind === "renew") {
        loan.renew("a", lent({ added: amount, ...roomy }), NOW);
        credits += amount;
        size = Math.max(1, credits - held);
      } else if (one !== undefined && kind === "end") {
        const was = one.hold.credits;
        loan.end(one.hold, settled(amount));
        if (one.isOver) continue; // an end that is told twice is one
        one.isOver = true;
        credits -= Math.min(amount, was);
        [held, asked] = [held - was, asked - one.hold.mostCredits];
      } else if (one !== undefined && !one.isOver) {
        const was = one.hold.credits;
        const fits = more <= credits - held;
        assertEquals(loan.grow(one.hold, was + more, NOW), fits);
        assertEquals(one.hold.credits, fits ? was + more : was);
        if (fits) held += more;
      }
      assertEquals(loan.isLow, (credits - held) * 4 < size);
      assertEquals(loan.requests.length, holds.filter(({ isOver }) => !isOver).length);
    }
  });
  fc.assert(property, { numRuns: sized(300, 5_000) });
});

Deno.test("a charge that is not known, or that changes the tier, closes the loan", () => {
  const unknown = loanOf(lent());
  unknown.loan.end(running(unknown.loan), undefined);
  assertEquals([unknown.loan.isOpen, unknown.loan.requests.length], [false, 1]);
  const tiers = new TierList([
    { above: 0, minute: 9, hour: 9, day: 9 },
    { above: 100, minute: 99, hour: 99, day: 99 },
    { above: 20_000, minute: 999, hour: 999, day: 999 },
  ]);
  for (
    const [balance, stays] of [[101, true], [100, false], [20_000, true], [20_001, false]] as const
  ) {
    const loan = new AccountLoan({ accountId: "acc", keyId: "a", loanId: "l" }, lent(), {
      tierList: tiers,
      nowMs: NOW,
    });
    loan.noteBalance(balance);
    assertEquals(loan.isOpen, stays, `${balance}`);
    assertEquals([loan.charge(1), loan.balance], [balance - 1, balance - 1]);
    assertEquals(loan.isOpen, stays && balance !== 101, `${balance} less 1`);
  }
});

Deno.test("what the database knows of requests beside the loan's counts in what is told, and not twice", () => {
  const { loan, admitted } = loanOf(lent({ places: 50, used: 10 }));
  admitted("a", 4);
  const told = (of: "key" | "account") =>
    loan.windows("a").find((one) => one.of === of && one.span === "minute")!.used;
  assertEquals([told("key"), told("account")], [14, 14]);
  const windows = (used: number) => lent({ used }).accountStatus.windows;
  loan.learn("a", windows(12), NOW);
  assertEquals(told("key"), 14, "some of the twelve were admitted here");
  loan.learn("a", windows(30), NOW);
  assertEquals([told("key"), told("account")], [30, 30]);
  loan.learn("a", windows(99), NOW - MINUTE_MS);
  assertEquals(told("key"), 30, "an earlier minute");
});

Deno.test("a key that is taken up again has used what it has used", () => {
  const { loan, admitted } = loanOf(lent({ places: 50, limit: 5 }));
  assertEquals(admitted("a", 3), 3);
  loan.renew("a", lent({ places: 50, limit: 5 }), NOW);
  assertEquals(admitted("a", 9), 2);
});

Deno.test("each window counts by itself: of key and account, of a minute, an hour and a day", () => {
  const states = (first: number) =>
    (["key", "account"] as const).flatMap((of, at) =>
      SPANS.map((span, index): WindowState => ({
        of,
        span,
        used: first + 10 * at + index,
        limit: 1_000,
      }))
    );
  const { accountStatus, ...rest } = lent();
  const { loan, admitted } = loanOf({
    ...rest,
    accountStatus: { ...accountStatus, windows: states(10) },
  });
  assertEquals(loan.windows("a"), states(10));
  admitted("a", 2);
  assertEquals(loan.windows("a"), states(12));
  loan.learn("a", states(40), NOW);
  assertEquals(loan.windows("a"), states(40));
});

Deno.test("a key has places up to its own limit in each span", () => {
  for (const tight of SPANS) {
    const { accountStatus, ...rest } = lent();
    const windows = accountStatus.windows.map((one) =>
      one.of === "key" && one.span === tight ? { ...one, used: 4, limit: 7 } : one
    );
    const { admitted } = loanOf({ ...rest, accountStatus: { ...accountStatus, windows } });
    assertEquals(admitted("a", 9), 3, tight);
  }
});

Deno.test("a loan that was returned stays so, and its requests with it", () => {
  const { loan } = loanOf(lent());
  const hold = running(loan, 3);
  assertEquals([loan.isOpen, loan.isReturned, hold.isReturned], [true, false, false]);
  loan.close();
  assertEquals([loan.isOpen, loan.isReturned], [false, false]);
  loan.returned([hold]);
  loan.close();
  assertEquals([loan.isOpen, loan.isReturned, hold.isReturned], [false, true, true]);
});

Deno.test("what requests were charged is spent of the budget that has the least left, if there is one", () => {
  const budget = { spent: 10, credits: 100 } as Budget;
  for (const known of [budget, undefined]) {
    const { accountStatus, ...rest } = lent();
    const { loan } = loanOf({ ...rest, accountStatus: { ...accountStatus, budget: known } });
    loan.end(running(loan, 5), settled(7));
    assertEquals(loan.budget, known && { ...known, spent: 17 });
  }
});
