import type { Rule } from "../../database/mod.ts";

/** Each account has a balance from the moment it exists, each key with a budget a row of what it has spent. */
export const OPEN_BALANCES: Rule = {
  name: "open_balances",
  sql: [
    `create trigger accounts_insert_opens_balance after insert on accounts begin
    insert into balances (account_id) values (new.id);
  end`,
    `create trigger keys_insert_opens_budget after insert on keys
    when new.budget_credits is not null begin
    insert into budgets (key_id, credits) values (new.id, new.budget_credits);
  end`,
  ],
};
