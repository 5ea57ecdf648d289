import type { Child } from "@hono/hono/jsx";
import { number } from "./format.ts";

export { Chart, type ChartProps, MAX_SERIES } from "./chart.tsx";
export { Field, Form, FormId, Select } from "./form.tsx";
export { GLOSSARY, type GlossaryWord, Term } from "./glossary.tsx";
export { Name, Names } from "./name.tsx";
export { type Column, Rows, Table } from "./table.tsx";
export { RelativeTime, Time, UtcDay } from "./time.tsx";

/** Longer figures are set smaller where they would not fit. */
const LONG_FIGURE_CHARS = 8;
const LONGEST_FIGURE_CHARS = 13;

/** A key figure with its name, and what is said of it. */
export interface StatProps {
  readonly name: string;
  readonly value: number | string;
  readonly note?: Child;
}

/** A key figure with its name. */
export function Stat({ live, ...props }: StatProps & {
  /** Name of the live part that it is. */
  live?: string;
}) {
  return (
    <div class="stat" data-part={live}>
      <StatLines {...props} />
    </div>
  );
}

/** The class of a figure that is long, so that its digits stay on one line. */
function sizeOf(text: string): string | undefined {
  if (text.length > LONGEST_FIGURE_CHARS) return "longest";
  return text.length > LONG_FIGURE_CHARS ? "long" : undefined;
}

/** What is in a {@linkcode Stat}. */
export function StatLines({ name, value, note }: StatProps) {
  const text = typeof value === "number" ? number(value) : value;
  return (
    <>
      <dt>{name}</dt>
      <dd class={sizeOf(text)}>{text}</dd>
      {note === undefined ? null : <dd class="note">{note}</dd>}
    </>
  );
}

/** Names with their values. */
export function Facts(
  { rows, class: more = "" }: {
    rows: readonly (readonly [name: Child, value: Child])[];
    class?: "card" | "two" | "";
  },
) {
  return (
    <dl class={`facts ${more}`.trimEnd()}>
      {rows.map(([name, value]) => (
        <>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </>
      ))}
    </dl>
  );
}

/** A state, shown as a word and a colour. */
export function Badge(
  { tone, children }: { tone: "good" | "bad" | "warn" | "calm"; children?: Child },
) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

/** The part of a limit from which on its use is pointed out. */
const HIGH = 0.8;

/** Attributes of a meter: its colour changes when 80 % of a limit are used, and again when nothing is left. */
export function levelsOf(limit: number) {
  return { min: 0, max: limit, low: limit * HIGH, high: limit * 0.9999, optimum: 0 };
}

/** Shows how much of a limit is used. */
export function Meter({ label, used, limit }: { label: string; used: number; limit: number }) {
  return (
    <div class="meter">
      <span>{label}</span>
      <meter
        {...levelsOf(limit)}
        value={used}
        aria-label={`${label}: ${number(used)} of ${number(limit)}`}
      />
      <span class="number">{number(used)} / {number(limit)}</span>
    </div>
  );
}

/** Text with a copy button, which appears if scripts run. Without a text, the page's script fills it in by the ID. */
export function Copyable(
  { text, label, id }: { text?: string; label: string; id?: string },
) {
  return (
    <div class="copyable">
      <button type="button" class="copy" data-copy hidden aria-label={`Copy ${label}`}>Copy</button>
      <pre
        role="group"
        tabindex={0}
        aria-label={label}
      ><code id={id}>{text}</code></pre>
    </div>
  );
}
