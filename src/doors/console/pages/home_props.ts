import type { Budget, Credits, WindowState } from "../../../money/ledger/mod.ts";
import type { Key } from "../../../people/accounts/mod.ts";
import type { UsageSum } from "../../../money/usage/mod.ts";
import type { BurnRate } from "../burn_rate.ts";
import type { PageContext } from "../layout.tsx";
import type { TeamPool } from "./home_pools.tsx";

/** What is known of a month and the same part of the month before. */
export interface MonthFigures {
  readonly credits: number;
  readonly requests: number;
  /** Credits in that part of the month before; undefined if the account did not exist when it began. */
  readonly before: number | undefined;
  readonly beforeSinceMs: number;
  readonly beforeUntilMs: number;
}

/** A rate limit of which something is used. */
export interface UsedLimit {
  /** The key; undefined for the limit of all keys together. */
  readonly key: Key | undefined;
  readonly window: WindowState;
}

/** What the first page shows. */
export interface HomeProps {
  readonly page: PageContext;
  readonly credits: Credits;
  /** Credits for one US dollar, if the operator has set them. */
  readonly perUsd: number | undefined;
  /** Undefined for an account without a full day. */
  readonly rate: BurnRate | undefined;
  readonly today: { readonly credits: number; readonly requests: number };
  readonly month: MonthFigures;
  readonly inFlight: number;
  /** Credits that are owed, since a payment was taken back. */
  readonly debt: number;
  /** Usage by UTC day of the last 60 days. */
  readonly points: readonly UsageSum<"day">[];
  /** Of each key the limit that is nearest, if any of it is used. */
  readonly limits: readonly UsedLimit[];
  /** Limits of each key that nothing is used of, from the shortest. */
  readonly tier: readonly WindowState[];
  /** Budgets that apply to the account's active keys, with the names of their owners. */
  readonly budgets: readonly { readonly budget: Budget; readonly of: string }[];
  /** Active keys, without those of tools, which refresh them. */
  readonly keys: readonly Key[];
  /** Pools of the visitor's active teams, those whose keys were used last first. */
  readonly pools: readonly TeamPool[];
  /** Number of models that are served. */
  readonly models: number;
  readonly nowMs: number;
}
