import type { Reason } from "../../ground/refusal.ts";
import type { RequestRecord } from "./records.ts";

/** How a request ended, for people. */
export type Outcome =
  | "complete"
  | "rejected"
  | "upstream failed"
  | "gateway failed"
  | "client disconnected"
  | "failed";

/** A few words for each reason that a record can have. */
const WORDS: Readonly<Record<Reason | "client_disconnected" | "client_slow", string>> = {
  key_invalid: "invalid key",
  credits_short: "not enough credits",
  budget_spent: "budget spent",
  permission_denied: "not allowed",
  rate_exceeded: "rate limited",
  request_invalid: "invalid request",
  image_too_large: "image too large",
  context_exceeded: "input too long",
  model_unknown: "unknown model",
  path_unknown: "unknown path",
  upstream_unavailable: "upstream unavailable",
  gateway_unavailable: "gateway unavailable",
  internal: "internal error",
  client_disconnected: "client disconnected",
  client_slow: "client stopped reading",
};

type Described = Pick<
  RequestRecord,
  "ending" | "reason" | "attempts" | "attemptList" | "upstream" | "upstreamModel" | "firstTokenMs"
>;

/** Says how a request ended; a failure of the gateway's own is not called an upstream's. */
export function outcomeOf(
  { ending, reason, attempts }: Pick<RequestRecord, "ending" | "reason" | "attempts">,
): Outcome {
  if (reason === "gateway_unavailable" || reason === "internal") return "gateway failed";
  switch (ending) {
    case "complete":
      return "complete";
    case "refused":
      return "rejected";
    case "client_left":
      return "client disconnected";
    default:
      return attempts === 0 ? "failed" : "upstream failed"; // of before schema 10, without a reason
  }
}

/** Says a reason in a few words; one of a later version stays as it is. */
export function reasonWords(reason: string): string {
  return (WORDS as Readonly<Record<string, string>>)[reason] ?? reason;
}

/** Says in a few words why a request failed, with what came of its last attempt; `undefined` if nothing is known. */
export function shortReasonOf(
  { reason, attemptList }: Pick<Described, "reason"> & {
    readonly attemptList?: readonly Readonly<Record<string, unknown>>[] | undefined;
  },
): string | undefined {
  if (reason === null) return undefined;
  const words = reasonWords(reason);
  const last = attemptList?.at(-1)?.outcome;
  const isUpstreams = reason === "upstream_unavailable" || reason === "rate_exceeded";
  return isUpstreams && last !== undefined ? `${words}: ${last}` : words;
}

/** Names the upstream that replied; for a request without a reply, says that and names the last one tried. */
export function repliedBy(record: Described): string {
  const { upstream, upstreamModel } = record;
  if (upstream === null) return "none";
  const target = `${upstream} as ${upstreamModel}`;
  const hasReplied = record.ending === "complete" || record.firstTokenMs !== null;
  return hasReplied ? target : `no reply; last tried ${target}`;
}
