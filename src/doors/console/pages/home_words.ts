import type { Span } from "../../../money/ledger/mod.ts";
import type { BurnRate } from "../burn_rate.ts";
import { dollars } from "../dollars.ts";
import { count, day, number } from "../format.ts";
import type { MonthFigures } from "./home_props.ts";

/** The spans of rate limits, as they are counted. */
export const SPAN_WORDS: Readonly<Record<Span, string>> = {
  minute: "a minute",
  hour: "an hour",
  day: "a day",
};

/** Says how long the credits last. */
export function lasting(
  rate: BurnRate | undefined,
  balance: number,
): { readonly value: string; readonly note: string } {
  if (balance <= 0) return { value: "–", note: "no credits left" };
  if (rate === undefined) return { value: "–", note: "known after your first full day" };
  const { days, creditsPerDay, daysLeft, lastsLonger } = rate;
  const period = days === 1 ? "the last full day" : `the last ${days} full days`;
  if (daysLeft === undefined) return { value: "–", note: `nothing spent in ${period}` };
  const perDay = creditsPerDay < 10 ? creditsPerDay.toFixed(1) : number(Math.round(creditsPerDay));
  const value = lastsLonger
    ? "over a year"
    : daysLeft < 1
    ? "under a day"
    : count(Math.floor(daysLeft), "day");
  return { value, note: `at this rate: ${perDay} credits a day in ${period}` };
}

/** Says what a month cost, and how that compares with the same part of the month before. */
export function monthWords(
  { credits, requests, before, beforeSinceMs, beforeUntilMs }: MonthFigures,
  perUsd: number | undefined,
): { readonly value: number; readonly note: string } {
  const money = perUsd === undefined ? "" : `${dollars(credits, perUsd)}, `;
  const asMany = `${money}${count(requests, "request")}`;
  if (before === undefined) return { value: credits, note: asMany };
  const [first, last] = [day(beforeSinceMs), day(beforeUntilMs - 1)];
  const period = first === last ? first : `${first.split(" ")[0]}–${last}`;
  if (before === 0) return { value: credits, note: `${asMany}; nothing on ${period}` };
  const percentage = Math.round(100 * credits / before) - 100;
  const change = percentage === 0
    ? "as much as"
    : `${number(Math.abs(percentage))}\u00a0% ${percentage > 0 ? "more" : "less"} than`;
  return { value: credits, note: `${asMany}; ${change} on ${period} (${number(before)})` };
}
