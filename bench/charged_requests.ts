/** Accounts with credits, and requests of theirs that a ledger settles: what benchmarks of the ledger put to it. */

import type { Database } from "../src/ground/database/mod.ts";
import { grantStatements, newLotId, settle, type UsageRecord } from "../src/money/ledger/mod.ts";
import { Accounts, Keys } from "../src/people/accounts/mod.ts";

/** Who sends requests. */
export interface Caller {
  readonly accountId: string;
  readonly keyId: string;
}

/** Creates an account with a key, and with more credits than any benchmark spends. */
export async function createCaller(database: Database): Promise<Caller> {
  const email = `${crypto.randomUUID()}@example.com`;
  const account = await new Accounts(database, Date.now).create({ email });
  const { id: keyId } = await new Keys(database, Date.now).issue(account);
  const accountId = account.id;
  const lot = { lotId: newLotId(), source: "grant", credits: 1e12, expiresAtMs: null } as const;
  await database.batch(grantStatements({ ...lot, accountId, atMs: Date.now() }));
  return { accountId, keyId };
}

/** Settles a request that cost one credit. */
export async function settleRequest(
  database: Database,
  { nowMs, ...request }: Caller & Pick<UsageRecord, "requestId" | "lent"> & {
    readonly nowMs: number;
  },
): Promise<void> {
  await settle(database, {
    ...request,
    ignored: "",
    dialect: "chat",
    route: "svc-k2",
    upstream: "one",
    upstreamModel: "model",
    attempts: 1,
    status: 200,
    ending: "complete",
    streamed: false,
    usageSource: "upstream",
    inputTokens: 1_000,
    cachedTokens: 0,
    outputTokens: 300,
    reasoningTokens: 0,
    startedAtMs: nowMs,
    firstTokenMs: 400,
    durationMs: 900,
    priceCredits: 1,
    prices: { input: 100, cached: 50, output: 400, minimum: 1 },
    admittedAtMs: nowMs,
    settledAtMs: nowMs,
  });
}
