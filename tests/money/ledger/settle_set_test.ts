/** PostgreSQL settles a set in statements of its own: what comes of it is what comes of it in a file. */

import { itemsOf } from "../../../src/ground/database/group_writer.ts";
import type { JsonObject } from "../../../src/ground/database/mod.ts";
import { admit, audit, lend, TierList } from "../../../src/money/ledger/mod.ts";
import { SETTLE } from "../../../src/money/ledger/settle.ts";
import { assert, assertEquals } from "../../assert.ts";
import { ledgerBench, namedRows } from "../../fake/ledger.ts";
import { whyNoPostgres } from "../../fake/postgres.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { sized } from "../../tier.ts";

const NOW = Date.UTC(2030, 0, 2, 12);
const HOUR = 3_600_000;
const GATEWAYS = ["gw_a", "gw_b"];
const tierList = new TierList([{ above: 0, minute: 10_000, hour: 10_000, day: 10_000 }]);

/** What a settlement writes, with what may stay empty. */
const WRITTEN = [
  ...["balances", "lots", "entries", "loans", "windows", "account_windows", "budget_periods"],
  ...["usage_records", "usage_hours", "usage_days", "usage_totals", "usage_tags", "tag_values"],
  ...["key_uses", "holds", "bound_holds"],
];
const MAY_BE_EMPTY = ["holds", "bound_holds"];

/** A settlement, with places in lists instead of IDs. */
interface Given {
  readonly caller: number;
  readonly gateway: number;
  /** What it was admitted on: `late` is none that is known. */
  readonly on: "loan" | "hold" | "late";
  readonly item: JsonObject;
}

/** A set; with what is lent before it. */
interface Round {
  readonly renewed: readonly (readonly [caller: number, gateway: number])[];
  readonly given: readonly Given[];
}

const CALLERS = 6;

function settlement(random: Random, requestId: string): Given {
  const price = random.next() < 0.1 ? 0 : random.integer(1, 9);
  const extra = price > 1 && random.next() < 0.2 ? 1 : 0;
  const startedAtMs = NOW - random.integer(0, 30) * HOUR;
  const isComplete = random.next() < 0.8;
  const cached = random.integer(0, 5);
  return {
    caller: random.integer(0, CALLERS - 1),
    gateway: random.integer(0, 1),
    on: random.next() < 0.8 ? "loan" : random.pick(["hold", "late"] as const),
    item: {
      request_id: requestId,
      dialect: "chat",
      route: random.pick(["svc-a", "svc-b"]),
      attempts: 1,
      status: isComplete ? 200 : 502,
      ending: isComplete ? "complete" : "upstream_failed",
      reason: isComplete ? null : random.pick([null, "upstream_unavailable"]),
      streamed: random.integer(0, 1),
      usage_source: price === 0 ? null : "upstream",
      input_tokens: 5 + random.integer(0, 20),
      cached_tokens: cached,
      output_tokens: random.integer(0, 9),
      reasoning_tokens: 0,
      started_at_ms: startedAtMs,
      duration_ms: random.integer(0, 99),
      price_credits: price,
      ...(price === 0 ? {} : {
        input_price: random.integer(0, 9),
        cached_price: random.integer(0, 3),
        output_price: 1,
        minimum_credits: price - extra,
      }),
      admitted_at_ms: random.next() < 0.95 ? startedAtMs : null,
      settled_at_ms: NOW,
      tags: random.next() < 0.3 ? JSON.stringify({ team: random.pick(["a", "b"]) }) : null,
      extra_credits: extra === 0 ? null : extra,
    },
  };
}

function rounds(random: Random): Round[] {
  const settled: Given[] = [];
  return Array.from({ length: sized(6, 100) }, (_, round) => {
    const renewed = Array.from(
      { length: CALLERS },
      (_, caller) => [caller, random.integer(0, 1)] as const,
    )
      .filter(() => random.next() < 0.4);
    const given = Array.from(
      { length: random.integer(1, 12) },
      (_, at) => settlement(random, `req_${String(round).padStart(4, "0")}_${at}`),
    );
    // some come twice, in the same set or in another one
    if (random.next() < 0.3) given.push(random.pick(given));
    if (settled.length > 0 && random.next() < 0.3) given.push(random.pick(settled));
    settled.push(...given);
    return { renewed, given: random.some(given, given.length) };
  });
}

