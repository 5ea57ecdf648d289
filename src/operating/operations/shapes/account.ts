import * as z from "zod";
import { type Account, ROLES } from "../../../people/accounts/mod.ts";
import { iso, timestamp } from "./common.ts";

/** An account as commands and the API show it. */
export const accountShape = z.strictObject({
  id: z.string(),
  email: z.string(),
  name: z.string(),
  kind: z.enum(["person", "service", "pool"]),
  role: z.enum(ROLES),
  created_at: timestamp,
  disabled_at: timestamp.nullable(),
});

/** Describes an account. */
export function describeAccount(account: Account): z.output<typeof accountShape> {
  return {
    id: account.id,
    email: account.email,
    name: account.name,
    kind: account.kind,
    role: account.role,
    created_at: iso(account.createdAtMs),
    disabled_at: iso(account.disabledAtMs),
  };
}
