/** What shapes make of what is there and of what is not: each member that may be `null`, both ways. */

import { describeAlert } from "../../../src/operating/operations/shapes/alert.ts";
import { describeBudget } from "../../../src/operating/operations/shapes/budget.ts";
import { iso } from "../../../src/operating/operations/shapes/common.ts";
import { describeKey } from "../../../src/operating/operations/shapes/key.ts";
import { describeHistory, describeOrder } from "../../../src/operating/operations/shapes/order.ts";
import { describeRequest } from "../../../src/operating/operations/shapes/request.ts";
import { describeMember } from "../../../src/operating/operations/shapes/team.ts";
import { assertEquals } from "../../assert.ts";

const AT_MS = Date.UTC(2030, 0, 2);
const AT = "2030-01-02T00:00:00.000Z";

// deno-lint-ignore no-explicit-any -- only the members that a description reads
type Things = any;

/** A thing of which all that a case does not name is null. */
function thing(members: Things): Things {
  return new Proxy(members, { get: (all, name) => name in all ? all[name] : null });
}

/** A description, what is described, and the members that it must have. */
const CASES: readonly (readonly [
  // deno-lint-ignore no-explicit-any -- of things of many types
  describe: (thing: any, ...more: any[]) => object,
  things: readonly Things[],
  expected: Readonly<Record<string, unknown>>,
])[] = [
  ...([
    ["waiting", AT],
    ["delivered", null],
    ["given_up", null],
  ] as const).map(([state, nextAt]) =>
    [
      (alert: Things) => describeAlert(alert).deliveries[0]!,
      [{ data: {}, deliveries: [thing({ state, dueAtMs: AT_MS })] }],
      { state, next_at: nextAt, delivered_at: null },
    ] as const
  ),
  [describeBudget, [{ raise: null, startsAtMs: AT_MS, renewsAtMs: null, marks: [] }], {
    raise: null,
    starts_at: null,
    renews_at: null,
  }],
  [
    describeBudget,
    [{ raise: { credits: 1, untilMs: AT_MS }, startsAtMs: 0, renewsAtMs: AT_MS, marks: [5] }],
    {
      raise: { credits: 1, until: AT },
      starts_at: "1970-01-01T00:00:00.000Z",
      renews_at: AT,
      marks: [5],
    },
  ],
  ...([[[], 7], [["day"], 7], [["day", "life"], 3], [["life", "month"], 3]] as const).map((
    [periods, budget],
  ) =>
    [
      describeKey,
      [
        { budgetCredits: 7, previousUntilMs: null, expiresAtMs: AT_MS },
        periods.map((period) => thing({ period, credits: 3, renewsAtMs: 1, marks: [] })),
      ],
      { budget, previous_valid_until: null, expires_at: AT },
    ] as const
  ),
  [describeOrder, [{ paidAtMs: null, lotId: "lot_1", needsLook: "" }, {}], {
    lot: null,
    paid_at: null,
    needs_look: null,
  }],
  [describeOrder, [{ paidAtMs: AT_MS, lotId: "lot_1", needsLook: "amount" }, { team: "T" }], {
    lot: "lot_1",
    paid_at: AT,
    needs_look: "amount",
    team: "T",
  }],
  ...([["", null], ["why", "why"]] as const).map(([detail, expected]) =>
    [
      (events: Things) => describeHistory(events, [], String).events[0]!,
      [[{ kind: "paid", causeId: "c", eventId: null, amount: null, detail, atMs: AT_MS }]],
      { detail: expected, event: null, amount: null, at: AT },
    ] as const
  ),
  [describeRequest, [{ details: {}, startedAtMs: AT_MS, status: 200, ending: "complete" }, "a@b"], {
    account: "a@b",
    answered_model: null,
    upstream_request_id: null,
    service_tier: null,
    speed: null,
    region: null,
    price_row: null,
    extras: {},
    attempt_list: null,
    tags: {},
  }],
  [
    describeRequest,
    [{
      details: {
        model: "m",
        id: "i",
        tier: "t",
        speed: "s",
        region: "r",
        row: "p",
        extras: { search: [1, 2] },
      },
      startedAtMs: AT_MS,
      attemptList: [{ upstream: "one", model: "m", durationMs: 5 }],
      tags: { a: "b" },
    }, "a@b"],
    {
      answered_model: "m",
      upstream_request_id: "i",
      service_tier: "t",
      speed: "s",
      region: "r",
      price_row: "p",
      extras: { search: [1, 2] },
      attempt_list: [{ upstream: "one", model: "m", ms: 5 }],
      tags: { a: "b" },
    },
  ],
  ...([
    [null, null, "active"],
    [null, AT_MS, "stopped"],
    [AT_MS, null, "disabled"],
    [AT_MS, AT_MS, "disabled"],
  ] as const).map(([disabledAtMs, stoppedAtMs, state]) =>
    [describeMember, [{ disabledAtMs, stoppedAtMs, addedAtMs: AT_MS }], {
      state,
      added_at: AT,
    }] as const
  ),
];

Deno.test("a description has what is there, and null for what is not", () => {
  for (const [describe, things, expected] of CASES) {
    const [first, ...more] = things;
    const described = describe(Array.isArray(first) ? first : thing(first), ...more) as Record<
      string,
      unknown
    >;
    const seen = Object.fromEntries(Object.keys(expected).map((name) => [name, described[name]]));
    assertEquals(seen, { ...expected });
  }
});

Deno.test("a time beyond those that JSON has is the last of them", () => {
  assertEquals([iso(null), iso(Number.MAX_SAFE_INTEGER)], [null, "+275760-09-13T00:00:00.000Z"]);
});
