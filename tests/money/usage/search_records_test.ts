import { settle } from "../../../src/money/ledger/mod.ts";
import { newRequestId } from "../../../src/ground/platform/ids.ts";
import {
  recordsByIdPrefix,
  type RecordSearch,
  type RequestRecord,
  searchRecords,
} from "../../../src/money/usage/mod.ts";
import type { Database } from "../../../src/ground/database/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { customer } from "../../fake/customer.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";

const HOUR_MS = 3_600_000;
const START = Date.UTC(2026, 9, 1);

interface Made {
  readonly atMs: number;
  readonly route?: string;
  readonly ending?: string;
  readonly tags?: Record<string, string>;
}

/** Records of an account at these times. */
async function record(
  { gateway: { database, keys } }: TestGateway,
  accountId: string,
  made: readonly Made[],
): Promise<string[]> {
  const [key] = await keys.list({ id: accountId });
  const ids: string[] = [];
  for (const { atMs, route = "common", ending = "complete", tags } of made) {
    const requestId = newRequestId(atMs);
    ids.push(requestId);
    await settle(
      database,
      {
        requestId,
        accountId,
        keyId: key!.id,
        dialect: "chat",
        route,
        upstream: "u",
        upstreamModel: "m",
        attempts: 1,
        status: ending === "complete" ? 200 : 503,
        ending,
        streamed: false,
        usageSource: null,
        inputTokens: 0,
        cachedTokens: 0,
        outputTokens: 0,
        reasoningTokens: 0,
        startedAtMs: atMs,
        firstTokenMs: null,
        durationMs: 5,
        priceCredits: 0,
        ignored: "",
        prices: null,
        admittedAtMs: atMs,
        settledAtMs: atMs + 10,
        tags,
      } as Parameters<typeof settle>[1],
    );
  }
  return ids;
}

/** Copies an account's newest record, as another at each of these times. */
async function fill(database: Database, from: string, times: readonly number[]): Promise<void> {
  const columns = (await database.all("select name from pragma_table_info('usage_records')"))
    .map(({ name }) => String(name))
    .filter((name) => !["request_id", "started_at_ms"].includes(name));
  await database.batch([{
    sql: `insert into usage_records (request_id, started_at_ms, ${columns.join(", ")})
      select 'req_' || printf('%012x', times.value) || printf('%016d', times.key), times.value,
        ${columns.join(", ")}
      from json_each(?) as times cross join usage_records where request_id = ?`,
    args: [JSON.stringify(times), from],
  }]);
}

/** All pages of a search. */
async function pagesOf(database: Database, search: RecordSearch) {
  const pages: RequestRecord[][] = [];
  let partial = 0;
  let before = search.before;
  do {
    const { records, next, isPartial } = await searchRecords(database, { ...search, before });
    pages.push([...records]);
    partial += isPartial ? 1 : 0;
    before = next;
  } while (before !== undefined && pages.length < 100);
  return { ids: pages.flat().map(({ requestId }) => requestId), pages, partial };
}

Deno.test("pages of a search have every record once, newest first, also those of one moment", async () => {
  await using gateway = await startGateway();
  const { accountId } = await customer(gateway, 10);
  const other = await customer(gateway, 10);
  const times = [0, 0, 0, 0, 0, 1, 5, 5, 5, 9].map((hours) => START + hours * HOUR_MS);
  const ids = await record(gateway, accountId, times.map((atMs) => ({ atMs })));
  await record(gateway, other.accountId, times.map((atMs) => ({ atMs })));
  const { database } = gateway.gateway;
  for (const limit of [1, 2, 3, 10, 50]) {
    const all = await pagesOf(database, { accountId, limit });
    assertEquals(all.ids.toSorted(), ids.toSorted(), String(limit));
    assertEquals(all.ids, all.ids.toSorted().reverse());
    assertEquals(all.partial, 0);
    assert(all.pages.every((page) => page.length <= limit));
  }
  const sinceMs = START + HOUR_MS;
  const within = await pagesOf(database, {
    accountId,
    sinceMs,
    untilMs: START + 9 * HOUR_MS,
    limit: 2,
  });
  assertEquals(within.ids.toSorted(), ids.slice(5, 9).toSorted());
});

