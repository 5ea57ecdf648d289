/**
 * Whether a model's thinking is set by a level and its signatures are checked, as of Gemini 3; older ones have a budget of tokens. What
 * names neither is taken for a new one (ai.google.dev, thinking and thought signatures).
 */
export function reasonsByLevel(model: string): boolean {
  return !/\bgemini-(?:1|2)(?:\.|-|$)|\bgemma-|\blearnlm-/i.test(model);
}
