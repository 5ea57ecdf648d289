import { csvLine } from "./csv.ts";
import { hasNames } from "./group_names.ts";
import type { UsageFigures, UsageReport } from "./report_shape.ts";

const FIGURES = [
  "requests",
  "errors",
  "input_tokens",
  "cached_tokens",
  "output_tokens",
  "saved_credits",
  "credits",
  "cache_hit_rate",
  "average_ms",
] as const satisfies (keyof UsageFigures)[];

/**
 * Writes a report as CSV (RFC 4180): a header, and a line for each row. Groupings by ID have two columns, the name and
 * the ID; failed requests have a column for each reason.
 */
export function usageCsv({ by, rows, totals, previous }: UsageReport): string {
  const reasons = Object.keys(totals.failures ?? {}).toSorted();
  const groups = by.flatMap((one) => hasNames(one) ? [one, `${one}_id`] : [one]);
  const head = [
    ...groups,
    ...FIGURES,
    ...reasons.map((reason) => `failed_${reason}`),
    ...previous === undefined ? [] : FIGURES.map((name) => `previous_${name}`),
  ];
  const lines = rows.map(({ group, names, isOthers, failures, previous: before, ...figures }) => [
    ...by.flatMap((one) => {
      const id = group[one];
      if (!hasNames(one)) return [id];
      return [names[one] ?? id, isOthers && id === "others" ? "" : id];
    }),
    ...FIGURES.map((name) => figures[name]),
    ...reasons.map((reason) => failures?.[reason] ?? 0),
    ...previous === undefined ? [] : FIGURES.map((name) => before?.[name]),
  ]);
  return [head, ...lines].map(csvLine).join("");
}
