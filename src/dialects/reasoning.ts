/** How a model reasons: not at all, when `thinking` asks for it, always, or always with an effort. */
export type Reasoning = "none" | "thinking" | "always" | "effort";

/** How a request wants the model to reason, in no dialect's words. */
export interface ReasoningRequest {
  readonly enabled?: boolean;
  /** An effort that the route knows. */
  readonly effort?: string;
}
