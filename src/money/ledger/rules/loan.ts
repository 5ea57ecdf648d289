import type { Rule } from "../../../ground/database/mod.ts";

/** Credits that are lent to a gateway are held in the balance of their account, whatever happens to the loan (P4). */
export const LOAN: Rule = {
  name: "loan",
  sql: [
    `create trigger loans_insert_holds after insert on loans begin
    update balances set held = held + new.credits where account_id = new.account_id;
  end`,
    `create trigger loans_update_holds after update of credits on loans begin
    update balances set held = held + new.credits - old.credits where account_id = new.account_id;
  end`,
    `create trigger loans_delete_releases after delete on loans begin
    update balances set held = held - old.credits where account_id = old.account_id;
  end`,
  ],
};
