import type { Statement } from "../database/mod.ts";
import { randomText } from "../ids.ts";
import { type LotSource, NEVER } from "./credits.ts";

/** Credits that an account gets. */
export interface Grant {
  /** Two grants of the same id are one: what must happen once has an id that follows from its cause. */
  readonly lotId: string;
  readonly accountId: string;
  readonly source: LotSource;
  readonly credits: number;
  /** Null for never. */
  readonly expiresAtMs: number | null;
  readonly note?: string;
  readonly atMs: number;
}

/** A new id for a lot, such as `lot_h3KxTq8mPw2Nc5Ry`. */
export function newLotId(): string {
  return `lot_${randomText(16)}`;
}

/** The statements of a grant, for the transaction that it belongs to. None for 0 credits. */
export function grantStatements(grant: Grant): Statement[] {
  const { lotId, accountId, source, credits, expiresAtMs, note = "", atMs } = grant;
  if (credits === 0) return [];
  return [
    {
      sql: `insert into lots (id, account_id, source, note, granted, remaining, created_at_ms,
          expires_at_ms)
        values (?, ?, ?, ?, ?, 0, ?, ?) on conflict (id) do nothing`,
      args: [lotId, accountId, source, note, credits, atMs, expiresAtMs ?? NEVER],
    },
    {
      sql: `insert into entries (account_id, cause_id, lot_id, kind, credits, at_ms)
        values (?, ?, ?, 'grant', ?, ?) on conflict (cause_id, lot_id) do nothing`,
      args: [accountId, lotId, lotId, credits, atMs],
    },
  ];
}