Deno.test("filters find what is rare, by roll-ups, without looking at all that lies between", async () => {
  await using gateway = await startGateway();
  const { accountId } = await customer(gateway, 10);
  const { database } = gateway.gateway;
  const [rare, failed, tagged, common] = await record(gateway, accountId, [
    { atMs: START, route: "rare" },
    { atMs: START + 30 * HOUR_MS, ending: "upstream_failed" },
    { atMs: START + 60 * HOUR_MS, tags: { project: "alpha", "a.b": "c" } },
    { atMs: START + 61 * HOUR_MS },
  ]);
  await fill(
    database,
    common!,
    Array.from({ length: 20_000 }, (_, at) => START + 40 * HOUR_MS + at * 10_000),
  );
  const [{ n }] = (await database.all(
    "select count(*) as n from usage_records where account_id = ?",
    [accountId],
  )) as [{ n: number }];
  assertEquals(n, 20_004);
  const find = (more: Partial<RecordSearch>) =>
    searchRecords(database, { accountId, limit: 50, ...more });
  const ids = ({ records }: { records: readonly RequestRecord[] }) =>
    records.map(({ requestId }) => requestId);
  for (
    const [search, expected] of [
      [{ route: "rare" }, rare],
      [{ ending: "failed" }, failed],
      [{ ending: "upstream_failed" }, failed],
    ] as const
  ) {
    const found = await find(search);
    assertEquals([ids(found), found.next, found.isPartial], [[expected], undefined, false]);
  }
  assertEquals(ids(await find({ route: "unknown" })), []);
  assertEquals(ids(await find({ keyId: "key_unknown" })), []);
  assertEquals(ids(await find({ route: "rare", sinceMs: START + HOUR_MS })), []);
  // no roll-up has tags for certain: a page ends before it is full, and says so
  const first = await find({ tag: { name: "project", value: "alpha" } });
  assertEquals([first.isPartial, first.next !== undefined], [true, true]);
  const all = await pagesOf(database, { accountId, tag: { name: "a.b", value: "c" }, limit: 50 });
  assertEquals(all.ids, [tagged]);
  assert(all.partial >= 2);
  const none = await pagesOf(database, { accountId, tag: { name: "a", value: "b" }, limit: 50 });
  assertEquals(none.ids, []);
});

Deno.test("what is older than the days of roll-ups that are looked at is found, too", async () => {
  await using gateway = await startGateway();
  const { accountId } = await customer(gateway, 10);
  const days = [0, 401, 950].map((day) => START - day * 24 * HOUR_MS);
  const [, ...rare] = await record(
    gateway,
    accountId,
    days.map((atMs, at) => ({ atMs, route: at === 0 ? "common" : "rare" })),
  );
  const { ids } = await pagesOf(gateway.gateway.database, { accountId, route: "rare", limit: 1 });
  assertEquals(ids, rare);
});

Deno.test("a search by the beginning of an ID finds an account's own only", async () => {
  await using gateway = await startGateway();
  const [ada, bob] = [await customer(gateway, 10), await customer(gateway, 10)];
  const [own] = await record(gateway, ada.accountId, [{ atMs: START }, { atMs: START + 9_000 }]);
  await record(gateway, bob.accountId, [{ atMs: START }]);
  const { database } = gateway.gateway;
  const find = async (prefix: string, accountId = ada.accountId) =>
    (await recordsByIdPrefix(database, { accountId, prefix, limit: 50 }))
      .map(({ requestId }) => requestId);
  assertEquals(await find(own!), [own]);
  assertEquals(await find(own!.slice(0, 13)), [own]);
  assertEquals(await find(own!.slice(0, 12)), []); // too short: all requests of a minute
  assertEquals(await find(own!, bob.accountId), []);
  assertEquals(await find(`${own!.slice(0, 13)}%`), []);
});

Deno.test("searches of records use indexes, and look at a bounded number of rows", async () => {
  await using gateway = await startGateway({ looksInside: true });
  const { database } = gateway.gateway;
  const { accountId } = await customer(gateway, 10);
  await record(gateway, accountId, [{ atMs: START }]);
  const statements: [string, unknown[]][] = [];
  const watched = new Proxy(database, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (name !== "all" && name !== "one") return value;
      return (sql: string, args: unknown[] = []) => {
        statements.push([sql, args]);
        return value.call(target, sql, args);
      };
    },
  });
  for (
    const search of [
      {},
      { route: "common" },
      { keyId: "key_x", ending: "failed" },
      { tag: { name: "a", value: "b" }, sinceMs: 5, untilMs: START + HOUR_MS },
    ]
  ) await searchRecords(watched, { accountId, limit: 50, ...search });
  await recordsByIdPrefix(watched, { accountId, prefix: "req_0123456789", limit: 50 });
  assert(statements.length > 8);
  for (const [sql, args] of statements) {
    const plan = (await database.all(`explain query plan ${sql}`, args as never))
      .map(({ detail }) => String(detail));
    const scans = plan.filter((line) =>
      /^SCAN (usage_records|usage_hours|usage_days)\b/.test(line)
    );
    assertEquals(scans, [], `${sql}\n${plan.join("\n")}`);
    if (sql.includes("looked_at")) {
      assert(
        plan.some((line) => /usage_records_by_account \(account_id=\?/.test(line)),
        plan.join("\n"),
      );
    }
  }
});
