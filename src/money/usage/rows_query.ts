import type { Period } from "./pieces.ts";

/** What a column of the result is. */
export type Column =
  /** The hour or UTC day of a roll-up, or the period's label. */
  | { readonly by: "hour" | "day" | "period" }
  | { readonly by: "model" | "account" | "key" | "value" }
  /** What a key belongs to, by key ID. */
  | { readonly by: "owner"; readonly owners: ReadonlyMap<string, string> };

/** Rows to be added up. */
export interface RowsQuery {
  readonly periods: readonly Period[];
  readonly columns: readonly Column[];
  /** Undefined for all. */
  readonly accountIds?: readonly string[] | undefined;
  readonly keyIds?: readonly string[] | undefined;
  readonly models?: readonly string[] | undefined;
  /** Roll-ups of a tag instead of all; with a value only that. */
  readonly tag?: { readonly name: string; readonly value?: string | undefined } | undefined;
  /** Only what is of one of these groups. */
  readonly among?: { readonly column: Column; readonly names: readonly string[] } | undefined;
  /** Whether the groups of most credits come first. */
  readonly most?: boolean;
  /** Whether requests are counted only: the other sums are 0. */
  readonly onlyRequests?: boolean;
  readonly limit: number;
}

/** Whether a column is a time. */
export function isTime(by: Column["by"]): boolean {
  return by === "hour" || by === "day" || by === "period";
}
