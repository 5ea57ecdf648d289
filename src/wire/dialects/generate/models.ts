/**
 * Whether a model's thinking is set by a level and its signatures are checked, as of Gemini 3; older ones have a budget of tokens. What
 * names neither is taken for a new one (ai.google.dev, thinking and thought signatures).
 */
export function reasonsByLevel(model: string): boolean {
  return !/\bgemini-(?:1|2)(?:\.|-|$)|\bgemma-|\blearnlm-/i.test(model);
}

/** Whether thinking cannot be switched off (ai.google.dev, thinking: 2.5 Pro and later Pro models). */
export function alwaysThinks(model: string): boolean {
  return /\bgemini-(?!1|2\.0)(?:[\w.]+-)*pro\b/i.test(model);
}

/** Maximum budget of thinking tokens that a model accepts: 32,768 for 2.5 Pro and its kin, 24,576 for others. */
export function maxThinkingBudget(model: string): number {
  return alwaysThinks(model) ? 32_768 : 24_576;
}
