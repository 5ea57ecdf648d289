import {
  CLOCK_MS,
  greatest,
  iif,
  jsonArray,
  jsonArrayOfRows,
  jsonObject,
  jsonOf,
  least,
  randomHex,
  type Rule,
  sumOf,
} from "../../../ground/database/mod.ts";
import { BUDGET_JSON, leftOfBudget, periodOf } from "./sql/budgets.ts";
import { locks, OF_ACCOUNT, OF_KEY } from "./sql/locks.ts";
import { expireFirst, freeOf, OWES, paysFor } from "./sql/lots.ts";
import { HAS_LAPSED, UNLIMITED } from "./sql/shared.ts";
import { countRequests, OWNERS, type Span, SPANS } from "./sql/windows.ts";
import type { Intake } from "./intake.ts";

/** Requests that want to run. */
export const ADMISSIONS = {
  view: "admissions",
  columns: {
    request_id: "text",
    account_id: "text",
    key_id: "text",
    gateway_id: "text",
    // credits without which it is rejected, and those that it would hold if there were enough
    least: "integer",
    wanted: "integer",
    at_ms: "integer",
    lease_ms: "integer",
    tier_list: "text",
    // 1 if the verdict may be 'recall'; gateways of before schema 11 do not know it
    may_recall: "integer",
    // the price of the most that the upstream would be asked for; gateways of before schema 25 do not say
    most: "integer",
    // credits that it may cost beyond what is counted, of what it wants; gateways of before schema 26 do not say
    reserved: "integer",
    // the model; gateways of before schema 34 do not say
    route: "text",
  },
} as const satisfies Intake;

/** The columns of a window's limit and count are this and `_limit`, `_used`; those of the key come first. */
export const WINDOWS = OWNERS.flatMap(({ of, table, prefix }) =>
  (Object.keys(SPANS) as Span[]).map((span) => ({ of, table, span, name: `${prefix}${span}` }))
);

const WINDOW_COLUMNS = WINDOWS.flatMap(({ name }) => [`${name}_limit`, `${name}_used`]);

/** The budget with the least left, as it is now. */
const BUDGET = `(
        select ${BUDGET_JSON}
        from budgets join budget_periods on (${periodOf("budgets.id", "decisions.at_ms")})
        where budgets.id = decisions.budget_id
      )`;

/** What was decided, of rows of `decisions`; `limits` and `used` in the order of the windows. */
export const DECIDED = jsonArrayOfRows(jsonObject({
  request_id: "request_id",
  verdict: "verdict",
  credits: "decisions.credits",
  balance: "balance",
  at_ms: "at_ms",
  budget: jsonOf(BUDGET),
  limits: jsonArray(...WINDOWS.map(({ name }) => `${name}_limit`)),
  asked: "asked",
  lent_ms: "lent_ms",
  bound: "bound",
  used: jsonArray(...WINDOWS.map(({ name }) => `${name}_used`)),
}));

const USED = WINDOWS.map(({ of, table, span, name }) =>
  `coalesce((select used from ${table} where ${of}_id = new.${of}_id and span_ms = ${SPANS[span]}
          and at_ms = new.at_ms / ${SPANS[span]} * ${SPANS[span]}), 0) as ${name}_used`
);

/** A tier without limits for accounts, of an older gateway, allows an account five times those of a key. */
export const ACCOUNT_LIMITS = Object.keys(SPANS).map((span) =>
  `coalesce(account_${span}, ${least(`5 * ${span}`, UNLIMITED)}) as account_${span}`
);

/** What loans reserve of each span. */
const LENT = Object.keys(SPANS).map((span) => `coalesce(${sumOf(span)}, 0) as lent_${span}`);

/** The budget of the key that has the least left, or one that has no period of that time: that comes first. */
const TIGHTEST_BUDGET = `(
        select budget_keys.budget_id, ${leftOfBudget("new.at_ms")} as left_of_it
        from budget_keys join budgets on budgets.id = budget_keys.budget_id
          left join budget_periods on (${periodOf("budget_keys.budget_id", "new.at_ms")})
        where budget_keys.key_id = new.key_id
        order by starts_at_ms is not null, left_of_it, budget_keys.budget_id limit 1
      ) as tightest`;

/** How long loans may be spent at most, of those whose lease has not ended. */
const LENT_UNTIL = `max(loans.lease_until_ms) filter (where not ${HAS_LAPSED}) - ${CLOCK_MS}`;

