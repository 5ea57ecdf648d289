import { hour, number } from "./format.ts";

const WIDTH = 120;
const HEIGHT = 24;

/** One bar of a sparkline. */
export interface SparkValue {
  readonly atMs: number;
  readonly value: number;
  /** Part of the value that failed. */
  readonly failed: number;
}

/**
 * Bars in the height of a line, without axes: for a look at whether something has changed. What it shows is said in words to
 * those who cannot see it; exact values belong in a table nearby.
 */
export function Sparkline(
  { label, unit, values }: { label: string; unit: string; values: readonly SparkValue[] },
) {
  const highest = Math.max(0, ...values.map(({ value, failed }) => Math.max(value, failed)));
  const total = values.reduce((sum, { value }) => sum + value, 0);
  const failed = values.reduce((sum, one) => sum + one.failed, 0);
  const busiest = values.find(({ value }) => value === highest);
  const words = highest === 0 || busiest === undefined
    ? `${label}: no ${unit}`
    : `${label}: ${number(total)} ${unit}, ${number(failed)} failed, at most ${
      number(highest)
    } a minute, at ${hour(busiest.atMs)} UTC`;
  const step = WIDTH / Math.max(1, values.length);
  const heightOf = (value: number) =>
    value === 0 || highest === 0 ? 0 : Math.max(2, value / highest * (HEIGHT - 2));
  return (
    <svg
      class="spark"
      role="img"
      width={WIDTH}
      height={HEIGHT}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      aria-label={words}
    >
      <title>{words}</title>
      <line class="base-line" x1="0" x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} />
      {values.map(({ value, failed }, at) => {
        if (value === 0 && failed === 0) return null;
        const [all, bad] = [heightOf(Math.max(value, failed)), heightOf(failed)];
        return (
          <>
            <SparkBar tone="0" x={at * step} height={all} step={step} />
            {bad === 0 ? null : <SparkBar tone="bad" x={at * step} height={bad} step={step} />}
          </>
        );
      })}
    </svg>
  );
}

function SparkBar(
  { tone, x, height, step }: { tone: "0" | "bad"; x: number; height: number; step: number },
) {
  return (
    <rect
      class={`series-${tone}`}
      x={rounded(x)}
      width={rounded(step * 0.8)}
      y={rounded(HEIGHT - 1 - height)}
      height={rounded(height)}
    />
  );
}

function rounded(value: number): string {
  return String(Math.round(value * 10) / 10);
}
