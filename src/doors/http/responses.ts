import { nearestWindow } from "../../requests/admission/mod.ts";
import type { AccountStatus, Budget } from "../../money/ledger/mod.ts";
import { CLAUDE_CODE } from "../../people/accounts/mod.ts";
import { Refusal } from "../../ground/refusal.ts";
import { STATUS_CODE } from "../../ground/std/mod.ts";
import { SIMULATED_HEADER } from "../../requests/upstreams/mod.ts";
import { DIALECTS } from "../../wire/dialects/mod.ts";
import { blockedHeaders, claudeCodeError, claudeCodeHeaders, shareOf } from "../tools/mod.ts";
import { codexHeaders } from "./codex.ts";
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

/** Headers of an event stream. */
export const EVENT_STREAM = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/** Headers with the caller's status, as its client reads them. */
export function statusHeaders(
  { isCodex, caller, path, granted }: Pick<RequestState, "isCodex" | "caller" | "path" | "granted">,
  accountStatus: AccountStatus,
  nowMs: number,
): Record<string, string> {
  const headers = accountStatusHeaders(accountStatus, nowMs);
  const tool = caller?.tool ?? null;
  if (isCodex) {
    return { ...headers, ...codexHeaders(accountStatus, nowMs, { showsBudget: tool !== null }) };
  }
  return tool === CLAUDE_CODE && path === MESSAGES.path
    ? { ...headers, ...claudeCodeHeaders(shareOf(accountStatus, granted)) }
    : headers;
}

const MESSAGES = DIALECTS.messages.front;

/** What a request is refused with while the gateway shuts down. */
export function shuttingDown(): Refusal {
  return new Refusal("gateway_unavailable", "The gateway is shutting down. Please try again.", {
    retryAfterMs: 2_000,
  });
}

/** A refusal as a response, in the dialect of its path. */
export function errorResponse(
  state: RequestState,
  refusal: Refusal,
  nowMs: number,
): Response {
  const { path, requestId, headers, accountStatus, header, model = "" } = state;
  const front = state.front ?? frontAt(path);
  const told = front === MESSAGES && state.caller?.tool === CLAUDE_CODE
    ? claudeCodeError(refusal)
    : undefined;
  const describe = front === MESSAGES ? accountStatusHeaders : statusHeaders.bind(null, state);
  const own: Record<string, string> = {
    ...headers,
    ...(accountStatus === undefined ? {} : describe(accountStatus, nowMs)),
    "content-type": "application/json",
  };
  if (refusal.simulated) own[SIMULATED_HEADER] = "true";
  if (!refusal.retryable) own["x-should-retry"] = "false";
  const { status } = told ?? refusal;
  if (told?.isBlocked) {
    Object.assign(
      own,
      blockedHeaders(accountStatus && shareOf(accountStatus, state.granted), nowMs),
    );
  } else if (status === STATUS_CODE.TooManyRequests || status === STATUS_CODE.ServiceUnavailable) {
    const seconds = Math.ceil((refusal.retryAfterMs ?? 5_000) / 1_000);
    own["retry-after"] = String(Math.max(1, seconds));
  }
  const streamed = front.streamedRefusal?.(refusal, { header, requestId, model });
  if (streamed !== undefined) {
    return new Response(streamed, { headers: { ...own, ...EVENT_STREAM } });
  }
  const body = front.errorBody(refusal, requestId);
  if (told !== undefined) Object.assign(body.error as object, { type: told.type });
  return new Response(JSON.stringify(body), { status, headers: own });
}

/** The response to a request that should have been a WebSocket handshake. */
export function upgradeRequired(
  { path, requestId, headers }: Pick<RequestState, "path" | "requestId" | "headers">,
  refusal: Refusal,
): Response {
  const body = JSON.stringify(frontAt(path).errorBody(refusal, requestId));
  return new Response(body, {
    status: STATUS_CODE.UpgradeRequired,
    headers: {
      ...headers,
      "content-type": "application/json",
      "upgrade": "websocket",
      "sec-websocket-version": "13",
      "x-should-retry": "false",
    },
  });
}
