/** News in every order, from two gateways, over a database that fails at every step: the same credits in the end. */

import { audit, creditsOf, RULES } from "../../../src/money/ledger/mod.ts";
import { openDatabase } from "../../../src/ground/database/mod.ts";
import { Accounts } from "../../../src/people/accounts/mod.ts";
import { orderStatement } from "../../../src/money/payments/orders.ts";
import {
  changeStatement,
  type PaymentChange,
  paymentStatement,
} from "../../../src/money/payments/settle_payment.ts";
import { debtOf, orderById } from "../../../src/money/payments/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { startCommand } from "../../fake/command.ts";
import { writeEmptyDatabase } from "../../fake/empty_database.ts";
import { startGateway } from "../../fake/gateway.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { unlockedWrites, watchLocks } from "../../fake/lock_watch.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { serveHere, sluice } from "../../fake/shell.ts";
import { sharedServer } from "../../fake/shared_server.ts";
import { tempDir, until } from "../../fake/temp.ts";
import { PROOF, sized } from "../../tier.ts";
import { fakeStripe, send, type StripeObject } from "./fake_stripe.ts";
import { openShop, type Shop, shopOf, shopSettings, shopTest } from "./shop.ts";

/** All orders of a list. */
function permutations<T>(all: readonly T[]): T[][] {
  if (all.length <= 1) return [[...all]];
  return all.flatMap((one, at) => permutations(all.toSpliced(at, 1)).map((rest) => [one, ...rest]));
}

/** States of a dispute that is decided more than once, a minute apart. */
const REVERSALS = {
  "lost after a win": ["won", "lost"],
  "won after a loss": ["lost", "won"],
  "won, lost and won": ["won", "lost", "won"],
  "opened again after a win": ["won", "under_review"],
} as const;
type Reversal = keyof typeof REVERSALS;

function isReversal(kind: string): kind is Reversal {
  return kind in REVERSALS;
}

/** The same events, for another order: with the IDs of their own. */
function storyOf(
  shop: Shop,
  sessionId: string,
  kind: "refund" | "dispute" | "both" | Reversal,
): StripeObject[] {
  const { stripe } = shop;
  const completed = stripe.pay(sessionId, { status: "unpaid" });
  const { payment_intent } = stripe.sessions.get(sessionId)!;
  const succeeded = stripe.settleDelayed(sessionId, true);
  if (isReversal(kind)) {
    const dispute = stripe.dispute(String(payment_intent), "needs_response", 399);
    const states = ["needs_response", ...REVERSALS[kind]].map((status, at) =>
      stripe.event(
        status === "needs_response"
          ? "charge.dispute.created"
          : status === "under_review"
          ? "charge.dispute.funds_withdrawn"
          : "charge.dispute.closed",
        { ...dispute, status },
        { created: Math.floor(Date.now() / 1_000) - 3_600 + 60 * at },
      )
    );
    return [succeeded, ...states];
  }
  const part = stripe.refund(String(payment_intent), 100);
  const failing = stripe.refund(String(payment_intent), 200);
  const dispute = stripe.dispute(String(payment_intent), "needs_response", 399);
  const refunds = [
    stripe.event("refund.created", part),
    stripe.event("refund.created", failing),
    stripe.event("refund.failed", { ...failing, status: "failed" }),
  ];
  const disputes = [
    stripe.event("charge.dispute.created", { ...dispute, status: "warning_needs_response" }),
    stripe.event("charge.dispute.funds_withdrawn", dispute),
    stripe.event("charge.dispute.closed", { ...dispute, status: "won" }),
  ];
  if (kind === "refund") return [completed, succeeded, ...refunds];
  if (kind === "dispute") return [completed, succeeded, ...disputes];
  return [succeeded, refunds[0]!, disputes[1]!, { ...disputes[2]! }];
}

/** What each story comes to: the buyer's credits, and the state of the order. */
const OUTCOMES = [
  ["refund", 400, "partly_refunded"],
  ["dispute", 500, "paid"],
  ["both", 400, "partly_refunded"],
  ["lost after a win", 101, "charged_back"],
  ["won after a loss", 500, "paid"],
  ["won, lost and won", 500, "paid"],
  ["opened again after a win", 101, "disputed"],
] as const;

