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

/** A time as alerts have it in their texts, which also go to other programs. */
const TEXT_TIME = /(\d{4}-\d{2}-\d{2} \d{2}:\d{2} UTC)/;

/** A text whose times, such as `2026-12-01 00:00 UTC`, are shown as all of them are. */
export function WithTimes({ text }: { text: string }) {
  const parts = text.split(TEXT_TIME);
  return (
    <>
      {parts.map((part, at) => {
        if (at % 2 === 0) return part;
        const ms = Date.parse(part.replace(" ", "T").replace(" UTC", "Z"));
        // names in the text are whatever somebody wrote
        return Number.isNaN(ms) ? part : <Time ms={ms} />;
      })}
    </>
  );
}

/** A time relative to now, with the absolute one as its tooltip. */
export function RelativeTime({ ms, nowMs }: { ms: number; nowMs: number }) {
  return (
    <time datetime={new Date(ms).toISOString()} data-show="title" title={dateTime(ms)}>
      {relative(ms, nowMs)}
    </time>
  );
}
