import { isJson, typeIfNeeded } from "../../sql/mod.ts";
import type { Migration } from "./migration.ts";

/** What a reply said of how it was made, and what beyond input, cached input and output its charge is of. */
export const CHARGE_DETAILS: Migration = {
  version: 28,
  name: "charge_details",
  statements: [
    `alter table usage_records add column details text check (${
      isJson("details")
    } and length(details) <= 4000)`,
    `alter table settling add column details ${typeIfNeeded("text")}`,
  ],
};