/** A refund or dispute as the rule that decides gets it; `undefined` is the payment itself. */
type News = Pick<PaymentChange, "id" | "kind" | "amount" | "rank" | "asOfMs"> | undefined;

/** The same story as {@linkcode storyOf}, of an order, as the rule gets it. */
function newsOf(orderId: string, kind: typeof OUTCOMES[number][0]): News[] {
  const dispute = (rank: 0 | 1 | 2 | 3, asOfMs: number): News => (
    { id: `dp_${orderId}`, kind: "dispute", amount: 399, rank, asOfMs }
  );
  if (isReversal(kind)) {
    const ranks = { won: 3, lost: 2, under_review: 1 } as const;
    const states = REVERSALS[kind].map((state, at) => dispute(ranks[state], 60_000 * (at + 1)));
    return [undefined, dispute(1, 0), ...states];
  }
  const refund = (name: string, amount: number, rank: 1 | 2): News => (
    { id: `re_${name}_${orderId}`, kind: "refund", amount, rank, asOfMs: 1 }
  );
  const refunds = [refund("part", 100, 1), refund("failing", 200, 1), refund("failing", 200, 2)];
  const disputes = [dispute(0, 1), dispute(1, 1), dispute(3, 1)];
  if (kind === "refund") return [undefined, ...refunds];
  if (kind === "dispute") return [undefined, ...disputes];
  return [undefined, refunds[0], disputes[1], disputes[2]];
}

Deno.test("by the rule that decides, every order of what is known of a payment, each twice, comes to the same", async () => {
  await using dir = await tempDir();
  const file = `${dir.path}/sluice.db`;
  await writeEmptyDatabase(file);
  const nowMs = 1_900_000_000_000;
  const now = () => nowMs;
  const database = await openDatabase({ file, durability: "normal", rules: RULES, now });
  await using _closed = { [Symbol.asyncDispose]: () => database.close() };
  await watchLocks(database);
  const accounts = new Accounts(database, now);
  for (const [kind, credits, state] of OUTCOMES) {
    const eve = await accounts.create({ email: `eve-${kind.replaceAll(/\W+/g, "-")}@example.com` });
    const count = newsOf("", kind).length;
    const orders = permutations(Array.from({ length: count }, (_, at) => at)).map((places, at) => {
      const orderId = `ord_${kind.replaceAll(/\W+/g, "_")}_${at}`;
      return { places, orderId, accountId: `acct_${orderId}`, news: newsOf(orderId, kind) };
    });
    await database.batch(orders.flatMap(({ orderId, accountId }) => [
      {
        sql: `insert into accounts (id, email, name, role, created_at_ms, invited_by)
          values (?, ?, '', 'none', ?, ?)`,
        args: [accountId, `${orderId}@example.com`, nowMs, eve.id],
      },
      orderStatement({
        id: orderId,
        accountId,
        provider: "stripe",
        origin: "console",
        reference: orderId,
        packageId: "starter",
        packageName: "Starter",
        credits: 500,
        validDays: null,
        amount: 499,
        currency: "usd",
        livemode: false,
        lotId: `lot_${orderId}`,
        note: "",
        atMs: nowMs,
      }),
    ]));
    for (let step = 0; step < count; step++) {
      await database.batch(orders.flatMap(({ places, orderId, news }) => {
        const one = news[places[step]!];
        const paymentId = `pi_${orderId}`;
        const statement = one === undefined
          ? paymentStatement({
            orderId,
            paymentId,
            amount: 499,
            bonusCredits: 500,
            isPayment: true,
            atMs: nowMs + step,
          })
          : changeStatement({
            ...one,
            paymentId,
            currency: "usd",
            livemode: false,
            atMs: nowMs + step,
          });
        return [statement, statement];
      }));
    }
    for (const { places, orderId, accountId } of orders) {
      assertEquals(
        [
          (await creditsOf(database, accountId, nowMs)).balance,
          await debtOf(database, accountId),
          (await orderById(database, orderId))!.state,
        ],
        [credits, 0, state],
        `${kind}: ${places}`,
      );
    }
    assertEquals((await creditsOf(database, eve.id, nowMs)).balance, orders.length * 500);
  }
  assertEquals(await unlockedWrites(database), []);
  const { mismatches } = await audit(database);
  assertEquals(mismatches.filter(({ noun }) => noun !== "schema"), []); // the rules are watched
});

