import type { Rule } from "../../../ground/database/mod.ts";
import { countsIn } from "./sql/budgets.ts";
import { addToHours, rolledUp } from "./sql/roll_ups.ts";
import { addToTags } from "./sql/tags.ts";
import { notInSet } from "./sql/shared.ts";

const RECORD = rolledUp("charged_credits");

/**
 * A record is added to its hour and day, to those of its tags and of why it failed, to its account's sums, and to what its
 * key's budgets have spent in the periods in which the request was admitted.
 */
export const ADD_UP: Rule = {
  name: "add_up",
  objects: [
    {
      trigger: "usage_records_insert_adds_up",
      event: "after insert",
      on: "usage_records",
      when: notInSet("new.request_id"),
      statements: [
        ...addToHours(RECORD),
        `update balances set
      consumed = consumed + new.charged_credits,
      requests = requests + 1,
      input_tokens = input_tokens + new.input_tokens,
      output_tokens = output_tokens + new.output_tokens
    where account_id = new.account_id`,
        `update budget_periods set spent = spent + new.charged_credits
    where new.charged_credits > 0
      and ${countsIn("new.key_id", "coalesce(new.admitted_at_ms, new.started_at_ms)")}`,
      ],
    },
    {
      trigger: "usage_records_insert_adds_tags",
      event: "after insert",
      on: "usage_records",
      when: `(new.tags is not null or new.ending <> 'complete') and ${notInSet("new.request_id")}`,
      statements: addToTags(RECORD),
    },
  ],
};
