import type { Migration } from "./migration.ts";

/** How many requests of a key may be in flight at once. */
export const KEYS_AT_ONCE: Migration = {
  version: 29,
  name: "keys_at_once",
  statements: ["alter table keys add column at_once integer check (at_once > 0)"],
};
