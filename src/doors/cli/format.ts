import { displayed } from "../../ground/platform/mod.ts";
import { UsageError } from "./context.ts";

/** Rows as aligned columns under their names, for people. */
export function table(rows: readonly Readonly<Record<string, unknown>>[]): string {
  if (rows.length === 0) return "(none)\n";
  const names = Object.keys(rows[0]!);
  const cells = [names, ...rows.map((row) => names.map((name) => cell(row[name])))];
  const widths = names.map((_, at) => Math.max(...cells.map((line) => line[at]!.length)));
  const numeric = names.map((name) => rows.every((row) => typeof row[name] === "number"));
  return cells.map((line) =>
    line.map((text, at) => numeric[at] ? text.padStart(widths[at]!) : text.padEnd(widths[at]!))
      .join("  ").trimEnd()
  ).join("\n") + "\n";
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return "-";
  if (typeof value === "number") return value.toLocaleString("en-US");
  return displayed(Array.isArray(value) ? value.join(", ") : String(value));
}

/** A point in time, for people: `2026-11-20 14:05 UTC`. */
export function time(ms: number | null): string | null {
  return ms === null ? null : `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** A number of bytes, for people: `1.5 MB`. */
export function size(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  const [unit, scale] = bytes < 1e6 ? ["KB", 1e3] as const : bytes < 1e9 ? ["MB", 1e6] as const : [
    "GB",
    1e9,
  ] as const;
  return `${(bytes / scale).toFixed(1)} ${unit}`;
}

const UNITS: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** `30d` in milliseconds; minutes `m`, hours `h`, days `d`, weeks `w`. */
export function parseDuration(text: string): number {
  const [, amount, unit] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
  if (amount === undefined || Number(amount) === 0) {
    throw new UsageError(
      `invalid duration '${text}': use a number and a unit (m, h, d or w), e.g. 30d`,
    );
  }
  return Number(amount) * UNITS[unit!]!;
}

/** A whole number that is not negative. */
export function parseCount(text: string): number {
  if (!/^\d{1,15}$/.test(text)) {
    throw new UsageError(`invalid number '${text}': must be a whole number`);
  }
  return Number(text);
}

/** A comma-separated list. */
export function parseList(text: string): string[] {
  const words = text.split(",").map((word) => word.trim()).filter((word) => word !== "");
  if (words.length === 0) {
    throw new UsageError("empty list: use comma-separated names");
  }
  return words;
}

/**
 * Quotes a text as one word of a POSIX shell, whatever is in it.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { shellWord } from "./format.ts";
 *
 * assertEquals(shellWord("it's"), `'it'\\''s'`);
 * ```
 */
export function shellWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
