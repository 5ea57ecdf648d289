import type { ReceiverSettings } from "../../settings/config/mod.ts";
import type { Database } from "../../ground/database/mod.ts";
import { randomText } from "../../ground/platform/mod.ts";
import { type Alert, ALERT_COLUMNS, type NewAlert, newRow, readAlert } from "./alert.ts";
import { elementsOf, iif, least, randomBelow, ROW, textAt, textsOf } from "../../ground/sql/mod.ts";

/** Receivers by name, as the settings have them. */
export type Receivers = Readonly<Record<string, ReceiverSettings>>;

/** How failed deliveries are repeated. */
export interface Backoff {
  /** The first wait; it doubles with each failure. Half of each wait is random. */
  readonly firstMs: number;
  readonly maxMs: number;
  /** A delivery is given up when it fails at this age … */
  readonly giveUpMs: number;
  /** … and was tried as often as this, so that a clock that jumps ahead gives nothing up. */
  readonly minAttempts: number;
}

/** About thirty attempts within a day. */
export const BACKOFF: Backoff = {
  firstMs: 10_000,
  maxMs: 3_600_000,
  giveUpMs: 86_400_000,
  minAttempts: 8,
};

/** Alerts that were claimed for one receiver. */
export interface Claim {
  readonly receiver: string;
  readonly token: string;
  readonly alerts: readonly Alert[];
}

/** How a delivery ended. */
export interface DeliveryOutcome {
  /** HTTP status of the receiver's reply; null if there was none. */
  readonly status: number | null;
  /** Why it failed; null if it did not. */
  readonly error: string | null;
}

const GIVEN = ["id", "mark", "kind", "account", "team", "title", "text", "data"]
  .map((name) => textAt("value", name)).join(", ");
const RAISE = `insert into alerts
    (id, mark, kind, account_id, team_id, title, text, data, created_at_ms)
  select ${GIVEN}, ?2
  from ${elementsOf("?1")} where true on conflict (mark) do nothing`;
/** Only what was raised by this very statement's transaction has its ID. */
const ADDRESS = `insert into alert_deliveries (alert_id, receiver, created_at_ms, due_at_ms)
  select alerts.id, ${textAt("receiver.value", "name")}, ?3, ?3
  from ${elementsOf("?1", "item")} join alerts on alerts.id = ${textAt("item.value", "id")},
    ${elementsOf("?2", "receiver")}
  where alerts.kind in ${textsOf(textAt("receiver.value", "kinds"))}`;
const RAISED = `select mark from alerts where id in (
    select ${textAt("value", "id")} from ${elementsOf("?1")}
  )`;
const KNOWN = `select mark from alerts where mark in ${textsOf()}`;
/** Also what is due later than any wait: then the clock was wrong. */
const DUE = `receiver = ?1 and state = 'waiting' and (due_at_ms <= ?2 or due_at_ms > ?3)`;
const CLAIM = `update alert_deliveries set claim = ?4, attempts = attempts + 1, due_at_ms = ?5
  where ${ROW} in (
    select ${ROW} from alert_deliveries where ${DUE} order by due_at_ms limit ?6
  )`;
const CLAIMED = `select ${ALERT_COLUMNS}
  from alert_deliveries join alerts on alerts.id = alert_id
  where receiver = ? and state = 'waiting' and claim = ? order by alerts.created_at_ms, alerts.id`;
const IS_DUE = `select 1 as found from alert_deliveries where ${DUE} limit 1`;
/** Whatever gateway holds the claim by now: it has arrived. */
const DELIVERED = `update alert_deliveries
  set state = 'delivered', delivered_at_ms = ?3, status = ?4, error = null
  where receiver = ?1 and alert_id in ${textsOf("?2")} and state <> 'delivered'`;
/** The wait after a failure, but for its random half. */
const WAIT_MS = least("?8", `?9 << cast(${least("attempts - 1", "20")} as integer)`);
const FAILED = `update alert_deliveries set claim = null, status = ?4, error = ?5,
    state = ${iif("?3 - created_at_ms >= ?6 and attempts >= ?7", "'given_up'", "'waiting'")},
    due_at_ms = cast(?3 + ${WAIT_MS} * (500 + ${randomBelow(501)}) / 1000 as bigint)
  where receiver = ?1 and claim = ?2 and state = 'waiting'
  returning state`;

/**
 * Alerts and their deliveries in the database, from which any gateway takes them. The mark of an alert is unique, and a
 * claim is one statement: gateways that race make one alert, and one of them delivers it.
 */
export class Outbox {
  readonly #database: Database;
  /** The database's clock, in milliseconds since the epoch. */
  readonly #now: () => number;
  readonly #backoff: Backoff;

  constructor(database: Database, now: () => number, backoff: Backoff = BACKOFF) {
    this.#database = database;
    this.#now = now;
    this.#backoff = backoff;
  }

