/** What a cell may hold. */
export type CsvValue = string | number | boolean | null | undefined;

/**
 * Writes a row as CSV (RFC 4180).
 *
 * Numbers stay numbers; texts that a spreadsheet would evaluate as a formula get an apostrophe in front.
 *
 * @param cells Values; null and undefined are empty cells.
 * @returns A line with its end.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { csvLine } from "./csv.ts";
 *
 * assertEquals(csvLine(["a,b", -1, "=1+1", null]), '"a,b",-1,\'=1+1,\r\n');
 * ```
 */
export function csvLine(cells: readonly CsvValue[]): string {
  return `${cells.map(cell).join(",")}\r\n`;
}

function cell(value: CsvValue): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
