import type { Rule } from "../../../ground/database/mod.ts";
import { notInSet } from "./sql/shared.ts";

/**
 * An entry moves its credits: into or out of its lot, and of its account's balance. Nothing else does, so
 * that balance = sum of entries = sum of what the lots have left (P1). Checks of the tables refuse an entry that
 * would leave a lot or a balance below 0, or a balance below what is held.
 */
export const MOVE_CREDITS: Rule = {
  name: "move_credits",
  objects: [{
    trigger: "entries_insert_moves_credits",
    event: "after insert",
    on: "entries",
    when: notInSet("new.cause_id"),
    statements: [
      // first what everybody locks first
      "update balances set balance = balance + new.credits where account_id = new.account_id",
      "update lots set remaining = remaining + new.credits where id = new.lot_id",
    ],
  }],
};
