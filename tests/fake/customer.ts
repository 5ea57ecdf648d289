import { audit, creditsOf } from "../../src/money/ledger/mod.ts";
import { assertEquals } from "../assert.ts";
import type { TestGateway } from "./gateway.ts";

/** Somebody with credits and keys. */
export interface Customer {
  readonly accountId: string;
  readonly email: string;
  readonly keys: readonly string[];
  balance(): Promise<number>;
}

let made = 0;

/** Makes a customer of a gateway with credits. */
export async function customer(
  { gateway }: TestGateway,
  credits: number,
  { keys = 1, budget }: { keys?: number; budget?: number | undefined } = {},
): Promise<Customer> {
  const account = await gateway.accounts.create({ email: `customer${++made}@example.com` });
  if (credits > 0) await gateway.sales.grant(account, { credits });
  const secrets = [];
  for (let index = 0; index < keys; index++) {
    const key = await gateway.keys.issue(account, { budgetCredits: budget });
    secrets.push(key.secret);
  }
  return {
    accountId: account.id,
    email: account.email,
    keys: secrets,
    balance: async () => (await creditsOf(gateway.database, account.id, Date.now())).balance,
  };
}

/** Everything adds up, and nothing is held any more. */
export async function assertLedgerClean({ gateway }: TestGateway): Promise<void> {
  const report = await audit(gateway.database);
  assertEquals(report.mismatches, []);
  assertEquals(report.holds, 0);
}
