/**
 * How a model reasons: not at all, when asked by `thinking`, always, or always with an effort.
 */
export type Reasoning = "none" | "thinking" | "always" | "effort";

/** The efforts of the service. */
export type Effort = "low" | "high" | "max";

/** What is asked of a model's reasoning, in neither dialect's words. */
export interface ReasoningAsk {
  readonly thinking?: boolean;
  readonly effort?: Effort;
}
