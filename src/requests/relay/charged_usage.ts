import {
  countedUsage,
  type InputUsage,
  kindsOf,
  type MeteredPart,
  sumOfUsages,
  type TokenKinds,
  type Told,
  type Usage,
} from "../../wire/dialects/mod.ts";

/** What charges are based on. */
export interface ChargedUsageOptions {
  /** Input tokens of one upstream request, as counted by the gateway. */
  readonly inputTokens: number;
  /**
   * Returns the tokens of input that one upstream request may have in addition, at most, after this number of tool calls there. 0 if all
   * of it could be counted.
   */
  readonly openInput: (calls: number) => number;
  /** Such calls that the hold covers. Default: none. */
  readonly maxCalls?: number | undefined;
  /** Input or output tokens above which no report is believed. */
  readonly maxTokens: number;
  /** Returns the output tokens above which no report is believed and nothing is charged: the limit that was sent, with what upstreams add. */
  readonly maxOutput: () => number;
  /** Number of choices (`n`) that the limit is for. */
  readonly choices: number;
  /** Whether the model may reason where nothing shows it. */
  readonly mayReason?: boolean | undefined;
  /** Called with what a complete reply is charged by. */
  readonly onSettled: (settled: SettledUsage, counted: CountedTokens) => void;
}

/** A reply, as far as its usage goes. */
export interface MeteredReply extends MeteredPart {
  /** Upstream requests that it took; each of them read the whole input. */
  readonly requests: number;
  /** What each of them was replied, if there were several. */
  readonly parts?: readonly MeteredPart[] | undefined;
}

/** What is known of a reply that was cut short. */
export interface CutShort {
  /** Output tokens that the hold covers. */
  readonly heldOutput: number;
  /** Whether it was read to its end nevertheless, so that a report would have come. */
  readonly isRead?: boolean;
}

/** Tokens as counted by the gateway. */
export interface CountedTokens {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** What a reply is charged by. */
export interface SettledUsage {
  readonly usage: Usage;
  /** `upstream` if all of it is as reported. */
  readonly usageSource: "upstream" | "counted";
  /** The gateway's count, and what was reported, believed or not: for reconciliation. */
  readonly counted: CountedTokens;
  readonly reported: { readonly inputTokens?: number; readonly outputTokens?: number };
  /** Whether a report was not believed. */
  readonly departs: boolean;
  readonly hostedCalls: MeteredPart["hostedCalls"];
  /** Tokens of it that may have a price of their own. */
  readonly kinds?: TokenKinds | undefined;
  /** What the upstream says of how the reply was made. */
  readonly told?: Told | undefined;
  /** Requests that were sent upstream for it. */
  readonly requests: number;
}

/** Reported input up to this many times the gateway's count is believed, and any that is at most this number of tokens more. */
const MAX_INPUT_RATIO = 4;
const MAX_INPUT_MORE = 1_000;

/**
 * Decides what a reply is charged by: the upstream's reports as far as they can be true, and otherwise the gateway's own count.
 *
 * - Reported output above what was asked for (the limit that was sent, and a quarter or 64 tokens of it), and reported input above
 *   four times the count and 1,000 tokens more, are not believed.
 * - Input that nobody can count here, as of a document at an address, is charged as reported, and no more than what was reserved for it.
 *   If the reply was cut short before its input was reported, that is charged, since it may have cost as much.
 * - Output that follows a report is added to it.
 * - No charge is for more output than a report may say: our count may be too high.
 * - Reasoning that was not shown and not reported, of a reply that was cut short, is charged by the size of its seals; without
 *   any as far as the hold goes: it may have cost that much.
 */
export class ChargedUsage {
  readonly #options: ChargedUsageOptions;

  constructor(options: ChargedUsageOptions) {
    this.#options = options;
  }

  /** Of a complete reply. */
  settled(reply: MeteredReply): SettledUsage {
    const settled = this.#settle(reply, undefined);
    this.#options.onSettled(settled, settled.counted);
    return settled;
  }

  /**
   * Of a reply that was cut short: by what was delivered, and what is known of the rest.
   *
   * @param cut How far.
   */
  cutShort(reply: MeteredReply, cut: CutShort): SettledUsage {
    return this.#settle(reply, cut);
  }

  /**
   * Of a reply that was cut short at its limit, or because nothing more of it is paid for. Its last event may have gone beyond that,
   * which is the upstream's doing.
   *
   * @param heldOutput Output tokens that the hold covers.
   */
  cutOff(reply: MeteredReply, heldOutput: number): SettledUsage {
    const countedOutput = Math.min(reply.countedOutput, heldOutput);
    return this.cutShort(
      { ...reply, countedOutput, hiddenTokens: 0, parts: undefined },
      { heldOutput },
    );
  }

  /** Whether only the upstream knows how long the input of a reply is, and has not told. */
  lacksInput({ usage, partialUsage, parts }: MeteredReply): boolean {
    const { openInput, maxCalls = 0 } = this.#options;
    if (openInput(maxCalls) === 0) return false;
    return (parts ?? [{ usage, partialUsage }]).some((part) => inputOf(part) === undefined);
  }

  /** @param cut Of a reply that was cut short. */
  #settle(reply: MeteredReply, cut: CutShort | undefined): SettledUsage {
    const { parts, requests } = reply;
    if (parts === undefined || parts.length !== requests) {
      return this.#settlePart(reply, requests, this.#maxOutput, cut);
    }
    const share = cut && { ...cut, heldOutput: Math.floor(cut.heldOutput / parts.length) };
    const all = sumOf(
      parts.map((part, at) =>
        this.#settlePart(part, 1, this.#maxOutputOf(at, parts.length), share)
      ),
    );
    return all.usage.outputTokens <= this.#maxOutput
      ? all
      : this.#settlePart(reply, requests, this.#maxOutput, cut);
  }

