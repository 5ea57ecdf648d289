import type { LastReload } from "../doors/console/mod.ts";

/** How a reload went. */
export interface Reload extends LastReload {
  /** How many there were, this one included. */
  readonly count: number;
}
