/** Accounts that are known; of more, those that came first are forgotten. */
const MAX_KNOWN = 10_000;
/** Time in which requests are counted together. */
const BUSY_MS = 1_000;

/** What is known of an account besides its loan. Times are monotonic, in milliseconds. */
export class Demand {
  #sinceTick = -Infinity;
  #requests = 0;
  /** No loan is asked for before. */
  askableTick = -Infinity;
  /** Nothing is recalled before. */
  recallableTick = -Infinity;
  /** Credits of all charges that were sent to the database. */
  charged = 0;
  /** The question for a loan, and the wait until others have returned theirs, while they are under way. */
  asking: Promise<void> | undefined;
  recall: Promise<void> | undefined;

  /** Counts a request that no loan covers; returns how many there were within about a second. */
  count(tick: number): number {
    if (tick - this.#sinceTick > BUSY_MS) {
      this.#sinceTick = tick;
      this.#requests = 0;
    }
    return ++this.#requests;
  }
}

/** The {@linkcode Demand} of accounts that had requests. */
export class Demands {
  readonly #byAccount = new Map<string, Demand>();
  readonly #isLent: (accountId: string) => boolean;

  /** @param isLent Whether there is a loan of an account, which is not forgotten then. */
  constructor(isLent: (accountId: string) => boolean) {
    this.#isLent = isLent;
  }

  /** Whether some loan is being asked for. */
  get isAsking(): boolean {
    return this.#byAccount.values().some(({ asking }) => asking !== undefined);
  }

  /** The one of an account, if it is known. */
  find(accountId: string): Demand | undefined {
    return this.#byAccount.get(accountId);
  }

  /** The one of an account, which is known from now on. */
  of(accountId: string): Demand {
    let demand = this.#byAccount.get(accountId);
    if (demand === undefined) {
      if (this.#byAccount.size >= MAX_KNOWN) this.#forgetOldest();
      demand = new Demand();
      this.#byAccount.set(accountId, demand);
    }
    return demand;
  }

  /** Resolves when no loan is being asked for. */
  async settled(): Promise<void> {
    await Promise.all(this.#byAccount.values().map(({ asking }) => asking));
  }

  /** Of those of which nothing is under way. */
  #forgetOldest(): void {
    for (const [accountId, { asking, recall }] of this.#byAccount) {
      if ((asking ?? recall) !== undefined || this.#isLent(accountId)) continue;
      this.#byAccount.delete(accountId);
      return;
    }
  }
}
