import type { Database } from "../../ground/database/mod.ts";
import {
  type AccountStatus,
  isRecalled,
  lend,
  loanNews,
  type LoanOf,
  releaseLoansOf,
  renewLoans,
  returnLoan,
  type Settled,
  type TierList,
  type WindowState,
} from "../../money/ledger/mod.ts";
import { newId } from "../../ground/platform/mod.ts";
import { delay } from "../../ground/std/mod.ts";
import type { Log } from "../../ground/telemetry/mod.ts";
import { type Demand, Demands } from "./demands.ts";
import { AccountLoan, type LentHold, type LoanDraw } from "./account_loan.ts";

/** Requests of an account within a second from which on a loan is worth its two writes. */
const BUSY_REQUESTS = 4;
/** Number of requests that a loan must cover to be worth it: requests like the one that it is asked for. */
const MIN_REQUESTS = 16;
/** Time until an account is asked for again that had nothing to lend, or whose loan was recalled. */
const REFUSED_MS = 5_000;
/** Shortest time between two questions about the same account. */
const ASKED_MS = 100;
/** Interval at which recalled and idle loans are looked for. */
const LOOK_MS = 250;
/** After this time without a reply from the database, stop admitting from loans, unless settlements can do without it. */
const SILENT_MS = 1_000;
/** Balances that are read with one look. */
const MAX_READ = 200;
/** Time after which a loan is returned that nobody uses. */
const IDLE_MS = 10_000;
/** How long other gateways are waited for that are to return what they were lent. */
const RECALL_MS = 2_000;
/** Interval at which it is looked whether they have. */
const RETURNED_MS = 25;
/** Time for which nothing is recalled of an account again after they have not. */
const UNRETURNED_MS = 10_000;

/** Settings of admission and its loans, which may change while they run. */
export interface AdmissionSettings {
  readonly tierList: TierList;
  /** Time after which a hold or a loan is released if its gateway does not renew it, in milliseconds. */
  readonly leaseMs: number;
  /** How long a loan may be spent while the database does not answer, if settlements can be kept meanwhile. Default: 0. */
  readonly patienceMs?: number | undefined;
}

/** Dependencies and first settings of {@linkcode Loans}. */
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

/** A request that the database decides on, since no loan covers it. */
export interface UncoveredRequest extends Pick<LoanDraw, "keyId" | "credits"> {
  readonly accountId: string;
}

/**
 * The loans of this gateway: asks for them, renews and returns them. What it lends to a request is lent once (P4).
 *
 * The life of an account's loan:
 *
 * ```text
 * none ──many requests──▶ asked for ──lent──▶ open: admits requests; grows when it is low; renewed with the leases
 *   ▲                        │ nothing to lend, or no answer: none for a while      │
 *   │                        ▼                                                     │ recalled, idle, unknown to the database,
 *   │                      none                                                    ▼ or made by other settings
 *   └──────returned: its requests hold their credits themselves────── closed: admits nothing, is returned until it is
 * ```
 *
 * An answer that was lost may have made a loan that is not known here: the next renewal finds and returns it.
 */
export class Loans {
  readonly #options: LoansOptions;
  readonly #monotonicNow: () => number;
  #settings: AdmissionSettings;
  readonly #loans = new Map<string, AccountLoan>();
  readonly #demands: Demands;
  #renewedTick = -Infinity;
  /** {@linkcode LoansOptions.monotonicNow} at the last question that the database has answered. */
  #heardTick = -Infinity;
  #isClosed = false;
  /** Whether the answer to a question was lost, so that there may be a loan that is not known here. */
  #isUncertain = false;
  #timer: ReturnType<typeof setInterval> | undefined;
  #looking: Promise<void> | undefined;

  constructor(options: LoansOptions) {
    this.#options = options;
    this.#monotonicNow = options.monotonicNow ?? monotonicNow;
    this.#settings = options;
    this.#demands = new Demands((accountId) => this.#loans.has(accountId));
  }

  /** Number of accounts that something is lent of. */
  get size(): number {
    return this.#loans.size;
  }

