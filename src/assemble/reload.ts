/** How a reload went. */
export interface Reload {
  /** How many there were, this one included. */
  readonly count: number;
  readonly atMs: number;
  /** Why the settings in use stayed; null if the new ones are used. */
  readonly fault: string | null;
  /** Changed settings that need a restart. */
  readonly needRestart: readonly string[];
}
