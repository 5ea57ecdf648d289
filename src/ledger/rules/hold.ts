import type { Rule } from "../../database/mod.ts";

/** What an account and a key with a budget hold is the sum of their holds, whatever happens to a hold. */
export const HOLD: Rule = {
  name: "hold",
  sql: [
    `create trigger holds_insert_holds after insert on holds begin
    update balances set held = held + new.credits where account_id = new.account_id;
    update budgets set held = held + new.credits where key_id = new.key_id;
  end`,
    `create trigger holds_update_holds after update of credits on holds begin
    update balances set held = held + new.credits - old.credits where account_id = new.account_id;
    update budgets set held = held + new.credits - old.credits where key_id = new.key_id;
  end`,
    `create trigger holds_delete_releases after delete on holds begin
    update balances set held = held - old.credits where account_id = old.account_id;
    update budgets set held = held - old.credits where key_id = old.key_id;
  end`,
  ],
};
