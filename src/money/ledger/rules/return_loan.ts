import {
  CLOCK_MS,
  elementsOf,
  integerAt,
  least,
  type Rule,
  sumOf,
  textAt,
} from "../../../ground/database/mod.ts";
import { locks, OF_ACCOUNT } from "./sql/locks.ts";
import { freeOfAccount } from "./sql/lots.ts";
import { countRequests } from "./sql/windows.ts";
import type { Intake } from "./intake.ts";

/** Loans that gateways give back. */
export const LOAN_RETURNS = {
  view: "loan_returns",
  columns: {
    account_id: "text",
    gateway_id: "text",
    loan_id: "text",
    lease_ms: "integer",
    // requests that were admitted from it and are not known to be settled, as JSON: a list of `request_id`,
    // `key_id`, `credits` and `admitted_at_ms`
    requests: "text",
  },
} as const satisfies Intake;

/** Those that have neither ended nor been returned before. */
const REQUESTS = `(
      select ${textAt("value", "request_id")} as request_id, new.account_id as account_id,
        ${textAt("value", "key_id")} as key_id, ${integerAt("value", "credits")} as credits,
        ${integerAt("value", "admitted_at_ms")} as admitted_at_ms
      from ${elementsOf("new.requests")}
    ) as returned
    where not exists (select 1 from usage_records where request_id = returned.request_id)
      and not exists (select 1 from holds where request_id = returned.request_id)`;

/** Budgets of their keys, and of the key that the loan is of. */
const BUDGETS = `select budget_id from budget_keys
    where key_id in (select key_id from loans
      where account_id = new.account_id and gateway_id = new.gateway_id and loan_id = new.loan_id)
    or key_id in (select ${textAt("value", "key_id")} from ${elementsOf("new.requests")})`;

/** What each can hold, in their order, of what is free. */
const HOLDABLE = least(
  "credits",
  `${freeOfAccount("models is null")} + credits - ${sumOf("credits")} over (order by request_id)`,
);

/**
 * Ends a loan: each request that was admitted from it and is in flight is counted in its windows and holds its credits
 * from now on, as if the database had admitted it.
 */
export const RETURN_LOAN: Rule = {
  name: "return_loan",
  objects: [
    LOAN_RETURNS,
    {
      trigger: "loan_returns_end_loan",
      event: "instead of insert",
      on: LOAN_RETURNS.view,
      locks: locks({ accounts: OF_ACCOUNT, budgets: BUDGETS }),
      statements: [
        `delete from loans
    where account_id = new.account_id and gateway_id = new.gateway_id and loan_id = new.loan_id`,
        ...countRequests(REQUESTS),
        `insert into holds (request_id, account_id, key_id, gateway_id, credits, created_at_ms,
      lease_until_ms)
    select request_id, new.account_id, key_id, new.gateway_id, holdable, admitted_at_ms,
      ${CLOCK_MS} + new.lease_ms
    from (select request_id, key_id, admitted_at_ms, ${HOLDABLE} as holdable from ${REQUESTS}) as shares
    where holdable > 0`,
      ],
    },
  ],
};
