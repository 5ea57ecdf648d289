/** What reports of an upstream come to, by the rules of docs/credits.md: written a second time, so that it is compared with the relay's. */

import type { Exchange, SentReport } from "./exchange.ts";
import { type Interval, PRICES } from "./interval.ts";
import type { Back, Plan } from "./plan.ts";
import type { Report } from "./script.ts";

/** The promised error of the gateway's own count. */
export const LEAST = 0.6;
const MOST = 1.7;
const OPEN_WORDS = 1;
/** Tokens that frame a request and a reply. */
const REQUEST_TOKENS = 80;
const REPLY_TOKENS = 12;
/** Tokens of what an upstream sealed, at least; it seals each block of reasoning. */
const SEAL_TOKENS = 50;

/** Words as the gateway may count them; the last ones may still be part of a longer one. */
export function countOf(words: number): Interval {
  return { low: Math.max(0, LEAST * words - OPEN_WORDS), high: MOST * words };
}

/** The price of the input as the gateway may count it; what earlier turns sealed, by its size. */
export function inputCount({ promptWords, continuedChars }: Exchange): Interval {
  const { low, high } = countOf(promptWords);
  const sealed = continuedChars / 4 + (continuedChars > 0 ? 4 * REQUEST_TOKENS : 0);
  return { low: PRICES.input * low, high: PRICES.input * (high + REQUEST_TOKENS + sealed) };
}

/** Output as the gateway may count it; what seals hidden reasoning counts where the caller gets it. */
export function outputCount(
  { hidden, reasoningWords }: Plan,
  { choices }: Exchange,
  words: number,
): Interval {
  const { low, high } = countOf(words);
  const seals = (hidden > 0 ? Math.max(hidden, SEAL_TOKENS) : 0) +
    (reasoningWords > 0 ? SEAL_TOKENS : 0);
  return { low, high: high + choices * (REPLY_TOKENS + seals) };
}

/** Output tokens that are believed, and that a hold may cover: the limit with room for a miscount. */
export function heldOutput({ limit, asked }: Exchange): number {
  const all = limit * asked;
  return all + Math.max(Math.ceil(all / 4), 64 * asked);
}

/** What is believed of some reports; undefined for what was not reported or cannot be true. */
export interface Belief {
  /** Price of the input. */
  readonly input: Interval | undefined;
  /** Output, with what came after its report. */
  readonly output: Interval | undefined;
  /** Words before the report of the output. */
  readonly atWords: number;
}

/** What is believed of reports. Of several the largest count. */
export function beliefOf(
  plan: Plan,
  exchange: Exchange,
  reports: readonly SentReport[],
): Belief {
  let [input, cached]: [number | undefined, number] = [undefined, 0];
  let [output, atWords]: [number | undefined, number] = [undefined, 0];
  for (const { report, atWords: at } of reports) {
    const said = saidBy(plan.back, report);
    if (said.input !== undefined) {
      const isMore = input === undefined || said.input > input;
      if (isMore || said.input === input && said.cached > cached) {
        [input, cached] = [said.input, said.cached];
      }
    }
    if (said.output !== undefined && (output === undefined || said.output >= output)) {
      [output, atWords] = [said.output, at];
    }
  }
  const isOutput = output !== undefined && output <= heldOutput(exchange);
  const after = countOf(Math.max(0, exchange.words - atWords));
  const isAfter = exchange.words > atWords;
  return {
    input: inputOf(exchange, input, cached),
    output: isOutput
      ? { low: output! + after.low, high: output! + after.high + (isAfter ? REPLY_TOKENS : 0) }
      : undefined,
    atWords,
  };
}

/** Above four times the count and a thousand tokens more it is not believed; no plan comes near that bound. */
function inputOf(
  { promptWords, continuedChars }: Exchange,
  input: number | undefined,
  cached: number,
): Interval | undefined {
  if (input === undefined || input > 4 * promptWords + 2_000 + continuedChars) return undefined;
  const credits = PRICES.input * (input - cached) + PRICES.cached * cached;
  return { low: credits, high: credits };
}

/** What a report says in a dialect: one of them tells reasoning within its output, two may leave it out. */
function saidBy(back: Back, { input, cached, output, reasoning = 0, total }: Report) {
  if (back === "messages" || output === undefined) return { input, cached, output };
  if (total === undefined) {
    return { input, cached, output: reasoning > output ? output + reasoning : output };
  }
  return { input, cached, output: Math.max(output, total - (input ?? total)) };
}
