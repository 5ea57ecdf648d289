import { isBorrowerOf } from "./borrower.ts";

/** Borrowers that are known; of more, those that came first are forgotten. */
const MAX_KNOWN = 10_000;
/** Time in which requests are counted together. */
const BUSY_MS = 1_000;

/** What is known of a borrower besides its loan, and of an account. Times are monotonic, in milliseconds. */
export class Demand {
  #sinceTick = -Infinity;
  #requests = 0;
  /** No loan is asked for before. */
  askableTick = -Infinity;
  /** The question for a loan, while it is under way. */
  asking: Promise<void> | undefined;
  /** Nothing is recalled before. */
  recallableTick = -Infinity;
  /** The wait until others have returned their loans, while it is under way. */
  recall: Promise<void> | undefined;
  /** Credits of all charges that were sent to the database; known of accounts. */
  charged = 0;

  /** Counts a request that no loan covers; returns how many there were within about a second. */
  count(tick: number): number {
    if (tick - this.#sinceTick > BUSY_MS) {
      this.#sinceTick = tick;
      this.#requests = 0;
    }
    return ++this.#requests;
  }
}

/** The {@linkcode Demand} of accounts that had requests, and of their keys that have budgets. */
export class Demands {
  readonly #byBorrower = new Map<string, Demand>();
  readonly #isLent: (id: string) => boolean;

  /** @param isLent Whether there is a loan of an account, or of a key of it: what is known of the account is not forgotten then. */
  constructor(isLent: (id: string) => boolean) {
    this.#isLent = isLent;
  }

  /** Whether some loan is being asked for. */
  get isAsking(): boolean {
    return this.#byBorrower.values().some(({ asking }) => asking !== undefined);
  }

  /** Those of an account and of its keys. */
  ofAccount(accountId: string): Demand[] {
    return [...this.#byBorrower].filter(([id]) => isBorrowerOf(accountId, id)).map(([, demand]) =>
      demand
    );
  }

  /** The one of a borrower, if it is known. */
  find(borrowerId: string): Demand | undefined {
    return this.#byBorrower.get(borrowerId);
  }

  /** The one of a borrower, which is known from now on. */
  of(borrowerId: string): Demand {
    let demand = this.#byBorrower.get(borrowerId);
    if (demand === undefined) {
      if (this.#byBorrower.size >= MAX_KNOWN) this.#forgetOldest();
      demand = new Demand();
      this.#byBorrower.set(borrowerId, demand);
    }
    return demand;
  }

  /** Resolves when no loan is being asked for. */
  async settled(): Promise<void> {
    await Promise.all(this.#byBorrower.values().map(({ asking }) => asking));
  }

  /** Of those of which nothing is under way. */
  #forgetOldest(): void {
    for (const [id, { asking, recall }] of this.#byBorrower) {
      if ((asking ?? recall) !== undefined || this.#isLent(id)) continue;
      this.#byBorrower.delete(id);
      return;
    }
  }
}
