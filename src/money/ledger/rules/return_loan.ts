import type { Rule } from "../../../ground/database/mod.ts";
import { DATABASE_CLOCK } from "./sql/shared.ts";
import { freeOfAccount } from "./sql/lots.ts";
import { countRequests } from "./sql/windows.ts";
import { createView, type Intake } from "./intake.ts";

/** Loans that gateways give back. */
export const LOAN_RETURNS = {
  view: "loan_returns",
  columns: [
    "account_id",
    "gateway_id",
    "loan_id",
    "lease_ms",
    // requests that were admitted from it and are not known to be settled, as JSON: a list of `request_id`,
    // `key_id`, `credits` and `admitted_at_ms`
    "requests",
  ],
} as const satisfies Intake;

/** Those that have neither ended nor been returned before. */
const REQUESTS = `(
      select value ->> 'request_id' as request_id, new.account_id as account_id,
        value ->> 'key_id' as key_id, value ->> 'credits' as credits,
        value ->> 'admitted_at_ms' as admitted_at_ms
      from json_each(new.requests)
    ) as returned
    where not exists (select 1 from usage_records where request_id = returned.request_id)
      and not exists (select 1 from holds where request_id = returned.request_id)`;

/**
 * Ends a loan: each request that was admitted from it and is in flight is counted in its windows and holds its credits
 * from now on, as if the database had admitted it.
 */
export const RETURN_LOAN: Rule = {
  name: "return_loan",
  sql: [
    createView(LOAN_RETURNS),
    `create trigger loan_returns_end_loan instead of insert on loan_returns begin
    delete from loans
    where account_id = new.account_id and gateway_id = new.gateway_id and loan_id = new.loan_id;
    ${countRequests(REQUESTS)}
    insert into holds (request_id, account_id, key_id, gateway_id, credits, created_at_ms,
      lease_until_ms)
    select request_id, new.account_id, key_id, new.gateway_id, holdable, admitted_at_ms,
      ${DATABASE_CLOCK} + new.lease_ms
    from (
      select request_id, key_id, admitted_at_ms, min(
        credits,
        ${freeOfAccount("models is null")} + credits
          - sum(credits) over (order by request_id)
      ) as holdable
      from ${REQUESTS}
    )
    where holdable > 0;
  end`,
  ],
};
