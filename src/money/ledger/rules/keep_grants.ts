import type { Rule } from "../../../ground/database/mod.ts";

/** Each lot is kept a second time as it was granted, so that a later change of the lot shows. */
export const KEEP_GRANTS: Rule = {
  name: "keep_grants",
  objects: [{
    trigger: "lots_insert_is_kept",
    event: "after insert",
    on: "lots",
    statements: [
      `insert into grants (lot_id, account_id, source, note, credits, created_at_ms, expires_at_ms,
      models)
    values (new.id, new.account_id, new.source, new.note, new.granted, new.created_at_ms,
      new.expires_at_ms, new.models)`,
    ],
  }],
};
