import { ZoneFormats } from "../../ground/platform/mod.ts";

/** A page has thousands of numbers: `toLocaleString` takes ten times as long. */
const NUMBERS = new Intl.NumberFormat("en-US");

/** Formats a number: `12,345`, `−5` with a proper minus sign. */
export function number(value: number): string {
  // not -0
  return NUMBERS.format(value === 0 ? 0 : value).replace("-", "−");
}

/** Formats a change: `+12,345`, `−5`, `0`. */
export function signed(value: number): string {
  return `${value > 0 ? "+" : ""}${number(value)}`;
}

/**
 * Formats a price in credits as US dollars, with digits behind the cents where they count: `$1.20`, `$0.0375`.
 *
 * @param credits Whole or parts of credits.
 * @param perUsd Credits for one US dollar.
 */
export function exactDollars(credits: number, perUsd: number): string {
  const usd = Math.abs(credits / perUsd);
  // below a dollar, what counts is behind the cents
  const text = (usd < 1 ? Number(usd.toPrecision(3)) : usd).toLocaleString("en-US", {
    minimumFractionDigits: 2,
    maximumFractionDigits: usd < 1 ? 10 : 2,
  });
  return `${credits < 0 ? "−" : ""}$${text}`;
}

const UNITS = [[1e15, "Q"], [1e12, "T"], [1e9, "B"], [1e6, "M"], [1e3, "k"]] as const;

/** Formats a number for an axis, with up to four digits: `950`, `1.5k`, `20M`. */
export function compact(value: number): string {
  const [size, unit] = UNITS.find(([size]) => Math.abs(value) >= size) ?? [1, ""];
  return `${number(Number((value / size).toPrecision(4)))}${unit}`;
}

/** Formats a part of a whole: `37 %`, `<1 %`, `0 %` if the whole is 0. */
export function share(part: number, whole: number): string {
  if (part === 0 || whole === 0) return "0 %";
  const percent = 100 * part / whole;
  return percent < 1 ? "<1 %" : `${Math.round(percent)} %`;
}

/** Formats a duration: `950 ms`, `1.2 s`, `3 min 20 s`, `2 h 5 min`; a dash for one that is not known. */
export function duration(ms: number | undefined): string {
  if (ms === undefined) return "–";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  return `${number(Math.floor(minutes / 60))} h ${minutes % 60} min`;
}

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** Formats a UTC day without its year: `21 Nov`. */
export function day(ms: number): string {
  const at = new Date(ms);
  return `${at.getUTCDate()} ${MONTHS[at.getUTCMonth()]}`;
}

/** Formats a UTC month: `Nov 2026`. */
export function month(ms: number): string {
  const at = new Date(ms);
  return `${MONTHS[at.getUTCMonth()]} ${at.getUTCFullYear()}`;
}

/** Formats a UTC date: `21 Nov 2026`. */
export function date(ms: number): string {
  return `${new Date(ms).getUTCDate()} ${month(ms)}`;
}

/** This locale writes 2026-11-21, 14:05:33. */
const LOCAL_TIMES = new ZoneFormats("en-CA", {
  hourCycle: "h23",
  year: "numeric",
  month: "2-digit",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});

/**
 * Shifts a time so that it reads in UTC as it does in a time zone, to be formatted.
 *
 * @param zone A name of the IANA database.
 */
export function inZone(ms: number, zone: string): number {
  if (zone === "UTC") return ms;
  const text = LOCAL_TIMES.of(zone).format(ms);
  return Date.parse(`${text.replace(", ", "T")}Z`);
}

/** Formats a UTC time of day: `14:05`. */
export function hour(ms: number): string {
  return new Date(ms).toISOString().slice(11, 16);
}

/** Formats a UTC time: `21 Nov 2026, 14:05:33`. */
export function dateAndTime(ms: number): string {
  return `${date(ms)}, ${new Date(ms).toISOString().slice(11, 19)}`;
}

/** Formats a UTC time and says so: `21 Nov 2026, 14:05:33 UTC`. */
export function dateTime(ms: number): string {
  return `${dateAndTime(ms)} UTC`;
}

/** Formats a time relative to now: `in 3 days`, `2 hours ago`. */
export function relative(ms: number, nowMs: number): string {
  const ahead = ms > nowMs;
  const minutes = Math.round(Math.abs(ms - nowMs) / 60_000);
  if (minutes < 1) return ahead ? "in a moment" : "just now";
  const [amount, unit] = minutes < 60
    ? [minutes, "minute"] as const
    : minutes < 48 * 60
    ? [Math.round(minutes / 60), "hour"] as const
    : [Math.round(minutes / 1_440), "day"] as const;
  const text = `${number(amount)} ${unit}${amount === 1 ? "" : "s"}`;
  return ahead ? `in ${text}` : `${text} ago`;
}

/** Formats a count of a regular noun that is given in the plural: `1 request`, `2 requests`. */
export function amount(value: number, unit: string): string {
  return value === 1 ? `1 ${unit.replace(/s$/, "")}` : `${number(value)} ${unit}`;
}

/** Formats a count of a regular noun: `1 request`, `2 requests`. */
export function count(value: number, noun: string): string {
  return `${number(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** Names a team as such, in the middle of a sentence: `team Platform`, and `Team 1` where its name says so itself. */
export function teamWords(name: string): string {
  return /^team\b/i.test(name) ? name : `team ${name}`;
}

/** The same at the beginning of a sentence. */
export function teamTitle(name: string): string {
  return /^team\b/i.test(name) ? name : `Team ${name}`;
}
