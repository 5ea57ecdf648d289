import type { Database } from "../../ground/database/mod.ts";
import { type LoanOf, returnLoan } from "../../money/ledger/mod.ts";
import type { Log } from "../../ground/telemetry/mod.ts";
import type { AccountLoan } from "./account_loan.ts";
import type { LoanIndex } from "./loan_index.ts";

/** Dependencies of {@linkcode LoanReturns}. */
interface LoanReturnsOptions {
  readonly database: Database;
  readonly gatewayId: string;
  readonly log: Log;
  /** Those that there are; a loan is taken out when the database knows that it has ended. */
  readonly loans: LoanIndex;
  /** The lease of what its requests hold then, in milliseconds. */
  readonly leaseMs: () => number;
}

/** Returns loans: their requests in flight hold their credits themselves from then on. */
export class LoanReturns {
  readonly #options: LoanReturnsOptions;

  constructor(options: LoanReturnsOptions) {
    this.#options = options;
  }

  /**
   * Closes a loan and returns it. It stays, closed, until the database has it back.
   *
   * @throws {DatabaseError} If the database cannot be used; that is in the log.
   */
  return(loan: AccountLoan): Promise<void> {
    loan.close();
    if (loan.isReturned) return Promise.resolve();
    if (loan.returning === undefined) {
      loan.returning = this.#returnOnce(loan).finally(() => loan.returning = undefined);
      loan.returning.catch(() => {}); // it is in the log, and tried again
    }
    return loan.returning;
  }

  /** Returns several. Failures are in the log, and tried again. */
  async returnAll(loans: readonly AccountLoan[]): Promise<void> {
    await Promise.all(loans.map((loan) => this.return(loan).catch(() => {})));
  }

  /** Returns a loan that this gateway does not know of, so that no request was admitted from it. */
  async returnUnknown({ accountId, loanId }: LoanOf): Promise<void> {
    const { database, gatewayId, leaseMs } = this.#options;
    const unused = { accountId, gatewayId, loanId, leaseMs: leaseMs(), requests: [] };
    await returnLoan(database, unused);
  }

  async #returnOnce(loan: AccountLoan): Promise<void> {
    const { database, gatewayId, log, loans, leaseMs } = this.#options;
    const { accountId, id: loanId, requests } = loan;
    try {
      const returned = { accountId, gatewayId, loanId, leaseMs: leaseMs(), requests };
      await returnLoan(database, returned);
    } catch (error) {
      log.warn("a loan could not be returned", { account: accountId, error: String(error) });
      throw error;
    }
    loan.returned(requests);
    loans.remove(loan);
  }
}
