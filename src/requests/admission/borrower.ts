/** Whose requests a loan covers: those of an account's keys without budgets, or of one key that has budgets. */
export interface Borrower {
  readonly accountId: string;
  /** The key whose requests there are. */
  readonly keyId: string;
  /** Whether that has budgets, so that a loan of it alone covers them. Default: false. */
  readonly byKey?: boolean | undefined;
}

/** What a borrower is called among those of a gateway: an account by its ID. */
export function borrowerIdOf({ accountId, keyId, byKey = false }: Borrower): string {
  return byKey ? `${accountId} ${keyId}` : accountId;
}

/** Whether a borrower is an account, or one of its keys. */
export function isBorrowerOf(accountId: string, borrowerId: string): boolean {
  return borrowerId === accountId || borrowerId.startsWith(`${accountId} `);
}
