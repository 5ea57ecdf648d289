import {
  CLOCK_MS,
  greatest,
  iif,
  least,
  randomHex,
  type Rule,
  sumOf,
} from "../../../ground/database/mod.ts";
import { ACCOUNT_LIMITS, WINDOWS } from "./admit.ts";
import { locks, OF_ACCOUNT, OF_KEY } from "./sql/locks.ts";
import { expireFirst, OWES } from "./sql/lots.ts";
import { periodOf } from "./sql/budgets.ts";
import { UNLIMITED } from "./sql/shared.ts";
import { type Span, SPANS } from "./sql/windows.ts";
import type { Intake } from "./intake.ts";

/** Gateways that want to admit requests of an account themselves. */
export const LOAN_REQUESTS = {
  view: "loan_requests",
  columns: {
    account_id: "text",
    // the key whose requests there are; its windows must have places as well
    key_id: "text",
    gateway_id: "text",
    loan_id: "text",
    // 1 for a loan that the gateway does not have yet
    is_new: "integer",
    at_ms: "integer",
    lease_ms: "integer",
    tier_list: "text",
    // less than this is not worth a loan
    least_credits: "integer",
    least_places: "integer",
    // 1 for a loan of this key alone, which counts in its budgets; older gateways do not say
    by_key: "integer",
  },
} as const satisfies Intake;

/** The key that the loan is of. */
const LOAN_KEY = iif("new.by_key <> 0", "new.key_id", "''");
/** Whether a loan is the one that the gateway has or asks for. */
const IS_OWN = `gateway_id = new.gateway_id and key_id = ${LOAN_KEY}`;

const NAMES = Object.keys(SPANS) as Span[];

/** Requests in the windows of `new.at_ms`, or in later ones: the loan may be made a moment after it was asked for. */
const USED = WINDOWS.map(({ of, table, span, name }) =>
  `coalesce((select max(used) from ${table} where ${of}_id = new.${of}_id
            and span_ms = ${SPANS[span]}
            and at_ms >= new.at_ms / ${SPANS[span]} * ${SPANS[span]}), 0) as ${name}_used`
);

/** Half of the places of a span that neither requests nor other loans have taken. */
const PLACES = NAMES.map((span) => {
  const places = least(`${span} - ${span}_used`, `account_${span} - account_${span}_used`);
  return greatest("0", `(${places} - others_${span}) / 2`);
});

/** Whether a budget applies to the key, or one that is not a key's own to the account. */
const HAS_BUDGET = `(
        exists (select 1 from budget_keys where key_id = new.key_id)
        or exists (
          select 1 from keys join budget_keys on budget_keys.key_id = keys.id
            join budgets on budgets.id = budget_keys.budget_id
          where keys.account_id = new.account_id and keys.budgets > 0 and budgets.owner <> 'key'
        )
      )`;

/** What the budgets of the key have left in their periods, a raise left out, as it ends; and when those began and end. */
const BUDGETS = `(
        select min(budgets.credits - spent - budget_periods.held) as budget,
          count(*) > count(spent) as lacks_period,
          max(starts_at_ms) as since_ms, min(ends_at_ms) as until_ms
        from budget_keys join budgets on budgets.id = budget_keys.budget_id
          left join budget_periods on (${periodOf("budget_keys.budget_id", "new.at_ms")})
        where budget_keys.key_id = new.key_id
      )`;

/** Whether the key's budgets allow a loan of it: in the periods in which that was made, if it is there. */
const IS_IN_PERIOD = `(budget is not null and not lacks_period
          and coalesce(lent_at_ms, new.at_ms) >= since_ms
          and coalesce(lent_at_ms, new.at_ms) < until_ms)`;

/** Whether some of the account's credits pay for some models only. */
const HAS_BOUND = `exists (
          select 1 from lots where account_id = new.account_id and models is not null and remaining > 0
        )`;

