import { countedUsage, type Usage } from "../dialects/mod.ts";
import type { End } from "./settlement.ts";

/** What charges are based on. */
export interface ChargedUsageOptions {
  /** Input tokens of one upstream request, as counted by the gateway. */
  readonly inputTokens: number;
  /** Input or output tokens above which a report is not believed. */
  readonly maxTokens: number;
  /** Called with a report that is believed, and the input that the gateway counted for it. */
  readonly onReport: (usage: Usage, countedTokens: number) => void;
}

/** A reply, as far as its usage goes. */
export interface MeteredReply {
  /** As the upstream reported it. */
  readonly usage: Usage | undefined;
  /** Output tokens as counted by the gateway. */
  readonly countedOutput: number;
  /** Upstream requests that it took; each of them read the whole input. */
  readonly requests: number;
}

/** Decides what a reply is charged by: the upstream's report, or the gateway's own count. */
export class ChargedUsage {
  readonly #options: ChargedUsageOptions;

  constructor(options: ChargedUsageOptions) {
    this.#options = options;
  }

  /** Of a complete reply: as reported, unless there is no report or it cannot be true. */
  settled(reply: MeteredReply): Required<Pick<End, "usage" | "usageSource">> & { usage: Usage } {
    const { usage, requests } = reply;
    const { inputTokens, maxTokens, onReport } = this.#options;
    if (usage === undefined || Math.max(usage.inputTokens, usage.outputTokens) > maxTokens) {
      return this.counted(reply);
    }
    onReport(usage, inputTokens * requests);
    return { usage, usageSource: "upstream" };
  }

  /** Of a reply that was cut short: as far as it was delivered. */
  counted(
    { countedOutput, requests }: Omit<MeteredReply, "usage">,
  ): { readonly usage: Usage; readonly usageSource: "counted" } {
    const inputTokens = this.#options.inputTokens * requests;
    return { usage: countedUsage(inputTokens, countedOutput), usageSource: "counted" };
  }
}
