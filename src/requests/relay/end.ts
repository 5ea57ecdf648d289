import type { Usage } from "../../wire/dialects/mod.ts";
import type { Ending, FailureRecord } from "../../money/ledger/mod.ts";
import type { SettledUsage } from "./charged_usage.ts";

/** How a request ended. */
export interface End {
  readonly ending: Ending;
  readonly status: number;
  /** What to charge by; undefined for nothing. */
  readonly usage?: Usage | undefined;
  readonly usageSource?: "upstream" | "counted" | undefined;
  /** What the gateway counted and what was reported, for reconciliation. */
  readonly counted?: SettledUsage["counted"];
  readonly reported?: SettledUsage["reported"];
  readonly hostedCalls?: SettledUsage["hostedCalls"];
  readonly kinds?: SettledUsage["kinds"];
  readonly told?: SettledUsage["told"];
  readonly requests?: SettledUsage["requests"];
  /** Why it failed; undefined for a complete response. */
  readonly failure?: FailureRecord | undefined;
  /** No client waits for it, so a database that is unavailable just now is waited for longer. */
  readonly patient?: boolean;
}