/** The same as `lent_ms`, of what that budget's keys were lent in its period. */
const LENT_OF_BUDGET = `(
          select case
            when budget + coalesce(${
  sumOf("loans.credits")
} filter (where not ${HAS_LAPSED}), 0) >= new.least
              then ${greatest("1", LENT_UNTIL)}
            when budget + ${sumOf("loans.credits")} >= new.least then 0
          end
          from budget_periods join budget_keys on budget_keys.budget_id = budget_periods.budget_id
            join loans on loans.key_id = budget_keys.key_id
              and lent_at_ms >= starts_at_ms and lent_at_ms < ends_at_ms
          where ${periodOf("decided.budget_id", "new.at_ms")}
        )`;

/** Keys that share a budget with the key. */
const SAME_BUDGETS = `(
          select sharing.key_id from budget_keys join budget_keys as sharing
            on sharing.budget_id = budget_keys.budget_id
          where budget_keys.key_id = new.key_id
        )`;

const NO_PLACE = WINDOWS.map(({ name, span }) => `${name}_used + lent_${span} >= ${name}`)
  .join("\n            or ");

/** Lots that pay for its model, what is free of them, and what the others have left. */
const PAYS = paysFor("new.route");
const FREE = freeOf(PAYS);
const BOUND = `(
          select coalesce(${sumOf("remaining")}, 0) from lots
          where lots.account_id = new.account_id and models is not null and remaining > 0 and not ${PAYS}
        )`;
/** Whether other requests hold something, or may on what is lent: not on a loan whose lease has ended. */
const IN_FLIGHT = "held > lent - recallable";

/** What a request lacks of the credits that it may cost, where that is not known before. */
const LACKS = iif(
  "new.reserved > 0",
  greatest("0", `new.wanted - ${greatest("0", least("new.wanted", "free", "budget"))}`),
  "0",
);

/** Credits that it is to have free: all that it may cost, where that is not known before. */
const WANTED = iif("new.reserved > 0", "new.wanted", least("new.wanted", "budget"));

/** What its upstream may be asked for. */
const ASKED = least(
  "coalesce(new.most, new.wanted)",
  "budget",
  greatest(least("new.wanted", "free"), "free - asked_more"),
);

/** How long what is lent may be spent. */
const LENT_MS = greatest(
  "1",
  `max(lease_until_ms) filter (where not is_lapsed) - ${CLOCK_MS}`,
);

/** Columns of a decision. */
export const DECISION_COLUMNS = [
  ...[
    "request_id",
    "at_ms",
    "verdict",
    "credits",
    "asked",
    "lacks",
    "lent_ms",
    "balance",
    "bound",
    "budget_id",
  ],
  ...WINDOW_COLUMNS,
];

/**
 * A query of the decision on each request.
 *
 * @param each Requests as `new`, joined to what is decided on each: `table as new cross join lateral `; empty where `new` is the row of a
 * trigger.
 */
export function decision(each: string): string {
  return `select new.request_id, new.at_ms,
      case
        when lacks_period then 'period'
        when minute is null then 'credits'
        when running >= (select at_once from keys where id = new.key_id) then 'rate'
        when new.may_recall <> 0 and budget_loans > 0 and budget < new.wanted then 'recall'
        when loans > 0 and new.may_recall <> 0 and (
            ${NO_PLACE}
            or budget >= new.least and free < ${WANTED}
            or ${OWES}
          ) then 'recall'
        when ${NO_PLACE}
          then 'rate'
        when ${IN_FLIGHT} and ${OWES} then 'uncollected'
        when budget < new.least then 'budget'
        when free < new.least then 'credits'
        when ${LACKS} > 0 and (lacking > 0 or ${IN_FLIGHT} and free < new.wanted)
          then 'unreserved'
        else 'admitted'
      end,
      ${least("new.wanted", "free", "budget")},
      ${ASKED},
      ${LACKS},
      case
        when minute is not null and budget < new.least then ${LENT_OF_BUDGET}
        when free >= new.least then null
        when free + recallable >= new.least then lent_ms
        when free + lent >= new.least then 0
      end, balance, bound, budget_id,
      ${WINDOWS.map(({ name }) => `coalesce(${name}, 0), ${name}_used`).join(",\n      ")}
    from ${each}(
      select balance, held, ${FREE} as free, ${BOUND} as bound, tiers.minute, tiers.hour, tiers.day,
        loans, budget_loans, lent, recallable, lent_ms, asked_more, lacking, running, ${
    Object.keys(SPANS).map((span) => `lent_${span}`).join(", ")
  },
        ${ACCOUNT_LIMITS.join(",\n        ")},
        budget_id is not null and left_of_it is null as lacks_period, budget_id,
        coalesce(left_of_it, ${UNLIMITED}) as budget,
        ${USED.join(",\n        ")}
      from balances left join tiers on list_id = new.tier_list and above = (
        select max(above) from tiers where list_id = new.tier_list and above < balance
      ), (
        select count(*) filter (where not is_lapsed) as loans, coalesce(${
    sumOf("credits")
  }, 0) as lent,
          coalesce(${sumOf("credits")} filter (where not is_lapsed), 0) as recallable,
          ${LENT_MS} as lent_ms,
          ${LENT.join(", ")}
        from (
          select loans.*, ${HAS_LAPSED} as is_lapsed from loans where account_id = new.account_id
        ) as given
      ) as lent_out, (
        select coalesce(${sumOf(greatest("0", "asked - credits"))}, 0) as asked_more,
          count(${iif("lacks > 0", "1", "null")}) as lacking,
          count(${iif("key_id = new.key_id", "1", "null")}) as running
        from holds where account_id = new.account_id
      ) as in_flight, (
        select count(*) as budget_loans from loans
        where key_id in ${SAME_BUDGETS} and not ${HAS_LAPSED}
      ) as of_budgets left join ${TIGHTEST_BUDGET} on true
      where account_id = new.account_id
    ) as decided`;
}