shopTest(
  `${sized("an order", "every order")} of the events of a payment, each twice, comes to the same`,
  Object.fromEntries(OUTCOMES.map(([kind, credits, state]) => [kind, async (shop) => {
    const seed = testSeed();
    const eve = await shop.account();
    const inviteCode = await shop.gateway.gateway.accounts.inviteCode(eve);
    const count = storyOf(shop, (await shop.order(await shop.account())).sessionId, kind).length;
    const all = permutations(Array.from({ length: count }, (_, at) => at));
    const orders = sized([new Random(seed).pick(all)], all);
    let buyers = 0;
    for (const places of orders) {
      const ada = await shop.account(inviteCode);
      const order = await shop.order(ada);
      const story = storyOf(shop, order.sessionId, kind);
      for (const at of places) {
        const [event] = story.slice(at, at + 1);
        await shop.deliver(event!, event!);
      }
      buyers++;
      assertEquals(
        [await shop.balance(ada), await shop.debt(ada), (await shop.again(order)).state],
        [credits, 0, state],
        `SLUICE_TEST_SEED=${seed}: ${places}`,
      );
    }
    assertEquals(await shop.balance(eve), buyers * 500);
    await shop.assertClean();
  }])),
);

Deno.test("random news with purchases and charges in between keep the ledger exact", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  let skewMs = 0;
  await using shop = await openShop({ now: () => Date.now() + skewMs });
  const { stripe } = shop;
  const { database, sales, accounts } = shop.gateway.gateway;
  /** Kinds of credits that orders moved; few rounds may have only some. */
  const kinds = async () =>
    (await database.all("select distinct kind from order_credits where kind <> 'granted'")).length;
  for (let round = 0; round < sized(2, 40) || round < 40 && await kinds() < 3; round++) {
    const eve = await shop.account();
    const ada = await shop.account(await accounts.inviteCode(eve));
    const held: string[] = [];
    const pending: StripeObject[] = [];
    for (let step = 0; step < 40; step++) {
      const paid = [...stripe.sessions.values()].filter((one) =>
        (one.metadata as Record<string, string>).account_id === ada.id &&
        one.payment_intent !== null
      );
      const intent = paid.length === 0 ? undefined : String(random.pick(paid).payment_intent);
      switch (random.integer(0, 9)) {
        case 0:
          if (!await isBarred(shop, ada.id)) {
            const order = await shop.order(ada, random.pick(["starter", "standard"]));
            pending.push(stripe.pay(order.sessionId));
          }
          break;
        case 1:
          if (intent !== undefined) {
            const refund = stripe.refund(intent, random.integer(1, 300));
            pending.push(stripe.event("refund.created", refund));
            if (random.integer(0, 2) === 0) {
              pending.push(stripe.event("refund.failed", { ...refund, status: "failed" }));
            }
          }
          break;
        case 2:
          if (intent !== undefined) {
            const dispute = stripe.dispute(intent, "needs_response");
            pending.push(stripe.event("charge.dispute.created", dispute));
            const status = random.pick(["won", "lost"]);
            const closed = stripe.event("charge.dispute.closed", { ...dispute, status });
            pending.push(closed);
            if (random.integer(0, 1) === 0) {
              // decided again a minute later
              pending.push(stripe.event("charge.dispute.closed", {
                ...dispute,
                status: status === "won" ? "lost" : "won",
              }, { created: Number(closed.created) + 60 }));
            }
          }
          break;
        case 3: {
          const balance = await shop.balance(ada);
          if (balance > 0) await shop.spend(ada, random.integer(1, balance));
          break;
        }
        case 4: {
          const balance = await shop.balance(eve);
          if (balance > 0) await shop.spend(eve, random.integer(1, balance));
          break;
        }
        case 5: // lots expire, and what is open is forgotten
          skewMs += random.integer(0, 20) * 86_400_000;
          stripe.clockMs = skewMs;
          break;
        case 6: {
          const { lots } = await creditsOf(database, ada.id, Date.now() + skewMs);
          const [lot] = lots;
          if (lot !== undefined && random.integer(0, 1) === 0) {
            await sales.takeBack(ada, {
              lotId: lot.id,
              credits: random.integer(1, lot.remaining),
              note: "by hand",
            }).catch((error) => {
              if (!String(error).includes("Nothing to take back")) throw error;
            });
          }
          break;
        }
        case 7: { // a request in flight, until it ends
          const balance = await shop.balance(ada);
          const open = held.pop();
          if (open !== undefined) {
            await shop.end(ada, open, random.integer(0, balance));
          } else if (balance > 1) {
            held.push(await shop.hold(ada, random.integer(1, balance)));
          }
          break;
        }
        default: {
          const at = random.integer(0, Math.max(0, pending.length - 1));
          const [event] = pending.slice(at, at + 1);
          if (event !== undefined) await shop.deliver(event);
          if (random.integer(0, 1) === 0) pending.splice(at, 1);
        }
      }
    }
    for (const event of pending) await shop.deliver(event);
    for (const one of held) await shop.end(ada, one, random.integer(0, await shop.balance(ada)));
    await shop.gateway.gateway.payments.reconcile({ younger: true, eventsSinceMs: 0 });
    const { mismatches } = await audit(shop.gateway.gateway.database);
    assertEquals(mismatches, [], `SLUICE_TEST_SEED=${seed}, round ${round}`);
  }
  assert(await kinds() >= 3, `SLUICE_TEST_SEED=${seed}: ${await kinds()}`);
});

