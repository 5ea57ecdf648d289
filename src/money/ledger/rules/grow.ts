import {
  CLOCK_MS,
  elementsOf,
  greatest,
  jsonArrayOfRows,
  jsonObject,
  least,
  randomHex,
  type Rule,
} from "../../../ground/database/mod.ts";
import { budgetLeft } from "./sql/budgets.ts";
import { locks, OF_ACCOUNT, OF_KEY } from "./sql/locks.ts";
import { expireFirst, freeOfAccount, paysFor } from "./sql/lots.ts";
import type { Intake } from "./intake.ts";

/** In-flight requests that need to hold more. */
export const GROWTHS = {
  view: "growths",
  columns: {
    request_id: "text",
    account_id: "text",
    key_id: "text",
    gateway_id: "text",
    // credits that it would hold in all
    wanted: "integer",
    at_ms: "integer",
    lease_ms: "integer",
    admitted_at_ms: "integer",
    // the model; gateways of before schema 34 do not say
    route: "text",
  },
} as const satisfies Intake;

/** What is held now, by request. */
export const HELD = `select ${
  jsonArrayOfRows(jsonObject({ request_id: "request_id", credits: "credits" }))
}
    from ${elementsOf("?1")} join holds on request_id = value`;

/** When it was admitted; gateways older than schema 5 do not say. */
const ADMITTED_AT = "coalesce(new.admitted_at_ms, new.at_ms)";

const BUDGET_LEFT = budgetLeft({ admittedAtMs: ADMITTED_AT, nowMs: "new.at_ms" });

const FREE = freeOfAccount(paysFor("new.route"));

/**
 * A hold grows up to the credits that are wanted in all, as far as budgets go and the lots that pay for its model, and never
 * shrinks. In budgets it
 * counts in the periods in which its request was admitted, whatever period it is now; a raise that has ended is over.
 * One that was released with its lease is made again, as of when its request was admitted. What has expired
 * does not count, and a request that has ended holds nothing.
 */
export const GROW: Rule = {
  name: "grow",
  objects: [
    GROWTHS,
    {
      trigger: "growths_extend_hold",
      event: "instead of insert",
      on: GROWTHS.view,
      when: "not exists (select 1 from usage_records where request_id = new.request_id)",
      locks: locks({ accounts: OF_ACCOUNT, budgets: OF_KEY }),
      statements: [
        expireFirst(`'expiry_' || new.request_id || '_' || ${randomHex(4)}`),
        `insert into holds (request_id, account_id, key_id, gateway_id, credits, created_at_ms,
      lease_until_ms, route)
    select new.request_id, new.account_id, new.key_id, new.gateway_id, credits,
      ${ADMITTED_AT}, ${CLOCK_MS} + new.lease_ms, new.route
    from (select ${least("new.wanted", FREE, BUDGET_LEFT)} as credits) as free
    where credits > 0
    on conflict (request_id) do update set credits = ${
          greatest(
            "holds.credits",
            least("new.wanted", `holds.credits + ${FREE}`, `holds.credits + ${BUDGET_LEFT}`),
          )
        }, route = coalesce(excluded.route, holds.route)`,
      ],
    },
  ],
};
