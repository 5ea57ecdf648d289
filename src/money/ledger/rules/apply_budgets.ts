import type { Rule } from "../../../ground/database/mod.ts";
import { heldIn, ofKeysOf, spentIn } from "./sql/budgets.ts";
import { locks } from "./sql/locks.ts";

/** Adds up the periods of a budget again, if the key may have made requests. */
function addUp(row: "new" | "old"): string {
  return `update budget_periods set
      spent = ${spentIn("budget_periods.budget_id", "starts_at_ms", "ends_at_ms")},
      held = ${heldIn("budget_periods.budget_id", "starts_at_ms", "ends_at_ms")}
    where budget_id = ${row}.budget_id and (
      exists (select 1 from key_uses where key_id = ${row}.key_id)
      or exists (select 1 from holds where key_id = ${row}.key_id)
      or exists (select 1 from loans where key_id = ${row}.key_id)
    )`;
}

/** Keeps what a key is made with in step with its budget for life. */
function tellKey(row: "new" | "old", credits: string): string {
  return `update keys set budget_credits = ${credits}
    where ${row}.owner = 'key' and ${row}.period = 'life' and id = ${row}.owner_id
      and budget_credits is distinct from ${credits}`;
}

/** The owner of a budget that was set. */
const OWNER = { owner: "new.owner", ownerId: "new.owner_id" };

/**
 * A budget on a key applies to that key; one on an account to all keys that it pays for; one on a team to all its keys; one
 * on a member to the keys of that team that are for the member. From the moment that a budget applies to a key, what is lent of the key's account is recalled,
 * what its requests spend and hold counts in the budget, and gateways know of it, as the key has changed (P8).
 */
export const APPLY_BUDGETS: Rule = {
  name: "apply_budgets",
  objects: [
    {
      trigger: "budgets_insert_applies",
      event: "after insert",
      on: "budgets",
      locks: locks({ accounts: ofKeysOf("account_id", OWNER) }),
      statements: [
        `insert into budget_keys (key_id, budget_id)
    ${ofKeysOf("id, new.id", OWNER)}`,
        tellKey("new", "new.credits"),
      ],
    },
    {
      trigger: "budgets_update_tells_key",
      event: "after update",
      columns: ["credits"],
      on: "budgets",
      statements: [tellKey("new", "new.credits")],
    },
    {
      trigger: "budgets_update_recalls",
      event: "after update",
      columns: ["credits", "zone"],
      on: "budgets",
      when: "new.credits < old.credits or new.zone <> old.zone",
      locks: locks({ accounts: ofKeysOf("account_id", OWNER) }),
      statements: [
        `update loans set recalled = 1 where recalled = 0
      and key_id in (select key_id from budget_keys where budget_id = new.id)`,
      ],
    },
    {
      trigger: "budgets_delete_tells_key",
      event: "after delete",
      on: "budgets",
      statements: [tellKey("old", "null")],
    },
    {
      trigger: "budget_keys_insert_applies",
      event: "after insert",
      on: "budget_keys",
      statements: [
        "update keys set budgets = budgets + 1 where id = new.key_id",
        `update loans set recalled = 1
    where account_id = (select account_id from keys where id = new.key_id) and recalled = 0`,
        addUp("new"),
      ],
    },
    {
      trigger: "budget_keys_delete_ends",
      event: "after delete",
      on: "budget_keys",
      statements: [
        "update keys set budgets = budgets - 1 where id = old.key_id",
        addUp("old"),
      ],
    },
  ],
};
