/** Formats a number: `12,345`. */
export function number(value: number): string {
  return value.toLocaleString("en-US");
}

/** Formats a duration: `950 ms`, `1.2 s`, `3 min 20 s`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** Formats a UTC date: `21 Nov 2026`. */
export function date(ms: number): string {
  const at = new Date(ms);
  return `${at.getUTCDate()} ${MONTHS[at.getUTCMonth()]} ${at.getUTCFullYear()}`;
}

/** Formats a UTC time: `21 Nov 2026, 14:05 UTC`. */
export function dateTime(ms: number): string {
  return `${date(ms)}, ${new Date(ms).toISOString().slice(11, 16)} UTC`;
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

/** Formats a count of a regular noun: `1 request`, `2 requests`. */
export function count(value: number, noun: string): string {
  return `${number(value)} ${noun}${value === 1 ? "" : "s"}`;
}
