import { setImmediate } from "node:timers";

/** Resolves when all that has happened is handled, without waiting for anything else. */
export function endOfTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
