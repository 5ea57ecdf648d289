import type { Caller } from "../../people/accounts/mod.ts";
import type { HeaderLookup } from "../../wire/dialects/mod.ts";
import { FORWARDED_KEY_HEADER, type OwnKeyCaller, type TargetPlan } from "../upstreams/mod.ts";

/** How many of a request's plans are sent with keys of the caller's own. */
export type ShareOfOwnKeys = "none" | "some" | "all";

/** What a caller sends a request with. */
export function ownKeyCaller(caller: Caller, header: HeaderLookup): OwnKeyCaller {
  const { ownKeys, ownKeyUse, teamName } = caller;
  return { ownKeys, ownKeyUse, teamName, forwarded: header(FORWARDED_KEY_HEADER) ?? undefined };
}

/** Says how many of the plans are sent with keys of the caller's own. */
export function shareOfOwnKeys(plans: readonly Pick<TargetPlan, "ownKey">[]): ShareOfOwnKeys {
  const own = plans.filter(({ ownKey }) => ownKey !== undefined).length;
  return own === 0 ? "none" : own === plans.length ? "all" : "some";
}

/** The plans that a request was admitted for: those with own keys alone where its credits cover no others. */
export function admittedPlans<Plan extends Pick<TargetPlan, "ownKey">>(
  plans: readonly Plan[],
  { isOwnOnly }: { readonly isOwnOnly: boolean },
): readonly Plan[] {
  return isOwnOnly ? plans.filter(({ ownKey }) => ownKey !== undefined) : plans;
}

/** Whose keys all replies of a request came with; undefined if the gateway's had a part in it. */
export function ownerOfReplies(plans: readonly Pick<TargetPlan, "ownKey">[]) {
  return shareOfOwnKeys(plans) === "all" ? plans[0]!.ownKey!.owner : undefined;
}
