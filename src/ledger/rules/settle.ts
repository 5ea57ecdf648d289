import type { Rule } from "../../database/mod.ts";
import { budgetLeft, countRequests, takeFromLots } from "./fragments.ts";
import { createView, type Intake } from "./intake.ts";

/** Requests that have ended. */
export const SETTLEMENTS = {
  view: "settlements",
  columns: [
    "request_id",
    "account_id",
    "key_id",
    "dialect",
    "route",
    "upstream",
    "upstream_model",
    "attempts",
    "status",
    "ending",
    "streamed",
    "usage_source",
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "reasoning_tokens",
    "started_at_ms",
    "first_token_ms",
    "duration_ms",
    "price_credits",
    "ignored",
    "input_price",
    "cached_price",
    "output_price",
    "minimum_credits",
    "admitted_at_ms",
    "settled_at_ms",
    "reason",
    "message",
    "attempt_list",
    // the loan that its gateway admitted it from, and how many credits of it; null if the database admitted it
    "loan_id",
    "lent",
    // an object of names and values; null for none
    "tags",
  ],
} as const satisfies Intake;

/** What was charged, by request. */
export const CHARGED = `select json_group_array(json_object('request_id', request_id,
      'charged_credits', charged_credits, 'balance_credits', balance_credits))
    from json_each(?1) join usage_records on request_id = value`;

const NOT_RECORDED: readonly string[] = ["ignored", "loan_id", "lent"];

/** Columns of the record that are as the settlement gives them. */
export const RECORDED = SETTLEMENTS.columns.filter((column) => !NOT_RECORDED.includes(column));

/** Credits that the request holds. Gateways of before schema 11 do not settle in sets, and have it unsaid. */
const HOLDING =
  "coalesce((select holding from settling where settling.request_id = new.request_id), 0)";

/** When it was admitted; null in settlements of requests that no window counted. */
const ADMITTED_AT = "coalesce(new.admitted_at_ms, new.started_at_ms)";

/** A raise lasts for the requests that were admitted in its time. */
const BUDGET_LEFT = budgetLeft({
  admittedAtMs: ADMITTED_AT,
  nowMs: ADMITTED_AT,
  atLeast: HOLDING,
});

/** Whether the request was admitted from a loan that was not returned meanwhile: the return made it a hold. */
const IS_LENT =
  "new.lent is not null and not exists (select 1 from holds where request_id = new.request_id)";

/**
 * The end of a request, once: what it held, of its own or of a loan, is released, its price is taken from its account's lots, its record is
 * written. The charge is the price, but no more than the balance has that other requests do not hold, and no
 * more than each budget of the key has left in the period of the request's admission. What the request held it may spend,
 * also of a budget that was lowered, or whose raise ended, while it was in flight. Of the rest, the record says how much the
 * balance did not cover, which is owed, and how much only a budget did not allow. A request that has a record, or entries of a record that was pruned, is not settled again.
 */
export const SETTLE: Rule = {
  name: "settle",
  sql: [
    createView(SETTLEMENTS),
    `create trigger settlements_settle instead of insert on settlements
    when not exists (select 1 from usage_records where request_id = new.request_id)
      and not exists (select 1 from entries where cause_id = new.request_id) begin
    update loans set credits = credits - min(credits, new.lent, new.price_credits)
    where account_id = new.account_id and loan_id = new.loan_id and ${IS_LENT};
    ${
      countRequests(`(
      select new.key_id as key_id, new.account_id as account_id,
        new.admitted_at_ms as admitted_at_ms
      where new.admitted_at_ms is not null and ${IS_LENT}
    ) where true`)
    }
    delete from holds where request_id = new.request_id;
    ${
      takeFromLots({
        kind: "charge",
        causeId: "new.request_id",
        credits: `(select min(new.price_credits, balance - held, ${BUDGET_LEFT})
          from balances where account_id = new.account_id)`,
        atMs: "new.settled_at_ms",
      })
    }
    insert into usage_records (${RECORDED.join(", ")}, ignored, charged_credits, balance_credits,
      owed_credits, over_budget_credits)
    select ${RECORDED.map((column) => `new.${column}`).join(", ")}, coalesce(new.ignored, ''),
      charged, balance, max(0, new.price_credits - charged - (balance - held)),
      min(new.price_credits - charged, balance - held)
    from (
      select balance, held, coalesce(
        (select -sum(credits) from entries where cause_id = new.request_id), 0
      ) as charged
      from balances where account_id = new.account_id
    );
  end`,
  ],
};
