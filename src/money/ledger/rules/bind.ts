import type { Rule } from "../../../ground/database/mod.ts";

/**
 * Credits that are bound to models pay for nothing else. What a bound lot has reserved is the sum of what holds reserve of it,
 * whatever happens to a hold (P4). Loans are lent without regard to a model, and so of lots that are not bound, and not at all
 * while an account has bound ones: what it was lent before is recalled when it gets one.
 */
export const BIND: Rule = {
  name: "bind",
  sql: [
    `create trigger bound_holds_insert_reserves after insert on bound_holds begin
    update lots set reserved = reserved + new.credits where id = new.lot_id;
  end`,
    `create trigger bound_holds_update_reserves after update of credits on bound_holds begin
    update lots set reserved = reserved + new.credits - old.credits where id = new.lot_id;
  end`,
    `create trigger bound_holds_delete_releases after delete on bound_holds begin
    update lots set reserved = reserved - old.credits where id = old.lot_id;
  end`,
    `create trigger lots_insert_recalls_loans after insert on lots when new.models is not null begin
    update loans set recalled = 1 where account_id = new.account_id;
  end`,
  ],
};
