import type { Rule } from "../../database/mod.ts";
import { addToHours, countsIn, notInSet, savedMillionths } from "./fragments.ts";

/**
 * A record is added to its hour, to its account's sums, and to what its key's budgets have spent in the periods in which
 * the request was admitted.
 */
export const ADD_UP: Rule = {
  name: "add_up",
  sql: [
    `create trigger usage_records_insert_adds_up after insert on usage_records
    when ${notInSet("new.request_id")} begin
    ${
      addToHours(`
    values (new.account_id, new.started_at_ms / 3600000 * 3600000, new.key_id, new.route, 1,
      new.ending <> 'complete', new.input_tokens, new.cached_tokens, new.output_tokens,
      new.duration_ms, new.charged_credits, ${savedMillionths("new.")})`)
    }
    update balances set
      consumed = consumed + new.charged_credits,
      requests = requests + 1,
      input_tokens = input_tokens + new.input_tokens,
      output_tokens = output_tokens + new.output_tokens
    where account_id = new.account_id;
    update budget_periods set spent = spent + new.charged_credits
    where new.charged_credits > 0
      and ${countsIn("new.key_id", "coalesce(new.admitted_at_ms, new.started_at_ms)")};
  end`,
  ],
};
