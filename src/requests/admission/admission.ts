import type { Caller } from "../../people/accounts/mod.ts";
import { affordableOutput, priceOf, type Route } from "../../settings/catalog/mod.ts";
import {
  type AccountStatus,
  accountStatusOf,
  admit,
  type Decision,
  expireLots,
  growHold,
  type HoldRequest,
  lapsedLoans,
  openPeriods,
  openPeriodsOfKey,
  reapHolds,
  recallLoans,
  releaseHoldsOf,
  releaseLapsedLoans,
  renewHolds,
  type WindowState,
} from "../../money/ledger/mod.ts";
import { SlotMap } from "../../ground/platform/mod.ts";
import type { Borrower } from "./borrower.ts";
import { refusalOf } from "./decision_refusal.ts";
import { type EndedHold, Hold, STEP_TOKENS } from "./hold.ts";
import { Loans, monotonicNow } from "./loans.ts";
import type { AdmissionSettings, LoansOptions } from "./settings.ts";

/** Recalls of loans that one request waits for; what is lent then counts as held. */
const MAX_RECALLS = 20;

/** Dependencies and first settings of {@linkcode Admission}. */
export interface AdmissionOptions extends LoansOptions {
  /** IDs of gateways that do not run any more: their holds are released at the start. */
  readonly abandonedIds?: readonly string[];
  /**
   * Finds which of these gateways have ended for certain, with all that they had kept at the database. Default: none is known to have.
   */
  readonly ended?: ((gatewayIds: readonly string[]) => Promise<readonly string[]>) | undefined;
  /** Measures the offset to the database's clock again. */
  readonly syncClock?: () => Promise<void>;
}

/** A request to be admitted. */
export interface AdmissionRequest {
  readonly requestId: string;
  readonly caller: Caller;
  readonly route: Route;
  readonly stream: boolean;
  /** Input tokens, as counted by the gateway. */
  readonly inputTokens: number;
  /** Max output tokens of one choice, by the route and the context window. */
  readonly permittedOutput: number;
  /** Number of choices (`n`). */
  readonly choices: number;
  /** Credits that it may cost beyond its tokens: held as far as there are more than those need. */
  readonly reserved?: number | undefined;
  /** Whether it is rejected unless there are credits for all that it may cost; else its output is limited to what they cover. */
  readonly isWhole?: boolean | undefined;
}

/** An admitted request. */
export interface AdmittedRequest {
  /** Max output tokens of one choice, also limited by the balance. */
  readonly permittedOutput: number;
  readonly hold: Hold;
}

/**
 * Admits requests: from credits that the database has lent to this gateway, or by asking the database. Keeps the leases
 * of holds and loans.
 */
