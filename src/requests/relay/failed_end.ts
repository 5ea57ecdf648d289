import { refusalOf } from "../../ground/database/mod.ts";
import type { FailureRecord } from "../../money/ledger/mod.ts";
import { type Reason, type Refusal } from "../../ground/refusal.ts";
import type { End } from "./end.ts";

/** Why requests end without an error for the client, which has disconnected. */
export type DisconnectReason = "client_disconnected" | "client_slow";

export const DISCONNECTED_BEFORE = {
  reason: "client_disconnected",
  message: "The client disconnected before the response began.",
} as const satisfies FailureRecord & { reason: DisconnectReason };

export const DISCONNECTED_DURING = {
  reason: "client_disconnected",
  message: "The client disconnected in the middle of the response.",
} as const satisfies FailureRecord & { reason: DisconnectReason };

/** The stream broke, perhaps because the client had kept its upstream waiting. */
export const KEPT_WAITING = {
  reason: "client_slow",
  message: "The client had stopped reading for a while when the stream broke off.",
} as const satisfies FailureRecord & { reason: DisconnectReason };

/** Reasons of failures that are the gateway's own, not an upstream's. */
const OWN_REASONS: readonly Reason[] = ["gateway_unavailable", "internal"];

/** The error that the client gets for a thrown value. */
export function errorOf(error: unknown): Refusal {
  return refusalOf(error);
}

/**
 * The end of a request that nothing is charged for, as its error says it.
 *
 * @param wasSent Whether any upstream was sent it; without, no upstream has failed.
 */
export function failedEnd(failure: Refusal, wasSent = true): End {
  const { reason, status } = failure;
  const isUpstreams = wasSent && (status >= 500 || status === 429) &&
    !OWN_REASONS.includes(reason);
  return { ending: isUpstreams ? "upstream_failed" : "refused", status, failure };
}
