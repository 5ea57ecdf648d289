/** What Claude Code is told of what is left, by its protocol. */

import fc from "fast-check";
import {
  blockedHeaders,
  claudeCodeError,
  claudeCodeHeaders,
  shareOf,
} from "../../../src/doors/tools/mod.ts";
import { toolUsage } from "../../../src/doors/tools/usage.ts";
import type { Budget } from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals } from "../../assert.ts";

const NOW = Date.UTC(2030, 0, 10);
const RENEWS = Date.UTC(2030, 1, 1);

function budgetOf(spent: number, more: Partial<Budget> = {}): Budget {
  return {
    id: "account:a:month",
    owner: "account",
    ownerId: "a",
    period: "month",
    zone: "UTC",
    credits: 1_000,
    raise: null,
    marks: [],
    startsAtMs: Date.UTC(2030, 0, 1),
    renewsAtMs: RENEWS,
    spent,
    held: 0,
    left: Math.max(0, 1_000 - spent),
    ...more,
  };
}

const toldOf = (spent: number, more?: Partial<Budget>) => {
  const headers = claudeCodeHeaders(shareOf({ balance: 5, budget: budgetOf(spent, more) }));
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.slice(28), value]),
  );
};

Deno.test("Claude Code is told the used part of the budget with the least left, and warned at 0.75 and 0.95", () => {
  const at = { reset: String(RENEWS / 1_000), "overage-reset": String(RENEWS / 1_000) };
  const allowed = { "representative-claim": "overage", ...at };
  assertEquals(toldOf(745), {
    status: "allowed",
    "overage-status": "allowed",
    "overage-utilization": "0.74",
    ...allowed,
  });
  const warned = { status: "allowed_warning", "overage-status": "allowed_warning", ...allowed };
  for (
    const [spent, utilization, mark] of [
      [750, "0.75", "0.75"],
      [949, "0.94", "0.75"],
      [950, "0.95", "0.95"],
      [1_000, "0.99", "0.95"],
      [1_200, "0.99", "0.95"],
    ] as const
  ) {
    assertEquals(toldOf(spent), {
      ...warned,
      "overage-utilization": utilization,
      "overage-surpassed-threshold": mark,
    });
  }
  assertEquals(toldOf(750, { raise: { credits: 500, untilMs: NOW } }).status, "allowed");
  assertEquals(toldOf(750, { period: "life", renewsAtMs: null }).reset, undefined);
});

Deno.test("without a budget it is the balance, of what was granted; without either, nothing is told", () => {
  const used = (balance: number, granted?: number) =>
    claudeCodeHeaders(shareOf({ balance }, granted))[
      "anthropic-ratelimit-unified-overage-utilization"
    ];
  assertEquals(used(200, 1_000), "0.8");
  assertEquals(used(1_500, 1_000), "0", "more was granted meanwhile");
  assertEquals(used(200), undefined);
  assertEquals(used(0, 0), undefined);
});

Deno.test("what is admitted is below 1, and a mark is never told before it is reached", () => {
  fc.assert(fc.property(fc.nat(2 ** 50), fc.nat(2 ** 50), (spent, credits) => {
    const told = toldOf(spent, { credits });
    const fraction = Number(told["overage-utilization"]);
    assert(fraction >= 0 && fraction < 1);
    const mark = Number(told["overage-surpassed-threshold"] ?? 0);
    assert(fraction >= mark && (credits === 0 || spent / credits >= mark));
    assertEquals(told.status === "allowed", mark === 0);
  }));
});

Deno.test("a cap that is reached is told without a claim, so that its sentence is shown, and until when", () => {
  const headers = blockedHeaders(shareOf({ balance: 5, budget: budgetOf(990) }), NOW);
  assertEquals(headers, {
    "anthropic-ratelimit-unified-status": "rejected",
    "anthropic-ratelimit-unified-overage-utilization": "1",
    "anthropic-ratelimit-unified-overage-surpassed-threshold": "1",
    "anthropic-ratelimit-unified-overage-disabled-reason": "org_spend_cap_reached",
    "anthropic-ratelimit-unified-overage-period": "monthly",
    "anthropic-ratelimit-unified-reset": String(RENEWS / 1_000),
    "anthropic-ratelimit-unified-overage-reset": String(RENEWS / 1_000),
    "retry-after": String((RENEWS - NOW) / 1_000),
  });
  assertEquals(blockedHeaders(undefined, NOW)["retry-after"], "3600");
  const told = (reason: Parameters<typeof claudeCodeError>[0]["reason"], isTooLarge = false) => {
    const { status, type } = claudeCodeError({ reason, isTooLarge }) ?? {};
    return [status, type];
  };
  assertEquals(told("budget_spent"), [429, "billing_error"]);
  assertEquals(told("credits_short"), [429, "billing_error"]);
  assertEquals(told("permission_denied"), [403, "permission_error"]);
  assertEquals(told("request_invalid", true), [413, "request_too_large"]);
  for (
    const reason of ["request_invalid", "key_invalid", "rate_exceeded", "model_unknown"] as const
  ) {
    assertEquals(told(reason), [undefined, undefined]);
  }
});

Deno.test("amounts are cents, and pair with the headers: the same percent, the same reset", () => {
  const [month, day] = [
    budgetOf(800),
    budgetOf(10, { id: "key:k:day", owner: "key", period: "day", renewsAtMs: NOW + 1 }),
  ];
  const usage = toolUsage({ balance: 5, budget: month }, {
    budgets: [day, month],
    granted: undefined,
    perUsd: 100,
  });
  assertEquals(usage, {
    extra_usage: {
      is_enabled: true,
      monthly_limit: 1_000,
      used_credits: 800,
      utilization: 80,
      currency: "USD",
    },
    limits: [
      {
        kind: "spend",
        group: "monthly",
        percent: 80,
        resets_at: "2030-02-01T00:00:00.000Z",
        severity: "warning",
        is_active: true,
      },
      {
        kind: "spend",
        group: "daily",
        percent: 1,
        resets_at: "2030-01-10T00:00:00.001Z",
        severity: "normal",
        is_active: false,
      },
    ],
  });
  const spent = toolUsage({ balance: 5, budget: budgetOf(1_000) }, {
    budgets: [],
    granted: undefined,
    perUsd: 3,
  });
  assertEquals([spent.extra_usage?.utilization, spent.extra_usage?.used_credits], [100, 33_333]);
  const none = { budgets: [], granted: undefined, perUsd: 100 };
  assertEquals(toolUsage({ balance: 5 }, none), { limits: [] });
  const ofBalance = toolUsage({ balance: 50 }, { ...none, granted: 1_000 });
  assertEquals(ofBalance.limits.map(({ group, percent, severity }) => [group, percent, severity]), [
    ["balance", 95, "critical"],
  ]);
});
