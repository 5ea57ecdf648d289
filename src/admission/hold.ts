import { affordableOutput, priceOf, type Route } from "../catalog/mod.ts";

/** Output tokens that a stream's hold covers at first, and by which it grows. */
export const STEP_TOKENS = 4_096;
/** So many tokens before a hold is used up the next step is asked for. */
const AHEAD_TOKENS = 1_024;

/**
 * Upstreams count otherwise than we do. One that goes on beyond its limit by more than this part of it,
 * and by more than this number of tokens, does not keep to it.
 */
const OVERSHOOT = 1 / 4;
const MIN_OVERSHOOT_TOKENS = 64;

/** What a hold is for. */
export interface HoldTerms {
  readonly route: Route;
  /** All input that may be charged. */
  readonly inputTokens: number;
  /** All output that the caller may have, over all answers. */
  readonly maxOutput: number;
  /** Answers wanted. */
  readonly choices: number;
  /** When the request was admitted, by the gateway's clock. */
  readonly admittedAtMs: number;
}

/** The credits that a running request may spend, and the output that they pay for. */
export class Hold {
  readonly #terms: HoldTerms;
  readonly #grow: (wanted: number) => Promise<number>;
  readonly #ended: () => void;
  #credits: number;
  #growing: Promise<void> | undefined;

  /**
   * @param credits Held now.
   * @param grow Holds up to so many in all; answers how many it holds then.
   * @param ended Called when the request is over.
   */
  constructor(
    terms: HoldTerms,
    credits: number,
    grow: (wanted: number) => Promise<number>,
    ended: () => void,
  ) {
    this.#terms = terms;
    this.#credits = credits;
    this.#grow = grow;
    this.#ended = ended;
  }

  get credits(): number {
    return this.#credits;
  }

  /** When the request was admitted, by the gateway's clock. */
  get admittedAtMs(): number {
    return this.#terms.admittedAtMs;
  }

  /** Output tokens that the caller may have at the most, over all answers. */
  get maxOutput(): number {
    return this.#terms.maxOutput;
  }

  /** Output tokens that may be delivered now: those that the held credits pay for. */
  get outputTokens(): number {
    return Math.min(this.#paid, this.maxDelivered);
  }

  /** Output tokens that may be delivered at all: the limit with room for a miscount. */
  get maxDelivered(): number {
    const { maxOutput, choices } = this.#terms;
    const room = Math.max(Math.ceil(maxOutput * OVERSHOOT), MIN_OVERSHOOT_TOKENS * choices);
    return maxOutput + room;
  }

  get #paid(): number {
    const { route, inputTokens } = this.#terms;
    return affordableOutput(route, { inputTokens, credits: this.#credits });
  }

  /** Asks for the next step in good time, without waiting for it. */
  lookAhead(usedTokens: number): void {
    const paid = this.#paid;
    if (paid >= this.#terms.maxOutput || usedTokens + AHEAD_TOKENS <= paid) return;
    if (this.#growing !== undefined) return;
    this.#growing = this.#step();
    this.#growing.catch(() => {}); // whoever needs the step asks again
  }

  /**
   * Waits until more than `usedTokens` of output are paid for. Answers how many are: not more when the
   * balance has nothing left to give.
   */
  async extend(usedTokens: number): Promise<number> {
    await this.#growing?.catch(() => {}); // if it failed, the next one may not
    this.#growing = undefined;
    if (this.outputTokens <= usedTokens) await this.#step();
    return this.outputTokens;
  }

  /** The request is over: the hold is not kept any longer. */
  end(): void {
    this.#ended();
  }

  async #step(): Promise<void> {
    const { route, inputTokens, maxOutput, choices } = this.#terms;
    const paid = this.#paid;
    // beyond the limit goes only a reply that is there already
    const max = paid < maxOutput ? maxOutput : this.maxDelivered;
    const outputTokens = Math.min(max, paid + STEP_TOKENS * choices);
    const wanted = priceOf(route, { inputTokens, cachedTokens: 0, outputTokens });
    this.#credits = await this.#grow(wanted);
  }
}
