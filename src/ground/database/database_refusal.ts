import { Refusal } from "../refusal.ts";
import { DatabaseError } from "./database.ts";

/** A thrown value, with a database's failure said as a refusal: the gateway cannot take requests now. */
export function databaseRefusal(error: unknown): unknown {
  if (!(error instanceof DatabaseError)) return error;
  return new Refusal(
    "gateway_unavailable",
    "The gateway's database cannot be used now. Please try again.",
    { cause: error, retryAfterMs: 2_000 },
  );
}
