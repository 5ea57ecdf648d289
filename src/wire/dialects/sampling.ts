/** Sampling that is sent where the client leaves it out. The contract's defaults, the same for all dialects. */
export const DEFAULT_SAMPLING = { temperature: 0.6, topP: 1 } as const;
