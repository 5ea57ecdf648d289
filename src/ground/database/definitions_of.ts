import type { Database } from "./database.ts";
import type { Definitions } from "./definitions.ts";
import { POSTGRES_DEFINITIONS } from "./postgres/definitions.ts";
import { SQLITE_DEFINITIONS } from "./sqlite/definitions.ts";

/** How the schema and the rules of a database are defined. */
export function definitionsOf({ dialect }: Pick<Database, "dialect">): Definitions {
  return dialect === "postgres" ? POSTGRES_DEFINITIONS : SQLITE_DEFINITIONS;
}
