import type { Database } from "./database.ts";
import type { Definitions } from "./definitions.ts";
import { POSTGRES_DEFINITIONS } from "./postgres/definitions.ts";
import { SQLITE_DEFINITIONS } from "./sqlite/definitions.ts";

/** How a database is told what its schema and its rules are made of. */
export function definitionsOf({ dialect }: Pick<Database, "dialect">): Definitions {
  return dialect === "postgres" ? POSTGRES_DEFINITIONS : SQLITE_DEFINITIONS;
}
