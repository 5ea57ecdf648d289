import { type Interval, MINIMUM, price, PRICES, sum } from "./interval.ts";
import type { Exchange } from "./exchange.ts";
import { isSlow, type Plan } from "./plan.ts";
import type { Taken } from "./reading.ts";
import { beliefOf, countOf, heldOutput, inputCount, LEAST, outputCount } from "./reported.ts";
import { isBreak } from "./upstream.ts";

/** What a run must cost. */
export interface Verdict extends Interval {
  /** Whether it may cost nothing as well. */
  readonly mayBeFree: boolean;
  /** The rule that decides. */
  readonly rule: Rule;
}

export type Rule =
  | "failed before anything was delivered"
  | "complete"
  | "cut off at its limit"
  | "the upstream broke off"
  | "broke off, read slowly"
  | "a limit of the gateway's"
  | "the caller left";

/** How long before an upstream breaks off a caller must have left so that it cannot be about that. */
const SURE_MS = 150;
/** What counts as keeping an upstream waiting for certain: more than what the gateway goes by. */
const SLOW_PART = 0.35;
const SLOW_MS = 350;
/** How long a caller that reads may have had no room, in all, on a machine that stands still: less than what the gateway goes by. */
const HELD_UP_MS = 200;
/** Silence of an upstream that stalls after which its gateway may have given it up: half of what its settings allow. */
const QUIET_MS = 150;

/** What a run must cost, from what the upstream sent and what the caller got. */
export function verdictOf(plan: Plan, exchanges: readonly Exchange[], taken: Taken): Verdict {
  const isRefused = taken.status >= 400;
  if (isRefused || exchanges.length === 0) {
    const rule = "failed before anything was delivered";
    return { low: 0, high: 0, mayBeFree: true, rule };
  }
  // an attempt before another one that was for the same choice costs nothing
  const counted = plan.choices === 1 ? exchanges.slice(-1) : exchanges;
  if (taken.isWhole && !taken.isCutOff) {
    const interval = atLeast(sum(counted.map((one) => complete(plan, one))));
    return { ...interval, mayBeFree: false, rule: "complete" };
  }
  const bounds = { low: lowOf(plan, counted, taken), high: highOf(plan, counted, taken) };
  const rule = ruleOf(plan, counted, taken);
  const mayBeFree = taken.words === 0 || mayHaveBroken(plan, counted, taken);
  return { ...bounds, ...(taken.words === 0 ? { low: 0 } : {}), mayBeFree, rule };
}

function ruleOf(plan: Plan, exchanges: readonly Exchange[], taken: Taken): Rule {
  if (taken.isWhole) return "cut off at its limit";
  if (taken.leftTick !== undefined) return "the caller left";
  if (plan.limit !== "none") return "a limit of the gateway's";
  if (!hasBroken(plan, exchanges, taken)) return "the caller left"; // for good: nothing else ends it
  return isSlow(plan) || taken.withoutRoomMs > HELD_UP_MS
    ? "broke off, read slowly"
    : "the upstream broke off";
}

/** Whether the upstream broke off before the reply was complete by its own word. */
function hasBroken(plan: Plan, exchanges: readonly Exchange[], taken: Taken): boolean {
  return isBreak(plan) && plan.limit === "none" && exchanges.some((one) =>
    // of a reply with too few choices, others may have been on their way
    one.brokeTick !== undefined && (!one.isFinishSent || one.choices < one.asked) ||
    mayHaveStalled(plan, one, taken)
  );
}

/** Whether the gateway may have given up an upstream that stalls sooner than that meant to: it paused before, for want of time. */
function mayHaveStalled(
  { end }: Plan,
  { brokeTick, gapMs }: Exchange,
  { leftTick }: Taken,
): boolean {
  return end === "stalls" && leftTick === undefined &&
    (brokeTick === undefined || gapMs > QUIET_MS);
}

