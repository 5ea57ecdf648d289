import type { Reason } from "../../ground/refusal.ts";
import { STATUS_TEXT } from "../../ground/std/mod.ts";
import type { RequestRecord } from "../../money/usage/mod.ts";

/** Why a request failed, and what to do about it, in a sentence or two for each reason that a record can have. */
const EXPLANATIONS: Readonly<
  Record<Reason | "client_disconnected" | "client_slow", readonly [why: string, what: string]>
> = {
  key_invalid: ["The key is unknown, revoked or expired.", "Use an active key."],
  credits_short: [
    "The balance could not pay for the request: its input, and the output that it may have, are held before it is sent.",
    "Add credits, or send less input or a lower limit of output tokens.",
  ],
  budget_spent: [
    "A budget that applies to the key is spent.",
    "Wait until it renews, or raise it.",
  ],
  permission_denied: [
    "The account is disabled, or the key may not use this model.",
    "Change the models of the key, or use another one.",
  ],
  rate_exceeded: [
    "A rate limit was reached: of the key, of the account, or of every upstream that serves the model.",
    "Send it again after the time in the Retry-After header.",
  ],
  request_invalid: [
    "The request itself is not valid for this model.",
    "Change what the message names: the same request fails again.",
  ],
  image_too_large: ["An image is larger than allowed.", "Send a smaller image."],
  context_exceeded: [
    "The input leaves no room in the model's context window.",
    "Send less input, or use a model with a larger window.",
  ],
  model_unknown: ["No model has this name.", "Choose one of the models."],
  path_unknown: ["Unknown path.", "Check the base URL of your client."],
  upstream_unavailable: [
    "No upstream that serves the model replied in full.",
    "Sending it again can succeed.",
  ],
  gateway_unavailable: [
    "The gateway could not take the request: it was stopping, or its database could not be written.",
    "Sending it again can succeed.",
  ],
  internal: [
    "The gateway failed. Its log has the error.",
    "Sending it again can succeed; tell your operator the ID of the request.",
  ],
  client_disconnected: [
    "The client closed the connection before the end of the response.",
    "If it was not on purpose, check timeouts of the client and of proxies in between.",
  ],
  client_slow: [
    "The client stopped reading the response, and the gateway waited no longer.",
    "Read responses as they come.",
  ],
};

/** Says in words why a request failed; `undefined` for one that is complete, or whose reason was not recorded. */
export function failureWords(
  { ending, reason, status, attempts, attemptList, chargedCredits }: Pick<
    RequestRecord,
    "ending" | "reason" | "status" | "attempts" | "attemptList" | "chargedCredits"
  >,
): string | undefined {
  if (ending === "complete" || reason === null) return undefined;
  const explained = EXPLANATIONS as Readonly<Record<string, readonly [string, string]>>;
  const [why, what] = explained[reason] ?? [`It failed: ${reason}.`, ""];
  const isClients = reason === "client_disconnected" || reason === "client_slow";
  return [
    why,
    attemptWords(attempts, attemptList),
    isClients ? "" : `The client got status ${status} ${STATUS_TEXT[status] ?? ""}`.trim() + ".",
    what,
    chargedCredits === 0 ? "Nothing was charged." : "",
  ].filter((sentence) => sentence !== "").join(" ");
}

/** Says what came of the attempts, counted by upstream and outcome. */
function attemptWords(attempts: number, attemptList: RequestRecord["attemptList"]): string {
  if (attempts === 0) return "It was not sent to an upstream.";
  if (attemptList === undefined || attemptList.length === 0) return "";
  const outcomes = new Map<string, number>();
  for (const { upstream, outcome } of attemptList) {
    const words = `${upstream} (${outcome}`;
    outcomes.set(words, (outcomes.get(words) ?? 0) + 1);
  }
  const list = [...outcomes].map(([words, count]) =>
    count === 1 ? `${words})` : `${words}, ${count} times)`
  );
  return `${attempts === 1 ? "Its attempt" : `Its ${attempts} attempts`}: ${list.join(", ")}.`;
}
