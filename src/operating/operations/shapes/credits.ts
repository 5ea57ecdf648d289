import * as z from "zod";
import type { Entry } from "../../../money/ledger/mod.ts";
import { credits, describer, timestamp } from "./common.ts";

/** A lot as commands and the API show it. */
export const lotShape = z.strictObject({
  id: z.string(),
  source: z.string(),
  note: z.string(),
  models: z.array(z.string()).nullable().describe(
    "What it pays for: IDs of routes, and prefixes ending in `*`; `null`: all models.",
  ),
  granted: credits,
  remaining: credits,
  created_at: timestamp,
  expires_at: timestamp.nullable(),
});

/** An entry of the ledger. */
export const entryShape = z.strictObject({
  cause: z.string().describe("ID of a request, a lot (its grant), an expiry or a take-back."),
  lot: z.string(),
  kind: z.enum(["grant", "charge", "expire", "take_back"]),
  credits,
  at: timestamp,
  source: z.string(),
  note: z.string(),
  reason: z.string(),
});

/** Describes a lot. */
export const describeLot = describer(lotShape);

/** Describes an entry. */
export const describeEntry = describer(entryShape, ({ causeId, lotId }: Entry) => ({
  cause: causeId,
  lot: lotId,
}));