  #settlePart(
    part: MeteredPart,
    requests: number,
    maxOutput: number,
    cut: CutShort | undefined,
  ): SettledUsage {
    const { usage, partialUsage, countedOutput } = part;
    const countedInput = this.#options.inputTokens * requests;
    const input = inputOf(part);
    const { outputTokens: reportedOutput, outputAfter } = partialUsage ??
      { outputTokens: usage?.outputTokens, outputAfter: 0 };
    const charged = this.#chargedInput(part, { counted: countedInput, requests, cut });
    const isInput = charged === input;
    const isOutput = reportedOutput !== undefined && reportedOutput <= maxOutput;
    const outputTokens = Math.min(
      maxOutput,
      isOutput
        ? reportedOutput + outputAfter
        : Math.max(countedOutput, this.#hiddenOutput(part, cut)),
    );
    const isAll = isInput && isOutput && outputAfter === 0;
    return {
      usage: {
        inputTokens: charged.inputTokens,
        cachedTokens: charged.cachedTokens,
        cacheWrittenTokens: charged.cacheWrittenTokens,
        outputTokens,
        reasoningTokens: isOutput ? usage?.reasoningTokens ?? 0 : 0,
      },
      usageSource: isAll ? "upstream" : "counted",
      counted: { inputTokens: countedInput, outputTokens: countedOutput },
      reported: {
        ...(input !== undefined && { inputTokens: input.inputTokens }),
        ...(reportedOutput !== undefined && { outputTokens: reportedOutput }),
      },
      hostedCalls: part.hostedCalls,
      kinds: isInput && isOutput ? partialUsage?.kinds : undefined,
      told: partialUsage?.told,
      requests,
      departs: input !== undefined && !isInput || reportedOutput !== undefined && !isOutput,
    };
  }

  /** Output to charge at least of a reply that was cut short and did not report any. */
  #hiddenOutput(
    { hidesReasoning: hides, hiddenTokens = 0, countedOutput }: MeteredPart,
    cut: CutShort | undefined,
  ): number {
    if (cut === undefined) return 0;
    const mayHide = hides ?? this.#options.mayReason ?? false;
    return mayHide ? cut.heldOutput : countedOutput + hiddenTokens;
  }

  get #maxOutput(): number {
    return Math.min(this.#options.maxOutput(), this.#options.maxTokens);
  }

  /** What one of several replies may report: a choice's share for each of its choices. All but the first have one. */
  #maxOutputOf(at: number, parts: number): number {
    const { choices } = this.#options;
    const own = at === 0 ? Math.max(1, choices - parts + 1) : 1;
    return Math.ceil(this.#maxOutput * own / choices);
  }

  /**
   * Input tokens to charge where a report cannot be true, or where there is none.
   *
   * @param of.cut Of a reply that was cut short.
   */
  #chargedInput(
    part: MeteredPart,
    { counted, requests, cut }: {
      readonly counted: number;
      readonly requests: number;
      readonly cut: CutShort | undefined;
    },
  ): InputUsage {
    const { openInput, maxCalls = 0, maxTokens } = this.#options;
    const input = inputOf(part);
    if (input === undefined) {
      const told = part.hostedCalls === undefined ? Math.min(1, maxCalls) : callsIn(part);
      const isUnknown = cut !== undefined && cut.isRead !== true;
      return countedUsage(counted + (isUnknown ? requests * openInput(told) : 0), 0);
    }
    const open = requests * openInput(Math.max(maxCalls, callsIn(part)));
    const plausible = Math.max(MAX_INPUT_RATIO * counted, counted + MAX_INPUT_MORE * requests);
    const most = Math.max(counted + open, Math.min(plausible, maxTokens));
    if (input.inputTokens <= most) return input;
    return countedUsage(counted + open, 0);
  }
}

/** The input as it was reported; undefined if it was not. */
function inputOf({ usage, partialUsage }: Pick<MeteredPart, "usage" | "partialUsage">) {
  return partialUsage === undefined ? usage : partialUsage.input;
}

function callsIn({ hostedCalls }: MeteredPart): number {
  return hostedCalls === undefined ? 0 : hostedCalls.values().reduce((sum, one) => sum + one, 0);
}

/** What all parts of a reply are charged by together. */
function sumOf(parts: readonly SettledUsage[]): SettledUsage {
  const sum = (read: (part: SettledUsage) => number) =>
    parts.reduce((all, part) => all + read(part), 0);
  const reported = (name: keyof CountedTokens) =>
    parts.every((part) => part.reported[name] !== undefined)
      ? { [name]: sum((part) => part.reported[name]!) }
      : {};
  return {
    usage: sumOfUsages(parts.map(({ usage }) => usage)),
    usageSource: parts.every(({ usageSource }) => usageSource === "upstream")
      ? "upstream"
      : "counted",
    counted: {
      inputTokens: sum(({ counted }) => counted.inputTokens),
      outputTokens: sum(({ counted }) => counted.outputTokens),
    },
    reported: { ...reported("inputTokens"), ...reported("outputTokens") },
    hostedCalls: undefined,
    kinds: kindsOf(Object.fromEntries(
      [...new Set(parts.flatMap(({ kinds = {} }) => Object.keys(kinds) as (keyof TokenKinds)[]))]
        .map((kind) => [kind, sum(({ kinds }) => kinds?.[kind] ?? 0)]),
    )),
    told: parts[0]?.told,
    requests: sum(({ requests }) => requests),
    departs: parts.some(({ departs }) => departs),
  };
}
