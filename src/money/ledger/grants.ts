import type { Condition, Database, Statement } from "../../ground/database/mod.ts";
import { digestOf, randomText } from "../../ground/platform/mod.ts";
import { insertOf } from "../../ground/row.ts";
import type { LotSource } from "./credits.ts";
import { NEVER } from "../../ground/time.ts";
import { sumOf, textsOf } from "../../ground/sql/mod.ts";

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
  /** What it pays for: IDs of routes and prefixes ending in `*`; all models if left out. */
  readonly models?: readonly string[] | null | undefined;
  readonly atMs: number;
  /** Nothing is given where it does not hold. */
  readonly onlyIf?: Condition;
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
  const digest = digestOf(`${kind}\n${accountId}\n${reference}`);
  return `${kind}_${digest.slice(0, 32)}`;
}

/** The statements of a grant, for the transaction that it belongs to. None for 0 credits. */
export function grantStatements(grant: Grant): Statement[] {
  const { lotId, accountId, source, credits, expiresAtMs, note = "", models = null, atMs } = grant;
  if (credits === 0) return [];
  return [
    insertOf("insert into lots", {
      id: lotId,
      accountId,
      source,
      note,
      granted: credits,
      remaining: 0,
      createdAtMs: atMs,
      expiresAtMs: expiresAtMs ?? NEVER,
      models: models && JSON.stringify(models),
    }, { onlyIf: grant.onlyIf, then: "on conflict (id) do nothing returning id" }),
    {
      sql: `insert into entries (account_id, cause_id, lot_id, kind, credits, at_ms)
        select account_id, id, id, 'grant', granted, created_at_ms from lots where id = ?
        on conflict (cause_id, lot_id) do nothing`,
      args: [lotId],
    },
  ];
}

/** Selects `source` and `granted` of a lot, for the transaction that grants it. */
export function lotStatement(lotId: string): Statement {
  return { sql: "select source, granted from lots where id = ?", args: [lotId] };
}

/** Holds as long as there is no lot of this id. */
export function isNotGranted(lotId: string): Condition {
  return { sql: "not exists (select 1 from lots where id = ?)", args: [lotId] };
}

/** What lots granted, less what was taken back of them, by lot id. Lots that do not exist are left out. */
export async function keptGrants(
  database: Database,
  lotIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await database.all(
    `select id, granted - coalesce(
        (select ${sumOf("credits")} from take_backs where lot_id = lots.id), 0) as kept
      from lots where id in ${textsOf()}`,
    [JSON.stringify(lotIds)],
  );
  return new Map(rows.map((row) => [String(row.id), Number(row.kept)]));
}
