import { keepFileThreads, openDatabase } from "../../src/ground/database/mod.ts";
import { EmbeddedDatabase } from "../../src/ground/database/file/embedded.ts";
import { definitionsOf } from "../../src/ground/database/definitions_of.ts";
import { postgresEngine } from "../../src/ground/database/postgres/engine.ts";
import { ServerDatabase } from "../../src/ground/database/server/server.ts";
import { Accounts, Keys, Members, TeamKeys, Teams } from "../../src/people/accounts/mod.ts";
import type { Database, Row, Statement } from "../../src/ground/database/mod.ts";
import { newRequestId } from "../../src/ground/platform/ids.ts";
import {
  grantStatements,
  type HoldRequest,
  newLotId,
  RULES,
  settle,
  type TierList,
  type UsageRecord,
} from "../../src/money/ledger/mod.ts";
import { writeEmptyDatabase } from "./empty_database.ts";
import { isOnPostgres, postgresDatabase, whyNoPostgres } from "./postgres.ts";
import { sqldServer } from "./sqld.ts";
import { tempDir } from "./temp.ts";

keepFileThreads(4); // each test opens a database of its own

/** Where a ledger may be. */
export type LedgerKind = "file" | "server" | "postgres";

const why = await whyNoPostgres();

/** Those of some kinds that there can be on this machine. Where PostgreSQL is not installed, an ignored test says so. */
export function possible<Kind extends string>(kinds: readonly Kind[]): readonly Kind[] {
  if (why === undefined || !kinds.some((kind) => kind === "postgres")) return kinds;
  Deno.test.ignore(`the same on PostgreSQL (skipped: ${why})`, () => {});
  return kinds.filter((kind) => kind !== "postgres");
}

/** Statements that make tables, as a database understands them. */
export function tablesIn(database: Database, ...statements: string[]): Statement[] {
  return definitionsOf(database).ofSteps([{ version: 0, name: "", statements }])
    .map((sql) => ({ sql }));
}

/** A database with its schema, embedded or on a real server. */
export interface LedgerBench extends AsyncDisposable {
  database: Database;
  /** Address of the server, if there is one. */
  readonly serverUrl: string | undefined;
  /** Closes the database and opens it again, as a restart does. */
  reopen(): Promise<void>;
  /** Connects a second time, without looking at schema or rules. The caller closes it. */
  connect(): Promise<Database>;
  /** Makes an account without credits, and a key of it. */
  account(options?: { budget?: number }): Promise<{ accountId: string; keyId: string }>;
  /** Another key of an account. */
  key(accountId: string): Promise<string>;
  /** A team whose members pay, and a key of it for each of them. */
  team(accountIds: readonly string[]): Promise<
    {
      teamId: string;
      callers: { accountId: string; keyId: string }[];
      key(accountId: string): Promise<string>;
    }
  >;
  grant(
    accountId: string,
    credits: number,
    expiresAtMs?: number | null,
    atMs?: number,
    models?: readonly string[],
  ): Promise<string>;
}

/**
 * Opens one.
 *
 * @param options.behind Whether what loans cover is settled behind.
 */
export async function ledgerBench(
  asked: LedgerKind,
  { behind = false }: { readonly behind?: boolean } = {},
): Promise<LedgerBench> {
  const kind = asked === "file" && isOnPostgres ? "postgres" : asked;
  await using stack = new AsyncDisposableStack();
  const dir = stack.use(await tempDir());
  const server = kind === "server"
    ? stack.use(await sqldServer(`${dir.path}/sqld`))
    : kind === "postgres"
    ? stack.use(await postgresDatabase())
    : undefined;
  const durability = kind === "postgres" ? "normal" : "full"; // that of tests does not wait for its disk
  const open = async () => {
    const database = await openDatabase({
      file: server === undefined ? `${dir.path}/sluice.db` : undefined,
      ...(server === undefined ? {} : { server: { url: server.url, token: undefined } }),
      durability,
      rules: RULES,
      now: () => 1,
    });
    if (behind && database instanceof EmbeddedDatabase) {
      const fail = (why: unknown) => {
        throw new Error(`not kept: ${why}`);
      };
      await database.keepOutbox({ gatewayId: "gw", onFault: fail, onRefused: fail });
    }
    return database;
  };
  if (server === undefined) await writeEmptyDatabase(`${dir.path}/sluice.db`);
  let database = await open();
  const owned = stack.move();
  let accounts = 0;
  return {
    get database() {
      return database;
    },
    serverUrl: server?.url,
    async reopen() {
      await database.close();
      database = await open();
    },
    connect() {
      return server === undefined
        ? EmbeddedDatabase.open(`${dir.path}/sluice.db`, { durability: "full" })
        : kind === "postgres"
        ? postgresEngine(server.url, { durability }).open()
        : ServerDatabase.connect({ url: server.url, token: undefined, durability: "full" });
    },
    async account({ budget } = {}) {
      const made = await new Accounts(database, () => 0).create({
        email: `a${accounts++}@example.com`,
      });
      const key = await new Keys(database, () => 0).issue(made, { budgetCredits: budget });
      return { accountId: made.id, keyId: key.id };
    },
    async key(accountId) {
      const account = (await new Accounts(database, () => 0).list())
        .find(({ id }) => id === accountId)!;
      return (await new Keys(database, () => 0).issue(account)).id;
    },
    async team(accountIds) {
      const team = await new Teams(database, () => 0).create({ name: "Team", pool: false });
      const all = await new Accounts(database, () => 0).list();
      const members = new Members(database, () => 0);
      const keys = new TeamKeys(database, () => 0);
      const account = (accountId: string) => all.find(({ id }) => id === accountId)!;
      const key = async (accountId: string) => (await keys.issue(team, account(accountId))).id;
      const callers = [];
      for (const accountId of accountIds) {
        await members.add(team, account(accountId));
        callers.push({ accountId, keyId: await key(accountId) });
      }
      return { teamId: team.id, callers, key };
    },
    async grant(accountId, credits, expiresAtMs = null, atMs = 0, models) {
      const lotId = newLotId();
      await database.batch(
        grantStatements({
          lotId,
          accountId,
          source: "grant",
          credits,
          expiresAtMs,
          models,
          atMs,
        }),
      );
      return lotId;
    },
    async [Symbol.asyncDispose]() {
      await database.close();
      await owned.disposeAsync();
    },
  };
}

