import { columnsOf, greatest, least, type Rule, sumOf } from "../../../ground/database/mod.ts";
import { locks } from "./sql/locks.ts";
import { addToHours, rolledUp } from "./sql/roll_ups.ts";
import { addToTags } from "./sql/tags.ts";
import { countRequests } from "./sql/windows.ts";
import type { Intake } from "./intake.ts";
import { RECORDED, SETTLEMENTS } from "./settle.ts";

/** Settlements of one transaction. They are decided on when a row is inserted into `settlement_sets`. */
export const SETTLING = {
  view: "settling",
  columns: SETTLEMENTS.columns,
} as const satisfies Intake;

/** Decides on what is in {@linkcode SETTLING}, and empties it. */
const SETTLEMENT_SETS = {
  view: "settlement_sets",
  columns: { given: "integer" },
} as const satisfies Intake;

/** Loans that cover all settlements which are to be charged to them. */
const COVERED = `(
      select loans.account_id, loans.loan_id from (
        select account_id, loan_id, ${sumOf("price_credits")} as credits
        from settling where lent is not null group by 1, 2
      ) as asked join loans
        on loans.account_id = asked.account_id and loans.loan_id = asked.loan_id
      where loans.credits >= asked.credits
    )`;

/**
 * Credits that each request takes from each lot that is not bound, which is what loans are lent of: where its share of the sum of
 * prices meets the lot's of the balance.
 *
 * Lots of 5 and 10 are the shares (0, 5] and (5, 15] of the balance; prices of 3, 4 and 6 are (0, 3], (3, 7] and (7, 13] of their
 * sum. What two shares have in common is taken:
 *
 * ```text
 *            0        3   5   7              13   15
 *   prices   ├── 3 ───┼── 4 ──┼────── 6 ──────┤
 *   lots     ├───── 5 ────┼────────── 10 ──────────┤
 *   taken    │ 3 of 1 │2,1│2,2│    6 of lot 2 │
 * ```
 *
 * The second request takes 2 of the first lot and 2 of the second; 2 of that are left.
 */
const SHARES = `(
      select account_id, request_id, settled_at_ms, price_credits,
        ${sumOf("price_credits")} over (partition by account_id order by request_id) as upto
      from settling where price_credits > 0
    ) as charges join (
      select account_id, id, remaining,
        ${
  sumOf("remaining")
} over (partition by account_id order by expires_at_ms, created_at_ms, id)
          as upto
      from lots where remaining > 0 and models is null
        and account_id in (select account_id from settling)
    ) as shares on shares.account_id = charges.account_id
      and shares.upto > charges.upto - price_credits
      and shares.upto - remaining < charges.upto`;

/** The sums of a batch by account. */
const SUMS = `(
      select account_id, ${sumOf("price_credits")} as charged, count(*) as n, ${
  sumOf("input_tokens")
} as input,
        ${sumOf("output_tokens")} as output
      from settling group by 1
    ) as sums`;

/** Requests that roll-ups are given: each is charged its whole price. */
const SETTLED = rolledUp("price_credits", "settling");

/** Credits of a charge that are taken of a lot: what the two shares have in common. */
const TAKEN = `${greatest("charges.upto - price_credits", "shares.upto - remaining")} - ${
  least("charges.upto", "shares.upto")
}`;

/** Budgets of their keys. */
const BUDGETS = "select budget_id from budget_keys where key_id in (select key_id from settling)";

const COLUMNS = columnsOf(SETTLEMENTS).join(", ");

/**
 * Settles requests together, a statement for each table, with the outcome that the rule `settle` has for one after the
 * other. It is so whatever their order is for those that were admitted from a loan, whose loan covers the prices of all of
 * them: each is charged its whole price. All others are put to that rule first.
 *
 * In this order: who is settled alone; entries, and what they leave in lots; records; loans; balances; roll-ups of
 * hours and tags; last uses of keys; windows.
 */
export const SETTLE_SET: Rule = {
  name: "settle_set",
  objects: [
    SETTLEMENT_SETS,
    {
      trigger: "settlement_sets_settle",
      event: "instead of insert",
      on: SETTLEMENT_SETS.view,
      locks: locks({ accounts: "select account_id from settling", budgets: BUDGETS }),
      statements: [
        `update settling set alone = 1
    where lent is null or price_credits > lent or admitted_at_ms is null
      or (account_id, loan_id) not in ${COVERED}
      or exists (select 1 from usage_records where request_id = settling.request_id)
      or exists (select 1 from entries where cause_id = settling.request_id)
      or exists (select 1 from holds where request_id = settling.request_id)
      or exists (select 1 from budget_keys where key_id = settling.key_id)`,
        `insert into settlements (${COLUMNS})
    select ${COLUMNS} from settling where alone = 1 order by request_id`,
        "delete from settling where alone = 1",

        `insert into entries (account_id, cause_id, lot_id, kind, credits, at_ms)
    select charges.account_id, request_id, shares.id, 'charge', ${TAKEN}, settled_at_ms
    from ${SHARES}`,
        `update lots set remaining = remaining + taken.credits from (
      select lot_id, ${sumOf("credits")} as credits from entries
      where cause_id in (select request_id from settling) group by 1
    ) as taken where taken.lot_id = lots.id`,

        `insert into usage_records (${RECORDED.join(", ")}, ignored, extra_credits, charged_credits,
      balance_credits)
    select ${RECORDED.map((column) => `settling.${column}`).join(", ")}, coalesce(ignored, ''),
      coalesce(extra_credits, 0), price_credits,
      balance - ${
          sumOf("price_credits")
        } over (partition by settling.account_id order by request_id)
    from settling join balances on balances.account_id = settling.account_id`,

        `update loans set credits = loans.credits - sums.charged from (
      select account_id, loan_id, ${sumOf("price_credits")} as charged from settling group by 1, 2
    ) as sums where sums.account_id = loans.account_id and sums.loan_id = loans.loan_id`,
        `update balances set
      balance = balance - charged,
      consumed = consumed + charged,
      requests = requests + n,
      input_tokens = input_tokens + input,
      output_tokens = output_tokens + output
    from ${SUMS} where sums.account_id = balances.account_id`,

        ...addToHours(SETTLED),
        ...addToTags(SETTLED),
        `insert into key_uses (key_id, last_used_at_ms)
    select key_id, max(started_at_ms) from settling where true group by 1
    on conflict (key_id) do update set
      last_used_at_ms = ${greatest("key_uses.last_used_at_ms", "excluded.last_used_at_ms")}`,
        ...countRequests("settling where true"),
        "delete from settling",
      ],
    },
  ],
};
