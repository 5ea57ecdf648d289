import type { Rule } from "../../../ground/database/mod.ts";
import { refuse } from "./sql/shared.ts";

/** Columns of the log that nothing writes again. */
const KEPT = [
  ...["id", "at_ms", "operation", "door", "address", "actor", "actor_id"],
  ...["key_id", "account_id", "team_id", "object_id", "before", "outcome", "error"],
];

/**
 * The log of operations is only added to. How the object looked after an operation is written once, right after the operation;
 * nothing else of a row is changed. Rows are deleted only when they are older than the log is kept, and that time only moves
 * forward.
 */
export const KEEP_LOG: Rule = {
  name: "keep_log",
  objects: [
    {
      trigger: "operation_log_update_is_refused",
      event: "before update",
      on: "operation_log",
      when: [
        "old.after is not null or new.after is null or old.outcome <> 'done'",
        // not as rows: PostgreSQL's text of that has another text after `pg_dump`
        ...KEPT.map((column) => `new.${column} is distinct from old.${column}`),
      ].join("\n      or "),
      refuses: "the log of operations is only added to",
    },
    {
      trigger: "operation_log_delete_is_refused",
      event: "before delete",
      on: "operation_log",
      when: "old.at_ms >= (select before_ms from operation_log_pruned)",
      refuses: "the log of operations is only added to",
    },
    {
      trigger: "operation_log_pruned_update_is_refused",
      event: "before update",
      on: "operation_log_pruned",
      when: "new.id <> old.id or new.before_ms < old.before_ms",
      refuses: "the log of operations is pruned forward",
    },
    refuse("delete", "operation_log_pruned", "the log of operations is pruned forward"),
  ],
};