async function isBarred(shop: Shop, accountId: string): Promise<boolean> {
  const { isDisputed } = await import("../../../src/money/payments/mod.ts");
  return await isDisputed(shop.gateway.gateway.database, accountId);
}

Deno.test("a database that fails at each use in turn, or answers too late, pays once when news come again", async () => {
  let uses = 0;
  let failsAt = Infinity;
  let isLate = false;
  const options = {
    wrapDatabase: (database: Parameters<typeof guardedDatabase>[0]) => {
      const guarded = guardedDatabase(database, () => {
        if (++uses === failsAt && !isLate) throw new Error("the database is away");
      });
      return {
        ...guarded,
        get waiting() {
          return guarded.waiting;
        },
        batch: async (...args: Parameters<typeof guarded.batch>) => {
          const rows = await guarded.batch(...args);
          // committed, and the answer was lost
          if (uses === failsAt && isLate) throw new Error("the answer is lost");
          return rows;
        },
      };
    },
  };
  await using shop = await openShop(options);
  const { stripe, gateway } = shop;
  const eve = await shop.account();
  const inviteCode = await gateway.gateway.accounts.inviteCode(eve);
  let refused = 0;
  let bonuses = 0;
  for (const late of [false, true]) {
    isLate = late;
    for (let step = 1; step <= 12; step++) {
      const ada = await shop.account(inviteCode);
      bonuses++;
      const order = await shop.order(ada);
      const paid = stripe.pay(order.sessionId);
      const intent = String(stripe.sessions.get(order.sessionId)!.payment_intent);
      const refund = stripe.event("refund.created", stripe.refund(intent, 100));
      for (const event of [paid, refund]) {
        uses = 0;
        failsAt = step;
        const first = await send(gateway.url, event);
        failsAt = Infinity;
        if (first !== 200) refused++;
        assert(first === 200 || first === 503, String(first));
        assertEquals(await send(gateway.url, event), 200);
      }
      assertEquals([await shop.balance(ada), await shop.debt(ada)], [400, 0], `${late} ${step}`);
    }
  }
  assert(refused > 10, `${refused}`);
  assertEquals(await shop.balance(eve), bonuses * 500);
  await shop.assertClean();
});

