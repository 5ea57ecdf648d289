import type { Rule } from "../../../ground/database/mod.ts";
import { locks, OF_ACCOUNT } from "./sql/locks.ts";
import { UNLIMITED } from "./sql/shared.ts";

/** IDs of all budgets that a new key's account, team and member can have; null for what it does not have. */
const IDS = [
  "'account:' || new.account_id",
  "'team:' || new.team_id",
  "'member:' || new.team_id || ':' || new.member_id",
].flatMap((owner) => ["day", "week", "month", "life"].map((period) => `${owner} || ':${period}'`));

/** Those that there are, for `from`. */
const BUDGETS_OF_OTHERS = `budgets where id in (${IDS.join(", ")})`;

/**
 * Each account has a balance from the moment it exists. A key that is made with a budget for life has that from then on, and
 * the budgets of its account, team and member apply to it.
 */
export const OPEN_BALANCES: Rule = {
  name: "open_balances",
  objects: [
    {
      trigger: "accounts_insert_opens_balance",
      event: "after insert",
      on: "accounts",
      statements: ["insert into balances (account_id) values (new.id)"],
    },
    {
      trigger: "keys_insert_opens_budget",
      event: "after insert",
      on: "keys",
      when: "new.budget_credits is not null",
      locks: locks({ accounts: OF_ACCOUNT }),
      statements: [
        `insert into budgets (id, owner, owner_id, period, zone, credits, set_at_ms)
    values ('key:' || new.id || ':life', 'key', new.id, 'life', 'UTC', new.budget_credits,
      new.created_at_ms)`,
        `insert into period_openings (budget_id, at_ms, starts_at_ms, ends_at_ms)
    values ('key:' || new.id || ':life', 0, 0, ${UNLIMITED})`,
      ],
    },
    {
      trigger: "keys_insert_has_budgets_of_others",
      event: "after insert",
      on: "keys",
      locks: locks({ accounts: OF_ACCOUNT, budgets: `select id from ${BUDGETS_OF_OTHERS}` }),
      statements: [
        `insert into budget_keys (key_id, budget_id)
    select new.id, id from ${BUDGETS_OF_OTHERS}`,
      ],
    },
  ],
};
