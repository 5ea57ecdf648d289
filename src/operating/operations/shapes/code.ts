import * as z from "zod";
import type { RedemptionCode } from "../../../money/payments/mod.ts";
import { credits, describer, timestamp } from "./common.ts";

/** A redemption code as commands and the API show it, without the code itself. */
export const codeShape = z.strictObject({
  id: z.string(),
  hint: z.string().describe("First characters of the code."),
  package: z.string().nullable(),
  credits,
  valid_days: z.int().nullable().describe("Lifetime of its credits; `null`: never expire."),
  models: z.array(z.string()).nullable().describe("What its credits pay for; `null`: all models."),
  note: z.string(),
  created_at: timestamp,
  expires_at: timestamp.nullable().describe("Until when it can be redeemed; `null`: always."),
  revoked_at: timestamp.nullable(),
  redeemed_at: timestamp.nullable(),
  redeemed_by: z.string().nullable().describe("Account that redeemed it."),
});

/** Describes a code. */
export const describeCode = describer(
  codeShape,
  (code: RedemptionCode) => ({ package: code.packageId }),
);
