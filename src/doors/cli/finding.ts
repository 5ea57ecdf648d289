import { colors } from "../../ground/std/mod.ts";

/** One thing that was looked at. */
export interface Finding {
  readonly check: string;
  readonly state: "ok" | "warning" | "failed";
  readonly detail: string;
  /** What to do about it. */
  readonly advice?: string;
}

/** Something that is as it should be. */
export function ok(check: string, detail: string): Finding {
  return { check, state: "ok", detail };
}

/** Something that may be wrong. */
export function warning(check: string, detail: string, advice: string): Finding {
  return { check, state: "warning", detail, advice };
}

/** Something that does not work. */
export function failed(check: string, detail: string, advice: string): Finding {
  return { check, state: "failed", detail, advice };
}

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
