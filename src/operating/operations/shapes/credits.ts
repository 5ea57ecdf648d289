import * as z from "zod";
import type { Entry, Lot } from "../../../money/ledger/mod.ts";
import { credits, iso, timestamp } from "./common.ts";

/** A lot as commands and the API show it. */
export const lotShape = z.strictObject({
  id: z.string(),
  source: z.string(),
  note: z.string(),
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
export function describeLot(lot: Lot): z.output<typeof lotShape> {
  return {
    id: lot.id,
    source: lot.source,
    note: lot.note,
    granted: lot.granted,
    remaining: lot.remaining,
    created_at: iso(lot.createdAtMs),
    expires_at: iso(lot.expiresAtMs),
  };
}

/** Describes an entry. */
export function describeEntry(entry: Entry): z.output<typeof entryShape> {
  return {
    cause: entry.causeId,
    lot: entry.lotId,
    kind: entry.kind,
    credits: entry.credits,
    at: iso(entry.atMs),
    source: entry.source,
    note: entry.note,
    reason: entry.reason,
  };
}
