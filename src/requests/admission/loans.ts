import {
  type AccountStatus,
  isRecalled,
  lend,
  loanNews,
  type LoanOf,
  releaseLoansOf,
  renewLoans,
  type Settled,
  type WindowState,
} from "../../money/ledger/mod.ts";
import { newId } from "../../ground/platform/mod.ts";
import { delay } from "../../ground/std/mod.ts";
import { type Demand, Demands } from "./demands.ts";
import { AccountLoan, type LentHold, type LoanDraw } from "./account_loan.ts";
import { type Borrower, borrowerIdOf } from "./borrower.ts";
import { LoanIndex } from "./loan_index.ts";
import { LoanReturns } from "./loan_returns.ts";
import type { AdmissionSettings, LoansOptions } from "./settings.ts";

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

/** A request that the database decides on, since no loan covers it. */
export interface UncoveredRequest extends Borrower {
  /** What it wants to hold. */
  readonly credits: number;
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
  readonly #loans = new LoanIndex();
  readonly #returns: LoanReturns;
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
    const { database, gatewayId, log } = options;
    const leaseMs = () => this.#settings.leaseMs;
    this.#returns = new LoanReturns({ database, gatewayId, log, loans: this.#loans, leaseMs });
    this.#demands = new Demands((id) => this.#loans.ofAccount(id).size > 0);
  }

  /** Number of loans: of accounts, and of keys that have budgets. */
  get size(): number {
    return this.#loans.size;
  }

  /**
   * Admits a request from a loan.
   *
   * @returns The loan and what the request holds of it; undefined if the database must decide.
   */
  admit(borrower: Borrower, draw: LoanDraw): { loan: AccountLoan; hold: LentHold } | undefined {
    const loan = this.#loans.find(borrowerIdOf(borrower));
    if (loan === undefined || !this.#isUsable()) return undefined;
    const hold = loan.admit(draw);
    if (hold === undefined) return undefined;
    loan.usedTick = this.#monotonicNow();
    if (loan.isLow) this.#ask({ ...borrower, credits: draw.credits });
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
    return this.#loans.charge(accountId, credits);
  }

  /** Notes that the database has the charge of a request that no loan covers. */
  noteSettled(accountId: string): void {
    for (const loan of this.#loans.ofAccount(accountId)) loan.noteSettled();
  }

  /** Credits of the charges that were sent: a balance that is asked for now has them. */
  #charged(accountId: string): number {
    return this.#demands.of(accountId).charged;
  }

  /** Updates an account's balance to what the database had, less what was charged since it was asked. */
  #learnBalance(accountId: string, balance: number, chargedBefore: number): void {
    const since = Math.max(0, this.#charged(accountId) - chargedBefore); // it may have been forgotten
    const left = Math.max(0, balance - since);
    for (const loan of this.#loans.ofAccount(accountId)) loan.noteBalance(left);
  }

  /**
   * Updates the loan's windows after the database admitted or rejected a request. The balance of that decision may be older or
   * newer than charges that were sent meanwhile, as decisions wait for each other: it is not taken over.
   *
   * @returns The rate windows as they are known now.
   */
  learn(
    borrower: Borrower,
    status: AccountStatus,
    nowMs: number,
  ): readonly WindowState[] {
    const { keyId } = borrower;
    const loan = this.#loans.find(borrowerIdOf(borrower));
    if (loan?.covers(keyId) !== true) return status.windows;
    loan.learn(keyId, status.windows, nowMs);
    return status.windows.length === 0 ? [] : loan.windows(keyId);
  }

  /** Whether what a borrower needs may be recalled: not if somebody did not return it a moment ago. */
  mayRecall(borrower: Borrower): boolean {
    const demand = this.#demands.find(borrowerIdOf(borrower));
    return this.#monotonicNow() >= (demand?.recallableTick ?? -Infinity);
  }

  /** Returns this gateway's loans of an account and its key's budgets, and waits until others have returned theirs. */
  recalled(borrower: Borrower): Promise<void> {
    const demand = this.#demands.of(borrowerIdOf(borrower));
    return demand.recall ??= this.#awaitReturns(borrower, demand)
      .finally(() => demand.recall = undefined);
  }

  async #awaitReturns({ accountId, keyId }: Borrower, demand: Demand): Promise<void> {
    await this.giveBack(accountId);
    const untilTick = this.#monotonicNow() + RECALL_MS;
    while (await isRecalled(this.#options.database, accountId, keyId)) {
      await this.#look();
      if (this.#monotonicNow() >= untilTick) {
        demand.recallableTick = this.#monotonicNow() + UNRETURNED_MS;
        return;
      }
      await delay(RETURNED_MS);
    }
  }

  /** Counts a request that no loan covers, and asks for a loan if there are many of its borrower. */
  uncovered(request: UncoveredRequest): void {
    // who shares a server is lent something at once, so as to get through the time that it is away
    const { lendFrom = this.#isShared ? 1 : BUSY_REQUESTS } = this.#options;
    const requests = this.#demands.of(borrowerIdOf(request)).count(this.#monotonicNow());
    if (requests >= lendFrom) this.#ask(request);
  }

  /** A request that was admitted from a loan has ended. */
  end(loan: AccountLoan, hold: LentHold, settled: Settled | undefined): void {
    loan.end(hold, settled);
    if (!loan.isOpen) void this.#returns.return(loan);
  }

  /**
   * Returns an account's loans, if there are any. Their requests hold their credits themselves from then on.
   *
   * @throws {DatabaseError} If the database cannot be used; it is tried again.
   */
  async giveBack(accountId: string): Promise<void> {
    this.#demands.of(accountId); // nor is anything lent of one that had no request yet
    const demands = this.#demands.ofAccount(accountId);
    for (const demand of demands) demand.askableTick = this.#monotonicNow() + REFUSED_MS;
    await Promise.all(demands.map(({ asking }) => asking));
    const loans = [...this.#loans.ofAccount(accountId)];
    await Promise.all(loans.map((loan) => this.#returns.return(loan)));
  }

  /** Returns all loans, as they were made by other settings. */
  async configure(settings: AdmissionSettings): Promise<void> {
    this.#settings = settings;
    await this.#returns.returnAll(this.#loans.all());
  }

  /** Renews all leases. Loans whose lease has ended, or that the database does not know any more, are given up. */
  async renew(): Promise<void> {
    const { database, gatewayId } = this.#options;
    const tick = this.#monotonicNow();
    const before = this.#loans.all();
    const renewed = await renewLoans(database, gatewayId, this.#leaseMs);
    this.#renewedTick = tick;
    const known = new Set(renewed.filter((one) => one.isRenewed).map(({ loanId }) => loanId));
    for (const loan of before) if (!known.has(loan.id)) void this.#returns.return(loan);
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
    await this.#returns.returnAll(this.#loans.all());
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

  /** Whether requests of keys with budgets are admitted from loans: where a server may be away. */
  get lendsBudgets(): boolean {
    return this.#isShared;
  }

  get #isShared(): boolean {
    return this.#options.database.outbox?.isShared === true;
  }

  /** Others get nothing of a loan that may still be spent without the database. */
  get #leaseMs(): number {
    const { patienceMs = 0, leaseMs } = this.#settings;
    return this.#options.database.outbox === undefined ? leaseMs : patienceMs + leaseMs;
  }

  #ask(request: UncoveredRequest): void {
    const borrowerId = borrowerIdOf(request);
    const demand = this.#demands.of(borrowerId);
    const tick = this.#monotonicNow();
    if (this.#isClosed || tick < demand.askableTick || demand.asking !== undefined) return;
    demand.askableTick = tick + ASKED_MS;
    demand.asking = this.#lend(request, demand)
      .catch((error) => {
        this.#options.log.warn("no loan could be made", { error: String(error) });
        demand.askableTick = this.#monotonicNow() + REFUSED_MS;
        this.#isUncertain = true;
        const loan = this.#loans.find(borrowerId);
        if (loan !== undefined) loan.isUncertain = true; // it may have grown
      })
      .finally(() => demand.asking = undefined);
  }

  async #lend(request: UncoveredRequest, demand: Demand): Promise<void> {
    const { accountId, keyId, credits, byKey = false } = request;
    const { database, gatewayId, now } = this.#options;
    const settings = this.#settings;
    const borrowerId = borrowerIdOf(request);
    const known = this.#loans.find(borrowerId);
    if (known?.isOpen === false) return;
    const tick = this.#monotonicNow();
    const nowMs = now();
    const charged = this.#charged(accountId);
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
      byKey,
      // a budget may be small, and is worth lending all the same
      leastCredits: (byKey ? 1 : MIN_REQUESTS) * credits,
      leastPlaces: MIN_REQUESTS,
    });
    if (loan === undefined && known !== undefined) { // it has ended
      void this.#returns.return(known);
      return;
    }
    if (loan === undefined || loan.added === 0 && isJoined) demand.askableTick = tick + REFUSED_MS;
    if (loan === undefined) return;
    if (known === undefined) {
      if (this.#loans.size === 0) this.#renewedTick = this.#heardTick = tick;
      const made = new AccountLoan({ accountId, keyId, loanId, byKey }, loan, {
        ...settings,
        nowMs,
      });
      made.usedTick = tick;
      this.#loans.add(made);
    } else known.renew(keyId, loan, nowMs);
    this.#learnBalance(accountId, loan.accountStatus.balance, charged);
    if (settings !== this.#settings) this.#loans.find(borrowerId)?.close();
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
    /** What had been charged before, by account. */
    const read = new Map<string, number>();
    for (const loan of this.#loans.all()) {
      if (read.size >= MAX_READ) break;
      if (loan.takeCharged()) read.set(loan.accountId, this.#charged(loan.accountId));
    }
    const news = await loanNews(database, gatewayId, [...read.keys()]).catch(() => undefined);
    if (news === undefined) return; // it cannot be used now
    const { recalled, balances } = news;
    this.#heardTick = tick;
    for (const [accountId, charged] of read) {
      const balance = balances[accountId];
      if (balance !== undefined) this.#learnBalance(accountId, balance, charged);
    }
    const recalledIds = new Set(recalled.map(({ loanId }) => loanId));
    const idleMs = this.#isShared ? Math.max(IDLE_MS, this.#settings.patienceMs ?? 0) : IDLE_MS;
    const due = this.#loans.all().filter((loan) =>
      !loan.isOpen || loan.isUncertain || recalledIds.has(loan.id) ||
      tick - loan.usedTick > idleMs && loan.requests.length === 0
    );
    for (const { id, borrowerId } of due) {
      if (recalledIds.has(id)) this.#demands.of(borrowerId).askableTick = tick + REFUSED_MS;
    }
    await this.#returns.returnAll(due);
    for (const loan of recalled) await this.#returnUnknown(loan).catch(() => {}); // it is tried again
  }

  /** Returns a loan that this gateway does not know of, since the answer to its question was lost. */
  async #returnUnknown(loan: LoanOf): Promise<void> {
    const isKnown = this.#loans.ofAccount(loan.accountId).values()
      .some(({ id }) => id === loan.loanId);
    const demands = this.#demands.ofAccount(loan.accountId);
    if (isKnown || demands.some(({ asking }) => asking !== undefined)) return;
    await this.#returns.returnUnknown(loan);
  }
}

/** The monotonic clock of the process. */
export const monotonicNow = (): number => performance.now();