export class Admission {
  readonly #options: AdmissionOptions;
  readonly #monotonicNow: () => number;
  #settings: AdmissionSettings;
  readonly #running = new SlotMap<string>();
  readonly #loans: Loans;
  #timer: ReturnType<typeof setInterval> | undefined;
  #keeping: Promise<void> = Promise.resolve();
  /** Time of the last renewal, and since when there was no gap ({@linkcode AdmissionOptions.monotonicNow}). */
  #keptTick = -Infinity;
  #steadyTick = 0;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#monotonicNow = options.monotonicNow ?? monotonicNow;
    this.#settings = options;
    this.#loans = new Loans(options);
  }

  /** Releases holds left by an earlier run of this gateway, and starts renewing leases. */
  async start(): Promise<void> {
    const { database, gatewayId, abandonedIds = [] } = this.#options;
    await database.batch(this.#settings.tierList.statements);
    const ids = [gatewayId, ...abandonedIds];
    for (const id of ids) await releaseHoldsOf(database, id);
    await this.#loans.start(ids);
    this.#keepRegularly();
  }

  /**
   * Changes the settings. Requests that were admitted keep their holds and their place in the rate windows.
   *
   * @throws {DatabaseError} If the tiers cannot be stored; then nothing has changed.
   */
  async configure(settings: AdmissionSettings): Promise<void> {
    await this.#options.database.batch(settings.tierList.statements);
    await this.use(settings);
  }

  /**
   * Changes the settings at once; for tiers that are stored already, as by another thread of the process. Resolves when what
   * was lent has been returned.
   */
  async use(settings: AdmissionSettings): Promise<void> {
    this.#settings = settings;
    clearInterval(this.#timer);
    this.#keepRegularly();
    await this.#loans.configure(settings);
  }

  #keepRegularly(): void {
    this.#timer = setInterval(() => {
      this.#keeping = this.#keeping.then(() => this.keep());
    }, this.#settings.leaseMs / 4);
  }

  /** Stops renewing leases, and returns what was lent. Resolves when the renewal in progress has ended. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#keeping;
    await this.#loans.close();
  }

  /**
   * Counts the request in the rate windows of its key and account, and holds the credits it may cost.
   *
   * @param onStatus Called with the balance and rate windows of the caller, whether the request is admitted or not.
   * @returns The permitted output and the hold. End the hold when the request is over.
   * @throws {Refusal} `rate_exceeded`, `budget_spent` or `credits_short`.
   */
  async admit(
    asking: AdmissionRequest,
    onStatus: (accountStatus: AccountStatus) => void,
  ): Promise<AdmittedRequest> {
    const { gatewayId, now } = this.#options;
    const { leaseMs, tierList } = this.#settings;
    const { requestId, caller, route, choices, permittedOutput, reserved = 0, isWhole } = asking;
    // each choice may need a request of its own, which reads the whole input
    const inputTokens = asking.inputTokens * choices;
    const mostOutput = permittedOutput * choices;
    // even a free route holds a credit, so that an account without credits cannot use it
    const price = (outputTokens: number) =>
      Math.max(1, priceOf(route, { inputTokens, cachedTokens: 0, outputTokens }));
    const wantedForTokens = price(
      asking.stream ? Math.min(mostOutput, STEP_TOKENS * choices) : mostOutput,
    );
    const wanted = wantedForTokens + reserved;
    const most = price(mostOutput) + reserved;
    const least = isWhole ? most : price(choices);
    const nowMs = now();
    const terms = (maxOutput: number, reservedCredits: number) => ({
      route,
      inputTokens,
      maxOutput,
      choices,
      reservedCredits,
      admittedAtMs: nowMs,
    });
    // a stream's hold can grow, up to the balance
    const permitted = (credits: number) =>
      Math.min(
        permittedOutput,
        Math.floor(affordableOutput(route, { inputTokens, credits }) / choices),
      );
    const { accountId, keyId } = caller;
    const byKey = caller.hasBudget;
    const borrower = { accountId, keyId, byKey };
    const holder = { requestId, ...borrower, gatewayId, leaseMs, route: route.id };

    const charge = (credits: number) => this.#loans.charge(accountId, credits);
    const draw = { requestId, keyId, credits: wanted, mostCredits: most, nowMs };
    // by the database, for all gateways
    const isDecided = caller.atOnce !== null || byKey && !this.#loans.lendsBudgets;
    const drawn = isDecided ? undefined : this.#loans.admit(borrower, draw);
    if (drawn !== undefined) {
      const { loan, hold: lent } = drawn;
      onStatus({ balance: loan.balance, windows: loan.windows(keyId), budget: loan.budget });
      const place = this.#running.add(requestId);
      const output = permitted(most - reserved);
      const hold = new Hold(
        terms(output * choices, reserved),
        wanted,
        async (more) => {
          if (loan.grow(lent, more, now())) return more;
          if (!lent.isReturned) await this.#loans.giveBack(accountId);
          return await this.#grow({ ...holder, wanted: more, nowMs });
        },
        (settled) => {
          this.#running.take(place, requestId);
          this.#loans.end(loan, lent, settled);
          this.#noteUncollected(accountId, settled);
        },
        charge,
        () => lent.isReturned ? undefined : { loanId: loan.id, credits: lent.credits },
      );
      return { permittedOutput: output, hold };
    }

    if (!isDecided) this.#loans.uncovered({ ...borrower, credits: wanted });
    const ask = { ...holder, least, wanted, most, nowMs, reserved, tierListId: tierList.id };
    const decision = await this.#decide(ask);
    const admitted = decision.verdict === "admitted";
    const known = this.#loans.learn(borrower, decision, nowMs);
    const windows = admitted ? known.map(counted) : decision.windows;
    onStatus({ balance: decision.balance, windows, budget: decision.budget });
    if (!admitted) throw refusalOf(decision, { caller, least, nowMs });
    // tokens come first, all that the request may have if nothing is left to grow by: what is short is missing from the reserve
    const forTokens = decision.credits < wanted ? price(mostOutput) : wantedForTokens;
    const held = Math.min(reserved, Math.max(0, decision.credits - forTokens));
    const output = permitted((asking.stream ? decision.asked : decision.credits) - held);
    const place = this.#running.add(requestId);
    const hold = new Hold(
      terms(output * choices, held),
      decision.credits,
      (more) => this.#grow({ ...holder, wanted: more, nowMs }),
      (settled) => {
        this.#running.take(place, requestId);
        this.#loans.noteSettled(accountId);
        this.#noteUncollected(accountId, settled);
      },
      charge,
    );
    return { permittedOutput: output, hold };
  }

  /** An account with uncollected charges has one request at a time, which the database decides. */
  #noteUncollected(accountId: string, settled: EndedHold | undefined): void {
    if (settled === undefined || settled.charged >= settled.priceCredits) return;
    this.#loans.giveBack(accountId).catch(() => {}); // it is in the log, and tried again
  }

  /** Has the database decide, if need be after all that is lent of the account has been returned. */
  async #decide(ask: HoldRequest & Borrower): Promise<Decision> {
    const { database } = this.#options;
    for (let times = 0;; times++) {
      const mayRecall = times < MAX_RECALLS && this.#loans.mayRecall(ask);
      const decision = await admit(database, { ...ask, mayRecall });
      if (decision.verdict === "recall") await this.#loans.recalled(ask);
      else if (decision.verdict === "period" && times < MAX_RECALLS) {
        await openPeriodsOfKey(database, ask.keyId, ask.nowMs);
      } else return decision;
    }
  }

  /** Raises a hold; what is lent of the account is recalled if the rest of its credits is not enough. */
  async #grow(
    { nowMs, ...ask }: Omit<HoldRequest, "least" | "most" | "tierListId"> & Borrower,
  ): Promise<number> {
    const { database, now } = this.#options;
    const grow = () => growHold(database, { ...ask, nowMs: now(), admittedAtMs: nowMs });
    const credits = await grow();
    if (credits >= ask.wanted || !this.#loans.mayRecall(ask)) return credits;
    if (!await recallLoans(database, ask.accountId, ask.keyId)) return credits;
    await this.#loans.recalled(ask);
    return await grow();
  }

  /**
   * Reads the balance and rate windows of a caller, without counting a request.
   *
   * @param caller IDs of the account and the key.
   * @returns The balance in credits, and the windows of key and account.
   */
  accountStatus(caller: Pick<Caller, "accountId" | "keyId">): Promise<AccountStatus> {
    const { database, now } = this.#options;
    return accountStatusOf(database, caller, this.#settings.tierList, now());
  }

  /**
   * Renews the leases of in-flight requests, releases holds of gateways that are gone, and loans of those that have kept nothing, measures the clock's offset,
   * expires lots, opens the next periods of budgets, and stores the tiers. Called every quarter of a lease. Failures are logged, not thrown.
   */
  async keep(): Promise<void> {
    const { database, log, now, syncClock } = this.#options;
    const { tierList, leaseMs } = this.#settings;
    const tick = this.#monotonicNow();
    // After a database outage, give other gateways time to renew their leases.
    if (tick - this.#keptTick > leaseMs / 2) this.#steadyTick = tick;
    try {
      await database.batch(tierList.statements); // the file may have been replaced
      await renewHolds(database, this.#running.all(), leaseMs);
      await this.#loans.renew();
      // others may have waited as long as this did
      const waited = this.#monotonicNow() - tick > leaseMs / 4;
      if (!waited && tick - this.#steadyTick >= leaseMs / 2) {
        await reapHolds(database);
        await this.#releaseLapsed();
      }
      await syncClock?.();
      await expireLots(database, now());
      await openPeriods(database, now());
      this.#keptTick = tick;
    } catch (error) {
      log.warn("leases could not be renewed", { error: String(error) });
    }
  }

  /** Ends loans of gateways that are gone and have kept nothing that the database does not have. */
  async #releaseLapsed(): Promise<void> {
    const { database, ended } = this.#options;
    // first, so that what the next gateway of the same ID was lent is not among them
    const lapsed = await lapsedLoans(database);
    if (lapsed.length === 0 || ended === undefined) return;
    const gone = new Set(await ended(lapsed.map(({ gatewayId }) => gatewayId)));
    const over = lapsed.filter(({ gatewayId }) => gone.has(gatewayId));
    if (over.length > 0) await releaseLapsedLoans(database, over);
  }
}

function counted({ of, span, limit, used }: WindowState): WindowState {
  return { of, span, limit, used: used + 1 };
}
