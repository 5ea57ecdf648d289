import { SUMS } from "../ledger/mod.ts";
import type { ComparedFigures, UsageFigures } from "./report_shape.ts";
import { NONE, type SummedRow, type Sums } from "./rows.ts";

/** A group with why its requests failed, as far as that is known. */
export interface Group extends SummedRow {
  readonly failures?: Readonly<Record<string, number>>;
}

/** Adds up credits. */
export function creditsIn(rows: readonly { readonly credits: number }[]): number {
  return rows.reduce((sum, { credits }) => sum + credits, 0);
}

/** Adds up groups. */
export function total(rows: readonly Group[]): Group {
  const sums = Object.fromEntries(
    SUMS.map((name) => [name, rows.reduce((sum, row) => sum + row[name], 0)]),
  ) as Sums;
  const isKnown = rows.some(({ failures }) => failures !== undefined);
  if (!isKnown) return { ...sums, group: [] };
  const failures: Record<string, number> = {};
  for (const row of rows) {
    for (const [reason, count] of Object.entries(row.failures ?? {})) {
      failures[reason] = (failures[reason] ?? 0) + count;
    }
  }
  return { ...sums, failures, group: [] };
}

/** Takes groups away from the sums that they are in. */
export function without(sums: Sums, rows: readonly Sums[]): Sums {
  return Object.fromEntries(
    SUMS.map((name) => [name, rows.reduce((rest, row) => rest - row[name], sums[name])]),
  ) as Sums;
}

/** The figures of a group, and of the group that it is compared with. */
export function figures(
  row: Group,
  before: Sums | undefined,
  isCompared: boolean,
): ComparedFigures {
  const now = figuresOf(row);
  const compared = { ...now, ...row.failures && { failures: row.failures } };
  if (!isCompared) return compared;
  const previous = figuresOf(before ?? NONE);
  return {
    ...compared,
    previous,
    change: {
      requests: percentOf(now.requests, previous.requests),
      errors: percentOf(now.errors, previous.errors),
      input_tokens: percentOf(now.input_tokens, previous.input_tokens),
      output_tokens: percentOf(now.output_tokens, previous.output_tokens),
      credits: percentOf(now.credits, previous.credits),
    },
  };
}

function figuresOf(sums: Sums): UsageFigures {
  const { requests, errors, input_tokens, cached_tokens, output_tokens, credits } = sums;
  return {
    requests,
    errors,
    input_tokens,
    cached_tokens,
    cache_hit_rate: input_tokens === 0
      ? 0
      : Math.round(cached_tokens / input_tokens * 10_000) / 10_000,
    output_tokens,
    saved_credits: Math.floor(sums.saved_millionths / 1_000_000),
    credits,
    average_ms: requests === 0 ? 0 : Math.round(sums.duration_ms / requests),
  };
}

/** To a tenth of a percent. */
function percentOf(now: number, before: number): number | null {
  return before === 0 ? null : Math.round((now - before) / before * 1_000) / 10;
}
