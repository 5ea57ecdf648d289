import type { LentCredits, Settled } from "../../money/ledger/mod.ts";
import { affordableOutput, priceOf, type Route } from "../../settings/catalog/mod.ts";

/** Output tokens of a stream that a hold covers initially, and by which it grows. */
export const STEP_TOKENS = 4_096;
/** Remaining tokens of a hold at which the next step is requested. */
const AHEAD_TOKENS = 1_024;

/**
 * What upstreams add to a limit of their own: more than this fraction and more than this number of tokens beyond it is neither believed nor
 * charged.
 */
const OVERSHOOT = 1 / 4;
const MIN_OVERSHOOT_TOKENS = 64;
/** How much more than may be charged the gateway counts before it cuts: twice a limit, which no tokenizer explains, or more. */
const COUNT_ERROR = 1.6;

/** What a request was charged, and its price. */
export interface EndedHold extends Settled {
  readonly priceCredits: number;
}

/** What a hold pays for. */
export interface HoldTerms {
  readonly route: Route;
  /** Input tokens that may be charged, over all choices. */
  readonly inputTokens: number;
  /** Max output tokens, over all choices. */
  readonly maxOutput: number;
  /** Number of choices (`n`). */
  readonly choices: number;
  /** Credits of the hold that no output is paid from: the input may cost more than is counted. */
  readonly reservedCredits?: number | undefined;
  /** Time of admission by the gateway's clock, in milliseconds since the epoch. */
  readonly admittedAtMs: number;
}

/** The credits that an in-flight request may spend, and the output tokens they pay for. */
export class Hold {
  readonly #terms: HoldTerms;
  readonly #grow: (wanted: number) => Promise<number>;
  readonly #ended: (settled: EndedHold | undefined) => void;
  readonly #charge: (credits: number) => number | undefined;
  readonly #lent: () => LentCredits | undefined;
  #credits: number;
  #growing: Promise<void> | undefined;

  /**
   * @param terms What the hold pays for.
   * @param credits Credits held initially.
   * @param grow Raises the hold towards this many credits; resolves with the credits held then.
   * @param ended Called when the request is over, with what it was charged if that is known.
   * @param charge Called when a charge is sent to the database; returns the balance after it if that is known.
   * @param lent Returns what is held of a loan.
   */
  constructor(
    terms: HoldTerms,
    credits: number,
    grow: (wanted: number) => Promise<number>,
    ended: (settled: EndedHold | undefined) => void,
    charge: (credits: number) => number | undefined = () => undefined,
    lent: () => LentCredits | undefined = () => undefined,
  ) {
    this.#terms = terms;
    this.#credits = credits;
    this.#grow = grow;
    this.#ended = ended;
    this.#charge = charge;
    this.#lent = lent;
  }

  /** Credits held now. */
  get credits(): number {
    return this.#credits;
  }

  /** What is held of a loan; undefined if the database holds it. */
  get lent(): LentCredits | undefined {
    return this.#lent();
  }

  /** Time of admission by the gateway's clock, in milliseconds since the epoch. */
  get admittedAtMs(): number {
    return this.#terms.admittedAtMs;
  }

  /** Output tokens that may be charged now: those that the held credits pay for. */
  get outputTokens(): number {
    return Math.min(this.#paid, this.maxCharged);
  }

  /** Output tokens that may be charged at all, reported or counted: the limit, and what upstreams add to it. */
  get maxCharged(): number {
    const { maxOutput, choices } = this.#terms;
    const room = Math.max(Math.ceil(maxOutput * OVERSHOOT), MIN_OVERSHOOT_TOKENS * choices);
    return maxOutput + room;
  }

  /** Output tokens by the gateway's count that may be delivered at all: more, and no tokenizer explains them. */
  get maxDelivered(): number {
    return Math.floor(COUNT_ERROR * this.maxCharged);
  }

  get #paid(): number {
    const { route, inputTokens, reservedCredits = 0 } = this.#terms;
    return affordableOutput(route, { inputTokens, credits: this.#credits - reservedCredits });
  }

  /**
   * Starts growing the hold if it is nearly used up, without waiting.
   *
   * @param usedTokens Output tokens delivered so far.
   */
  lookAhead(usedTokens: number): void {
    const paid = this.#paid;
    if (paid >= this.#terms.maxOutput || usedTokens + AHEAD_TOKENS <= paid) return;
    if (this.#growing !== undefined) return;
    this.#growing = this.#step();
    this.#growing.catch(() => {}); // extend() tries again
  }

  /**
   * Waits until more than `usedTokens` of output are paid for. Once all that may be charged is, the count alone stops nothing that
   * a tokenizer may explain.
   *
   * @param usedTokens Output tokens delivered so far, as counted by the gateway.
   * @returns Output tokens that may be delivered, by that count; not more than `usedTokens` if the balance is used up.
   */
  async extend(usedTokens: number): Promise<number> {
    await this.#growing?.catch(() => {}); // if it failed, the next one may not
    this.#growing = undefined;
    if (this.outputTokens <= usedTokens) await this.#step();
    if (this.outputTokens > usedTokens) return this.outputTokens;
    return this.#paid >= this.maxCharged ? this.maxDelivered : this.outputTokens;
  }

  /**
   * Notes that the charge is sent to the database.
   *
   * @returns The balance after it; undefined if only the database knows it.
   */
  charge(credits: number): number | undefined {
    return this.#charge(credits);
  }

  /**
   * Ends the hold. Call this when the request is over.
   *
   * @param settled What it was charged; undefined if that is not known.
   */
  end(settled?: EndedHold): void {
    this.#ended(settled);
  }

  async #step(): Promise<void> {
    const { route, inputTokens, maxOutput, choices, reservedCredits = 0 } = this.#terms;
    const paid = this.#paid;
    // beyond the limit goes only a reply that is there already
    const max = paid < maxOutput ? maxOutput : this.maxCharged;
    const outputTokens = Math.min(max, paid + STEP_TOKENS * choices);
    const wanted = priceOf(route, { inputTokens, cachedTokens: 0, outputTokens });
    this.#credits = await this.#grow(wanted + reservedCredits);
  }
}
