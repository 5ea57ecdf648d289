import { Refusal } from "../../ground/refusal.ts";
import type { Failure } from "./failure.ts";

const LONGEST_RETRY_AFTER_MS = 60_000;
const DEFAULT_RETRY_AFTER_MS = 5_000;

/** A target's failure when each of its keys failed: one that only has to wait says when to come back. */
export function verdictOfKeys(failures: readonly Failure[]): Failure {
  const limited = failures.filter(({ ofKey }) => ofKey === "limited")
    .toSorted((a, b) => (a.retryAfterMs ?? Infinity) - (b.retryAfterMs ?? Infinity));
  return limited[0] ?? failures.find(({ kind }) => kind !== "busy") ?? failures.at(-1)!;
}

/** The error when all attempts failed: 404 if no target has the model, 400 if the request is to blame, 429 if all others were busy, else 503. */
export function verdict(failures: readonly Failure[]): Refusal {
  const isUnknown = ({ refusal }: Failure) => refusal.reason === "model_unknown";
  const isOfRequest = (one: Failure) => isUnknown(one) || one.refusal.reason === "request_invalid";
  if (failures.length > 0 && failures.every(isOfRequest)) return failures.at(-1)!.refusal;
  const told = failures.filter(({ retryAfterMs }) => retryAfterMs !== undefined)
    .map(({ retryAfterMs }) => retryAfterMs!);
  const retryAfterMs = Math.min(
    LONGEST_RETRY_AFTER_MS,
    told.length === 0 ? DEFAULT_RETRY_AFTER_MS : Math.min(...told),
  );
  const rest = failures.filter((one) => !isUnknown(one));
  // over the upstream's own limit, or over what the settings let be sent there
  const isBusy = (one: Failure) => one.refusal.reason === "rate_exceeded";
  const busy = rest.every(isBusy);
  const refusal = rest.findLast((one) => busy || !isBusy(one))?.refusal;
  const all = new Refusal(
    refusal?.reason ?? "upstream_unavailable",
    refusal?.message ?? "No upstream is available. Please try again.",
    { retryAfterMs, cause: refusal },
  );
  all.simulated = refusal?.simulated ?? false;
  return all;
}
