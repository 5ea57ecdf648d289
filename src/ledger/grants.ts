import { createHash } from "node:crypto";
import type { Statement, Value } from "../database/mod.ts";
import { randomText } from "../platform/mod.ts";
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
  /** A condition in SQL: nothing is given where it does not hold. */
  readonly onlyIf?: { readonly sql: string; readonly args: readonly Value[] };
}

/** A new id for a lot, such as `lot_h3KxTq8mPw2Nc5Ry`. */
export function newLotId(): string {
  return `lot_${randomText(16)}`;
}

/**
 * The id of what a reference makes in an account, so that the same reference makes it once.
 *
 * @param kind `lot` for a grant, `take_back` for taking one back.
 */
export function idOfReference(
  kind: "lot" | "take_back",
  accountId: string,
  reference: string,
): string {
  const digest = createHash("sha256").update(`${kind}\n${accountId}\n${reference}`).digest("hex");
  return `${kind}_${digest.slice(0, 32)}`;
}

/** The statements of a grant, for the transaction that it belongs to. None for 0 credits. */
export function grantStatements(grant: Grant): Statement[] {
  const { lotId, accountId, source, credits, expiresAtMs, note = "", atMs } = grant;
  const { onlyIf = { sql: "true", args: [] } } = grant;
  if (credits === 0) return [];
  return [
    {
      sql: `insert into lots (id, account_id, source, note, granted, remaining, created_at_ms,
          expires_at_ms)
        select ?, ?, ?, ?, ?, 0, ?, ? where ${onlyIf.sql}
        on conflict (id) do nothing returning id`,
      args: [
        lotId,
        accountId,
        source,
        note,
        credits,
        atMs,
        expiresAtMs ?? NEVER,
        ...onlyIf.args,
      ],
    },
    {
      sql: `insert into entries (account_id, cause_id, lot_id, kind, credits, at_ms)
        select account_id, id, id, 'grant', granted, created_at_ms from lots where id = ?
        on conflict (cause_id, lot_id) do nothing`,
      args: [lotId],
    },
  ];
}