  /** How long a receiver is left alone after its first failure. */
  get firstPauseMs(): number {
    return this.#backoff.firstMs / 2;
  }

  /**
   * Raises alerts whose marks were not reached before, and addresses them to receivers.
   *
   * @returns How many were raised, by kind.
   */
  async raise(
    alerts: readonly NewAlert[],
    receivers: Receivers,
  ): Promise<ReadonlyMap<NewAlert["kind"], number>> {
    const raised = new Map<NewAlert["kind"], number>();
    if (alerts.length === 0) return raised;
    const rows = JSON.stringify(alerts.map(newRow));
    const to = Object.entries(receivers).map(([name, { alerts }]) => ({ name, kinds: alerts }));
    const nowMs = this.#now();
    const [, , marks] = await this.#database.batch([
      { sql: RAISE, args: [rows, nowMs] },
      { sql: ADDRESS, args: [rows, JSON.stringify(to), nowMs] },
      { sql: RAISED, args: [rows] },
    ]);
    const isRaised = new Set(marks!.map(({ mark }) => String(mark)));
    for (const { mark, kind } of alerts) {
      if (isRaised.delete(mark)) raised.set(kind, (raised.get(kind) ?? 0) + 1);
    }
    return raised;
  }

  /** Returns which of these marks were reached before. */
  async known(marks: readonly string[]): Promise<ReadonlySet<string>> {
    if (marks.length === 0) return new Set();
    const rows = await this.#database.all(KNOWN, [JSON.stringify(marks)]);
    return new Set(rows.map(({ mark }) => String(mark)));
  }

  /**
   * Claims deliveries that are due, for as long as they may take.
   *
   * @returns The alerts, oldest first; `undefined` if none is due.
   */
  async claim(
    receiver: string,
    { limit, leaseMs }: { readonly limit: number; readonly leaseMs: number },
  ): Promise<Claim | undefined> {
    const nowMs = this.#now();
    const beyondMs = nowMs + Math.max(leaseMs, this.#backoff.maxMs) + 60_000;
    const due = [receiver, nowMs, beyondMs];
    // asked first, as it writes nothing
    if (await this.#database.one(IS_DUE, due) === undefined) return undefined;
    const token = randomText(16);
    const [, rows] = await this.#database.batch([
      { sql: CLAIM, args: [...due, token, nowMs + leaseMs, limit] },
      { sql: CLAIMED, args: [receiver, token] },
    ]);
    return rows!.length === 0 ? undefined : { receiver, token, alerts: rows!.map(readAlert) };
  }

  /**
   * Notes how the delivery of a claim ended.
   *
   * @returns How many were given up.
   */
  async finish(
    { receiver, token, alerts }: Claim,
    { status, error }: DeliveryOutcome,
  ): Promise<number> {
    const nowMs = this.#now();
    if (error === null) {
      const ids = JSON.stringify(alerts.map(({ id }) => id));
      await this.#database.batch([{ sql: DELIVERED, args: [receiver, ids, nowMs, status] }]);
      return 0;
    }
    const { firstMs, maxMs, giveUpMs, minAttempts } = this.#backoff;
    const [rows] = await this.#database.batch([{
      sql: FAILED,
      args: [
        receiver,
        token,
        nowMs,
        status,
        error.slice(0, 300).toWellFormed(),
        giveUpMs,
        minAttempts,
        maxMs,
        firstMs,
      ],
    }]);
    return rows!.filter(({ state }) => state === "given_up").length;
  }

  /**
   * Makes deliveries due now that wait or were given up.
   *
   * @param filter Only of this alert, and to this receiver.
   * @returns How many there are.
   */
  async retry(
    { alertId, receiver }: {
      readonly alertId?: string | undefined;
      readonly receiver?: string | undefined;
    } = {},
  ): Promise<number> {
    const nowMs = this.#now();
    const [rows] = await this.#database.batch([{
      // its day begins again
      sql: `update alert_deliveries set state = 'waiting', claim = null, attempts = 0,
          created_at_ms = ?1, due_at_ms = ?1
        where (state = 'given_up' or state = 'waiting' and (claim is null or due_at_ms <= ?1))
          and (?2 is null or alert_id = ?2)
          and (?3 is null or receiver = ?3) returning 1 as found`,
      args: [nowMs, alertId ?? null, receiver ?? null],
    }]);
    return rows!.length;
  }

  /** Gives up deliveries to receivers that were removed from the settings at least a day ago. */
  async giveUpOthers(receivers: Receivers): Promise<number> {
    const [rows] = await this.#database.batch([{
      sql: `update alert_deliveries set state = 'given_up', error = 'not in the settings'
        where state = 'waiting' and created_at_ms <= ?2
          and receiver not in ${textsOf("?1")} returning 1 as found`,
      args: [JSON.stringify(Object.keys(receivers)), this.#now() - this.#backoff.giveUpMs],
    }]);
    return rows!.length;
  }
}
