import type {
  BalanceRange,
  Budget,
  LentRequest,
  Loan,
  Places,
  Settled,
  Span,
  TierList,
  WindowState,
} from "../../money/ledger/mod.ts";
import { SlotMap } from "../../ground/platform/mod.ts";
import { type Borrower, borrowerIdOf } from "./borrower.ts";
import { SPAN_MS } from "./windows.ts";

const SPANS = Object.keys(SPAN_MS) as Span[];

/** A request that was admitted from a loan. */
export interface LentHold extends LentRequest {
  /** Credits of the loan that it may spend; they can grow. */
  credits: number;
  /** The price of the most that its upstream is asked for. */
  readonly mostCredits: number;
  /** Whether the database holds them since, because the loan was returned. */
  isReturned: boolean;
  place: number;
}

/** A request that is to be admitted from a loan. */
export interface LoanDraw {
  readonly requestId: string;
  readonly keyId: string;
  readonly credits: number;
  /** The price of the most that its upstream is asked for: beyond the loan, the database decides. */
  readonly mostCredits: number;
  readonly nowMs: number;
}

/**
 * Requests of one owner in the current minute, hour or day: those that the database knew of when the loan was made, and
 * those that were admitted from it.
 */
class PlaceCount {
  readonly #spanMs: number;
  #period: number;
  /** What the database knew of in the first period. */
  #before: number;
  #admitted = 0;
  #max: number;

  constructor(span: Span, { used, max, nowMs }: { used: number; max: number; nowMs: number }) {
    this.#spanMs = SPAN_MS[span];
    this.#period = Math.floor(nowMs / this.#spanMs);
    this.#before = used;
    this.#max = max;
  }

  /** Requests of the period. */
  get used(): number {
    return this.#before + this.#admitted;
  }

  /**
   * Updates the count to the requests that the database knows; some may have been admitted by this gateway.
   *
   * @param places Places of the loan, which a new period begins with.
   */
  learn(used: number, places: number, nowMs: number): void {
    if (!this.#turn(places, nowMs)) return;
    this.#before = Math.max(this.#before, used - this.#admitted);
  }

  /**
   * Whether another request has a place.
   *
   * @param places Places of the loan, which a new period begins with.
   */
  hasPlace(places: number, nowMs: number): boolean {
    return this.#turn(places, nowMs) && this.#admitted < this.#max;
  }

  /** Goes on to the period of a time; false for an earlier one, of which only the database knows. */
  #turn(places: number, nowMs: number): boolean {
    const period = Math.floor(nowMs / this.#spanMs);
    if (period > this.#period) {
      this.#period = period;
      this.#before = 0;
      this.#admitted = 0;
      this.#max = places;
    }
    return period === this.#period;
  }

  count(): void {
    this.#admitted++;
  }

  /** Adds places of a loan that has grown. */
  widen(max: number): void {
    this.#max = Math.max(this.#max, max);
  }
}

type PlaceCounts = readonly PlaceCount[];

/**
 * An account's credits and places in rate windows that are lent to this gateway: requests are admitted from them without
 * asking the database, in the order in which they come. It never rejects a request: whatever it does not cover, the
 * database decides on.
 */
export class AccountLoan {
  readonly accountId: string;
  readonly id: string;
  /** Whose it is among the loans of this gateway. */
  readonly borrowerId: string;
  readonly #requests = new SlotMap<LentHold>();
  readonly #byKey = new Map<string, PlaceCounts>();
  readonly #ofAccount: PlaceCounts;
  readonly #limits: readonly WindowState[];
  #places: Places;
  #expiresAtMs: number;
  /** Credits that are lent, those of them that requests hold, and the price of the most that upstreams were asked for. */
  #credits = 0;
  #held = 0;
  #asked = 0;
  /** Credits that were lent when it last grew. */
  #size = 0;
  #balance: number;
  #budget: Budget | undefined;
  /** Whether there were charges since the balance was asked for last. */
  #isCharged = false;
  /** Balances that have the same limits. */
  readonly #tier: BalanceRange;
  /** `open`: requests are admitted from it. `closed`: it is to be returned. `returned`: the database knows that it has ended. */
  #state: "open" | "closed" | "returned" = "open";
  /** Its return, while that is under way; kept by those who return it. */
  returning: Promise<void> | undefined;
  /** Whether the database may have lent more than is known: then it is returned as soon as that answers. */
  isUncertain = false;
  /** Monotonic time of the last request, in milliseconds; kept by those who admit from it. */
  usedTick = -Infinity;

