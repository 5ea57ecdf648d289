import type { Finding } from "../../ground/finding.ts";
import { colors } from "../../ground/std/mod.ts";

const MARKS = { ok: "✓", warning: "!", failed: "✗" };
const PAINT = { ok: colors.green, warning: colors.yellow, failed: colors.red };

/** One finding for a terminal, with what to do about it. */
export function findingLine(
  { check, state, detail, advice }: Finding,
  coloured: boolean,
  width = 10,
): string {
  const indented = detail.replaceAll("\n", "\n    ");
  const mark = coloured ? PAINT[state](MARKS[state]) : MARKS[state];
  return `${mark} ${check.padEnd(width)} ${indented}\n` +
    (advice === undefined ? "" : `    → ${advice}\n`);
}
