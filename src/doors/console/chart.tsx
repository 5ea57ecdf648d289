import {
  labelStep,
  type Series,
  type Slot,
  type Span,
  stackTotals,
  ticksFor,
  totalOf,
} from "./chart_scale.ts";
import { amount, compact, number, share } from "./format.ts";
import { Name, shortened } from "./name.tsx";

/*
 * Charts are drawn by the server, by no library: uPlot (50 KB) and Observable Plot (200 KB with d3) need scripts to show
 * anything and write inline styles, which the content security policy forbids. Bars over time are all that pages need.
 */

const HEIGHT = 180;
const SCALE_WIDTH = 44;
/** Colours there are, without those of failures and others. */
export const MAX_SERIES = 5;
const MAX_LABELS = 12;
/** Labels of months are longer: they have the year. */
const MAX_LABELS_MONTHS = 6;
const MAX_LABELS_NARROW = 4;

/** What a chart shows. */
export interface ChartProps {
  readonly title: string;
  /** Plural noun of what the values count. */
  readonly unit: string;
  readonly span: Span;
  readonly slots: readonly Slot[];
  /** Time zone of the slots; default: UTC. */
  readonly zone?: string | undefined;
  /** Stacked from the bottom, of the slots' length: up to five, one of others and one of failures; see `topSeries()`. */
  readonly series: readonly Series[];
  /** The period before, drawn as an outline. */
  readonly before?: Series | undefined;
}

/**
 * Bars over time with axes, legend and totals. Each bar can be focused and shows its values then; a table has them all.
 */
export function Chart({ title, unit, span, slots, zone, series, before }: ChartProps) {
  const sums = stackTotals(series);
  const totals = slots.map((_, at) => sums[at] ?? 0); // without a series there is none
  const total = totals.reduce((sum, value) => sum + value, 0);
  const ticks = ticksFor(Math.max(0, ...totals, ...(before?.values ?? [])));
  const top = ticks.at(-1)!;
  const y = (value: number) => HEIGHT - value / top * HEIGHT;
  const id = `chart-${title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}`;
  const looks = looksOf(series, id);
  return (
    <figure class="chart">
      <figcaption>
        {title} <span class="quiet whole">{amount(total, unit)}</span>
      </figcaption>
      <Legend series={series} before={before} looks={looks} total={total} />
      <div class="plot">
        <svg class="scale" width={SCALE_WIDTH} height={HEIGHT} aria-hidden="true">
          {ticks.map((tick) => (
            <text x={SCALE_WIDTH - 8} y={rounded(y(tick) + 4)} text-anchor="end">
              {compact(tick)}
            </text>
          ))}
        </svg>
        <div class="over">
          <svg width="100%" height={HEIGHT} aria-hidden="true">
            <defs>
              {series.map((_, at) => <Pattern look={looks[at]!} />)}
            </defs>
            {ticks.map((tick) => (
              <line
                class={tick === 0 ? "base-line" : "grid-line"}
                x1="0"
                x2="100%"
                y1={rounded(y(tick))}
                y2={rounded(y(tick))}
              />
            ))}
            <Before values={before?.values ?? []} count={slots.length} y={y} />
            {slots.map((_, at) => (
              <Bar at={at} count={slots.length} series={series} looks={looks} y={y} />
            ))}
            <Before values={before?.values ?? []} count={slots.length} y={y} isLine />
          </svg>
          <Values {...{ title, unit, span, slots, series, before, totals }} />
        </div>
      </div>
      <DataTable {...{ title, unit, span, slots, zone, series, before, totals }} />
    </figure>
  );
}

/** How a series looks: its colour's class and the ID of its pattern. */
interface Look {
  readonly name: string;
  readonly id: string;
}

function looksOf(series: readonly Series[], id: string): readonly Look[] {
  let plain = 0;
  return series.map(({ tone }) => {
    const name = tone ?? String(plain++ % MAX_SERIES);
    return { name, id: `${id}-${name}` };
  });
}

/** Strokes over the colour, so that colour alone never tells series apart. */
const STROKES: Readonly<Record<string, string>> = {
  "1": "M-1 7L7 -1M-1 1L1 -1M5 7L7 5",
  "2": "M0 1.5H6M0 4.5H6",
  "3": "M1.5 0V6M4.5 0V6",
  "4": "M0 3H6M3 0V6",
  "bad": "M-1 -1L7 7M-1 5L1 7M5 -1L7 1M-1 7L7 -1",
};

function Pattern({ look: { name, id } }: { look: Look }) {
  const strokes = STROKES[name];
  return (
    <pattern id={id} width="6" height="6" patternUnits="userSpaceOnUse">
      <rect class={`series-${name}`} width="6" height="6" />
      {name === "others" ? <circle cx="3" cy="3" r="1.2" /> : null}
      {strokes === undefined ? null : <path d={strokes} stroke-width={name === "bad" ? 1 : 0.8} />}
    </pattern>
  );
}