/** An account whose requests are admitted by some tiers at a time, a key of it, and what a request asks for. */
export async function ledgerCaller(
  bench: LedgerBench,
  { tierList, nowMs, budget }: { tierList: TierList; nowMs: number; budget?: number | undefined },
) {
  await bench.database.batch(tierList.statements);
  const made = await bench.account(budget === undefined ? {} : { budget });
  const ask = (least: number, wanted: number) =>
    holdRequest(made, { least, wanted, nowMs, tierList });
  return { ...made, ask };
}

/** A request that asks to be admitted. */
export function holdRequest(
  caller: Pick<HoldRequest, "accountId" | "keyId">,
  { tierList, ...asked }: Pick<HoldRequest, "least" | "wanted" | "nowMs"> & { tierList: TierList },
) {
  return {
    ...caller,
    ...asked,
    requestId: newRequestId(asked.nowMs),
    gatewayId: "gw",
    leaseMs: 60_000,
    tierListId: tierList.id,
  };
}

/** Settles a request by its price alone. */
export async function settlePrice(
  database: Database,
  {
    requestId,
    accountId,
    keyId,
    price,
    nowMs,
    admittedAtMs = null,
    ending = "complete",
    lent,
    route = "svc-k2",
    details,
  }: {
    requestId: string;
    route?: string;
    accountId: string;
    keyId: string;
    price: number;
    nowMs: number;
    admittedAtMs?: number | null;
    ending?: UsageRecord["ending"];
    lent?: UsageRecord["lent"];
    details?: UsageRecord["details"];
  },
) {
  const settled = await settle(database, {
    ignored: "",
    details,
    requestId,
    accountId,
    keyId,
    dialect: "chat",
    route,
    upstream: "one",
    upstreamModel: "m",
    attempts: 1,
    status: 200,
    ending,
    streamed: false,
    usageSource: price === 0 ? null : "upstream",
    inputTokens: 10,
    cachedTokens: 0,
    outputTokens: 5,
    reasoningTokens: 0,
    startedAtMs: nowMs,
    firstTokenMs: 1,
    durationMs: 2,
    priceCredits: price,
    prices: price === 0 ? null : { input: 0, cached: 0, output: 0, minimum: price },
    admittedAtMs,
    lent,
    settledAtMs: nowMs,
  });
  if (settled.balance !== undefined) return settled;
  const row = await database.one(
    `select charged_credits as charged, balance_credits as balance from usage_records
      where request_id = ?`,
    [requestId],
  );
  return { charged: Number(row!.charged), balance: Number(row!.balance) };
}

/**
 * All rows of tables, as texts in their order, without what is of the clock or of chance.
 *
 * @param names What stands for IDs.
 */
export async function namedRows(
  database: Database,
  tables: readonly string[],
  names: ReadonlyMap<string, string>,
): Promise<Record<string, string[]>> {
  const named = (row: Row) => {
    const known = Object.entries(row).filter(([column]) => !column.endsWith("_until_ms"));
    let text = JSON.stringify(known.toSorted());
    for (const [id, name] of names) text = text.replaceAll(id, name);
    return text.replace(/(expiry_\w+)_[0-9a-f]{8}/, "$1");
  };
  const rows: Record<string, string[]> = {};
  for (const table of tables) {
    rows[table] = (await database.all(`select * from ${table}`)).map(named).toSorted();
  }
  return rows;
}

/** Leaves an account's credits lent to a gateway that is gone. */
export async function lendToGone(
  database: Database,
  accountId: string,
  { gatewayId = "gw_gone", keyId = "", credits = 5 }: {
    readonly gatewayId?: string;
    /** A key with budgets that it is of. */
    readonly keyId?: string;
    readonly credits?: number;
  } = {},
): Promise<void> {
  await database.batch([{
    sql: `insert into loans
        (account_id, gateway_id, key_id, loan_id, credits, minute, hour, day, lease_until_ms)
      values (?1, ?2, ?3, 'loan_' || ?2 || ?1 || ?3, ?4, 1, 1, 1, 1)`,
    args: [accountId, gatewayId, keyId, credits],
  }]);
}
