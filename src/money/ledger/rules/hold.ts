import { either, type Rule } from "../../../ground/database/mod.ts";
import { countsIn } from "./sql/budgets.ts";
import { reserve } from "./sql/lots.ts";
import { NOT_IN_SET } from "./sql/shared.ts";

/** On PostgreSQL a set writes balances once, and is of keys without budgets and accounts without bound credits. */
const ALONE = either({ sqlite: "", postgres: NOT_IN_SET });

/**
 * What an account and each budget of a key hold is the sum of their holds, whatever happens to a hold (P4). In a budget it is
 * held in the period in which its request was admitted. It reserves credits of bound lots first, as far as they pay for its model.
 */
export const HOLD: Rule = {
  name: "hold",
  objects: [
    {
      trigger: "holds_insert_holds",
      event: "after insert",
      on: "holds",
      when: ALONE,
      statements: [
        "update balances set held = held + new.credits where account_id = new.account_id",
        `update budget_periods set held = held + new.credits
    where ${countsIn("new.key_id", "new.created_at_ms")}`,
        reserve("new.credits"),
      ],
    },
    {
      trigger: "holds_update_holds",
      event: "after update",
      columns: ["credits"],
      on: "holds",
      statements: [
        `update balances set held = held + new.credits - old.credits
    where account_id = new.account_id`,
        `update budget_periods set held = held + new.credits - old.credits
    where ${countsIn("new.key_id", "new.created_at_ms")}`,
        reserve("new.credits - old.credits"),
      ],
    },
    {
      trigger: "holds_delete_releases",
      event: "after delete",
      on: "holds",
      when: ALONE,
      statements: [
        "update balances set held = held - old.credits where account_id = old.account_id",
        `update budget_periods set held = held - old.credits
    where ${countsIn("old.key_id", "old.created_at_ms")}`,
        "delete from bound_holds where request_id = old.request_id",
      ],
    },
  ],
};
