import * as z from "zod";
import { flag, rowOf } from "../../row.ts";
import type { Database, ReadOptions, Replica, Row, Value } from "../database.ts";
import type { Place } from "./place.ts";
import { PostgresTransport } from "./transport.ts";

/** What a {@linkcode PostgresReplica} goes by; tests are less patient. */
interface ReplicaOptions {
  readonly primary: Database;
  /** Called with why it cannot be read, and without when it can again. */
  readonly onState: (fault: string | undefined) => void;
  /** How old what it has may be. Default: a minute. */
  readonly maxBehindMs?: number;
  /** Time between two looks at that. */
  readonly lookMs?: number;
}

const STATE = `select pg_is_in_recovery() as is_standby,
  pg_wal_lsn_diff(?::pg_lsn, pg_last_wal_replay_lsn()) > 0 as lacks,
  (extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000)::bigint as age_ms`;
const ROW = rowOf({ is_standby: flag, lacks: flag.nullable(), age_ms: z.int().nullable() });

/** A standby of a PostgreSQL. It is connected to when something is read. */
export class PostgresReplica implements Replica {
  readonly place: string;
  readonly dialect = "postgres";
  readonly waiting = 0;
  readonly batch: Database["batch"];
  readonly write: Database["write"];
  readonly #options: Required<ReplicaOptions>;
  readonly #transport: PostgresTransport;
  /** As far as is known. */
  #isReadable: boolean | undefined;
  #looking = Promise.resolve();
  #lookedTick = -Infinity;

  constructor(place: Place, options: ReplicaOptions) {
    this.#options = { maxBehindMs: 60_000, lookMs: 10_000, ...options };
    this.#transport = new PostgresTransport({ ...place, mustWrite: false }, false);
    this.place = this.#transport.place;
    const { primary } = options;
    this.batch = (statements, options) => primary.batch(statements, options);
    this.write = (write, item) => primary.write(write, item);
  }

  async look(): Promise<{ isReadable: boolean; about: string }> {
    const now = await this.#options.primary.one("select pg_current_wal_lsn()::text as at");
    const [row] = await this.#transport.read(STATE, [now!.at!]);
    const { isStandby, lacks, ageMs } = ROW.parse(row);
    if (!isStandby) return { isReadable: false, about: "no standby, as it takes writes" };
    // what it has may be old as nothing was written since
    const behindMs = lacks === false ? 0 : ageMs ?? Infinity;
    const about = `a standby, ${(behindMs / 1_000).toFixed(1)} s behind`;
    return { isReadable: behindMs <= this.#options.maxBehindMs, about };
  }

  async all(sql: string, args: readonly Value[] = [], options: ReadOptions = {}): Promise<Row[]> {
    const tick = performance.now();
    if (tick - this.#lookedTick >= this.#options.lookMs) {
      this.#lookedTick = tick;
      this.#looking = this.look().then(
        ({ isReadable, about }) => this.#told(isReadable ? undefined : about),
        (error) => this.#told(String(error)),
      );
    }
    // later ones are not waited for: a host that is away takes seconds
    if (this.#isReadable === undefined) await this.#looking;
    if (this.#isReadable) {
      try {
        return await this.#transport.read(sql, args, options.patienceMs);
      } catch (error) {
        this.#told(String(error));
      }
    }
    return await this.#options.primary.all(sql, args, options);
  }

  async one(sql: string, args?: readonly Value[]): Promise<Row | undefined> {
    return (await this.all(sql, args))[0];
  }

  async close(): Promise<void> {
    await this.#transport.close();
  }

  #told(fault: string | undefined): void {
    const was = this.#isReadable ?? true;
    this.#isReadable = fault === undefined;
    if (was !== this.#isReadable) this.#options.onState(fault);
  }
}