/** Whether the upstream may have broken off by itself what was read as fast as it came. */
function mayHaveBroken(plan: Plan, exchanges: readonly Exchange[], taken: Taken): boolean {
  if (!hasBroken(plan, exchanges, taken)) return false;
  const { leftTick, slowPart, slowMs } = taken;
  if (leftTick !== undefined) {
    // where the process stood still for a while, the gateway noticed the caller's leaving later
    const brokeTick = Math.min(
      ...exchanges.map((one) => (one.brokeTick ?? Infinity) - one.gapMs),
    );
    return brokeTick < leftTick + SURE_MS;
  }
  return slowMs < SLOW_MS || slowPart < SLOW_PART;
}

/** The price of one exchange of a complete reply. */
function complete(plan: Plan, exchange: Exchange): Interval {
  const { input, output } = beliefOf(plan, exchange, exchange.reports);
  return price(
    input ?? inputCount(exchange),
    output ?? outputCount(plan, exchange, exchange.words),
  );
}

/** The least that a reply may cost that did not come to its end. */
function lowOf(plan: Plan, exchanges: readonly Exchange[], { words }: Taken): number {
  const [first] = exchanges as readonly [Exchange];
  const { input } = beliefOf(plan, first, first.reports);
  const inputs = [inputCount(first), ...(input === undefined ? [] : [input])];
  const known = exchanges.length === 1 ? knownOutput(plan, first, words) : undefined;
  // what an upstream sends beyond its limit is its own doing: the hold covers no more than the limit with its room
  const output = known !== undefined ? Math.min(known, heldOutput(first)) : Math.min(
    exchanges.reduce((total, one) => total + one.limit * one.asked, 0),
    countOf(words).low + (exchanges.length === 1 ? hiddenOutput(plan, first) : 0),
  );
  const least = Math.min(...inputs.map((one) => one.low)) + PRICES.output * output;
  // what was reported at the end counts even if the end was not read
  const whole = exchanges.every(({ isFinishSent }) => isFinishSent)
    ? sum(exchanges.map((one) => complete(plan, one))).low
    : Infinity;
  return Math.max(MINIMUM, Math.floor(Math.min(least, whole)));
}

/**
 * Output that nothing shows and nobody reported, of which the gateway can tell that it may be there: by what the upstream sends in
 * its place, or by the route.
 */
function hiddenOutput(plan: Plan, { hidden }: Exchange): number {
  // a seal tells about how much it hides
  if (plan.back === "messages") return LEAST * hidden;
  const isSeen = plan.back === "responses";
  return isSeen || plan.mayReason && plan.reasoningWords === 0 ? hidden : 0;
}

/** Output that was reported before words that the caller got, and what it got after that. */
function knownOutput(plan: Plan, exchange: Exchange, words: number): number | undefined {
  const reports = exchange.reports.filter(({ atWords }) => atWords < words);
  const { output, atWords } = beliefOf(plan, { ...exchange, words: 0 }, reports);
  if (output === undefined) return undefined;
  return output.low + countOf(Math.max(0, words - atWords)).low;
}

/** The most that it may cost: all that was generated, or what the hold covers where that is not known. */
function highOf(plan: Plan, exchanges: readonly Exchange[], taken: Taken): number {
  // the hold covers several choices together, as long as nothing is known of one of them
  const [first] = exchanges as readonly [Exchange];
  const isKnown = exchanges.length === 1 && knownOutput(plan, first, taken.words) !== undefined;
  const whole = exchanges.map((exchange) => {
    const { input, output } = beliefOf(plan, exchange, exchange.reports);
    const counts = [inputCount(exchange), ...(input === undefined ? [] : [input])];
    const held = heldOutput(exchange);
    const words = taken.isCutOff ? Math.min(taken.words, exchange.words) : exchange.words;
    const isHidden = plan.mayReason || plan.hidden + plan.reasoningWords > 0;
    const outputs = [
      outputCount(plan, exchange, words).high,
      output?.high ?? 0,
      plan.end === "exceeds its limit" ? 0 : exchange.words + exchange.hidden,
      isHidden && !isKnown ? held : 0,
    ];
    return Math.max(...counts.map((one) => one.high)) + PRICES.output * Math.max(...outputs);
  });
  const all = whole.reduce((total, one) => total + one, 0);
  return Math.max(MINIMUM, Math.ceil(all));
}

function atLeast({ low, high }: Interval): Interval {
  return { low: Math.max(MINIMUM, Math.floor(low)), high: Math.max(MINIMUM, Math.ceil(high)) };
}
