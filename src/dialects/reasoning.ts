/**
 * How a model reasons: not at all, when asked by `thinking`, always, or always with an effort.
 */
export type Reasoning = "none" | "thinking" | "always" | "effort";
