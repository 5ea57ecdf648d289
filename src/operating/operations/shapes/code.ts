import * as z from "zod";
import type { RedemptionCode } from "../../../money/payments/mod.ts";
import { credits, iso, timestamp } from "./common.ts";

/** A redemption code as commands and the API show it, without the code itself. */
export const codeShape = z.strictObject({
  id: z.string(),
  hint: z.string().describe("First characters of the code."),
  package: z.string().nullable(),
  credits,
  valid_days: z.int().nullable().describe("Lifetime of its credits; `null`: never expire."),
  note: z.string(),
  created_at: timestamp,
  expires_at: timestamp.nullable().describe("Until when it can be redeemed; `null`: always."),
  revoked_at: timestamp.nullable(),
  redeemed_at: timestamp.nullable(),
  redeemed_by: z.string().nullable().describe("Account that redeemed it."),
});

/** Describes a code. */
export function describeCode(code: RedemptionCode): z.output<typeof codeShape> {
  return {
    id: code.id,
    hint: code.hint,
    package: code.packageId,
    credits: code.credits,
    valid_days: code.validDays,
    note: code.note,
    created_at: iso(code.createdAtMs),
    expires_at: iso(code.expiresAtMs),
    revoked_at: iso(code.revokedAtMs),
    redeemed_at: iso(code.redeemedAtMs),
    redeemed_by: code.redeemedBy,
  };
}
