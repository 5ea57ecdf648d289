import { type Dialect, DIALECTS, type Front } from "../dialects/mod.ts";
import { nearestWindow } from "../admission/mod.ts";
import type { Caller } from "../accounts/mod.ts";
import type { AccountStatus } from "../ledger/mod.ts";
import type { Refusal } from "../refusal.ts";
import { STATUS_CODE } from "../std/mod.ts";
import { SIMULATED_HEADER } from "../upstreams/mod.ts";

/** What every answer to one request begins with. */
export interface ResponseBase {
  readonly requestId: string;
  /** What the caller calls the request. */
  readonly clientRequestId: string | undefined;
  /** Path without the query. */
  readonly path: string;
  /** Request ids and what browsers are told. */
  readonly headers: Readonly<Record<string, string>>;
  /** The client's end of the connection. */
  readonly peer: Deno.Addr | undefined;
  /** Who asks, once a key is known. */
  caller?: Caller;
  /** Where the caller stands, once that is known. */
  accountStatus?: AccountStatus;
}

/** The credits and the request window that the caller is told. */
export function accountStatusHeaders(
  { balance, windows }: AccountStatus,
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
  };
}

/** The dialect of a path: that of the endpoint at or above it, else the first one. */
function frontOf(path: string): Front {
  const all: readonly Dialect[] = Object.values(DIALECTS);
  const own = all.find(({ front }) => path === front.path || path.startsWith(`${front.path}/`));
  return (own ?? DIALECTS.chat).front;
}

/** A refusal in the words of its path's dialect. */
export function errorResponse(
  { path, requestId, headers, accountStatus }: ResponseBase,
  refusal: Refusal,
  nowMs: number,
): Response {
  const body = frontOf(path).errorBody(refusal, requestId);
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
  return new Response(JSON.stringify(body), { status, headers: own });
}
