import {
  isSimulated,
  SIMULATED_HEADER,
  type TargetPlan,
  type UpstreamReply,
} from "../upstreams/mod.ts";

/** What headers tell of how a reply came about. */
export interface ReplyOrigin {
  readonly plan: TargetPlan;
  readonly reply: UpstreamReply;
  /** Names of fields that were not sent. */
  readonly dropped?: readonly string[];
  /** Fields with the values that they were changed to. */
  readonly adjusted?: readonly string[];
}

/** Headers of a successful response. */
export function replyHeaders(
  { plan, reply, dropped = [], adjusted = [] }: ReplyOrigin,
): Record<string, string> {
  return {
    "x-sluice-upstream": plan.target.upstream,
    ...(plan.ownKey === undefined ? {} : { "x-sluice-own-key": plan.ownKey.owner }),
    ...(isSimulated(reply) ? { [SIMULATED_HEADER]: "true" } : {}),
    ...(dropped.length === 0 ? {} : { "x-sluice-ignored": dropped.join(", ") }),
    ...(adjusted.length === 0 ? {} : { "x-sluice-adjusted": adjusted.join(", ") }),
  };
}
