import { Random } from "../fake/random.ts";
import type { Exchange } from "./exchange.ts";
import type { Plan } from "./plan.ts";
import { randomWords } from "./words.ts";

/** What an upstream reports, in no dialect's words; undefined for what it leaves out. */
export interface Report {
  /** All input, that from a cache included. */
  readonly input: number | undefined;
  readonly cached: number;
  readonly output: number | undefined;
  /** Of the output, or besides it, what was reasoning. */
  readonly reasoning?: number;
  /** Input and output together, where that is more than their sum. */
  readonly total?: number;
}

/** One thing that an upstream does, in no dialect's words. */
export type Beat =
  | { readonly does: "begin"; readonly report: Report | undefined }
  | { readonly does: "hide"; readonly tokens: number }
  | { readonly does: "reason" | "say"; readonly text: string; readonly words: number }
  | { readonly does: "report"; readonly report: Report }
  /** One event with many JSON values. */
  | { readonly does: "bulk"; readonly values: number }
  | { readonly does: "wait"; readonly ms: number }
  | { readonly does: "finish"; readonly report: Report | undefined }
  | { readonly does: "end" };

/** JSON values of an event that is too large. */
const BULK_VALUES = 2_000;
/** How long a reply takes that runs into a limit of its time, at least. */
const LONG_MS = 600;

/** Input above the count that is believed, also of three choices together. */
const HIGH_INPUT = 250;

const ZEROS: Report = { input: 0, cached: 0, output: 0 };

/** How a request reached the upstream. */
export interface Asked extends Pick<Exchange, "promptWords" | "continuedChars"> {
  /** Output tokens of one choice. */
  readonly limit: number;
  /** Choices that it is asked for, and those that it gives. */
  readonly asked: number;
  readonly choices: number;
}

/** What an upstream sends for a request, and where its usage stands in it. Each choice says the same. */
export function scriptOf(plan: Plan, asked: Asked): Beat[] {
  const { limit, choices } = asked;
  const random = new Random(plan.seed ^ plan.number);
  const isOver = plan.end === "exceeds its limit";
  const textWords = isOver ? 2 * limit + 150 : plan.textWords;
  const pieces = [
    ...piecesOf(random, "reason", plan.reasoningWords, plan.eventWords),
    ...piecesOf(random, "say", textWords, plan.eventWords),
  ];
  const { usage, cached, hidden } = plan;
  const input = inputOf(plan, asked);
  const now = (words: number): Report => ({ input, cached, output: choices * (hidden + words) });
  const hasStart = usage !== "never" && usage !== "zero";
  const beats: Beat[] = [{
    does: "begin",
    report: hasStart && usage !== "input too high" && usage !== "input a little high"
      ? { input, cached, output: undefined }
      : undefined,
  }];
  if (hidden > 0) beats.push({ does: "hide", tokens: hidden });
  if (usage === "early" || usage === "cumulative") beats.push({ does: "report", report: now(0) });
  if (usage === "input only") {
    beats.push({ does: "report", report: { input, cached, output: undefined } });
  }
  let words = 0;
  for (const [at, piece] of pieces.entries()) {
    if (plan.limit === "eventValues" && at === pieces.length >> 1) {
      beats.push({ does: "bulk", values: BULK_VALUES });
    }
    if (plan.limit === "totalMs" && at === pieces.length >> 1) {
      beats.push({ does: "wait", ms: LONG_MS });
    }
    beats.push(piece);
    words += piece.words;
    const isMiddle = at % 3 === 2 && at < pieces.length - 1;
    if (usage === "cumulative" && isMiddle) beats.push({ does: "report", report: now(words) });
  }
  return [...beats, ...endOf(plan, asked, words)];
}

/** What the upstream counts: of earlier turns as many tokens as words. */
function inputOf({ input, promptWords }: Plan, asked: Asked): number {
  return input + asked.promptWords - promptWords;
}

function piecesOf(random: Random, does: "reason" | "say", words: number, eventWords: number) {
  const pieces: { does: "reason" | "say"; text: string; words: number }[] = [];
  for (let left = words; left > 0; left -= eventWords) {
    const count = Math.min(left, eventWords);
    pieces.push({ does, text: randomWords(random, count), words: count });
  }
  return pieces;
}

/** Reports that come after all text, and the end. */
function endOf(plan: Plan, sent: Asked, words: number): Beat[] {
  const { limit, asked, choices, promptWords, continuedChars } = sent;
  const { usage, cached, hidden, reasoningWords } = plan;
  const input = inputOf(plan, sent);
  const all = choices * (hidden + words);
  const full: Report = { input, cached, output: all };
  const last = ((): Report | undefined => {
    switch (usage) {
      case "late":
      case "cumulative":
        return full;
      case "real, then zeros":
      case "zero":
        return ZEROS;
      case "a total with more":
        return { ...full, output: choices * words, total: input + all };
      case "more reasoning than output":
        return {
          ...full,
          output: choices * (words - reasoningWords),
          reasoning: choices * (hidden + reasoningWords),
        };
      case "a little above the limit":
        return { ...full, output: choices * limit + 40 };
      case "input a little high":
        return { ...full, input: input + HIGH_INPUT };
      case "output too high":
        return { ...full, output: asked * (2 * limit + 500) };
      case "input too high":
        return { ...full, input: 8 * promptWords + 3_000 + 2 * continuedChars };
      default:
        return undefined;
    }
  })();
  const beats: Beat[] = [];
  if (usage === "real, then zeros") beats.push({ does: "report", report: full });
  beats.push({ does: "finish", report: last }, { does: "end" });
  return beats;
}
