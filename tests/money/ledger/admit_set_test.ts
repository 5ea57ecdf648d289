/** PostgreSQL decides on a set of admissions in a statement of its own: what comes of it is what comes of it in a file. */

import { itemsOf } from "../../../src/ground/database/group_writer.ts";
import type { JsonObject } from "../../../src/ground/database/mod.ts";
import { audit, lend, TierList } from "../../../src/money/ledger/mod.ts";
import { ADMIT } from "../../../src/money/ledger/admit.ts";
import { assert, assertEquals } from "../../assert.ts";
import { ledgerBench, namedRows, settlePrice } from "../../fake/ledger.ts";
import { whyNoPostgres } from "../../fake/postgres.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { sized } from "../../tier.ts";

const NOW = Date.UTC(2030, 0, 2, 12);
const HOUR = 3_600_000;
const tierList = new TierList([
  { above: 0, minute: 6, hour: 60, day: 1_000, account: { minute: 9 } },
  { above: 300, minute: 12, hour: 200, day: 2_000 },
]);

/** What an admission writes, or looks at and leaves. */
const WRITTEN = [
  ...["balances", "lots", "entries", "loans", "windows", "account_windows", "budget_periods"],
  ...["holds", "bound_holds", "usage_records"],
];

const ACCOUNTS = 8;

/** A request, with the place of its caller in a list; and what it is charged after the set, if it is settled. */
interface Given {
  readonly caller: number;
  readonly item: JsonObject;
  readonly price: number | undefined;
}

function rounds(random: Random): Given[][] {
  const before: Given[] = [];
  return Array.from({ length: sized(20, 150) }, (_, round) => {
    const given = Array.from({ length: random.integer(1, 20) }, (_, at): Given => {
      const least = random.integer(1, 10);
      const wanted = least + random.integer(0, 30);
      return {
        caller: random.integer(0, ACCOUNTS + 1),
        price: random.next() < 0.5 ? random.integer(0, wanted + 5) : undefined,
        item: {
          request_id: `req_${String(round).padStart(4, "0")}_${at}`,
          gateway_id: random.pick(["gw_a", "gw_b"]),
          least,
          wanted,
          at_ms: NOW + round * 25_000,
          lease_ms: HOUR,
          tier_list: tierList.id,
          may_recall: random.next() < 0.4 ? 1 : null,
          most: random.next() < 0.5 ? null : wanted + random.integer(0, 9),
          reserved: random.next() < 0.8 ? null : random.integer(1, wanted),
          route: random.pick(["svc-a", "svc-b", null]),
        },
      };
    });
    const settled = before.filter(({ price }) => price !== undefined);
    if (settled.length > 0 && random.next() < 0.3) {
      given.push({ ...random.pick(settled), price: undefined });
    }
    before.push(...given);
    return random.some(given, given.length);
  });
}