  constructor(
    { loanId, ...borrower }: Borrower & { readonly loanId: string },
    loan: Loan,
    { tierList, nowMs }: { readonly tierList: TierList; readonly nowMs: number },
  ) {
    const { places, accountStatus, expiresAtMs } = loan;
    this.accountId = borrower.accountId;
    this.borrowerId = borrowerIdOf(borrower);
    this.id = loanId;
    this.#tier = tierList.rangeOf(accountStatus.balance);
    this.#places = places;
    this.#expiresAtMs = expiresAtMs;
    this.#limits = accountStatus.windows;
    this.#balance = accountStatus.balance;
    this.#ofAccount = SPANS.map((span) => {
      const { used } = windowOf(accountStatus.windows, "account", span);
      return new PlaceCount(span, { used, max: places[span], nowMs });
    });
    this.renew(borrower.keyId, loan, nowMs);
  }

  /** The balance, as far as it is known here, less all charges that were sent to the database. */
  get balance(): number {
    return this.#balance;
  }

  /** The budget that had the least left, with what requests from here have spent since. */
  get budget(): Budget | undefined {
    return this.#budget;
  }

  /** Whether requests are admitted from it. */
  get isOpen(): boolean {
    return this.#state === "open";
  }

  /** Whether the database knows that it has ended. */
  get isReturned(): boolean {
    return this.#state === "returned";
  }

  /** Admits nothing any more. */
  close(): void {
    if (this.#state === "open") this.#state = "closed";
  }

  /** Notes that the database has these requests hold their credits themselves. */
  returned(requests: readonly LentHold[]): void {
    this.#state = "returned";
    for (const hold of requests) hold.isReturned = true;
  }

  /** Whether less than a quarter is left of what was lent last. */
  get isLow(): boolean {
    return (this.#credits - this.#held) * 4 < this.#size;
  }

  /** Requests that were admitted from it and are not known to be settled. */
  get requests(): readonly LentHold[] {
    return this.#requests.all();
  }

  /** Whether requests of a key are admitted from it. */
  covers(keyId: string): boolean {
    return this.#byKey.has(keyId);
  }

  /** Adds what the database has lent, and takes up a key. */
  renew(keyId: string, loan: Loan, nowMs: number): void {
    const { added, places, otherPlaces, accountStatus, expiresAtMs } = loan;
    this.#credits += added;
    this.#size = Math.max(1, this.#credits - this.#held);
    this.#places = places;
    this.#expiresAtMs = expiresAtMs;
    this.#budget = accountStatus.budget;
    SPANS.forEach((span, at) => this.#ofAccount[at]!.widen(places[span]));
    if (this.#byKey.has(keyId)) return;
    this.#byKey.set(
      keyId,
      SPANS.map((span) => {
        const { used, limit } = windowOf(accountStatus.windows, "key", span);
        // another gateway may use all of its places for this key
        const max = Math.min(places[span], limit - used - otherPlaces[span]);
        return new PlaceCount(span, { used, max, nowMs });
      }),
    );
  }

  /**
   * Admits a request.
   *
   * @returns Its credits, counted and held; undefined if the database must decide.
   */
  admit({ requestId, keyId, credits, mostCredits, nowMs }: LoanDraw): LentHold | undefined {
    this.#closeWhenExpired(nowMs);
    if (!this.isOpen || credits > this.#credits - this.#held) return undefined;
    if (mostCredits > this.#credits - this.#asked) return undefined;
    const counts = this.#byKey.get(keyId);
    if (counts === undefined) return undefined;
    for (let at = 0; at < SPANS.length; at++) {
      const places = this.#places[SPANS[at]!];
      if (!counts[at]!.hasPlace(places, nowMs)) return undefined;
      if (!this.#ofAccount[at]!.hasPlace(places, nowMs)) return undefined;
    }
    for (let at = 0; at < SPANS.length; at++) {
      counts[at]!.count();
      this.#ofAccount[at]!.count();
    }
    this.#held += credits;
    this.#asked += mostCredits;
    const hold: LentHold = {
      requestId,
      keyId,
      credits,
      mostCredits,
      admittedAtMs: nowMs,
      isReturned: false,
      place: 0,
    };
    hold.place = this.#requests.add(hold);
    return hold;
  }

  /** What expires must not be spent. */
  #closeWhenExpired(nowMs: number): void {
    if (nowMs >= this.#expiresAtMs) this.close();
  }

  /** Updates the windows after the database admitted or rejected a request. */
  learn(keyId: string, windows: readonly WindowState[], nowMs: number): void {
    const counts = this.#byKey.get(keyId);
    for (const { of, span, used } of windows) {
      const owned = of === "key" ? counts : this.#ofAccount;
      owned?.[SPANS.indexOf(span)]?.learn(used, this.#places[span], nowMs);
    }
  }

  /** Rate windows of a key and of the account. */
  windows(keyId: string): readonly WindowState[] {
    const counts = this.#byKey.get(keyId)!;
    return this.#limits.map(({ of, span, limit }) => {
      const at = SPANS.indexOf(span);
      return { of, span, limit, used: (of === "key" ? counts : this.#ofAccount)[at]!.used };
    });
  }

  /**
   * Lets a request hold more.
   *
   * @param credits Credits that it is to hold in all.
   * @returns Whether it does.
   */
  grow(hold: LentHold, credits: number, nowMs: number): boolean {
    this.#closeWhenExpired(nowMs);
    const more = credits - hold.credits;
    if (!this.isOpen || hold.isReturned || more > this.#credits - this.#held) return false;
    this.#held += more;
    hold.credits = credits;
    return true;
  }

  /**
   * A request has ended: what it did not spend can be spent again. If it is not known what it was charged, its
   * settlement may still come: the loan ends, and the request holds its credits itself.
   *
   * @param settled What it was charged; undefined if that is not known.
   */
  end(hold: LentHold, settled: Settled | undefined): void {
    if (settled === undefined) return this.close();
    if (this.#requests.take(hold.place, hold) === undefined) return;
    this.#held -= hold.credits;
    this.#asked -= hold.mostCredits;
    this.#credits -= Math.min(settled.charged, hold.credits);
    if (this.#budget !== undefined) {
      this.#budget = { ...this.#budget, spent: this.#budget.spent + settled.charged };
    }
    this.noteSettled();
  }

  /** Notes that the database has a charge: a balance that was read before may lack it. */
  noteSettled(): void {
    this.#isCharged = true;
  }

  /** Takes a charge off the balance; returns what is left. */
  charge(credits: number): number {
    this.noteSettled();
    this.noteBalance(Math.max(0, this.#balance - credits));
    return this.#balance;
  }

  /** Whether the balance is worth reading again, as there were charges since this was called last. */
  takeCharged(): boolean {
    const isCharged = this.#isCharged;
    this.#isCharged = false;
    return isCharged;
  }

  /** Updates the balance. The limits of another tier are not those of the loan. */
  noteBalance(balance: number): void {
    this.#balance = balance;
    const { above, upTo } = this.#tier;
    if (balance <= above || balance > upTo) this.close();
  }
}

function windowOf(
  windows: readonly WindowState[],
  of: WindowState["of"],
  span: Span,
): Pick<WindowState, "limit" | "used"> {
  return windows.find((window) => window.of === of && window.span === span) ??
    { limit: 0, used: 0 };
}
