import type { Route } from "../catalog/mod.ts";

/** Shorter inputs say little of how an upstream counts: what it adds of its own weighs too much. */
const MIN_TOKENS = 500;
/** Part of the way back that each further report goes. */
const FORGETTING = 0.1;
const MAX_FACTOR = 8;
/** Smaller changes are not worth telling. */
const TOLD_CHANGE = 0.01;

/** What was counted here of one request's input, and what its upstream reported. */
export interface InputReport {
  readonly countedTokens: number;
  readonly reportedTokens: number;
}

/** What one thread tells the others: the factor of a route and upstream. */
export interface EstimateNews {
  readonly key: string;
  readonly factor: number;
}

/**
 * How much more input upstreams report than is counted here, by route and upstream. A route's next holds are
 * raised by that, so that an estimate cannot be short twice.
 */
export class InputEstimates {
  readonly #factors = new Map<string, number>();
  /** Tells the other threads of the process of a changed factor, where there are any. */
  tell: ((news: EstimateNews) => void) | undefined;

  /** By how much a hold for the route's input is raised; 1 or more. */
  factor({ id, targets }: Pick<Route, "id" | "targets">): number {
    let factor = 1;
    for (const { upstream } of targets) {
      factor = Math.max(factor, this.#factors.get(`${id} ${upstream}`) ?? 1);
    }
    return factor;
  }

  /** Notes a report: a larger ratio counts at once, a smaller one little by little. */
  learn(route: string, upstream: string, { countedTokens, reportedTokens }: InputReport): void {
    if (countedTokens < MIN_TOKENS) return;
    const key = `${route} ${upstream}`;
    const ratio = Math.min(MAX_FACTOR, Math.max(1, reportedTokens / countedTokens));
    const known = this.#factors.get(key) ?? 1;
    if (ratio === 1 && known === 1) return;
    const factor = ratio > known ? ratio : known + FORGETTING * (ratio - known);
    this.#factors.set(key, factor);
    if (Math.abs(factor - known) > TOLD_CHANGE) this.tell?.({ key, factor });
  }

  /** Notes what another thread has told. */
  heard({ key, factor }: EstimateNews): void {
    this.#factors.set(key, factor);
  }
}
