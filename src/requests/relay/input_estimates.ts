import { MAX_OVERCOUNT, type Route } from "../../settings/catalog/mod.ts";

/** Shorter inputs say little of how an upstream counts: what it adds of its own weighs too much. */
const MIN_TOKENS = 500;
/** Part of the way back that each further report goes. */
const FORGETTING = 0.1;
/** Reports of more are not believed. */
const MAX_FACTOR = 4;
/** Less is not explained by a tokenizer. */
const MIN_FACTOR = 1 / MAX_OVERCOUNT;
/** Smaller changes are not worth telling. */
const TOLD_CHANGE = 0.01;
/** Factors that are kept; the ones that were learned first are forgotten first. */
const MAX_FACTORS = 10_000;

/** What was counted here of one request's input, and what its upstream reported. */
export interface InputReport {
  readonly countedTokens: number;
  readonly reportedTokens: number;
}

/** Whose requests, to which route and upstream. */
export interface EstimateOf {
  readonly accountId: string;
  readonly route: string;
  readonly upstream: string;
}

/** What one thread tells the others: a changed factor. */
export interface EstimateNews {
  readonly key: string;
  readonly factor: number;
}

/**
 * How much more or less input upstreams report than is counted here, by account, route and upstream. The account's next holds on the
 * route are raised by that, so that an estimate cannot be short twice, and never lowered: the next text may be another. The
 * room in the context window is estimated by it in both directions. What one account sends never changes what another one's
 * requests need.
 */
export class InputEstimates {
  readonly #factors = new Map<string, number>();
  /** Tells the other threads of the process of a changed factor, where there are any. */
  send: ((news: EstimateNews) => void) | undefined;

  /** By how much a hold for the input is raised; 1 or more. */
  factor(accountId: string, route: Pick<Route, "id" | "targets">): number {
    return Math.max(1, this.ratio(accountId, route));
  }

  /** Reported tokens for each that is counted, of the target that reports most; 1 while nothing is known. */
  ratio(accountId: string, { id: route, targets }: Pick<Route, "id" | "targets">): number {
    const ratios = targets.map(({ upstream }) =>
      this.#factors.get(keyOf({ accountId, route, upstream })) ?? 1
    );
    return ratios.length === 0 ? 1 : Math.max(...ratios);
  }

  /** Notes a report on input of nothing but text: a larger ratio counts at once, a smaller one little by little. */
  learn(of: EstimateOf, { countedTokens, reportedTokens }: InputReport): void {
    if (countedTokens < MIN_TOKENS) return;
    const key = keyOf(of);
    const ratio = Math.min(MAX_FACTOR, Math.max(MIN_FACTOR, reportedTokens / countedTokens));
    const known = this.#factors.get(key) ?? 1;
    if (ratio === 1 && known === 1) return;
    const factor = Math.max(ratio, known + FORGETTING * (ratio - known));
    this.#set(key, factor);
    if (Math.abs(factor - known) > TOLD_CHANGE) this.send?.({ key, factor });
  }

  /** Notes what another thread has told. */
  onNews({ key, factor }: EstimateNews): void {
    this.#set(key, factor);
  }

  #set(key: string, factor: number): void {
    this.#factors.set(key, factor);
    if (this.#factors.size <= MAX_FACTORS) return;
    for (const oldest of this.#factors.keys()) {
      this.#factors.delete(oldest);
      return;
    }
  }
}

function keyOf({ accountId, route, upstream }: EstimateOf): string {
  return `${accountId} ${route} ${upstream}`;
}
