import type { AppliedReasoning, ParsedRequest } from "../dialect.ts";
import type { RouteReasoning } from "../reasoning.ts";

/** Fits what a responses body says of reasoning to how its route reasons. */
export function applyReasoning(_request: ParsedRequest, _route: RouteReasoning): AppliedReasoning {
  throw new Error("not written yet");
}
