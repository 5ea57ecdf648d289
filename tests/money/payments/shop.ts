import type { Account } from "../../../src/people/accounts/mod.ts";
import type { SettingsInput } from "../../../src/settings/config/mod.ts";
import { admit, audit, creditsOf, TierList } from "../../../src/money/ledger/mod.ts";
import {
  type Codes,
  debtOf,
  type Order,
  orderById,
  type Payments,
} from "../../../src/money/payments/mod.ts";
import { assertEquals } from "../../assert.ts";
import { newRequestId } from "../../../src/ground/platform/ids.ts";
import { settlePrice } from "../../fake/ledger.ts";
import {
  type GatewayOptions,
  startGateway,
  type TestGateway,
  WIDE_TIERS,
} from "../../fake/gateway.ts";
import {
  type FakeStripe,
  fakeStripe,
  send,
  type StripeObject,
  TEST_KEY,
  WEBHOOK_SECRET,
} from "./fake_stripe.ts";

/** Makes an order of a package, and a checkout where it is paid, as the console does in two steps. */
export async function startCheckout(
  payments: Payments,
  account: Account,
  packageId: string,
  { returnTo, savesMethod, ...request }:
    & Parameters<Payments["order"]>[2]
    & Parameters<Payments["open"]>[1],
) {
  const order = await payments.order(account, packageId, request);
  const { email } = request.buyer ?? account;
  return await payments.open(order, { returnTo, savesMethod, email });
}

/** Counts a try and redeems a code, as the operation does. */
export async function tryCode(codes: Codes, account: Account, given: string, client: string) {
  await codes.countTry(account, client);
  return await codes.redeemCounted(account, given, client);
}

/** A gateway that sells, and the Stripe that it sells through. */
export interface Shop extends AsyncDisposable {
  readonly gateway: TestGateway;
  readonly stripe: FakeStripe;
  /** An account without credits. */
  account(inviteCode?: string): Promise<Account>;
  /** Starts the checkout of a package. */
  order(account: Account, packageId?: string): Promise<Order & { readonly sessionId: string }>;
  /** Starts a checkout, pays it, and delivers the event. */
  buy(account: Account, packageId?: string): Promise<Order & { readonly paymentId: string }>;
  /** Delivers events, one after the other. */
  deliver(...events: readonly StripeObject[]): Promise<number[]>;
  balance(account: Account): Promise<number>;
  debt(account: Account): Promise<number>;
  /** Spends credits of an account, as requests do. */
  spend(account: Account, credits: number): Promise<void>;
  /** Holds credits, as a request in flight does. Returns its ID. */
  hold(account: Account, credits: number): Promise<string>;
  /** Ends such a request at a price. */
  end(account: Account, requestId: string, credits: number): Promise<void>;
  again(order: Order): Promise<Order>;
  /** Everything adds up. */
  assertClean(): Promise<void>;
}

/** Settings of a gateway that sells through a fake. */
export function shopSettings(stripe: { readonly url: string }): SettingsInput {
  return {
    credits: { signup: 0, inviteSignup: 0 },
    payments: {
      stripe: { secretKey: TEST_KEY, webhookSecret: WEBHOOK_SECRET, apiBase: stripe.url },
    },
  };
}

let count = 0;

/** Opens one. */
export async function openShop(
  { settings, ...options }: GatewayOptions = {},
): Promise<Shop> {
  await using opened = new AsyncDisposableStack();
  const { now = Date.now } = options;
  const stripe = opened.use(fakeStripe());
  const gateway = opened.use(
    await startGateway({ settings: { ...shopSettings(stripe), ...settings }, ...options }),
  );
  const owned = opened.move();
  return shopOf(gateway, stripe, owned, now);
}

/** One test of cases that share a shop, each with accounts and orders of its own. */
export function shopTest(
  name: string,
  cases: Readonly<Record<string, (shop: Shop) => Promise<void>>>,
): void {
  Deno.test(name, async (t) => {
    await using shop = await openShop();
    for (const [what, work] of Object.entries(cases)) {
      await t.step({
        name: what,
        fn: () => work(shop),
        // the gateway goes on beside each of them; the test itself looks at what is left
        sanitizeOps: false,
        sanitizeResources: false,
      });
    }
  });
}

/** A shop over a gateway that runs. */
export function shopOf(
  gateway: TestGateway,
  stripe: FakeStripe,
  owned: AsyncDisposable,
  now: () => number = Date.now,
): Shop {
  const { database, registration, accounts } = gateway.gateway;
  const keyOf = async (account: Account) => {
    const { keys, teamKeys, teams } = gateway.gateway;
    const team = account.kind === "pool" ? (await teams.ofPool(account.id))! : undefined;
    const [key] = team === undefined ? await keys.list(account) : await teamKeys.list(team);
    return (key ?? await (team === undefined ? keys.issue(account) : teamKeys.issue(team, null)))
      .id;
  };
  const shop: Shop = {
    gateway,
    stripe,
    async account(inviteCode) {
      const { email } = await registration.register({
        email: `buyer${++count}@example.com`,
        inviteCode,
      });
      return await accounts.get(email);
    },
    async order(account, packageId = "starter") {
      const { order } = await startCheckout(gateway.gateway.payments, account, packageId, {
        origin: "console",
        reference: crypto.randomUUID(),
        returnTo: gateway.url,
      });
      return { ...order, sessionId: order.sessionId! };
    },
    async buy(account, packageId) {
      const order = await shop.order(account, packageId);
      assertEquals(await shop.deliver(stripe.pay(order.sessionId)), [200]);
      const paid = await shop.again(order);
      return { ...paid, paymentId: paid.paymentId! };
    },
    async deliver(...events) {
      const statuses = [];
      for (const event of events) {
        statuses.push(
          await send(gateway.url, event, { timestamp: Math.floor(now() / 1_000) }),
        );
      }
      return statuses;
    },
    balance: async ({ id }) => (await creditsOf(database, id, now())).balance,
    debt: ({ id }) => debtOf(database, id),
    async spend(account, credits) {
      await shop.end(account, newRequestId(now()), credits);
    },
    async hold(account, credits) {
      const requestId = newRequestId(now());
      const { verdict } = await admit(database, {
        accountId: account.id,
        keyId: await keyOf(account),
        requestId,
        gatewayId: "test",
        least: 1,
        wanted: credits,
        nowMs: now(),
        leaseMs: 3_600_000,
        tierListId: new TierList(WIDE_TIERS).id,
      });
      assertEquals(["admitted", "credits"].includes(verdict), true, verdict);
      return requestId;
    },
    async end(account, requestId, credits) {
      await settlePrice(database, {
        requestId,
        accountId: account.id,
        keyId: await keyOf(account),
        price: credits,
        nowMs: now(),
      });
    },
    again: async ({ id }) => (await orderById(database, id))!,
    async assertClean() {
      assertEquals((await audit(database)).mismatches, []);
    },
    [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose](),
  };
  return shop;
}
