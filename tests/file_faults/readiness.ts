import { sleep } from "../fake/temp.ts";
import type { Outcome } from "./callers.ts";

const EVERY_MS = 50;
const GIVE_UP_MS = 8_000;
/** What callers meet within this time before and after is what `/readyz` should have said. */
const WINDOW_MS = 300;

const READY = "ready while no charge could be written";
export const NOT_READY = "not ready while charges were written";

/** What `/readyz` said. */
export interface Said {
  readonly startTick: number;
  readonly endTick: number;
  readonly isReady: boolean;
  readonly text: string;
}

/** A moment at which `/readyz` said one thing and callers met the other. */
export interface Contradiction {
  readonly said: Said;
  readonly what: typeof READY | typeof NOT_READY;
}

/** Asks `/readyz` again and again. */
export class Readiness {
  recent: Said[] = [];
  readonly #url: () => string | undefined;
  #isOver = true;
  #running: Promise<void> = Promise.resolve();

  constructor(url: () => string | undefined) {
    this.#url = url;
  }

  start(): void {
    this.#isOver = false;
    this.#running = this.#poll();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  async #poll(): Promise<void> {
    while (!this.#isOver) {
      const url = this.#url();
      const said = url === undefined ? undefined : await askReady(url);
      if (said !== undefined) this.recent.push(said);
      await sleep(EVERY_MS);
    }
  }
}

async function askReady(url: string): Promise<Said | undefined> {
  const startTick = performance.now();
  try {
    const reply = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(GIVE_UP_MS) });
    const text = await reply.text();
    return { startTick, endTick: performance.now(), isReady: reply.status === 200, text };
  } catch {
    return undefined; // it does not run, or not yet
  }
}

/**
 * The moments at which `/readyz` was wrong: callers met only failures of the database before and after one of them, or
 * only charges that were written. Where they met both, either answer is right.
 */
export function contradictions(
  said: readonly Said[],
  outcomes: readonly Outcome[],
): Contradiction[] {
  const failed = outcomes.filter(({ isDatabase }) => isDatabase).map(({ endTick }) => endTick);
  const charged = outcomes.filter(({ kind }) => kind === "acknowledged")
    .map(({ endTick }) => endTick);
  return said.flatMap((one): Contradiction[] => {
    if (one.isReady) {
      const is = around(one, failed) && !within(one, charged);
      return is ? [{ said: one, what: READY }] : [];
    }
    if (!one.text.includes("database")) return [];
    const is = around(one, charged) && !within(one, failed);
    return is ? [{ said: one, what: NOT_READY }] : [];
  });
}

/** Whether there is one of `ticks` shortly before, and one shortly after. */
function around({ startTick, endTick }: Said, ticks: readonly number[]): boolean {
  return ticks.some((tick) => tick >= startTick - WINDOW_MS && tick <= startTick) &&
    ticks.some((tick) => tick >= endTick && tick <= endTick + WINDOW_MS);
}

/** Whether one of `ticks` is near. */
function within({ startTick, endTick }: Said, ticks: readonly number[]): boolean {
  return ticks.some((tick) => tick >= startTick - WINDOW_MS && tick <= endTick + WINDOW_MS);
}
