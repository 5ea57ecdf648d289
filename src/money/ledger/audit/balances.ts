import { sumOf } from "../../../ground/sql/mod.ts";
import type { Check } from "./check.ts";

/** Sums per account, and uses of keys. */
export const BALANCES: readonly Check[] = [
  // Each account has one balance, the sum of its lots, of its holds and loans, of its hours, and of loans that were written off.
  {
    noun: "balance",
    name: "balances",
    before: `with left_over as materialized (
        select account_id, ${sumOf("remaining")} as credits from lots group by 1
      ), held_now as materialized (
        select account_id, ${sumOf("credits")} as credits from (
          select account_id, credits from holds union all select account_id, credits from loans
        ) as holders group by 1
      ), used as materialized (
        select account_id, ${sumOf("requests")} as requests, ${sumOf("credits")} as credits,
          ${sumOf("input_tokens")} as input_tokens, ${sumOf("output_tokens")} as output_tokens
        from usage_hours group by 1
      ), lost as materialized (
        select account_id, ${sumOf("credits")} as credits from loan_write_offs group by 1
      )`,
    id: "coalesce(balances.account_id, accounts.id)",
    pairs: {
      balance_row: ["balances.account_id", "accounts.id"],
      balance: ["balance", "coalesce(left_over.credits, 0)"],
      held: ["held", "coalesce(held_now.credits, 0)"],
      hours: ["consumed", "coalesce(used.credits, 0)"],
      requests: ["balances.requests", "coalesce(used.requests, 0)"],
      input_tokens: ["balances.input_tokens", "coalesce(used.input_tokens, 0)"],
      output_tokens: ["balances.output_tokens", "coalesce(used.output_tokens, 0)"],
      written_off: ["written_off", "coalesce(lost.credits, 0)"],
    },
    from: `balances full join accounts on accounts.id = balances.account_id
      left join left_over on left_over.account_id = balances.account_id
      left join held_now on held_now.account_id = balances.account_id
      left join used on used.account_id = balances.account_id
      left join lost on lost.account_id = balances.account_id`,
  },
  // A key was last used in the last hour that has a roll-up of it.
  {
    noun: "key",
    name: "uses of keys",
    id: "coalesce(key_uses.key_id, used.key_id)",
    pairs: { last_used: ["last_used_at_ms / 3600000 * 3600000", "used.at_ms"] },
    from: `(
      select key_id, max(hour_at_ms) as at_ms from usage_hours group by 1
    ) as used full join key_uses on key_uses.key_id = used.key_id`,
  },
  {
    noun: "key",
    name: "owners of keys",
    id: "keys.id",
    pairs: { key_account: ["account_id", "accounts.id"] },
    from: "keys left join accounts on accounts.id = account_id",
  },
];
