/** Credits of a package that is bound to models: they pay for nothing else, and for those first. */

import { newRequestId } from "../../../src/ground/platform/ids.ts";
import {
  accountStatusOf,
  admit,
  audit,
  creditsOf,
  expireLots,
  growHold,
  isRecalled,
  lend,
  takeBack,
  TierList,
} from "../../../src/money/ledger/mod.ts";
import { Accounts } from "../../../src/people/accounts/mod.ts";
import { Sales } from "../../../src/money/billing/mod.ts";
import { Codes } from "../../../src/money/payments/mod.ts";
import { settleChange } from "../../../src/money/payments/settle_payment.ts";
import { refusalOf } from "../../../src/requests/admission/decision_refusal.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { ledgerBench, ledgerCaller, settlePrice } from "../../fake/ledger.ts";

const NOW = Date.UTC(2030, 0, 1);
const DAY = 86_400_000;
const tierList = new TierList([{ above: 0, minute: 100, hour: 1_000, day: 10_000 }]);

/** An account with 100 credits, and 50 that are bound to `svc-k2` and its kin. */
async function bench({ models = ["svc-k2*"], expiresAtMs = null as number | null } = {}) {
  const ledger = await ledgerBench("file");
  const { database } = ledger;
  const { ask, ...caller } = await ledgerCaller(ledger, { tierList, nowMs: NOW });
  const free = await ledger.grant(caller.accountId, 100, NOW + 30 * DAY, NOW - DAY);
  const bound = await ledger.grant(caller.accountId, 50, expiresAtMs, NOW - DAY, models);
  return {
    ledger,
    database,
    caller,
    free,
    bound,
    async admit(route: string | undefined, wanted: number, least = wanted) {
      const asked = ask(least, wanted);
      return { ...asked, ...await admit(database, { ...asked, route }) };
    },
    settle: (requestId: string, route: string, price: number) =>
      settlePrice(database, { ...caller, requestId, route, price, nowMs: NOW }),
    /** What is left of the two lots. */
    async left() {
      const { lots } = await creditsOf(database, caller.accountId, NOW);
      return [free, bound].map((id) => lots.find((lot) => lot.id === id)?.remaining ?? 0);
    },
    async [Symbol.asyncDispose]() {
      assertEquals((await audit(database)).mismatches, []);
      await ledger[Symbol.asyncDispose]();
    },
  };
}

Deno.test("bound credits pay for their models first, and the others for what is above", async () => {
  await using on = await bench();
  const { requestId, verdict, credits, bound } = await on.admit("svc-k2.5", 120);
  assertEquals([verdict, credits, bound], ["admitted", 120, 0]);
  assertEquals(await on.settle(requestId, "svc-k2.5", 60), { charged: 60, balance: 90 });
  assertEquals(await on.left(), [90, 0]);
});

Deno.test("bound credits pay for nothing else: neither held nor charged, and the refusal says so", async () => {
  await using on = await bench();
  const refused = await on.admit("svc-k3", 101);
  assertEquals([refused.verdict, refused.balance, refused.bound], ["credits", 150, 50]);
  const caller = { ...on.caller, atOnce: null } as Parameters<typeof refusalOf>[1]["caller"];
  const { message } = refusalOf(refused, { caller, least: 101, nowMs: NOW });
  assertStringIncludes(message, "50 credits of it pay for other models only");
  assertEquals((await on.admit(undefined, 101)).verdict, "credits", "a gateway that does not say");
  const held = await on.admit("svc-k3", 200, 1);
  assertEquals([held.verdict, held.credits], ["admitted", 100]);
  assertEquals(await on.settle(held.requestId, "svc-k3", 130), { charged: 100, balance: 50 });
  assertEquals(await on.left(), [0, 50]);
});

Deno.test("what is held of bound credits is held for that model alone", async () => {
  await using on = await bench();
  const first = await on.admit("svc-k2", 30);
  assertEquals((await on.admit("svc-k3", 100)).verdict, "admitted");
  assertEquals((await on.admit("svc-k2", 21)).verdict, "credits");
  assertEquals((await on.admit("svc-k2", 20)).verdict, "admitted");
  await on.settle(first.requestId, "svc-k2", 10);
  assertEquals((await on.admit("svc-k2", 21)).verdict, "credits");
  assertEquals((await on.admit("svc-k2", 20)).verdict, "admitted");
  assertEquals(await on.left(), [100, 40]);
});

