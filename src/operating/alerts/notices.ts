import * as z from "zod";
import { type Condition, type Database, type Row, scanRows } from "../../ground/database/mod.ts";
import { type Alert, ALERT_COLUMNS, readAlert } from "./alert.ts";
import {
  byIndex,
  elementsOf,
  jsonArrayOfRows,
  jsonObject,
  textsOf,
  THEN_JOIN,
} from "../../ground/sql/mod.ts";

const delivery = z.object({
  receiver: z.string(),
  state: z.enum(["waiting", "delivered", "given_up"]),
  attempts: z.int(),
  dueAtMs: z.int(),
  deliveredAtMs: z.int().nullable(),
  status: z.int().nullable(),
  error: z.string().nullable(),
});

/** The delivery of an alert to one receiver. */
export type Delivery = z.output<typeof delivery>;

/** An alert, and what became of its deliveries. */
export interface Notice extends Alert {
  readonly deliveries: readonly Delivery[];
}

/** An account that reads alerts of its own, and of the teams that it leads. */
export interface Reader {
  readonly accountId: string;
  /** IDs of teams. */
  readonly leads: readonly string[];
}

/** Which alerts are listed. */
export interface NoticeFilter {
  /** Only those of this account. */
  readonly accountId?: string | undefined;
  /** Only those that no operator has read. */
  readonly isUnread?: boolean | undefined;
  /** Only those with a delivery in this state. */
  readonly state?: Delivery["state"] | undefined;
  /** ID of the last alert of the page before. */
  readonly after?: string | undefined;
  readonly limit: number;
}

const COLUMNS = `${ALERT_COLUMNS}, (select ${
  jsonArrayOfRows(
    jsonObject(
      "receiver, state, attempts, due_at_ms as dueAtMs, delivered_at_ms as deliveredAtMs, status, error",
    ),
  )
}
  from alert_deliveries where alert_id = alerts.id) as deliveries`;

/** Kinds whose marks carry a time, so that they are not reached again when they were forgotten. */
const PRUNED_KINDS = `'lot_expiring', 'key_expiring', 'top_up_stopped', 'circuit_opened',
  'circuit_closed', 'usage_departs', 'model_changed', 'cache_share_fell', 'catalog_changed', 'disk_low',
  'owner_signed_in'`;

/**
 * Lists alerts, newest first.
 *
 * @param filter Which ones, and how many at most.
 * @returns The alerts, with their deliveries.
 */
export async function notices(database: Database, filter: NoticeFilter): Promise<Notice[]> {
  const { accountId, isUnread = false, state, after, limit } = filter;
  const within: Condition[] = [];
  if (accountId !== undefined) within.push({ sql: "account_id = ?", args: [accountId] });
  const unread: Condition[] = isUnread ? [{ sql: "read_at_ms is null", args: [] }] : [];
  // of all accounts those that nobody has read may be few and old, and have an index of their own
  const isIndexed = isUnread && accountId === undefined;
  if (state !== undefined) {
    within.push({
      sql: "alerts.id in (select alert_id from alert_deliveries where state = ?)",
      args: [state],
    });
  }
  const rows = await scanRows(database, {
    from: isIndexed ? `from ${byIndex("alerts", "alerts_unread")}` : "from alerts",
    columns: COLUMNS,
    order: ["created_at_ms", "id"],
    within: isIndexed ? [...within, ...unread] : within,
    filter: isIndexed ? [] : unread,
    after: after === undefined
      ? undefined
      : { sql: "select created_at_ms, id from alerts where id = ?", args: [after] },
    limit,
  });
  return rows.map(readNotice);
}

/**
 * Lists alerts of a reader, newest first. Reads as many of the account, and of each team, as it returns, however many there
 * are.
 *
 * @returns The alerts, with their deliveries.
 */
export async function noticesOf(
  database: Database,
  { accountId, leads }: Reader,
  limit: number,
): Promise<Notice[]> {
  const newest = (owner: string) =>
    `select id from alerts as own where ${owner} order by created_at_ms desc, id desc limit ?2`;
  const rows = await database.all(
    `with ids(id) as materialized (
        select * from (${newest("own.account_id = ?1")}) as found
        union
        select alerts.id from ${elementsOf("?3", "teams")}
          ${THEN_JOIN} alerts on alerts.id in (${newest("own.team_id = teams.value")})
      )
      select ${COLUMNS} from ids ${THEN_JOIN} alerts on alerts.id = ids.id
      order by created_at_ms desc, alerts.id desc limit ?2`,
    [accountId, limit, JSON.stringify(leads)],
  );
  return rows.map(readNotice);
}

function readNotice(row: Row): Notice {
  return {
    ...readAlert(row),
    deliveries: z.array(delivery).parse(JSON.parse(String(row.deliveries))),
  };
}

/** Counts alerts that no operator has read, up to 100. */
export async function unreadCount(database: Database): Promise<number> {
  const row = await database.one(
    `select count(*) as number from (
        select 1 from ${byIndex("alerts", "alerts_unread")} where read_at_ms is null limit 100
      ) as found`,
  );
  return Number(row!.number);
}

/**
 * Marks alerts as read.
 *
 * @param options Time of the newest that the reader has seen, the time now, and the reader: an account, or an operator
 *   if undefined. A team's leads share what is read.
 */
export async function markRead(
  database: Database,
  { upToMs, nowMs, reader }: {
    readonly upToMs: number;
    readonly nowMs: number;
    readonly reader?: Reader;
  },
): Promise<void> {
  await database.batch([
    reader === undefined
      ? {
        sql: "update alerts set read_at_ms = ? where read_at_ms is null and created_at_ms <= ?",
        args: [nowMs, upToMs],
      }
      : {
        sql: `update alerts set account_read_at_ms = ?
          where account_read_at_ms is null and created_at_ms <= ?
            and (account_id = ? or team_id in ${textsOf()})`,
        args: [nowMs, upToMs, reader.accountId, JSON.stringify(reader.leads)],
      },
  ]);
}

/**
 * Deletes old alerts, up to a number of them. Those whose mark could be reached again are kept.
 *
 * @returns Whether there may be more.
 */
export async function pruneAlerts(
  database: Database,
  { beforeMs, limit }: { readonly beforeMs: number; readonly limit: number },
): Promise<boolean> {
  const old = `select id from alerts where created_at_ms < ?1 and kind in (${PRUNED_KINDS})
    order by created_at_ms limit ?2`;
  const args = [beforeMs, limit];
  const [, gone] = await database.batch([
    { sql: `delete from alert_deliveries where alert_id in (${old})`, args },
    { sql: `delete from alerts where id in (${old}) returning 1 as gone`, args },
  ]);
  return gone!.length === limit;
}
