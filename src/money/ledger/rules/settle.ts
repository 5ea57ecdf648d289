import {
  columnsOf,
  elementsOf,
  iif,
  jsonArrayOfRows,
  jsonObject,
  least,
  type Rule,
  sumOf,
} from "../../../ground/database/mod.ts";
import { locks, OF_ACCOUNT, OF_KEY } from "./sql/locks.ts";
import { paysFor, takeFromLots } from "./sql/lots.ts";
import { countRequests } from "./sql/windows.ts";
import type { Intake } from "./intake.ts";

/** Requests that have ended. */
export const SETTLEMENTS = {
  view: "settlements",
  columns: {
    request_id: "text",
    account_id: "text",
    key_id: "text",
    dialect: "text",
    route: "text",
    upstream: "text",
    upstream_model: "text",
    attempts: "integer",
    status: "integer",
    ending: "text",
    streamed: "integer",
    usage_source: "text",
    input_tokens: "integer",
    cached_tokens: "integer",
    output_tokens: "integer",
    reasoning_tokens: "integer",
    started_at_ms: "integer",
    first_token_ms: "integer",
    duration_ms: "integer",
    price_credits: "integer",
    ignored: "text",
    input_price: "integer",
    cached_price: "integer",
    output_price: "integer",
    minimum_credits: "integer",
    admitted_at_ms: "integer",
    settled_at_ms: "integer",
    reason: "text",
    message: "text",
    attempt_list: "text",
    // the loan that its gateway admitted it from, and how many credits of it; null if the database admitted it
    loan_id: "text",
    lent: "integer",
    // an object of names and values; null for none
    tags: "text",
    // what it costs besides its tokens, in the price; gateways of before schema 25 say none of these
    extra_credits: "integer",
    counted_input: "integer",
    counted_output: "integer",
    reported_input: "integer",
    reported_output: "integer",
    // whose key its reply came with; null for the gateway's
    own_key: "text",
    // what its reply says of how it was made, and what its extra credits are of; null for neither
    details: "text",
  },
} as const satisfies Intake;

/** What was charged, by request, of rows of records. */
export const OUTCOME = jsonArrayOfRows(jsonObject({
  request_id: "request_id",
  charged_credits: "charged_credits",
  balance_credits: "balance_credits",
}));
export const CHARGED = `select ${OUTCOME} from ${
  elementsOf("?1")
} join usage_records on request_id = value`;

const NOT_RECORDED: readonly string[] = ["ignored", "loan_id", "lent", "extra_credits"];

/** Columns of the record that are as the settlement gives them. */
export const RECORDED = columnsOf(SETTLEMENTS).filter((column) => !NOT_RECORDED.includes(column));

/** Whether the request was admitted from a loan that was not returned meanwhile: the return made it a hold. */
const IS_LENT =
  "new.lent is not null and not exists (select 1 from holds where request_id = new.request_id)";

/** Its model; of a request that its loan covers, none: loans are lent of lots that are not bound. */
const PAID_FOR = iif("new.lent >= new.price_credits", "null", "new.route");

/**
 * The end of a request, once (P2): what it held, of its own or of a loan, is released, its price is taken from its account's lots, its
 * record is written. The charge is the price, but no more than the lots that pay for its model have that other requests do not hold
 * (P3). Budgets bound
 * what is held and asked for; what a request costs beyond that, since its upstream went further, is charged all the same, and
 * counts in them. The record says how much the balance did not cover, which is owed. A request that has a record, or entries
 * of a record that was pruned, is not settled again.
 */
export const SETTLE: Rule = {
  name: "settle",
  objects: [
    SETTLEMENTS,
    {
      trigger: "settlements_settle",
      event: "instead of insert",
      on: SETTLEMENTS.view,
      when: `not exists (select 1 from usage_records where request_id = new.request_id)
      and not exists (select 1 from entries where cause_id = new.request_id)`,
      locks: locks({ accounts: OF_ACCOUNT, budgets: OF_KEY }),
      statements: [
        `update loans set credits = credits - ${least("credits", "new.lent", "new.price_credits")}
    where account_id = new.account_id and loan_id = new.loan_id and ${IS_LENT}`,
        ...countRequests(`(
      select new.key_id as key_id, new.account_id as account_id,
        new.admitted_at_ms as admitted_at_ms
      where new.admitted_at_ms is not null and ${IS_LENT}
    ) as admitted where true`),
        "delete from holds where request_id = new.request_id",
        takeFromLots({
          kind: "charge",
          causeId: "new.request_id",
          credits: "new.price_credits",
          atMs: "new.settled_at_ms",
          from: paysFor(PAID_FOR),
        }),
        `insert into usage_records (${RECORDED.join(", ")}, ignored, extra_credits, charged_credits,
      balance_credits, owed_credits)
    select ${RECORDED.map((column) => `new.${column}`).join(", ")}, coalesce(new.ignored, ''),
      coalesce(new.extra_credits, 0), charged, balance, new.price_credits - charged
    from (
      select balance, coalesce(
        (select -${sumOf("credits")} from entries where cause_id = new.request_id), 0
      ) as charged
      from balances where account_id = new.account_id
    ) as charge`,
      ],
    },
  ],
};
