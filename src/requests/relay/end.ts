import type { Ending, FailureRecord } from "../../money/ledger/mod.ts";
import type { SettledUsage } from "./charged_usage.ts";

/** How a request ended. */
export interface End extends Partial<Omit<SettledUsage, "usage">> {
  readonly ending: Ending;
  readonly status: number;
  /** What to charge by; undefined for nothing. */
  readonly usage?: SettledUsage["usage"] | undefined;
  /** Why it failed; undefined for a complete response. */
  readonly failure?: FailureRecord | undefined;
  /** No client waits for it, so a database that is unavailable just now is waited for longer. */
  readonly patient?: boolean;
}
