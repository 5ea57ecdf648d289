import { affordableOutput, priceOf, type Route } from "../catalog/mod.ts";

/** Output tokens that a stream's hold covers at first, and by which it grows. */
export const STEP_TOKENS = 4_096;
/** So many tokens before a hold is used up the next step is asked for. */
const AHEAD_TOKENS = 1_024;

/** What a hold is for. */
export interface HoldTerms {
  readonly route: Route;
  /** All input that may be charged. */
  readonly inputTokens: number;
  /** All output that the caller may have, over all answers. */
  readonly mostOutput: number;
  /** Answers wanted. */
  readonly choices: number;
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

  /** Output tokens that are paid for; infinite once that is all the caller may have. */
  get outputTokens(): number {
    const { route, inputTokens, mostOutput } = this.#terms;
    const paid = affordableOutput(route, { inputTokens, credits: this.#credits });
    return paid >= mostOutput ? Infinity : paid;
  }

  /** Asks for the next step in good time, without waiting for it. */
  lookAhead(usedTokens: number): void {
    if (this.#growing === undefined && usedTokens + AHEAD_TOKENS > this.outputTokens) {
      this.#growing = this.#step();
      this.#growing.catch(() => {}); // whoever needs the step asks again
    }
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
    const { route, inputTokens, mostOutput, choices } = this.#terms;
    const outputTokens = Math.min(mostOutput, this.outputTokens + STEP_TOKENS * choices);
    const wanted = priceOf(route, { inputTokens, cachedTokens: 0, outputTokens });
    this.#credits = await this.#grow(wanted);
  }
}
