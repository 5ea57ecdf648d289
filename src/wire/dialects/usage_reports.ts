import type { TokenKinds, Usage } from "./usage.ts";

/** What one report of an upstream says; undefined for what it does not say. */
export interface UsageReport extends Readonly<Record<keyof Usage, number | undefined>> {
  /** Input and output together, where the dialect has that. */
  readonly totalTokens?: number | undefined;
  /** Of the input, and of the output; undefined for text alone. */
  readonly inputKinds?: TokenKinds | undefined;
  readonly outputKinds?: TokenKinds | undefined;
}

/** What a reply says of how it was made. Words of the upstream; undefined for what it does not say. */
export interface Told {
  /** The model that replied. */
  readonly model?: string | undefined;
  /** Service tier, in OpenAI's words: `default`, `flex`, `priority`. */
  readonly tier?: string | undefined;
  /** Anthropic's `speed`. */
  readonly speed?: string | undefined;
  /** Anthropic's `inference_geo`. */
  readonly region?: string | undefined;
}

/** Longer ones are cut: names that an upstream makes up stand on the record. */
const MAX_TOLD_CHARS = 128;

/** The input that an upstream reported. */
export type InputUsage = Pick<Usage, "inputTokens" | "cachedTokens" | "cacheWrittenTokens">;

/**
 * What an upstream says of one reply, in all of its reports. Upstreams report early, twice, in parts and with zeros after the
 * real numbers, so that
 *
 * - of several reports the largest counts: the one with most input, of equal ones that with most of it from a cache; and the
 *   most output;
 * - output that leaves out the reasoning is told by the rest of the report: a total beyond input and output (xAI, Gemini), or,
 *   without a total, more reasoning than output. What is left out is added;
 * - a part is never larger than its whole.
 *
 * Whether a report can be true is decided elsewhere (`relay/charged_usage.ts`).
 */
export class UsageReports {
  #input: InputUsage | undefined;
  #outputTokens: number | undefined;
  #reasoningTokens = 0;
  #inputKinds: TokenKinds | undefined;
  #outputKinds: TokenKinds | undefined;
  #told: Told | undefined;
  /** Reports of output that were the largest so far. */
  outputReports = 0;

  /** The tier that the reply was served in, in OpenAI's words: `default`, `flex`, `priority`. */
  get tier(): string | undefined {
    return this.#told?.tier;
  }

  /** Notes what the reply says of how it was made; what is no text changes nothing. Returns itself. */
  heard(said: Readonly<Record<keyof Told, unknown>> | Partial<Record<keyof Told, unknown>>): this {
    for (const name of ["model", "tier", "speed", "region"] as const) {
      const value = said[name];
      if (typeof value !== "string" || value === "" || this.#told?.[name] === value) continue;
      this.#told = { ...this.#told, [name]: value.slice(0, MAX_TOLD_CHARS) };
    }
    return this;
  }

  /** What the reply said of how it was made; undefined for nothing. */
  get told(): Told | undefined {
    return this.#told;
  }

  /** Tokens that may have a price of their own; undefined for none. */
  get kinds(): TokenKinds | undefined {
    if (this.#inputKinds === undefined) return this.#outputKinds;
    return { ...this.#inputKinds, ...this.#outputKinds };
  }

  /** Adds a report; undefined for none. Returns itself. */
  add(report: UsageReport | undefined): this {
    if (report === undefined) return this;
    this.#addInput(report);
    this.#addOutput(report);
    return this;
  }

  /** The input; undefined until it was reported. */
  get input(): InputUsage | undefined {
    return this.#input;
  }

  /** All output; undefined until it was reported. */
  get outputTokens(): number | undefined {
    return this.#outputTokens;
  }

  /** Output that was reasoning. */
  get reasoningTokens(): number {
    return Math.min(this.#reasoningTokens, this.#outputTokens ?? 0);
  }

  /** All of it; undefined until both input and output were reported. */
  get usage(): Usage | undefined {
    const { input, outputTokens, reasoningTokens } = this;
    if (input === undefined || outputTokens === undefined) return undefined;
    return { ...input, outputTokens, reasoningTokens };
  }

  /** The same for a reply that is known whole. */
  get partial(): PartialUsage {
    const { kinds, told } = this;
    return { input: this.#input, outputTokens: this.#outputTokens, outputAfter: 0, kinds, told };
  }

  #addInput(
    { inputTokens, cachedTokens: cached = 0, cacheWrittenTokens: written = 0, inputKinds }:
      UsageReport,
  ): void {
    if (inputTokens === undefined) return;
    const cachedTokens = Math.min(cached, inputTokens);
    const known = this.#input;
    const isMore = known === undefined || inputTokens > known.inputTokens ||
      inputTokens === known.inputTokens && cachedTokens >= known.cachedTokens;
    if (!isMore) return;
    const cacheWrittenTokens = Math.min(written, inputTokens - cachedTokens);
    this.#input = { inputTokens, cachedTokens, cacheWrittenTokens };
    // a later report of the same input may not tell the kinds again
    this.#inputKinds = inputKinds ?? this.#inputKinds;
  }

  #addOutput(
    { outputTokens, reasoningTokens = 0, totalTokens, inputTokens = totalTokens ?? 0, outputKinds }:
      UsageReport,
  ): void {
    if (outputTokens === undefined) return;
    const isLeftOut = totalTokens === undefined && reasoningTokens > outputTokens;
    const all = isLeftOut
      ? outputTokens + reasoningTokens
      : Math.max(outputTokens, (totalTokens ?? 0) - inputTokens);
    if (all < (this.#outputTokens ?? 0)) return;
    this.outputReports++;
    this.#outputTokens = all;
    this.#outputKinds = outputKinds ?? this.#outputKinds;
    this.#reasoningTokens = Math.max(this.#reasoningTokens, reasoningTokens, all - outputTokens);
  }
}

/** What is known of a stream's usage before its end. */
export interface PartialUsage {
  readonly input: InputUsage | undefined;
  /** Output as reported so far; undefined if it was not. */
  readonly outputTokens: number | undefined;
  /** Output that was counted after that report. */
  readonly outputAfter: number;
  /** See {@linkcode UsageReports.kinds} and {@linkcode UsageReports.told}. */
  readonly kinds?: TokenKinds | undefined;
  readonly told?: Told | undefined;
}