// the gate has an event at two gateways in operations_test.ts
Deno.test("two gateways at one server with the same events at once pay once", PROOF, async () => {
  await using dir = await tempDir();
  await using server = await sharedServer(dir.path);
  await using stripe = fakeStripe();
  const settings = { ...shopSettings(stripe), database: { url: server.url } };
  await using one = await startGateway({ settings });
  await using other = await startGateway({ settings });
  const shop = shopOf(one, stripe, { [Symbol.asyncDispose]: () => Promise.resolve() });
  for (let round = 0; round < 6; round++) {
    const ada = await shop.account();
    const order = await shop.order(ada);
    const paid = stripe.pay(order.sessionId);
    const both = (event: StripeObject) =>
      Promise.all([one, other, one, other].map(({ url }) => send(url, event)));
    assertEquals(new Set(await both(paid)), new Set([200]));
    assertEquals(await shop.balance(ada), 500);
    const intent = String(stripe.sessions.get(order.sessionId)!.payment_intent);
    await both(stripe.event("refund.created", stripe.refund(intent, 499)));
    assertEquals([await shop.balance(ada), await shop.debt(ada)], [0, 0]);
  }
  await shop.assertClean();
});

Deno.test("a gateway that is killed while events come pays each once in the end", async () => {
  await using dir = await tempDir();
  await using stripe = fakeStripe();
  const file = `${dir.path}/data/sluice.db`;
  await Deno.writeTextFile(
    `${dir.path}/sluice.jsonc`,
    JSON.stringify({ port: 0, data: "./data", ...shopSettings(stripe) }),
  );
  const withDatabase = async <T>(
    work: (database: Awaited<ReturnType<typeof openDatabase>>) => Promise<T>,
  ) => {
    const database = await openDatabase({
      file,
      durability: "full",
      rules: RULES,
      now: Date.now,
    });
    try {
      return await work(database);
    } finally {
      await database.close();
    }
  };
  const orders: string[] = [];
  const events: StripeObject[] = [];
  const run = async (...args: string[]) => {
    const { code, out, err } = await sluice([...args, "--json"], { directory: dir.path });
    assertEquals(code, 0, err);
    return JSON.parse(out);
  };
  await Deno.mkdir(`${dir.path}/data`);
  await run("account", "create", "--email", "ada@example.com");
  for (let at = 0; at < 6; at++) {
    const { id: order } = await run(
      "credits",
      "checkout",
      "--account",
      "ada@example.com",
      "--package",
      "starter",
    );
    orders.push(order);
    const sessionId = [...stripe.sessions.keys()].at(-1)!;
    events.push(stripe.pay(sessionId));
    const intent = String(stripe.sessions.get(sessionId)!.payment_intent);
    events.push(stripe.event("refund.created", stripe.refund(intent, 100)));
  }
  for (let round = 0; round < sized(1, 6); round++) {
    await using gateway = startCommand(["serve", "--port", "0"], { directory: dir.path });
    const [, url] = await gateway.waitFor(/listening on (\S+)/);
    let answered = 0;
    const sent = events.map(async (event) => {
      if (await send(url!, event).catch(() => 0) === 200) answered++;
    });
    await until(() => answered > round * 2, { what: `the reply to event ${round * 2}` });
    gateway.signal("SIGKILL");
    await gateway.status;
    await Promise.all(sent);
    await withDatabase(async (database) => assertEquals((await audit(database)).mismatches, []));
  }
  await using gateway = serveHere(["serve", "--port", "0"], { directory: dir.path });
  const [, url] = await gateway.waitFor(/listening on (\S+)/);
  for (const event of events) assertEquals(await send(url!, event), 200);
  gateway.signal("SIGTERM");
  await gateway.status;
  await withDatabase(async (database) => {
    assertEquals((await audit(database)).mismatches, []);
    const order = (await orderById(database, orders[0]!))!;
    const credits = await creditsOf(database, order.accountId, Date.now());
    assertEquals([credits.balance, await debtOf(database, order.accountId)], [6 * 400, 0]);
  });
});
