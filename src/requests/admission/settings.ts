import type { Database } from "../../ground/database/mod.ts";
import type { Log } from "../../ground/telemetry/mod.ts";
import type { TierList } from "../../money/ledger/mod.ts";

/** Settings of admission and its loans, which may change while they run. */
export interface AdmissionSettings {
  readonly tierList: TierList;
  /** Time after which a hold or a loan is released if its gateway does not renew it, in milliseconds. */
  readonly leaseMs: number;
  /** How long a loan may be spent while the database does not answer, if settlements can be kept meanwhile. Default: 0. */
  readonly patienceMs?: number | undefined;
}

/** Dependencies and first settings of loans. */
export interface LoansOptions extends AdmissionSettings {
  readonly database: Database;
  /** ID of this gateway among those that share the database. Stays the same after a restart. */
  readonly gatewayId: string;
  readonly log: Log;
  /** Returns the database's time, as far as it is known, in milliseconds since the epoch. */
  readonly now: () => number;
  /** Returns milliseconds that never go back, by which spans are measured; tests set it. Default: `performance.now()`. */
  readonly monotonicNow?: (() => number) | undefined;
  /** Requests of an account within a second from which on it gets a loan; tests set 0. */
  readonly lendFrom?: number | undefined;
}
