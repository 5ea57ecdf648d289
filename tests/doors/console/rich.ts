import type { Database } from "../../../src/ground/database/mod.ts";
import {
  grantStatements,
  newLotId,
  setBudget,
  settle,
  type UsageRecord,
} from "../../../src/money/ledger/mod.ts";
import { newRequestId } from "../../../src/ground/platform/ids.ts";
import type { SettingsInput } from "../../../src/settings/config/mod.ts";
import type { TestGateway } from "../../fake/gateway.ts";
import { teamOf } from "../../fake/team.ts";
import type { FakeStripe } from "../../money/payments/fake_stripe.ts";
import { shopOf, shopSettings } from "../../money/payments/shop.ts";

const DAY_MS = 86_400_000;

/** A name of 120 characters. */
export const LONG_NAME = `organisation.${"very-long-model-name.".repeat(5)}0-latest`.padEnd(
  120,
  "9",
);

/** Settings with 60 models, one of them with a long name. */
export const RICH_SETTINGS: SettingsInput = {
  consoleComponents: true,
  tiers: [{ above: 0, minute: 500, hour: 15_000, day: 100_000 }],
  credits: { perUsd: 1_000 },
  aliases: { "gpt-4o": "model-1", "claude-haiku-*": "model-2" },
  routes: Object.fromEntries(
    [
      LONG_NAME,
      ...Array.from({ length: 12 }, (_, at) => `model-${at + 1}`),
      ...Array.from({ length: 42 }, (_, at) => `provider-${at % 7}/instruct-${at + 1}-2026-06`),
      ...Array.from({ length: 5 }, (_, at) => `claude-opus-4-${at}`),
    ].map((id, at) => [id, {
      targets: [{ upstream: "simulator", model: id }],
      prices: { input: 1_200 + 37 * at, cached: 300, output: 12_345 },
      ...(at % 4 === 0 ? { context: 200_000, maxOutput: 64_000, images: "remote" as const } : {}),
    }]),
  ),
};

/** What a gateway with much in it was filled with. */
export interface RichData {
  readonly email: string;
  readonly accountId: string;
  /** A request that failed. */
  readonly failedId: string;
  /** A complete one. */
  readonly requestId: string;
  readonly teamId: string;
}

/** Requests of a gateway that pictures are taken of; tests make do with fewer. */
export const MANY_REQUESTS = 100_000;

/** Requests that are settled at once: the database takes them in one write. */
const BATCH = 500;
const DAYS = 90;

/** Settles many requests, in a few seconds for a hundred thousand. */
export async function settleAll(
  database: Database,
  records: Iterable<UsageRecord>,
): Promise<void> {
  let pending: Promise<unknown>[] = [];
  for (const record of records) {
    pending.push(settle(database, record));
    if (pending.length < BATCH) continue;
    await Promise.all(pending);
    pending = [];
  }
  await Promise.all(pending);
}

