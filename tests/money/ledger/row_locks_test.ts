/** That nothing changes rows on PostgreSQL before it has locked what they belong to, as batches of other gateways would wait for it in a circle. */

import type { Database } from "../../../src/ground/database/mod.ts";
import { placeOf } from "../../../src/ground/database/postgres/place.ts";
import { PostgresTransport } from "../../../src/ground/database/postgres/transport.ts";
import { ServerDatabase } from "../../../src/ground/database/server/server.ts";
import type { Transport } from "../../../src/ground/database/server/transport.ts";
import {
  admit,
  audit,
  budgetOf,
  expireLots,
  lapsedLoans,
  lend,
  raiseBudget,
  reapHolds,
  recallLoans,
  releaseHoldsOf,
  releaseLapsedLoans,
  releaseLoansOf,
  removeBudget,
  renewHolds,
  renewLoans,
  setBudget,
  takeBack,
  TierList,
  writeOffLoans,
} from "../../../src/money/ledger/mod.ts";
import { Accounts, Keys, TeamKeys, Teams } from "../../../src/people/accounts/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import {
  holdRequest,
  type LedgerBench,
  ledgerBench,
  ledgerCaller,
  settlePrice,
} from "../../fake/ledger.ts";
import { unlockedWrites, watchRowLocks } from "../../fake/lock_watch.ts";
import { whyNoPostgres } from "../../fake/postgres.ts";
import { until } from "../../fake/temp.ts";

const why = await whyNoPostgres();

const NOW = Date.UTC(2030, 0, 1, 12);
/** A lease that has ended, by the server's clock. */
const OVER_MS = -1_000;
/** One that has ended so long ago that its places are free again. */
const LONG_OVER_MS = -40 * 24 * 3_600_000;

// Proves P7.
Deno.test(
  `holds, loans and budgets are changed by those alone who have locked their accounts${
    why === undefined ? "" : ` (skipped: ${why})`
  }`,
  { ignore: why !== undefined },
  async () => {
    await using bench = await ledgerBench("postgres");
    const { database } = bench;
    await watchRowLocks(database);
    const tierList = new TierList([{ above: 0, minute: 50, hour: 1_000, day: 1_000 }]);
    const { accountId, keyId, ask } = await ledgerCaller(bench, { tierList, nowMs: NOW });
    await bench.grant(accountId, 1_000);
    const name = { owner: "key", ownerId: keyId, period: "day" } as const;
    await setBudget(database, { ...name, credits: 100 }, { nowMs: NOW, patienceMs: 0 });

    for (const release of [reapHolds, (one: typeof database) => releaseHoldsOf(one, "gw")]) {
      const one = ask(1, 10);
      assertEquals((await admit(database, one)).verdict, "admitted");
      await renewHolds(database, [one.requestId], OVER_MS);
      await release(database);
      assertEquals(await database.all("select * from holds"), []);
    }

    let loans = 0;
    const borrow = async (leaseMs: number) => {
      const gatewayId = "gw";
      const loanId = `loan ${loans++}`;
      const terms = { nowMs: NOW, tierList, leastCredits: 1, leastPlaces: 1, byKey: true };
      await lend(database, {
        accountId,
        keyId,
        gatewayId,
        loanId,
        isNew: true,
        leaseMs: 60_000,
        ...terms,
      });
      await recallLoans(database, accountId);
      assertEquals((await renewLoans(database, gatewayId, leaseMs)).length, 1);
    };
    await borrow(60_000);
    await releaseLoansOf(database, "gw");
    await borrow(LONG_OVER_MS);
    await releaseLapsedLoans(database, await lapsedLoans(database));
    await borrow(OVER_MS);
    await writeOffLoans(database, { id: "off", gatewayId: "gw", note: "gone", atMs: NOW });
    assertEquals(await database.all("select * from loans"), []);

    const inZone = { ...name, credits: 50, zone: "Europe/Berlin" };
    await setBudget(database, inZone, { nowMs: NOW, patienceMs: 0 });
    await borrow(60_000);
    await setBudget(database, { ...inZone, credits: 40 }, { nowMs: NOW, patienceMs: 0 });
    await bench.grant(accountId, 10, null, NOW, ["svc-k2"]);
    assertEquals(await removeBudget(database, name), true);
    assertEquals(await unlockedWrites(database), []);
  },
);

const TIER_LIST = new TierList([{ above: 0, minute: 50, hour: 1_000, day: 1_000 }]);
const PATIENCE = { nowMs: NOW, patienceMs: 0 };

