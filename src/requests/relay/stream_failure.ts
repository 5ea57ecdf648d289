import { brokenOff } from "../../wire/dialects/mod.ts";
import type { Refusal } from "../../ground/refusal.ts";
import { ExchangeFailed, TransportFault } from "../upstreams/mod.ts";
import { errorOf } from "./failed_end.ts";
import { stoppingRefusal } from "./lifecycle.ts";

/** The error that a client gets for what a stream failed with. */
export function streamRefusal(error: unknown, cutOff: AbortSignal): Refusal {
  if (cutOff.aborted) return stoppingRefusal();
  if (error instanceof TransportFault) return brokenOff(error);
  if (error instanceof ExchangeFailed) return error.refusal;
  return errorOf(error);
}

/** Whether a reply may have failed for what its client asked for: it went beyond a limit, or the upstream rejects the request. */
export function isAsked(error: unknown, refusal: Refusal): boolean {
  return refusal.ofThisRequest || error instanceof TransportFault && error.isLimit ||
    refusal.status < 500 && refusal.reason !== "rate_exceeded";
}
