import type { Caller } from "../../people/accounts/mod.ts";
import type { Decision } from "../../money/ledger/mod.ts";
import { Refusal } from "../../ground/refusal.ts";
import { budgetRefusal } from "./budget_refusal.ts";
import { creditsText } from "./credits_text.ts";
import { nearestWindow } from "./windows.ts";

/** `Retry-After` for an account that is limited to one request at a time. */
const UNCOLLECTED_RETRY_MS = 2_000;

/** `Retry-After` for a request that waits for another one whose reserve is incomplete, too. */
const UNRESERVED_RETRY_MS = 2_000;

/** The same where a key has as many requests in flight as it may. */
const AT_ONCE_RETRY_MS = 1_000;

/** The longest where credits are lent to a gateway that does not answer: it returns them as soon as it does. */
const MAX_LENT_RETRY_MS = 60_000;

/**
 * Makes the refusal of a request that was not admitted: why, and when to try again.
 *
 * @param request Who sent it, the credits that it costs at least, and when it came, in milliseconds since the epoch.
 */
export function refusalOf(
  { verdict, balance, bound, windows, budget, lentMs }: Decision,
  { caller, least, nowMs }: {
    readonly caller: Caller;
    readonly least: number;
    readonly nowMs: number;
  },
): Refusal {
  const isFull = windows.some(({ limit, used }) => used >= limit);
  if (verdict === "rate" && !isFull && caller.atOnce !== null) {
    return new Refusal(
      "rate_exceeded",
      `Too many requests at once: the limit is ${caller.atOnce} for this key. Wait for one in flight to end.`,
      { retryAfterMs: AT_ONCE_RETRY_MS },
    );
  }
  if (verdict === "rate") {
    const { of, span, limit, resetAtMs } = nearestWindow(windows, nowMs)!;
    const seconds = Math.ceil((resetAtMs - nowMs) / 1_000);
    return new Refusal(
      "rate_exceeded",
      `Rate limit reached: ${limit} requests per ${span} for this ${of}. Please try again in ` +
        `${seconds} s.`,
      { retryAfterMs: resetAtMs - nowMs },
    );
  }
  if (verdict === "uncollected") {
    return new Refusal(
      "rate_exceeded",
      "This account has uncollected charges, so it is limited to one request at a time. " +
        "Wait for the in-flight request to end, or add credits to lift the limit.",
      { retryAfterMs: UNCOLLECTED_RETRY_MS },
    );
  }
  if (verdict === "unreserved") {
    return new Refusal(
      "rate_exceeded",
      "Only the upstream gets to know how much this request costs (it has documents, images or tools that run there), and the " +
        "credits do not cover the most that may be. Such requests run one at a time. Wait for the in-flight one to end, or add credits.",
      { retryAfterMs: UNRESERVED_RETRY_MS },
    );
  }
  if (verdict === "period") {
    return new Refusal("gateway_unavailable", "A budget cannot be renewed. Please try again.");
  }
  if (verdict === "budget" && !lentMs) {
    return budgetRefusal(budget!, { caller, least, isLent: lentMs === 0 });
  }
  if (lentMs === 0) {
    return new Refusal(
      "gateway_unavailable",
      "Credits of this account are lent to a gateway that is gone. They are free again when it is started with its data directory, or " +
        "when an operator writes them off (sluice credits write-off).",
    );
  }
  if (lentMs !== undefined) {
    const part = verdict === "budget"
      ? "Part of a budget is"
      : "Part of the credits of this account is";
    return new Refusal(
      "gateway_unavailable",
      `${part} lent to a gateway that does not answer, which may spend it for another ${
        Math.ceil(lentMs / 1_000)
      } s, unless it comes back before. Please try again.`,
      { retryAfterMs: Math.min(lentMs, MAX_LENT_RETRY_MS) },
    );
  }
  const has = `balance of ${creditsText(balance)}`;
  if (balance > 0 && windows.length === 0) {
    return new Refusal("credits_short", `No rate-limit tier covers a ${has}. Add credits.`);
  }
  if (balance === 0) {
    return new Refusal("credits_short", "The balance of this account is 0 credits. Add credits.");
  }
  const held = balance - bound >= least
    ? ", because other requests hold part of it"
    : balance >= least
    ? `, because ${creditsText(bound)} of it pay for other models only`
    : "";
  return new Refusal(
    "credits_short",
    `This request costs at least ${
      creditsText(least)
    }, which the ${has} does not cover${held}. Add credits, or ` +
      "shorten the request.",
  );
}
