import { either, type Rule } from "../../../ground/database/mod.ts";
import { countsIn } from "./sql/budgets.ts";
import { NOT_IN_SET } from "./sql/shared.ts";

/**
 * Credits that are lent to a gateway are held in the balance of their account, whatever happens to the loan (P4); those of a loan of one
 * key also in the budgets of that key, in the periods in which it was made, as if it were a request (P8).
 */
export const LOAN: Rule = {
  name: "loan",
  objects: [
    {
      trigger: "loans_insert_holds",
      event: "after insert",
      on: "loans",
      statements: [
        "update balances set held = held + new.credits where account_id = new.account_id",
        `update budget_periods set held = held + new.credits
    where ${countsIn("new.key_id", "new.lent_at_ms")}`,
      ],
    },
    {
      trigger: "loans_update_holds",
      event: "after update",
      columns: ["credits"],
      on: "loans",
      // a set of settlements writes balances once, and is of keys without budgets
      when: either({ sqlite: "", postgres: NOT_IN_SET }),
      statements: [
        "update balances set held = held + new.credits - old.credits where account_id = new.account_id",
        `update budget_periods set held = held + new.credits - old.credits
    where ${countsIn("new.key_id", "new.lent_at_ms")}`,
      ],
    },
    {
      trigger: "loans_delete_releases",
      event: "after delete",
      on: "loans",
      statements: [
        "update balances set held = held - old.credits where account_id = old.account_id",
        `update budget_periods set held = held - old.credits
    where ${countsIn("old.key_id", "old.lent_at_ms")}`,
      ],
    },
  ],
};
