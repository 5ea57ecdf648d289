import type { AccountLoan } from "./account_loan.ts";

const NONE: ReadonlySet<AccountLoan> = new Set();

/** The loans of a gateway, by borrower. All loans of an account know the same balance of it. */
export class LoanIndex {
  readonly #byBorrower = new Map<string, AccountLoan>();
  readonly #byAccount = new Map<string, Set<AccountLoan>>();

  get size(): number {
    return this.#byBorrower.size;
  }

  find(borrowerId: string): AccountLoan | undefined {
    return this.#byBorrower.get(borrowerId);
  }

  /** An account's loans, those of its keys included. */
  ofAccount(accountId: string): ReadonlySet<AccountLoan> {
    return this.#byAccount.get(accountId) ?? NONE;
  }

  all(): AccountLoan[] {
    return [...this.#byBorrower.values()];
  }

  /** Adds the loan of a borrower that has none. */
  add(loan: AccountLoan): void {
    this.#byBorrower.set(loan.borrowerId, loan);
    const ofAccount = this.#byAccount.get(loan.accountId);
    if (ofAccount === undefined) this.#byAccount.set(loan.accountId, new Set([loan]));
    else ofAccount.add(loan);
  }

  remove(loan: AccountLoan): void {
    if (this.find(loan.borrowerId) !== loan) return;
    this.#byBorrower.delete(loan.borrowerId);
    const ofAccount = this.#byAccount.get(loan.accountId)!;
    ofAccount.delete(loan);
    if (ofAccount.size === 0) this.#byAccount.delete(loan.accountId);
  }

  /**
   * Takes a charge that is sent to the database off the account's balance.
   *
   * @returns What is left; undefined if only the database knows it.
   */
  charge(accountId: string, credits: number): number | undefined {
    let left: number | undefined;
    for (const loan of this.ofAccount(accountId)) left = loan.charge(credits);
    return left;
  }
}