Deno.test("a hold grows into credits that are bound to its model, and into no others", async () => {
  await using on = await bench();
  const grow = async (route: string, from: number, wanted: number) => {
    const { requestId } = await on.admit(route, from);
    const at = { nowMs: NOW, admittedAtMs: NOW, leaseMs: 60_000, gatewayId: "gw" };
    return await growHold(on.database, { ...on.caller, ...at, requestId, route, wanted });
  };
  assertEquals(await grow("svc-k2", 20, 50), 50);
  assertEquals(await grow("svc-k3", 60, 500), 100);
});

Deno.test("nothing is lent of an account with bound credits, and what was is recalled", async () => {
  await using on = await bench({ models: ["other"] });
  const { accountId } = on.caller;
  const ask = {
    ...on.caller,
    gatewayId: "gw",
    isNew: true,
    nowMs: NOW,
    leaseMs: 60_000,
    tierList,
    leastCredits: 1,
    leastPlaces: 1,
  };
  assertEquals(await lend(on.database, { ...ask, loanId: "one" }), undefined);
  const { requestId } = await on.admit("other", 50);
  await on.settle(requestId, "other", 50);
  assertEquals((await lend(on.database, { ...ask, loanId: "two" }))?.added, 50);
  assert(!await isRecalled(on.database, accountId));
  await on.ledger.grant(accountId, 5, NOW + DAY, NOW, ["svc-k2"]);
  assert(await isRecalled(on.database, accountId));
  // what the loan covers is charged to what was lent, even if bound credits may pay for the model
  const lent = { loanId: "two", credits: 30 };
  const end = { ...on.caller, requestId: newRequestId(NOW), price: 30, nowMs: NOW, lent };
  await settlePrice(on.database, { ...end, admittedAtMs: NOW });
  assertEquals(await on.left(), [70, 0]);
});

Deno.test("what expires and what is taken back leaves the other credits alone", async () => {
  await using on = await bench({ expiresAtMs: NOW + DAY });
  const { database, caller, bound } = on;
  await on.admit("svc-k2", 20);
  await on.admit("svc-k3", 100);
  const request = { accountId: caller.accountId, atMs: NOW, note: "a mistake", patienceMs: 0 };
  assertEquals(
    await takeBack(database, { ...request, id: "take_back_1", lotId: on.free }),
    undefined,
  );
  const taken = await takeBack(database, {
    ...request,
    id: "take_back_2",
    lotId: bound,
    credits: 12,
  });
  assertEquals(taken?.credits, 12);
  await on.ledger.grant(caller.accountId, 40, NOW + DAY, NOW);
  const later = NOW + 2 * DAY;
  assertEquals((await accountStatusOf(database, caller, tierList, later)).balance, 120);
  await expireLots(database, later);
  assertEquals(await on.left(), [100, 20]);
});

Deno.test("a package that is bound to models binds what it grants: sold, redeemed and returned", async () => {
  await using on = await bench();
  const { database } = on;
  const offer = {
    id: "k3",
    name: "K3",
    credits: 40,
    priceUsd: 4,
    validDays: null,
    models: ["svc-k3", "claude-*"],
  };
  const accounts = new Accounts(database, () => NOW);
  const account = await accounts.get("a0@example.com");
  const bonuses = { inviteFirstPayment: 0 } as ConstructorParameters<typeof Sales>[2];
  const sales = new Sales(database, [offer], bonuses, () => NOW);
  const sold = await sales.sell(account, offer, { paid: true });
  const codes = new Codes(database, () => NOW);
  const [made] = await codes.make({ offer });
  await codes.redeemCounted(account, made!.code, "127.0.0.1");
  const { lots } = await creditsOf(database, account.id, NOW);
  assertEquals(
    lots.filter(({ models }) => models?.includes("svc-k3")).map(({ models }) => models),
    [offer.models, offer.models],
  );
  assert(lots.some(({ id }) => id === sold.lotId));
  for (const rank of [1, 2] as const) {
    await settleChange(database, {
      id: "refund_1",
      kind: "refund",
      paymentId: `manual_${sold.lotId}`,
      amount: 400,
      currency: "usd",
      livemode: true,
      rank,
      atMs: NOW + rank,
    }, { accountIds: [] });
  }
  const back = (await creditsOf(database, account.id, NOW)).lots
    .find(({ id }) => id.includes("refund_failed"));
  assertEquals([back?.remaining, back?.models], [40, offer.models]);
  assertEquals((await on.admit("claude-x", 181)).verdict, "credits");
  assertEquals((await on.admit("claude-x", 180)).verdict, "admitted");
});
