import type { Child } from "@hono/hono/jsx";
import { randomText } from "../platform/mod.ts";
import { date, dateTime, number } from "./format.ts";

/** A time, also machine-readable. */
export function Time({ ms, dayOnly = false }: { ms: number; dayOnly?: boolean }) {
  return <time datetime={new Date(ms).toISOString()}>{dayOnly ? date(ms) : dateTime(ms)}</time>;
}

/** A key figure with its name. */
export function Stat(
  { name, value, note }: { name: string; value: number | string; note?: Child },
) {
  return (
    <div class="stat">
      <dt>{name}</dt>
      <dd>{typeof value === "number" ? number(value) : value}</dd>
      {note === undefined ? null : <dd class="note">{note}</dd>}
    </div>
  );
}

/** A column of a table. */
export interface Column<Row> {
  readonly name: string;
  readonly numeric?: boolean;
  readonly cell: (row: Row) => Child;
}

/** A table; shows a message if there are no rows. */
export function Table<Row>(
  { caption, columns, rows, empty }: {
    caption: string;
    columns: readonly Column<Row>[];
    rows: readonly Row[];
    empty: Child;
  },
) {
  if (rows.length === 0) return <p class="empty">{empty}</p>;
  return (
    <div class="scroll" tabindex={0} role="region" aria-label={caption}>
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ name, numeric }) => (
              <th scope="col" class={numeric ? "number" : undefined}>{name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {columns.map(({ name, cell, numeric }) => (
                <td class={numeric ? "number" : undefined} data-name={name}>{cell(row)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A labelled field of a form. */
export function Field(
  { label, name, type = "text", hint, ...rest }: {
    label: string;
    name: string;
    type?: string;
    hint?: string;
    value?: string;
    required?: boolean;
    autocomplete?: string;
    placeholder?: string;
    minlength?: number;
    maxlength?: number;
    min?: number;
    list?: string;
    autofocus?: boolean;
  },
) {
  return (
    <label class="field">
      <span>{label}</span>
      <input name={name} type={type} {...rest} />
      {hint === undefined ? null : <small>{hint}</small>}
    </label>
  );
}

/** Makes a form idempotent: posting it again changes nothing. */
export function FormId() {
  return <input type="hidden" name="form" value={randomText(16)} />;
}

/** A form for a write, with the session's token. */
export function Form(
  { action, csrf, children, class: className, confirm }: {
    action: string;
    csrf: string;
    children?: Child;
    class?: string;
    /** Question to confirm before the form is sent, if scripts run. */
    confirm?: string;
  },
) {
  return (
    <form method="post" action={action} class={className} data-confirm={confirm}>
      <input type="hidden" name="csrf" value={csrf} />
      {children}
    </form>
  );
}

/** A state, shown as a word and a colour. */
export function Badge(
  { tone, children }: { tone: "good" | "bad" | "warn" | "calm"; children?: Child },
) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

/** Shows how much of a limit is used. */
export function Meter({ label, used, limit }: { label: string; used: number; limit: number }) {
  return (
    <div class="meter">
      <span>{label}</span>
      <meter
        min={0}
        max={limit}
        value={used}
        high={limit * 0.8}
        optimum={0}
        aria-label={`${label}: ${number(used)} of ${number(limit)}`}
      />
      <span class="number">{number(used)} / {number(limit)}</span>
    </div>
  );
}

/** One bar of a chart. */
export interface Bar {
  readonly label: string;
  readonly value: number;
  /** Part of the value that failed. */
  readonly bad?: number;
}

const WIDTH = 720;
const HEIGHT = 120;

/** A bar chart over time, drawn on the server so that nothing shifts when it loads. */
export function BarChart(
  { title, bars, unit }: { title: string; bars: readonly Bar[]; unit: string },
) {
  const most = Math.max(1, ...bars.map(({ value }) => value));
  const step = WIDTH / Math.max(1, bars.length);
  const height = (value: number) => value === 0 ? 0 : Math.max(1.5, value / most * HEIGHT);
  const total = bars.reduce((sum, { value }) => sum + value, 0);
  return (
    <figure class="chart">
      <figcaption>
        {title} <span class="quiet">{number(total)} {unit}, max {number(most)}</span>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title}: ${number(total)} ${unit}`}
      >
        {bars.map(({ label, value, bad = 0 }, at) => {
          const [x, width] = [(at * step + step * 0.12).toFixed(2), (step * 0.76).toFixed(2)];
          const [whole, part] = [height(value), height(bad)];
          return (
            <g>
              <title>
                {label}: {number(value)} {unit}
                {bad > 0 ? `, ${number(bad)} failed` : ""}
              </title>
              <rect
                class="hit"
                x={(at * step).toFixed(2)}
                y="0"
                width={step.toFixed(2)}
                height={HEIGHT}
              />
              <rect
                class="bar"
                x={x}
                y={(HEIGHT - whole).toFixed(2)}
                width={width}
                height={whole.toFixed(2)}
              />
              {bad > 0
                ? (
                  <rect
                    class="bad"
                    x={x}
                    y={(HEIGHT - part).toFixed(2)}
                    width={width}
                    height={part.toFixed(2)}
                  />
                )
                : null}
            </g>
          );
        })}
      </svg>
      <div class="axis" aria-hidden="true">
        <span>{bars[0]?.label}</span>
        <span>{bars.at(-1)?.label}</span>
      </div>
    </figure>
  );
}

/** Text with a copy button, which appears if scripts run. */
export function Copyable({ text, label, lang }: { text: string; label: string; lang?: string }) {
  return (
    <div class="copyable">
      <button type="button" class="copy" data-copy hidden aria-label={`Copy ${label}`}>Copy</button>
      <pre role="group" tabindex={0} aria-label={label} data-lang={lang}><code>{text}</code></pre>
    </div>
  );
}