  /**
   * Admits a request from a loan.
   *
   * @returns The loan and what the request holds of it; undefined if the database must decide.
   */
  admit(accountId: string, draw: LoanDraw): { loan: AccountLoan; hold: LentHold } | undefined {
    const loan = this.#loans.get(accountId);
    if (loan === undefined || !this.#isUsable()) return undefined;
    const hold = loan.admit(draw);
    if (hold === undefined) return undefined;
    loan.usedTick = this.#monotonicNow();
    if (loan.isLow) this.#ask(loan.accountId, draw);
    return { loan, hold };
  }

  /**
   * Takes a charge that is sent to the database off the account's balance.
   *
   * @returns What is left; undefined if only the database knows it.
   */
  charge(accountId: string, credits: number): number | undefined {
    const demand = this.#demands.find(accountId);
    if (demand !== undefined) demand.charged += credits;
    return this.#loans.get(accountId)?.charge(credits);
  }

  /** Notes that the database has the charge of a request that no loan covers. */
  noteSettled(accountId: string): void {
    this.#loans.get(accountId)?.noteSettled();
  }

  /** Credits of the charges that were sent: a balance that is asked for now has them. */
  #charged(accountId: string): number {
    return this.#demands.find(accountId)?.charged ?? 0;
  }

  /** Updates a loan's balance to what the database had, less what was charged since it was asked. */
  #learnBalance(loan: AccountLoan, balance: number, chargedBefore: number): void {
    loan.noteBalance(Math.max(0, balance - (this.#charged(loan.accountId) - chargedBefore)));
  }

  /**
   * Updates the loan's windows after the database admitted or rejected a request. The balance of that decision may be older or
   * newer than charges that were sent meanwhile, as decisions wait for each other: it is not taken over.
   *
   * @returns The rate windows as they are known now.
   */
  learn(
    { accountId, keyId }: Pick<UncoveredRequest, "accountId" | "keyId">,
    status: AccountStatus,
    nowMs: number,
  ): readonly WindowState[] {
    const loan = this.#loans.get(accountId);
    if (loan?.covers(keyId) !== true) return status.windows;
    loan.learn(keyId, status.windows, nowMs);
    return status.windows.length === 0 ? [] : loan.windows(keyId);
  }

  /** Whether what is lent of an account may be recalled: not if somebody did not return it a moment ago. */
  mayRecall(accountId: string): boolean {
    return this.#monotonicNow() >= (this.#demands.find(accountId)?.recallableTick ?? -Infinity);
  }

  /** Returns this gateway's loan of an account, and waits until others have returned theirs. */
  recalled(accountId: string): Promise<void> {
    const demand = this.#demands.of(accountId);
    return demand.recall ??= this.#awaitReturns(accountId)
      .finally(() => demand.recall = undefined);
  }

  async #awaitReturns(accountId: string): Promise<void> {
    await this.giveBack(accountId);
    const untilTick = this.#monotonicNow() + RECALL_MS;
    while (await isRecalled(this.#options.database, accountId)) {
      await this.#look();
      if (this.#monotonicNow() >= untilTick) {
        this.#demands.of(accountId).recallableTick = this.#monotonicNow() + UNRETURNED_MS;
        return;
      }
      await delay(RETURNED_MS);
    }
  }

  /** Counts a request that no loan covers, and asks for a loan if there are many of its account. */
  uncovered({ accountId, keyId, credits }: UncoveredRequest): void {
    // who shares a server is lent something at once, so as to get through the time that it is away
    const { lendFrom = this.#isShared ? 1 : BUSY_REQUESTS } = this.#options;
    const requests = this.#demands.of(accountId).count(this.#monotonicNow());
    if (requests >= lendFrom) this.#ask(accountId, { keyId, credits });
  }

  /** A request that was admitted from a loan has ended. */
  end(loan: AccountLoan, hold: LentHold, settled: Settled | undefined): void {
    loan.end(hold, settled);
    if (!loan.isOpen && !loan.isReturned) void this.#return(loan);
  }

  /**
   * Returns an account's loan, if there is one. Its requests hold their credits themselves from then on.
   *
   * @throws {DatabaseError} If the database cannot be used; it is tried again.
   */
  async giveBack(accountId: string): Promise<void> {
    const demand = this.#demands.of(accountId);
    demand.askableTick = this.#monotonicNow() + REFUSED_MS;
    await demand.asking;
    const loan = this.#loans.get(accountId);
    if (loan !== undefined) await this.#return(loan);
  }

  /** Returns all loans, as they were made by other settings. */
  async configure(settings: AdmissionSettings): Promise<void> {
    this.#settings = settings;
    await this.#returnAll();
  }

  /** Renews all leases. Loans whose lease has ended, or that the database does not know any more, are given up. */
  async renew(): Promise<void> {
    const { database, gatewayId } = this.#options;
    const tick = this.#monotonicNow();
    const before = [...this.#loans.values()];
    const renewed = await renewLoans(database, gatewayId, this.#leaseMs);
    this.#renewedTick = tick;
    const known = new Set(renewed.filter((one) => one.isRenewed).map(({ loanId }) => loanId));
    for (const loan of before) {
      if (!known.has(loan.id) && !loan.isReturned) void this.#return(loan);
    }
    for (const loan of renewed) await this.#returnUnknown(loan);
    this.#isUncertain = false;
  }

  /** Ends loans of an earlier run. */
  async start(gatewayIds: readonly string[]): Promise<void> {
    for (const id of gatewayIds) await releaseLoansOf(this.#options.database, id);
    this.#timer = setInterval(() => void this.#look(), LOOK_MS);
  }

  /** Returns all loans; failures are logged. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#looking;
    await this.#demands.settled();
    await this.#returnAll();
  }

  /** Whether requests can be charged, and no other gateway can have taken the loans for abandoned. */
  #isUsable(): boolean {
    const tick = this.#monotonicNow();
    const { patienceMs = 0, leaseMs } = this.#settings;
    const { outbox } = this.#options.database;
    const silentMs = outbox?.isUsable ? Math.max(SILENT_MS, patienceMs) : SILENT_MS;
    return tick - this.#heardTick < silentMs &&
      tick - this.#renewedTick < this.#leaseMs - leaseMs / 4;
  }

  get #isShared(): boolean {
    return this.#options.database.outbox?.isShared === true;
  }

  /** Others get nothing of a loan that may still be spent without the database. */
  get #leaseMs(): number {
    const { patienceMs = 0, leaseMs } = this.#settings;
    return this.#options.database.outbox === undefined ? leaseMs : patienceMs + leaseMs;
  }

  #ask(accountId: string, request: Pick<UncoveredRequest, "keyId" | "credits">): void {
    const demand = this.#demands.of(accountId);
    const tick = this.#monotonicNow();
    if (this.#isClosed || tick < demand.askableTick || demand.asking !== undefined) return;
    demand.askableTick = tick + ASKED_MS;
    demand.asking = this.#lend(accountId, request, demand)
      .catch((error) => {
        this.#options.log.warn("no loan could be made", { error: String(error) });
        demand.askableTick = this.#monotonicNow() + REFUSED_MS;
        this.#isUncertain = true;
        const loan = this.#loans.get(accountId);
        if (loan !== undefined) loan.isUncertain = true; // it may have grown
      })
      .finally(() => demand.asking = undefined);
  }

  async #lend(
    accountId: string,
    { keyId, credits }: Pick<UncoveredRequest, "keyId" | "credits">,
    demand: Demand,
  ): Promise<void> {
    const { database, gatewayId, now } = this.#options;
    const settings = this.#settings;
    const known = this.#loans.get(accountId);
    if (known?.isOpen === false) return;
    const tick = this.#monotonicNow();
    const nowMs = now();
    const { charged } = demand;
    const loanId = known?.id ?? newId("loan");
    const isJoined = known?.covers(keyId) ?? true;
    const loan = await lend(database, {
      ...settings,
      leaseMs: this.#leaseMs,
      accountId,
      keyId,
      gatewayId,
      loanId,
      isNew: known === undefined,
      nowMs,
      leastCredits: MIN_REQUESTS * credits,
      leastPlaces: MIN_REQUESTS,
    });
    if (loan === undefined && known !== undefined) { // it has ended
      void this.#return(known);
      return;
    }
    if (loan === undefined || loan.added === 0 && isJoined) demand.askableTick = tick + REFUSED_MS;
    if (loan === undefined) return;
    if (known === undefined) {
      if (this.#loans.size === 0) this.#renewedTick = this.#heardTick = tick;
      const made = new AccountLoan({ accountId, keyId, loanId }, loan, { ...settings, nowMs });
      made.usedTick = tick;
      this.#loans.set(accountId, made);
    } else known.renew(keyId, loan, nowMs);
    const lent = this.#loans.get(accountId);
    if (lent === undefined) return;
    this.#learnBalance(lent, loan.accountStatus.balance, charged);
    if (settings !== this.#settings) lent.close();
  }

  /** Returns what was recalled, could not be returned before, or is not used. */
  #look(): Promise<void> {
    this.#looking ??= this.#lookOnce().finally(() => this.#looking = undefined);
    return this.#looking;
  }

  async #lookOnce(): Promise<void> {
    if (this.#isUncertain && !this.#demands.isAsking) {
      await this.renew().catch(() => {}); // it is tried again
    }
    if (this.#loans.size === 0) return;
    const { database, gatewayId } = this.#options;
    const tick = this.#monotonicNow();
    const read: [loan: AccountLoan, charged: number][] = [];
    for (const loan of this.#loans.values()) {
      if (read.length >= MAX_READ) break;
      if (loan.takeCharged()) read.push([loan, this.#charged(loan.accountId)]);
    }
    const ids = read.map(([{ accountId }]) => accountId);
    const news = await loanNews(database, gatewayId, ids).catch(() => undefined);
    if (news === undefined) return; // it cannot be used now
    const { recalled, balances } = news;
    this.#heardTick = tick;
    for (const [loan, charged] of read) {
      const balance = balances[loan.accountId];
      if (balance !== undefined) this.#learnBalance(loan, balance, charged);
    }
    for (const { accountId } of recalled) {
      this.#demands.of(accountId).askableTick = tick + REFUSED_MS;
    }
    const recalledIds = new Set(recalled.map(({ loanId }) => loanId));
    const idleMs = this.#isShared ? Math.max(IDLE_MS, this.#settings.patienceMs ?? 0) : IDLE_MS;
    const due = [...this.#loans.values()].filter((loan) =>
      !loan.isOpen || loan.isUncertain || recalledIds.has(loan.id) ||
      tick - loan.usedTick > idleMs && loan.requests.length === 0
    );
    await Promise.all(due.map((loan) => this.#return(loan).catch(() => {}))); // it is in the log
    for (const loan of recalled) await this.#returnUnknown(loan).catch(() => {}); // it is tried again
  }

  async #returnAll(): Promise<void> {
    // failures are in the log
    await Promise.all(this.#loans.values().map((loan) => this.#return(loan).catch(() => {})));
  }

  #return(loan: AccountLoan): Promise<void> {
    loan.close();
    if (loan.isReturned) return Promise.resolve();
    if (loan.returning === undefined) {
      loan.returning = this.#returnOnce(loan).finally(() => loan.returning = undefined);
      loan.returning.catch(() => {}); // it is in the log, and tried again
    }
    return loan.returning;
  }

  async #returnOnce(loan: AccountLoan): Promise<void> {
    const { database, gatewayId, log } = this.#options;
    const { accountId, id: loanId, requests } = loan;
    try {
      await returnLoan(database, { accountId, gatewayId, loanId, ...this.#settings, requests });
    } catch (error) {
      log.warn("a loan could not be returned", { account: accountId, error: String(error) });
      throw error;
    }
    loan.returned(requests);
    if (this.#loans.get(accountId) === loan) this.#loans.delete(accountId);
  }

  /** Returns a loan that this gateway does not know of, since the answer to its question was lost. */
  async #returnUnknown({ accountId, loanId }: LoanOf): Promise<void> {
    const isKnown = this.#loans.get(accountId)?.id === loanId;
    if (isKnown || this.#demands.find(accountId)?.asking !== undefined) return;
    const { database, gatewayId } = this.#options;
    await returnLoan(database, { accountId, gatewayId, loanId, ...this.#settings, requests: [] });
  }
}

/** The monotonic clock of the process. */
export const monotonicNow = (): number => performance.now();