/** An account with a key and a key of a team, whose credits are held, lent, and lent for the team's key, which has a budget. */
async function usedAccount(bench: LedgerBench) {
  const { database } = bench;
  const { accountId, keyId, ask } = await ledgerCaller(bench, { tierList: TIER_LIST, nowMs: NOW });
  const { teamId, callers: [ofTeam] } = await bench.team([accountId]);
  const lotId = await bench.grant(accountId, 1_000);
  await bench.grant(accountId, 100, NOW - 1, NOW - 10);
  const asked = { accountId, gatewayId: "gw", isNew: true, nowMs: NOW, tierList: TIER_LIST };
  const terms = { ...asked, leaseMs: LONG_OVER_MS, leastCredits: 1, leastPlaces: 1 };
  const all = { ...terms, loanId: `all ${accountId}`, keyId };
  assert(await lend(database, all) !== undefined);
  const budget = { owner: "team", ownerId: teamId, period: "day" } as const;
  await setBudget(database, { ...budget, credits: 400 }, PATIENCE);
  const own = { ...terms, loanId: `own ${accountId}`, keyId: ofTeam!.keyId, byKey: true };
  assert(await lend(database, own) !== undefined);
  // as if it had been lent at the same time
  await database.batch([{ sql: "update loans set recalled = 0" }]);
  for (const one of [keyId, ofTeam!.keyId]) {
    assertEquals((await admit(database, { ...ask(1, 5), keyId: one })).verdict, "admitted");
  }
  return { database, accountId, keyId, lotId, teamId, budget };
}

type Used = Awaited<ReturnType<typeof usedAccount>> & { readonly bench: LedgerBench };

/** What is done outside of decisions that run beside each other. */
const OPERATIONS: Readonly<Record<string, (of: Used) => Promise<unknown>>> = {
  "a grant": ({ bench, accountId }) => bench.grant(accountId, 10),
  "a grant of bound credits": ({ bench, accountId }) =>
    bench.grant(accountId, 10, null, NOW, ["svc-k2"]),
  "an expiry": ({ database }) => expireLots(database, NOW),
  "a take-back": ({ database, accountId, lotId }) =>
    takeBack(database, { id: "one", accountId, lotId, note: "why", atMs: NOW, patienceMs: 0 }),
  "a new budget of a key": ({ database, keyId }) =>
    setBudget(database, { owner: "key", ownerId: keyId, period: "day", credits: 9 }, PATIENCE),
  "a new budget of an account": ({ database, accountId }) =>
    setBudget(
      database,
      { owner: "account", ownerId: accountId, period: "week", credits: 9 },
      PATIENCE,
    ),
  "a new budget of a member": ({ database, accountId, teamId }) =>
    setBudget(
      database,
      { owner: "member", ownerId: `${teamId}:${accountId}`, period: "life", credits: 9 },
      PATIENCE,
    ),
  "a smaller budget": ({ database, budget }) =>
    setBudget(database, { ...budget, credits: 300 }, PATIENCE),
  "a budget in another zone": ({ database, budget }) =>
    setBudget(database, { ...budget, credits: 400, zone: "Asia/Kathmandu" }, PATIENCE),
  "a raise of a budget": ({ database, budget }) =>
    raiseBudget(database, budget, { credits: 5, untilMs: NOW + 1, nowMs: NOW }),
  "a removal of a budget": ({ database, budget }) => removeBudget(database, budget),
  "a key": ({ bench, accountId }) => bench.key(accountId),
  "a key with a budget": async ({ database, accountId }) => {
    const account = await new Accounts(database, () => 0).byId(accountId);
    await new Keys(database, () => 0).issue(account!, { budgetCredits: 5 });
  },
  "a key of a team": async ({ database, accountId, teamId }) => {
    const account = await new Accounts(database, () => 0).byId(accountId);
    const team = await new Teams(database, () => 0).byId(teamId);
    await new TeamKeys(database, () => 0).issue(team!, account!);
  },
  "a recall": ({ database, accountId }) => recallLoans(database, accountId),
  "a renewal of holds": async ({ database }) => {
    const rows = await database.all("select request_id from holds");
    await renewHolds(database, rows.map((row) => String(row.request_id)), 60_000);
  },
  "a renewal of loans": ({ database }) => renewLoans(database, "gw", 60_000),
  "a release of holds": ({ database }) => releaseHoldsOf(database, "gw"),
  "a release of loans": ({ database }) => releaseLoansOf(database, "gw"),
  "places of lapsed loans": ({ database }) => lapsedLoans(database),
  "a write-off": ({ database }) =>
    writeOffLoans(database, { id: "off", gatewayId: "gw", note: "gone", atMs: NOW }),
};

/** Rows that decisions change, or lock, once they have their accounts. */
const DECIDED_ON = {
  budgets: "for update",
  budget_periods: "for no key update",
  holds: "for no key update",
  loans: "for no key update",
  lots: "for no key update",
} as const;

/** Tables of which a transaction cannot have all rows at once. */
async function tablesInUse(inside: Transport): Promise<string[]> {
  const inUse: string[] = [];
  for (const [table, lock] of Object.entries(DECIDED_ON)) {
    const all = await inside.read(`select 1 as one from ${table}`, []);
    const free = await inside.read(`select 1 as one from ${table} ${lock} skip locked`, []);
    if (free.length < all.length) inUse.push(table);
  }
  return inUse;
}

/** How many transactions of a database wait for a lock. */
const WAITING = `select count(*) as n from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock'`;

