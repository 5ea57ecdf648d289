import type { Rule } from "../../../ground/database/mod.ts";
import { locks, OF_ACCOUNT } from "./sql/locks.ts";

/**
 * Credits that are bound to models pay for nothing else. What a bound lot has reserved is the sum of what holds reserve of it,
 * whatever happens to a hold (P4). Loans are lent without regard to a model, and so of lots that are not bound, and not at all
 * while an account has bound ones: what it was lent before is recalled when it gets one.
 */
export const BIND: Rule = {
  name: "bind",
  objects: [
    {
      trigger: "bound_holds_insert_reserves",
      event: "after insert",
      on: "bound_holds",
      statements: ["update lots set reserved = reserved + new.credits where id = new.lot_id"],
    },
    {
      trigger: "bound_holds_update_reserves",
      event: "after update",
      columns: ["credits"],
      on: "bound_holds",
      statements: [
        "update lots set reserved = reserved + new.credits - old.credits where id = new.lot_id",
      ],
    },
    {
      trigger: "bound_holds_delete_releases",
      event: "after delete",
      on: "bound_holds",
      statements: ["update lots set reserved = reserved - old.credits where id = old.lot_id"],
    },
    {
      trigger: "lots_insert_recalls_loans",
      event: "after insert",
      on: "lots",
      when: "new.models is not null",
      locks: locks({ accounts: OF_ACCOUNT }),
      statements: ["update loans set recalled = 1 where account_id = new.account_id"],
    },
  ],
};
