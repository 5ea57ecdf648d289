/**
 * A condition in SQL: an account has not paid yet.
 *
 * @param accountId An expression for its ID.
 */
export function hasNotPaid(accountId: string): string {
  return `not exists (select 1 from first_payments where account_id = ${accountId})`;
}