/** Settles the same sets, and says what came of each, and what rows there are in the end. */
async function settled(kind: "file" | "postgres", sets: readonly Round[]) {
  await using bench = await ledgerBench(kind);
  const { database } = bench;
  await database.batch(tierList.statements);
  const names = new Map<string, string>();
  const callers: { accountId: string; keyId: string }[] = [];
  for (let index = 0; index < CALLERS; index++) {
    const caller = await bench.account(index === 0 ? { budget: 500 } : {});
    callers.push(caller);
    names.set(caller.accountId, `account ${index}`).set(caller.keyId, `key ${index}`);
    for (let lot = 0; lot < 12; lot++) {
      const id = await bench.grant(
        caller.accountId,
        10,
        lot % 3 === 0 ? null : NOW + lot * HOUR,
        lot,
      );
      names.set(id, `lot ${index} ${String(lot).padStart(2, "0")}`);
    }
  }
  const loanId = (caller: number, gateway: number) => `loan ${caller} ${gateway}`;
  const lendTo = (caller: number, gateway: number, isNew: boolean) =>
    lend(database, {
      ...callers[caller]!,
      gatewayId: GATEWAYS[gateway]!,
      loanId: loanId(caller, gateway),
      isNew,
      nowMs: NOW,
      leaseMs: HOUR,
      tierList,
      byKey: caller === 0,
      leastCredits: 1,
      leastPlaces: 1,
    });
  for (let caller = 0; caller < CALLERS; caller++) {
    for (const gateway of GATEWAYS.keys()) await lendTo(caller, gateway, true);
  }
  // what was lent before an account got credits that are bound goes on being spent
  names.set(await bench.grant(callers[1]!.accountId, 20, null, 0, ["svc-a"]), "bound lot");

  const outcomes: unknown[] = [];
  const asked = new Set<string>();
  for (const { renewed, given } of sets) {
    for (const [caller, gateway] of renewed) await lendTo(caller, gateway, false);
    for (const { caller, on, item } of given) {
      const requestId = String(item.request_id);
      if (on !== "hold" || asked.has(requestId)) continue;
      asked.add(requestId);
      await admit(database, {
        ...callers[caller]!,
        requestId,
        gatewayId: "gw_a",
        least: 1,
        wanted: 8,
        nowMs: Number(item.started_at_ms),
        leaseMs: HOUR,
        tierListId: tierList.id,
        route: String(item.route),
      });
    }
    const items = itemsOf(
      SETTLE,
      given.map(({ caller, gateway, on, item }) => ({
        ...item,
        account_id: callers[caller]!.accountId,
        key_id: callers[caller]!.keyId,
        ...(on === "loan" ? { loan_id: loanId(caller, gateway), lent: 8 } : {}),
      })),
    );
    const results = await database.batch([
      ...SETTLE.statements.map((sql) => ({ sql, args: [items] })),
      {
        sql: SETTLE.outcomes!,
        args: [JSON.stringify([...new Set(given.map(({ item }) => item.request_id))])],
      },
    ]);
    const [text] = Object.values(results.findLast(({ length }) => length > 0)![0]!);
    outcomes.push(
      (JSON.parse(String(text)) as JsonObject[]).map((row) => JSON.stringify(row)).toSorted(),
    );
  }
  const rows = await namedRows(database, WRITTEN, names);
  assertEquals((await audit(database)).mismatches, []);
  const { bytes } = kind === "file"
    ? { bytes: 0 }
    : (await database.one("select pg_relation_size('settling') as bytes"))!;
  return { outcomes, rows, bytes };
}

const why = await whyNoPostgres();

// Proves P1, P2, P3.
Deno.test(
  `PostgreSQL settles sets as a file does${why === undefined ? "" : ` (skipped: ${why})`}`,
  { ignore: why !== undefined },
  async () => {
    const seed = testSeed();
    try {
      const sets = rounds(new Random(seed));
      const expected = await settled("file", sets);
      for (const table of WRITTEN) {
        assert(expected.rows[table]!.length > 0 || MAY_BE_EMPTY.includes(table), table);
      }
      const { bytes, ...found } = await settled("postgres", sets);
      assertEquals(found.outcomes, expected.outcomes);
      for (const table of WRITTEN) assertEquals(found.rows[table], expected.rows[table], table);
      assertEquals(bytes, 0, "no row is put into a table for a moment, where it would stay");
    } catch (error) {
      throw new Error(`SLUICE_TEST_SEED=${seed}`, { cause: error });
    }
  },
);
