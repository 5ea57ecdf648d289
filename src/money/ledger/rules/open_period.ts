import { greatest, least, type Rule } from "../../../ground/database/mod.ts";
import { heldIn, spentIn } from "./sql/budgets.ts";
import { locks } from "./sql/locks.ts";
import type { Intake } from "./intake.ts";

/** Periods of budgets that there is to be a row of. */
export const PERIOD_OPENINGS = {
  view: "period_openings",
  columns: {
    budget_id: "text",
    // the time that it is needed for
    at_ms: "integer",
    // the bounds, as the gateway computes them in the budget's time zone
    starts_at_ms: "integer",
    ends_at_ms: "integer",
  },
} as const satisfies Intake;

/** Where the period begins: not before the end of an earlier one. */
const BEGINS = greatest(
  "new.starts_at_ms",
  `coalesce((
          select max(ends_at_ms) from budget_periods
          where budget_id = new.budget_id and ends_at_ms <= new.at_ms
        ), 0)`,
);

/** Where it ends: not after the beginning of a later one. */
const ENDS = least(
  "new.ends_at_ms",
  `coalesce((
          select min(starts_at_ms) from budget_periods
          where budget_id = new.budget_id and starts_at_ms > new.at_ms
        ), new.ends_at_ms)`,
);

/**
 * A budget gets the period of a time, once, with what requests that were admitted in it have spent and hold. Periods never
 * overlap, also where two gateways know different rules of a time zone: the one that is there goes first.
 */
export const OPEN_PERIOD: Rule = {
  name: "open_period",
  objects: [
    PERIOD_OPENINGS,
    {
      trigger: "period_openings_open",
      event: "instead of insert",
      on: PERIOD_OPENINGS.view,
      when: `exists (select 1 from budgets where id = new.budget_id)
      and not exists (
        select 1 from budget_periods
        where budget_id = new.budget_id and starts_at_ms <= new.at_ms and ends_at_ms > new.at_ms
      )`,
      locks: locks({ budgets: "select new.budget_id" }),
      statements: [
        `insert into budget_periods (budget_id, starts_at_ms, ends_at_ms, spent, held)
    select new.budget_id, begins, ends, ${spentIn("new.budget_id", "begins", "ends")},
      ${heldIn("new.budget_id", "begins", "ends")}
    from (select ${BEGINS} as begins, ${ENDS} as ends) as period
    where begins <= new.at_ms and ends > new.at_ms`,
      ],
    },
  ],
};
