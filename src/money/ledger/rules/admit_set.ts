import { columnsOf, elementsOf, type Rule } from "../../../ground/database/mod.ts";
import { ADMISSIONS, DECIDED, decision, DECISION_COLUMNS, hold } from "./admit.ts";
import type { Intake } from "./intake.ts";
import { locks } from "./sql/locks.ts";
import { budgetsOf, has, ITEMS, lockInBlock, valueOf, valuesOf } from "./sql/sets.ts";
import { SET } from "./sql/shared.ts";
import { countRequests } from "./sql/windows.ts";

/** Requests of one transaction that want to run: a JSON array of arrays of their columns. On PostgreSQL the decisions come back in place of them. */
export const ADMISSION_SETS = {
  view: "admission_sets",
  columns: { given: "text" },
} as const satisfies Intake;

const COLUMNS = columnsOf(ADMISSIONS).join(", ");

/** From this number of requests on, one more statement costs less than deciding one after the other. */
const WORTHWHILE = 4;

/** Whether a request is decided on with others: all that its decision needs is of its account, of which it is the next one. */
const IS_TOGETHER = `of_account = 1
        and not ${has("usage_records", "request_id = new.request_id")}
        and not ${has("budget_keys", "key_id = new.key_id")}
        and not ${
  has(
    "lots",
    "account_id = new.account_id and remaining > 0 and (models is not null or expires_at_ms <= new.at_ms)",
  )
}`;

/** Decides on those: all in one statement. */
const TOGETHER = `with given as materialized (
      select ${valuesOf(ADMISSIONS)},
        row_number() over (partition by ${
  valueOf(ADMISSIONS, "account_id")
} order by place) as of_account
      from ${ITEMS} where ${valueOf(ADMISSIONS, "request_id")} <> all (ended)
    ), going_together as materialized (
      select ${COLUMNS} from given as new where ${IS_TOGETHER}
    ), decided (${DECISION_COLUMNS.join(", ")}) as materialized (
      ${decision("going_together as new cross join lateral ")}
    ), admitted as materialized (
      select new.account_id, new.key_id, new.gateway_id, new.lease_ms, new.route, decided.*
      from going_together as new join decided on decided.request_id = new.request_id
      where verdict = 'admitted'
    ), ${
  [
    `update loans set recalled = 1 where recalled = 0 and account_id in (
      select account_id from going_together join decided on decided.request_id = going_together.request_id
      where verdict = 'recall'
    )`,
    ...countRequests(`(
      select key_id, account_id, at_ms as admitted_at_ms from admitted
    ) as requests where true`),
    hold("admitted as new"),
    `update balances set held = held + admitted.credits from admitted
    where admitted.account_id = balances.account_id`,
  ].map((statement, at) => `step_${at} as (${statement})`).join(", ")
}
    select outcomes || (${DECIDED})::jsonb, ended || array_agg(request_id), count(*)
      into outcomes, ended, decided from decided as decisions`;

/** Reads what was decided, by request, of the items of a transaction. */
export const DECISIONS = `select ${DECIDED} from ${
  elementsOf("?1")
} join decisions on request_id = value`;

const ON_POSTGRES = `declare
    all_given jsonb := new.given::jsonb;
    ended text[] := '{}';
    outcomes jsonb := '[]';
    decided bigint;
    mode text;
  begin
    ${
  lockInBlock({
    accounts: `select ${valueOf(ADMISSIONS, "account_id")} from ${ITEMS}`,
    budgets: budgetsOf(`select ${valueOf(ADMISSIONS, "key_id")} from ${ITEMS}`),
  })
}
    mode := set_config('${SET}', 'on', true);
    loop
      ${TOGETHER};
      exit when decided < ${WORTHWHILE} or cardinality(ended) = jsonb_array_length(all_given);
    end loop;
    mode := set_config('${SET}', 'off', true);
    if cardinality(ended) < jsonb_array_length(all_given) then
      insert into admissions (${COLUMNS})
        select ${COLUMNS} from (select ${valuesOf(ADMISSIONS)}, place from ${ITEMS}) as given
        where request_id <> all (ended) order by place;
      select outcomes || (${DECIDED})::jsonb into outcomes from decisions;
      delete from decisions;
    end if;
    mode := set_config('sluice.decided', outcomes::text, true); -- where programs of revision 24 read them
    new.given := outcomes::text;
  end`;

/**
 * Decides on requests together, with the outcome that the rule `admit` has for one after the other. It is so for those whose keys have
 * no budgets, each of another account, which has credits neither bound nor expired: nothing that one of them changes is read for another
 * one. So go the next of each account, then those after them. All others are put to that rule.
 *
 * On PostgreSQL each of these sets is one statement. Elsewhere requests cost as much one after the other: there, nothing is put to this
 * rule.
 */
export const ADMIT_SET: Rule = {
  name: "admit_set",
  objects: [
    ADMISSION_SETS,
    {
      trigger: "admission_sets_admit",
      event: "instead of insert",
      on: ADMISSION_SETS.view,
      locks: locks({
        accounts: `select ${valueOf(ADMISSIONS, "account_id", "value")} from ${
          elementsOf("new.given")
        }`,
        budgets: budgetsOf(
          `select ${valueOf(ADMISSIONS, "key_id", "value")} from ${elementsOf("new.given")}`,
        ),
      }),
      statements: [
        `insert into admissions (${COLUMNS})
    select ${valuesOf(ADMISSIONS, "value")} from ${elementsOf("new.given")} where true`,
      ],
      onPostgres: ON_POSTGRES,
    },
  ],
};
