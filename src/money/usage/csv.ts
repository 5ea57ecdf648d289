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

/** Columns of CSV, by their names: what each has of a row. */
export type CsvColumns<Row> = Readonly<Record<string, (row: Row) => CsvValue>>;

/** Writes rows as lines of CSV. */
export function csvLines<Row>(columns: CsvColumns<Row>, rows: readonly Row[]): string {
  const cells = Object.values(columns);
  return rows.map((row) => csvLine(cells.map((cell) => cell(row)))).join("");
}

/** Writes rows as CSV, header first. */
export function csvText<Row>(columns: CsvColumns<Row>, rows: readonly Row[]): string {
  return csvLine(Object.keys(columns)) + csvLines(columns, rows);
}

/**
 * Where a text would begin a formula: in front, and behind what other spreadsheets take for the end of a cell. Where East Asian
 * text is usual, wide characters begin formulas as well.
 */
const FORMULA = /(?<=^|[;\t\r\n])(?=[=+\-@＝＋－＠\t\r])/gu;

/** A text that is a negative number is not a formula. */
const NEGATIVE = /^-\d+(\.\d+)?$/;

function cell(value: CsvValue): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string" || NEGATIVE.test(value)) return String(value);
  const safe = value.replaceAll(FORMULA, "'");
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
