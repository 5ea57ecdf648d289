import * as z from "zod";
import { ROLES } from "../../../people/accounts/mod.ts";
import { describer, timestamp } from "./common.ts";

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
export const describeAccount = describer(accountShape);
