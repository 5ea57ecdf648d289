import { asRefusal, Refusal } from "../refusal.ts";
import { DatabaseError } from "./database.ts";

/**
 * Converts any thrown value to a refusal. A database's failure says that the gateway cannot take requests now: 503, never a fault of the
 * caller's.
 *
 * @returns The refusal itself, 503 with the time to wait for a {@linkcode DatabaseError}, or a 500 without details for anything else.
 */
export function refusalOf(error: unknown): Refusal {
  if (!(error instanceof DatabaseError)) return asRefusal(error);
  return new Refusal(
    "gateway_unavailable",
    "The gateway's database cannot be used now. Please try again.",
    { cause: error, retryAfterMs: 2_000 },
  );
}