/** Begins something, and resolves when it waits for what a transaction has, or is done. */
async function waiting(
  inside: Transport,
  begin: () => Promise<unknown>,
): Promise<{ readonly done: Promise<unknown> }> {
  let isOver = false;
  const done = begin().finally(() => isOver = true);
  done.catch(() => {}); // awaited by the caller
  await until(async () => isOver || (await inside.read(WAITING, []))[0]?.n === 1);
  return { done };
}

/** Does something within a transaction beside those of a database, and waits after it for what waited for it. */
async function beside(
  bench: LedgerBench,
  work: (inside: Transport) => Promise<{ readonly done: Promise<unknown> }>,
): Promise<void> {
  const transport = await PostgresTransport.connect(placeOf(bench.serverUrl!), { durable: false });
  try {
    const { done } = await transport.transaction(work);
    await done;
  } finally {
    await transport.close();
  }
}

/** What a decision has taken at first, and before it locks budgets of what is settled alone. */
const TAKEN = [["balances"], ["balances", "holds", "loans", "lots"]];

// Proves P7.
for (const [name, operation] of Object.entries(OPERATIONS)) {
  Deno.test(
    `while an account is decided on, ${name} waits with nothing that the decision may need${
      why === undefined ? "" : ` (skipped: ${why})`
    }`,
    { ignore: why !== undefined },
    async () => {
      for (const taken of TAKEN) {
        await using bench = await ledgerBench("postgres");
        const used = { bench, ...await usedAccount(bench) };
        await beside(bench, async (inside) => {
          for (const table of taken) {
            await inside.read(`select 1 as one from ${table} for update`, []);
          }
          const done = await waiting(inside, () => operation(used));
          assertEquals(await tablesInUse(inside), [], `${taken}`);
          return done;
        });
      }
    },
  );
}

// Proves P8.
Deno.test(
  `a budget counts what was decided on while it was set${
    why === undefined ? "" : ` (skipped: ${why})`
  }`,
  { ignore: why !== undefined },
  async () => {
    await using bench = await ledgerBench("postgres");
    const { database } = bench;
    const caller = await ledgerCaller(bench, { tierList: TIER_LIST, nowMs: NOW });
    const { accountId, keyId } = caller;
    await bench.grant(accountId, 1_000);
    const name = { owner: "account", ownerId: accountId, period: "day" } as const;
    const one = holdRequest({ accountId, keyId }, {
      least: 10,
      wanted: 10,
      nowMs: NOW,
      tierList: TIER_LIST,
    });
    await beside(bench, async (inside) => {
      const decision = await admit(new ServerDatabase(inside, { durable: false }), one);
      assertEquals(decision.verdict, "admitted");
      return await waiting(inside, () => setBudget(database, { ...name, credits: 100 }, PATIENCE));
    });
    assertEquals((await budgetOf(database, name, NOW))!.held, 10);
    await settlePrice(database, {
      accountId,
      keyId,
      requestId: one.requestId,
      price: 7,
      nowMs: NOW,
      admittedAtMs: NOW,
    });
    const { held, spent } = (await budgetOf(database, name, NOW))!;
    assertEquals([held, spent], [0, 7]);
  },
);

// Proves P1, P2, P7.
Deno.test(
  `a set of settlements, and one of admissions, sees what another one of its account did${
    why === undefined ? "" : ` (skipped: ${why})`
  }`,
  { ignore: why !== undefined },
  async () => {
    await using bench = await ledgerBench("postgres");
    const { database } = bench;
    const tierList = new TierList([{ above: 0, minute: 3, hour: 10, day: 10 }]);
    const { accountId, keyId, ask } = await ledgerCaller(bench, { tierList, nowMs: NOW });
    for (let lot = 0; lot < 4; lot++) await bench.grant(accountId, 7, null, lot);
    const terms = { leaseMs: 60_000, leastCredits: 1, leastPlaces: 1, isNew: true, nowMs: NOW };
    const lent = { accountId, keyId, gatewayId: "gw", loanId: "one", tierList, ...terms };
    assert(await lend(database, lent) !== undefined);

    const settleOne = async (on: Database) => {
      const of = { ...ask(1, 5), nowMs: NOW, admittedAtMs: NOW };
      await settlePrice(on, { ...of, price: 5, lent: { loanId: "one", credits: 5 } });
    };
    const besideItself = (work: (on: Database) => Promise<void>) =>
      beside(bench, async (inside) => {
        await work(new ServerDatabase(inside, { durable: false }));
        return await waiting(inside, () => work(database));
      });
    await besideItself(settleOne);
    const balances = await database.all("select balance_credits as left from usage_records");
    assertEquals(balances.map(({ left }) => Number(left)).toSorted((a, b) => a - b), [18, 23]);
    const { mismatches } = await audit(database);
    assertEquals(mismatches, []);

    await releaseLoansOf(database, "gw");
    const verdicts: string[] = [];
    await besideItself(async (on) => {
      verdicts.push((await admit(on, ask(1, 1))).verdict);
    });
    assertEquals(verdicts, ["admitted", "rate"]);
  },
);