function Bar(
  { at, count, series, looks, y }: {
    at: number;
    count: number;
    series: readonly Series[];
    looks: readonly Look[];
    y: (value: number) => number;
  },
) {
  let below = 0;
  return (
    <>
      {series.map(({ values }, index) => {
        const value = values[at] ?? 0;
        if (value === 0) return null;
        const bottom = y(below);
        below += value;
        // what is not nothing is seen
        const height = Math.max(1, bottom - y(below));
        return (
          <rect
            fill={`url(#${looks[index]!.id})`}
            x={percent((at + 0.14) / count)}
            width={percent(0.72 / count)}
            y={rounded(bottom - height)}
            height={rounded(height)}
          />
        );
      })}
    </>
  );
}

/** Outlines of the period before: behind the bars, and a line at their top, over them. */
function Before(
  { values, count, y, isLine = false }: {
    values: readonly number[];
    count: number;
    y: (value: number) => number;
    isLine?: boolean;
  },
) {
  return (
    <>
      {values.slice(0, count).map((value, at) => {
        const [left, right] = [percent((at + 0.06) / count), percent((at + 0.94) / count)];
        const top = rounded(y(value));
        if (value === 0) return null;
        return isLine ? <line class="before-line" x1={left} x2={right} y1={top} y2={top} /> : (
          <rect
            class="before"
            x={left}
            width={percent(0.88 / count)}
            y={top}
            height={rounded(HEIGHT - y(value))}
          />
        );
      })}
    </>
  );
}

function Legend(
  { series, before, looks, total }: Pick<ChartProps, "series" | "before"> & {
    looks: readonly Look[];
    total: number;
  },
) {
  return (
    <ul class="legend">
      {series.map((one, at) => (
        <li>
          <svg width="14" height="14" aria-hidden="true">
            <rect width="14" height="14" rx="2" fill={`url(#${looks[at]!.id})`} />
          </svg>
          <Name text={one.name} />
          <span class="quiet">
            {number(totalOf(one))}
            {series.length > 1 ? ` (${share(totalOf(one), total)})` : ""}
          </span>
        </li>
      ))}
      {before === undefined ? null : (
        <li>
          <svg width="14" height="14" aria-hidden="true">
            <rect class="before" x="1" y="1" width="12" height="12" />
            <line class="before-line" x1="1" x2="13" y1="1" y2="1" />
          </svg>
          {before.name} <span class="quiet">{number(totalOf(before))}</span>
        </li>
      )}
    </ul>
  );
}

/** Values as a list over the bars; those of a bar are seen while it has the focus or the pointer. */
/** Where a slot is, which decides to which side its values are shown. */
function placeOf(at: number, last: number): string | undefined {
  const place = at > last / 2 ? "late" : "";
  return (at > last / 3 && at < 2 * last / 3 ? `${place} middle`.trim() : place) || undefined;
}

function Values(
  { title, unit, span, slots, series, before, totals }: ChartProps & { totals: readonly number[] },
) {
  const last = slots.length - 1;
  const [wide, narrow] =
    (span === "month"
      ? [MAX_LABELS_MONTHS, MAX_LABELS_NARROW - 1]
      : [MAX_LABELS, MAX_LABELS_NARROW])
      .map((max) => labelStep(slots.length, { span, max })) as [number, number];
  // a label narrower screens have is one that wider ones have, too
  const step = narrow % wide === 0 ? wide : narrow;
  return (
    <ol class="slots" aria-label={`Values: ${title}`}>
      {slots.map((slot, at) => (
        <li tabindex={0} class={placeOf(at, last)}>
          {(last - at) % step === 0 && (
            <span class={(last - at) % narrow === 0 ? "tick" : "tick wide"} aria-hidden="true">
              {slot.label}
            </span>
          )}
          <span class="tip">
            <b>{slot.title}</b>
            <span>{amount(totals[at]!, unit)}</span>
            {series.length === 1
              ? null
              : series.map(({ name, values }) =>
                values[at] ? <span>{shortened(name)}: {number(values[at])}</span> : null
              )}
            {before !== undefined && (
              <span class="quiet">{before.name}: {number(before.values[at] ?? 0)}</span>
            )}
          </span>
        </li>
      ))}
    </ol>
  );
}

/** The same as a table, without times at which there was nothing. */
function DataTable(
  { title, unit, span, slots, zone = "UTC", series, before, totals }: ChartProps & {
    totals: readonly number[];
  },
) {
  const rows = slots.map((slot, at) => ({ slot, at }))
    .filter(({ at }) => totals[at] !== 0 || (before?.values[at] ?? 0) !== 0);
  const columns = [...series, ...(before === undefined ? [] : [before])];
  return (
    <details>
      <summary>Values as a table</summary>
      <div tabindex={0} role="region" aria-label={`Table: ${title}`}>
        <table>
          <caption>{title}, {unit}</caption>
          <thead>
            <tr>
              <th scope="col">{`${span} (${zone})`}</th>
              {columns.map(({ name }) => <th scope="col" class="number">{name}</th>)}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ slot, at }) => (
              <tr>
                <th scope="row">{slot.title}</th>
                {columns.map(({ values }) => <td class="number">{number(values[at] ?? 0)}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

/** A coordinate with few digits, since a page has hundreds. */
function rounded(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function percent(part: number): string {
  return `${Math.round(part * 100_000) / 1_000}%`;
}
