import type { Child } from "@hono/hono/jsx";
import type { Notice } from "../../operating/alerts/mod.ts";
import { Time } from "./time.tsx";

/** A time as texts of alerts write it: those that are delivered have no reader's time zone. */
const WRITTEN = /\d{4}-\d\d-\d\d \d\d:\d\d UTC/g;

/** The text of an alert, with its times as the other pages show them. A time that is part of a name stays as it is. */
export function AlertText({ alert: { text, data } }: { alert: Pick<Notice, "text" | "data"> }) {
  const times = new Map(
    Object.values(data).flatMap((value) => {
      const ms = typeof value === "string" && /^\d{4}-\d\d-\d\dT/.test(value)
        ? Date.parse(value)
        : NaN;
      return Number.isNaN(ms) ? [] : [[writtenOf(ms), ms] as const];
    }),
  );
  const parts: Child[] = [];
  let end = 0;
  for (const { 0: written, index } of text.matchAll(WRITTEN)) {
    const ms = times.get(written);
    if (ms === undefined) continue;
    parts.push(text.slice(end, index), <Time ms={ms} />);
    end = index + written.length;
  }
  return <>{[...parts, text.slice(end)]}</>;
}

function writtenOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
