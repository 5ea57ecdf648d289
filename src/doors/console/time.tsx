import { date, dateAndTime, dateTime, relative } from "./format.ts";

/** A time in UTC, which the page's script shows in the reader's time zone. */
export function Time({ ms, dayOnly = false }: { ms: number; dayOnly?: boolean }) {
  return (
    <time
      datetime={new Date(ms).toISOString()}
      data-show={dayOnly ? "day" : "time"}
      title={dateTime(ms)}
    >
      {dayOnly ? date(ms) : dateAndTime(ms)}
    </time>
  );
}

/** A day in UTC, as the months of statements are: a reader's zone would put it into another one. */
export function UtcDay({ ms }: { ms: number }) {
  return <span title="UTC day">{date(ms)}</span>;
}

/** A time relative to now, with the absolute one as its tooltip. */
export function RelativeTime({ ms, nowMs }: { ms: number; nowMs: number }) {
  return (
    <time datetime={new Date(ms).toISOString()} data-show="title" title={dateTime(ms)}>
      {relative(ms, nowMs)}
    </time>
  );
}
