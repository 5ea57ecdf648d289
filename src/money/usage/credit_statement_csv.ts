import type { CreditLine, CreditStatement } from "./credit_statement.ts";
import { csvLine } from "./csv.ts";

/** Writes a statement as CSV: its opening balance, its lines, oldest first, and its closing balance. */
export function creditStatementCsv(statement: CreditStatement): string {
  const { fromMs, closedMs, opening, closing, lines } = statement;
  return [
    csvLine(["time", "kind", "requests", "source", "note", "reason", "credits", "balance"]),
    csvLine([timeOf(fromMs), "opening", null, null, null, null, null, opening]),
    ...lines.map((line) => csvLine([...cellsOf(line), line.credits, line.balance])),
    csvLine([timeOf(closedMs), "closing", null, null, null, null, null, closing]),
  ].join("");
}

function cellsOf(line: CreditLine): (string | number | null)[] {
  const time = line.isDay ? timeOf(line.atMs).slice(0, 10) : timeOf(line.atMs);
  if (line.kind === "charges") return [time, line.kind, line.requests, null, null, null];
  if (!("entry" in line)) return [time, line.kind, null, null, `${line.entries} entries`, null];
  const { source, note, reason } = line.entry;
  return [time, line.kind, null, source, note, reason];
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