/** Decides on the same sets, and says what came of each, and what rows there are in the end. */
async function decided(kind: "file" | "postgres", sets: readonly Given[][]) {
  await using bench = await ledgerBench(kind);
  const { database } = bench;
  await database.batch(tierList.statements);
  const names = new Map<string, string>();
  const callers: { accountId: string; keyId: string }[] = [];
  for (let index = 0; index < ACCOUNTS; index++) {
    const caller = await bench.account(index === 0 ? { budget: 300 } : {});
    callers.push(caller);
    names.set(caller.accountId, `account ${index}`).set(caller.keyId, `key ${index}`);
    for (let lot = 0; lot < 3; lot++) {
      // those of some accounts expire meanwhile
      const expiresAtMs = index % 4 === 3 ? NOW + (lot + 1) * 60_000 : null;
      const id = await bench.grant(caller.accountId, 30 + 100 * (index % 3), expiresAtMs, lot);
      names.set(id, `lot ${index} ${lot}`);
    }
  }
  for (const account of [0, 5]) { // one without a budget beside one with, and two of one account
    const { accountId } = callers[account]!;
    const keyId = await bench.key(accountId);
    callers.push({ accountId, keyId });
    names.set(keyId, `second key ${account}`);
  }
  for (const [at, { accountId, keyId }] of [callers[4]!, callers[5]!].entries()) {
    const loan = { gatewayId: "gw_b", loanId: `loan ${at}`, isNew: true, leaseMs: HOUR };
    const least = { leastCredits: 1, leastPlaces: 1 };
    const lent = await lend(database, {
      ...{ accountId, keyId },
      ...loan,
      ...least,
      nowMs: NOW,
      tierList,
    });
    assert(lent !== undefined);
  }
  names.set(await bench.grant(callers[1]!.accountId, 50, null, 0, ["svc-a"]), "bound lot");

  const outcomes: Record<string, unknown>[] = [];
  const verdicts = new Set<unknown>();
  for (const given of sets) {
    const items = given.map(({ caller, item }) => ({
      ...item,
      account_id: callers[caller]!.accountId,
      key_id: callers[caller]!.keyId,
    }));
    const results = await database.batch([
      ...ADMIT.statements.map((sql) => ({ sql, args: [itemsOf(ADMIT, items)] })),
      {
        sql: ADMIT.outcomes!,
        args: [JSON.stringify(given.map(({ item }) => item.request_id))],
      },
      { sql: ADMIT.cleanUp! },
      // what programs of revision 24 ask for
      ...(kind === "postgres" ? [{ sql: "select current_setting('sluice.decided')" }] : []),
    ]);
    const [text, ...others] = results.flat().map((row) => Object.values(row)[0]);
    assertEquals(others, kind === "postgres" ? [text] : []);
    const rows = JSON.parse(String(text)) as JsonObject[];
    outcomes.push(Object.fromEntries(rows.map(({ lent_ms: lentMs, ...row }) => {
      // how long a loan may be spent is of the clock
      const text = JSON.stringify({ ...row, is_lent: lentMs && 1 });
      const named = [...names].reduce((named, [id, name]) => named.replaceAll(id, name), text);
      return [String(row.request_id), JSON.parse(named)];
    })));
    const admitted = new Set<unknown>();
    for (const { request_id: id, verdict } of rows) {
      verdicts.add(verdict);
      if (verdict === "admitted") admitted.add(id);
    }
    for (const { caller, item, price } of given) {
      if (price === undefined || !admitted.has(item.request_id)) continue;
      await settlePrice(database, {
        requestId: String(item.request_id),
        ...callers[caller]!,
        price,
        nowMs: Number(item.at_ms),
        admittedAtMs: Number(item.at_ms),
        ...(item.route === null ? {} : { route: String(item.route) }),
      });
    }
  }
  const rows = await namedRows(database, WRITTEN, names);
  assertEquals((await audit(database)).mismatches, []);
  assertEquals((await database.one("select count(*) as n from decisions"))?.n, 0);
  return { outcomes, rows, verdicts };
}

const why = await whyNoPostgres();

// Proves P7, P8.
Deno.test(
  `PostgreSQL decides on sets as a file does${why === undefined ? "" : ` (skipped: ${why})`}`,
  { ignore: why !== undefined },
  async () => {
    const seed = testSeed();
    try {
      const sets = rounds(new Random(seed));
      const expected = await decided("file", sets);
      const found = await decided("postgres", sets);
      assertEquals(found.outcomes, expected.outcomes);
      for (const table of WRITTEN) {
        assert(expected.rows[table]!.length > 0 || table === "bound_holds", table);
        assertEquals(found.rows[table], expected.rows[table], table);
      }
      assert(expected.verdicts.has("admitted") && expected.verdicts.size > 2);
    } catch (error) {
      throw new Error(`SLUICE_TEST_SEED=${seed}`, { cause: error });
    }
  },
);