/** A statement that has requests hold what was decided: a row of `from` is a request, `new`, beside its decision. */
export function hold(from: string): string {
  return `insert into holds (request_id, account_id, key_id, gateway_id, credits, asked, lacks, created_at_ms,
      lease_until_ms, route)
    select new.request_id, new.account_id, new.key_id, new.gateway_id, credits, asked, lacks, new.at_ms,
      ${CLOCK_MS} + new.lease_ms, new.route
    from ${from}`;
}

/**
 * May this request run, and on how many credits (P7, P8)? In this order it is rejected
 *
 * 1. `credits`: when its account's balance is in no tier;
 * 2. `rate`: when as many requests of its key are in flight as may be at once, or when its key or its account has used up a minute,
 *    an hour or a day of UTC;
 * 3. `uncollected`: when the account has a request in flight, and since its newest lot its balance did not
 *    cover a charge;
 * 4. `budget`: when a budget that applies to its key has less left than the request needs at least;
 * 5. `credits`: when the lots that pay for its model have less than that which is not held;
 * 6. `unreserved`: when its upstream alone gets to know what it costs, it cannot hold all that may be, and it is not alone:
 *    another request is in flight although the balance does not cover this one, or another one that lacks credits, too. So of the
 *    requests of a moment no more than one may cost more than there is.
 *
 * What is lent to gateways counts as used and held. Where that would reject it, or leave it less than it wants, the
 * verdict is `recall` instead, for gateways that know it: all loans of the account, and those of keys that share a budget with its own,
 * are recalled, and the request is to be decided on again when they have been returned. A loan whose lease has ended is nothing to wait for: its gateway is gone.
 *
 * When a budget has no period of that time yet, the verdict is `period`: the request is to be decided on again when its
 * gateway has opened it.
 *
 * Otherwise it is counted in all six windows and holds what it wants, as far as those lots and budgets go. Its upstream may be asked
 * for what it holds, and for more as far as budgets go and the balance covers that too, beside all that other requests hold or
 * have asked for. What has expired does not count. A request that has ended is not decided on again: networks deliver late.
 */
export const ADMIT: Rule = {
  name: "admit",
  objects: [
    ADMISSIONS,
    {
      trigger: "admissions_decide",
      event: "instead of insert",
      on: ADMISSIONS.view,
      when: "not exists (select 1 from usage_records where request_id = new.request_id)",
      locks: locks({ accounts: OF_ACCOUNT, budgets: OF_KEY }),
      statements: [
        expireFirst(`'expiry_' || new.request_id || '_' || ${randomHex(4)}`),
        `insert into decisions (${DECISION_COLUMNS.join(", ")})
    ${decision("")}`,
        `update loans set recalled = 1
    where (account_id = new.account_id or key_id in ${SAME_BUDGETS}) and recalled = 0
      and exists (select 1 from decisions where request_id = new.request_id and verdict = 'recall')`,
        ...countRequests(`(
      select new.key_id as key_id, new.account_id as account_id, new.at_ms as admitted_at_ms
      from decisions where request_id = new.request_id and verdict = 'admitted'
    ) as admitted where true`),
        hold("decisions where request_id = new.request_id and verdict = 'admitted'"),
      ],
    },
  ],
};
