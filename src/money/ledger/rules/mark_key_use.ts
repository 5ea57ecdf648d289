import { greatest, type Rule } from "../../../ground/database/mod.ts";
import { notInSet } from "./sql/shared.ts";

/** A key was last used when the latest of its requests began. */
export const MARK_KEY_USE: Rule = {
  name: "mark_key_use",
  objects: [{
    trigger: "usage_records_insert_marks_key",
    event: "after insert",
    on: "usage_records",
    when: notInSet("new.request_id"),
    statements: [
      `insert into key_uses (key_id, last_used_at_ms) values (new.key_id, new.started_at_ms)
    on conflict (key_id) do update set
      last_used_at_ms = ${greatest("key_uses.last_used_at_ms", "excluded.last_used_at_ms")}`,
    ],
  }],
};