/** Fills a gateway with keys of long names, a team, alerts and 90 days of requests for many models. */
export async function fillRichly(
  { gateway: parts }: TestGateway,
  { requests = 1_200, keys = 40, members = 9 } = {},
): Promise<RichData> {
  const email = "ada.with-a-rather-long-address@department.of.example.com";
  const account = await parts.registration.register({ email, name: "Ada Lovelace of Example" });
  await parts.database.batch(grantStatements({
    lotId: newLotId(),
    accountId: account.id,
    source: "grant",
    note: `For the department of ${LONG_NAME}`,
    credits: Math.max(20_000, 12 * requests),
    expiresAtMs: null,
    atMs: Date.now() - (DAYS + 1) * DAY_MS,
  }));
  await parts.sales.sell(account, parts.sales.package("standard"), { paid: true });
  const made: { readonly id: string }[] = [];
  for (let index = 0; index < keys; index++) {
    const name = index === 0 ? LONG_NAME.replaceAll("model", "key") : `laptop ${index}`;
    made.push(
      await parts.keys.issue(account, {
        name,
        ...(index % 3 === 0 ? { budgetCredits: 5_000, models: [LONG_NAME, "model-1"] } : {}),
      }),
    );
  }
  const models = Object.keys(RICH_SETTINGS.routes!);
  const now = Date.now();
  let requestId = "";
  let failedId = "";
  const records = function* (): Generator<UsageRecord> {
    for (let index = 0; index < requests; index++) {
      const wave = 1 + Math.sin(index / 9);
      const startedAtMs = now - 60_000 - Math.floor(DAYS * DAY_MS * (1 - (index + 1) / requests));
      const id = newRequestId(startedAtMs);
      const failed = index % 17 === 0;
      if (failed) failedId = id;
      else requestId = id;
      yield {
        requestId: id,
        accountId: account.id,
        keyId: made[index % 4 === 0 ? 0 : index % keys]!.id,
        dialect: index % 2 === 0 ? "messages" : "chat",
        route: models[index % 3 === 0 ? 0 : index % models.length]!,
        upstream: "moonshot",
        upstreamModel: "kimi-k3",
        attempts: failed ? 2 : 1,
        status: failed ? 503 : 200,
        ending: failed ? "upstream_failed" : "complete",
        streamed: index % 2 === 0,
        usageSource: failed ? null : "upstream",
        inputTokens: failed ? 0 : tokensOf(wave).input,
        cachedTokens: failed ? 0 : tokensOf(wave).cached,
        outputTokens: failed ? 0 : tokensOf(wave).output,
        reasoningTokens: 0,
        startedAtMs,
        firstTokenMs: failed ? null : 320 + index % 90,
        durationMs: failed ? 60 : 900 + Math.round(17_000 * wave),
        priceCredits: failed ? 0 : priceOf(wave),
        ignored: index % 2 === 0 ? "top_k, thinking" : "",
        prices: failed ? null : PRICES,
        ...(failed
          ? {
            failure: {
              reason: "upstream_unavailable",
              message: "No upstream is available for this model. Try again later.",
            },
            attemptList: ATTEMPTS,
          }
          : {}),
        admittedAtMs: startedAtMs,
        settledAtMs: startedAtMs + 2_000,
      };
    }
  };
  await settleAll(parts.database, records());
  const teamId = await addTeam(parts, email, models, members);
  await raiseAlerts(parts, account.id);
  return { email, accountId: account.id, requestId, failedId, teamId };
}

/** A team of ten, or of another size besides its lead, led by an account, whose members have spent and have budgets. */
export async function addTeam(
  parts: TestGateway["gateway"],
  email: string,
  models: readonly string[],
  size = 9,
): Promise<string> {
  const { team, members } = await teamOf({ gateway: parts }, { size });
  await parts.members.add(team, await parts.accounts.get(email), "lead");
  const nowMs = Date.now();
  for (const [at, { account, key }] of members.entries()) {
    const budget = { owner: "member", ownerId: `${team.id}:${account.id}` } as const;
    if (at % 2 === 0) {
      await setBudget(parts.database, { ...budget, period: "month", credits: 900 * (at + 1) }, {
        nowMs,
      });
    }
    await Promise.all(Array.from({ length: 12 }, (_, one) =>
      settle(parts.database, {
        ...COMPLETE,
        requestId: newRequestId(nowMs - one * DAY_MS),
        accountId: team.poolId!,
        keyId: key.id,
        route: models[(at + one) % 3]!,
        startedAtMs: nowMs - one * DAY_MS - 60_000,
        priceCredits: 90 + 17 * at,
        settledAtMs: nowMs - one * DAY_MS,
      })));
  }
  return team.id;
}

const ALERTS = [
  ["low_credits", true, "Balance is low", "142 credits are left, below the mark of 500."],
  ["lot_expiring", true, "Credits expire soon", "1,200 credits expire on 30 Nov 2026."],
  ["key_expiring", true, "A key expires soon", `Key '${LONG_NAME}' expires tomorrow.`],
  [
    "budget_mark",
    true,
    "80 % of a budget is spent",
    "Key 'laptop 3' spent 4,000 of 5,000 credits.",
  ],
  ["circuit_opened", false, "Circuit open: moonshot/kimi-k3", "status 503: overloaded."],
  ["catalog_changed", false, "Models of moonshot changed", `New: ${LONG_NAME}.`],
  ["disk_low", false, "Disk space is low", "1.2 GiB are left on the volume of the database."],
] as const;