/** Credits of which half is lent. */
const LENDABLE = least(
  "balance - held + own",
  iif("new.by_key <> 0", "budget + own", UNLIMITED),
);

/** Whether budgets allow the loan. */
const IS_ALLOWED = iif("new.by_key <> 0", IS_IN_PERIOD, `not ${HAS_BUDGET}`);

/**
 * Lends a gateway half of an account's credits that are not held, and half of the places that are left in the rate
 * windows: that many requests may be admitted in any one minute, hour or day. The other half is for other gateways, and for
 * requests that the database decides on. A loan that the gateway has is renewed and grows up to that; it never shrinks.
 *
 * Nothing is lent from less than is wanted at least, from an account with uncollected charges since its newest lot, to
 * requests of a key with a budget, from an account to which a budget applies that is not a key's own, from one with credits that are
 * bound to models, nor in addition to a loan that has been recalled, or has ended. A gateway has one loan of an account: a new one takes the
 * place of one that the gateway does not know of, since the answer to its question was lost.
 *
 * A loan may be of one key alone: then no more is lent than half of what each of its budgets has left, which holds it, and only in the
 * periods in which it was made.
 */
export const LEND: Rule = {
  name: "lend",
  objects: [
    LOAN_REQUESTS,
    {
      trigger: "loan_requests_lend",
      event: "instead of insert",
      on: LOAN_REQUESTS.view,
      locks: locks({ accounts: OF_ACCOUNT, budgets: OF_KEY }),
      statements: [
        expireFirst(`'expiry_' || ${randomHex(8)}`),
        `delete from loans
    where account_id = new.account_id and ${IS_OWN} and new.is_new <> 0 and loan_id <> new.loan_id`,
        `insert into loans (account_id, gateway_id, key_id, lent_at_ms, loan_id, credits, ${
          NAMES.join(", ")
        }, lease_until_ms)
    select new.account_id, new.gateway_id, ${LOAN_KEY}, new.at_ms, new.loan_id, lendable, ${
          NAMES.map((span) => `${span}_places`).join(", ")
        },
      ${CLOCK_MS} + new.lease_ms
    from (
      select ${LENDABLE} / 2 as lendable,
        ${PLACES.map((places, at) => `${places} as ${NAMES[at]}_places`).join(",\n        ")}
      from (
        select balance, held, tiers.minute, tiers.hour, tiers.day,
          ${ACCOUNT_LIMITS.join(",\n          ")},
          ${USED.join(",\n          ")}
        from balances join tiers on list_id = new.tier_list and above = (
          select max(above) from tiers where list_id = new.tier_list and above < balance
        )
        where account_id = new.account_id
      ) as account, (
        select ${
          NAMES.map((span) =>
            `coalesce(${sumOf(span)} filter (where not (${IS_OWN})), 0) as others_${span}`
          ).join(",\n          ")
        },
          coalesce(${sumOf("credits")} filter (where ${IS_OWN}), 0) as own,
          max(lent_at_ms) filter (where ${IS_OWN}) as lent_at_ms,
          coalesce(max(recalled) filter (where loan_id = new.loan_id), 0) as is_recalled,
          count(*) filter (where loan_id = new.loan_id) as has_loan
        from loans where account_id = new.account_id
      ) as lent, ${BUDGETS} as of_key
      where (has_loan > 0 or new.is_new <> 0) and is_recalled = 0 and not ${OWES}
        and ${IS_ALLOWED}
        and not ${HAS_BOUND}
    ) as offer
    where lendable >= new.least_credits
      and ${NAMES.map((span) => `${span}_places >= new.least_places`).join(" and ")}
    on conflict (account_id, gateway_id, key_id) do update set
      credits = ${greatest("loans.credits", "excluded.credits")},
      ${
          NAMES.map((span) => `${span} = ${greatest(`loans.${span}`, `excluded.${span}`)}`).join(
            ",\n      ",
          )
        },
      lease_until_ms = excluded.lease_until_ms`,
      ],
    },
  ],
};
