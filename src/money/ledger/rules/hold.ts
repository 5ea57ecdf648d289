import type { Rule } from "../../../ground/database/mod.ts";
import { countsIn } from "./sql/budgets.ts";
import { reserve } from "./sql/lots.ts";

/**
 * What an account and each budget of a key hold is the sum of their holds, whatever happens to a hold (P4). In a budget it is
 * held in the period in which its request was admitted. It reserves credits of bound lots first, as far as they pay for its model.
 */
export const HOLD: Rule = {
  name: "hold",
  sql: [
    `create trigger holds_insert_holds after insert on holds begin
    update balances set held = held + new.credits where account_id = new.account_id;
    update budget_periods set held = held + new.credits
    where ${countsIn("new.key_id", "new.created_at_ms")};
    ${reserve("new.credits")}
  end`,
    `create trigger holds_update_holds after update of credits on holds begin
    update balances set held = held + new.credits - old.credits where account_id = new.account_id;
    update budget_periods set held = held + new.credits - old.credits
    where ${countsIn("new.key_id", "new.created_at_ms")};
    ${reserve("new.credits - old.credits")}
  end`,
    `create trigger holds_delete_releases after delete on holds begin
    update balances set held = held - old.credits where account_id = old.account_id;
    update budget_periods set held = held - old.credits
    where ${countsIn("old.key_id", "old.created_at_ms")};
    delete from bound_holds where request_id = old.request_id;
  end`,
  ],
};