/** An alert of each kind. */
async function raiseAlerts({ database }: TestGateway["gateway"], accountId: string) {
  await database.batch(ALERTS.map(([kind, isTheirs, title, text], at) => ({
    sql: `insert into alerts (id, mark, kind, account_id, title, text, data, created_at_ms)
      values (?, ?, ?, ?, ?, ?, '{}', ?)`,
    args: [
      `alert_${at}`,
      `rich:${at}`,
      kind,
      isTheirs ? accountId : null,
      title,
      text,
      Date.now() - at * 5 * 3_600_000,
    ],
  })));
}

/** The IDs of orders: paid, open, refunded, and one whose payment differs from it. */
export interface Orders {
  readonly paidId: string;
  readonly openId: string;
  readonly refundedId: string;
  readonly differsId: string;
  /** The email address of an account in debt. */
  readonly debtor: string;
}

/**
 * Orders of an account: paid, open, and one whose credits were spent before it was refunded, which leaves a debt. Another
 * account has the debt, since nobody with a debt can buy.
 */
export async function fillOrders(
  gateway: TestGateway,
  stripe: FakeStripe,
  email: string,
): Promise<Orders> {
  const shop = shopOf(gateway, stripe, { [Symbol.asyncDispose]: () => Promise.resolve() });
  const ada = await gateway.gateway.accounts.get(email);
  const paid = await shop.buy(ada);
  const open = await shop.order(ada, "standard");
  const debtor = await shop.account();
  const refunded = await shop.buy(debtor);
  await shop.spend(debtor, await shop.balance(debtor));
  const refund = stripe.refund(refunded.paymentId);
  await shop.deliver(stripe.event("refund.created", refund));
  const differs = await shop.order(await shop.account());
  const payment = stripe.pay(differs.sessionId);
  Object.assign((payment.data as { object: object }).object, { currency: "jpy" });
  await shop.deliver(payment);
  return {
    paidId: paid.id,
    openId: open.id,
    refundedId: refunded.id,
    differsId: differs.id,
    debtor: debtor.email,
  };
}

/** What complete requests have in common. */
const COMPLETE = {
  dialect: "chat",
  upstream: "moonshot",
  upstreamModel: "kimi-k3",
  attempts: 1,
  status: 200,
  ending: "complete",
  streamed: true,
  usageSource: "upstream",
  inputTokens: 12_000,
  cachedTokens: 8_000,
  outputTokens: 900,
  reasoningTokens: 0,
  firstTokenMs: 410,
  durationMs: 6_200,
  ignored: "",
  prices: null,
  admittedAtMs: null,
} as const;

const PRICES = { input: 10, cached: 2, output: 40, minimum: 1 };
const ATTEMPTS = [
  { upstream: "moonshot", model: "kimi-k3", key: "key 1", outcome: "status 503", durationMs: 22 },
  { upstream: "moonshot", model: "kimi-k3", key: "key 2", outcome: "timed out", durationMs: 31 },
];

function tokensOf(wave: number) {
  return {
    input: Math.round(40_000 + 300_000 * wave),
    cached: Math.round(10_000 + 100_000 * wave),
    output: Math.round(800 + 5_000 * wave),
  };
}

function priceOf(wave: number): number {
  const { input, cached, output } = tokensOf(wave);
  const millionths = (input - cached) * PRICES.input + cached * PRICES.cached +
    output * PRICES.output;
  return Math.max(PRICES.minimum, Math.ceil(millionths / 1e6));
}

/** The settings of a gateway with these models and prices that sells credits. */
export function richShopSettings(stripe: FakeStripe): SettingsInput {
  const shop = shopSettings(stripe);
  return { ...RICH_SETTINGS, ...shop, credits: { ...RICH_SETTINGS.credits, ...shop.credits } };
}
