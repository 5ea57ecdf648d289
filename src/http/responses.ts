import { nearestWindow } from "../admission/mod.ts";
import type { AccountStatus, Budget } from "../ledger/mod.ts";
import type { Refusal } from "../refusal.ts";
import { STATUS_CODE } from "../std/mod.ts";
import { SIMULATED_HEADER } from "../upstreams/mod.ts";
import { frontAt } from "./dialect_paths.ts";
import type { RequestState } from "./request_state.ts";

/** Headers with the credits, the request window and the budget of the caller. */
export function accountStatusHeaders(
  { balance, windows, budget }: AccountStatus,
  nowMs: number,
): Record<string, string> {
  const window = nearestWindow(windows, nowMs);
  return {
    "x-credits-remaining": String(balance),
    ...(window === undefined ? {} : {
      "x-ratelimit-limit": String(window.limit),
      "x-ratelimit-remaining": String(window.remaining),
      "x-ratelimit-reset": String(window.resetAtMs / 1_000),
    }),
    ...(budget === undefined ? {} : budgetHeaders(budget)),
  };
}

/** The unspent credits of a budget, and when it renews. */
function budgetHeaders({ credits, raise, spent, renewsAtMs }: Budget): Record<string, string> {
  const remaining = Math.max(0, credits + (raise?.credits ?? 0) - spent);
  return {
    "x-sluice-budget-remaining": String(remaining),
    ...(renewsAtMs === null ? {} : { "x-sluice-budget-reset": String(renewsAtMs / 1_000) }),
  };
}

/** A refusal as a response, in the dialect of its path. */
export function errorResponse(
  { path, requestId, headers, accountStatus }: RequestState,
  refusal: Refusal,
  nowMs: number,
): Response {
  const own: Record<string, string> = {
    ...headers,
    ...(accountStatus === undefined ? {} : accountStatusHeaders(accountStatus, nowMs)),
    "content-type": "application/json",
  };
  if (refusal.simulated) own[SIMULATED_HEADER] = "true";
  if (!refusal.retryable) own["x-should-retry"] = "false";
  const { status } = refusal;
  if (status === STATUS_CODE.TooManyRequests || status === STATUS_CODE.ServiceUnavailable) {
    const seconds = Math.ceil((refusal.retryAfterMs ?? 5_000) / 1_000);
    own["retry-after"] = String(Math.max(1, seconds));
  }
  const body = JSON.stringify(frontAt(path).errorBody(refusal, requestId));
  return new Response(body, { status, headers: own });
}
