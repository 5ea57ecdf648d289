/** Lists of alerts: each reader's own, and no more rows read than are shown. */

import {
  markRead,
  type NewAlert,
  notices,
  noticesOf,
  Outbox,
  unreadCount,
} from "../../../src/operating/alerts/mod.ts";
import { pruneAlerts } from "../../../src/operating/alerts/notices.ts";
import type { Database } from "../../../src/ground/database/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";
import { ledgerBench } from "../../fake/ledger.ts";

const START = Date.UTC(2026, 9, 1);

/** Alerts of an account, of a team, and of the gateway by turns; two of each moment. */
async function raise(
  { gateway: { database } }: TestGateway,
  { accountId, teamId, count }: { accountId: string; teamId: string; count: number },
): Promise<void> {
  await database.batch([{
    sql: `insert into alerts (id, mark, kind, account_id, team_id, title, text, data,
        created_at_ms, read_at_ms)
      with recursive up(i) as (select 0 union all select i + 1 from up where i + 1 < ?3)
      select printf('alert_%06d', i), 'm' || i, 'low_credits', iif(i % 3 = 0, ?1, null),
        iif(i % 3 = 1, ?2, null), 'title', 'text', '{}', ?4 + i / 6, iif(i > 5, ?4, null)
      from up`,
    args: [accountId, teamId, count, START],
  }]);
}

async function filled(gateway: TestGateway, count: number) {
  const { accounts, teams } = gateway.gateway;
  const { id: accountId } = await accounts.create({ email: "ada@example.com" });
  const { id: teamId } = await teams.create({ name: "Red", pool: false });
  await raise(gateway, { accountId, teamId, count });
  return { accountId, teamId };
}

Deno.test("a reader's alerts are those of the account and the teams that it leads, newest first", async () => {
  await using gateway = await startGateway({ looksInside: true });
  const { database } = gateway.gateway;
  const { accountId, teamId } = await filled(gateway, 60);
  const ids = async (leads: string[], limit: number) =>
    (await noticesOf(database, { accountId, leads }, limit)).map(({ id }) => Number(id.slice(-6)));
  assertEquals(await ids([], 3), [57, 54, 51]);
  assertEquals(await ids([teamId], 4), [58, 57, 55, 54]);
  assertEquals((await ids([teamId, teamId], 100)).length, 40);
  assertEquals(await ids(["team_none"], 1), [57]);
  // of the account and of the team that it leads: once
  await database.batch([{
    sql: "update alerts set account_id = ? where id = 'alert_000058'",
    args: [accountId],
  }]);
  assertEquals(await ids([teamId], 2), [58, 57]);

  await markRead(database, {
    upToMs: START + 5,
    nowMs: START,
    reader: { accountId, leads: [teamId] },
  });
  const read = await noticesOf(database, { accountId, leads: [teamId] }, 100);
  assertEquals(read.filter((one) => one.accountReadAtMs !== null).length, 24);
});

Deno.test("lists of alerts use an index for what they show, however many there are", async () => {
  await using gateway = await startGateway({ looksInside: true });
  const { database } = gateway.gateway;
  const { accountId, teamId } = await filled(gateway, 6_000);
  const plans = new Map<string, string[]>();
  const watched = (name: string): Database =>
    new Proxy(database, {
      get(target, property) {
        const value = Reflect.get(target, property);
        if (property !== "all" && property !== "one") return value;
        return async (sql: string, args: never[] = []) => {
          plans.set(
            name,
            (await database.all(`explain query plan ${sql}`, args)).map(({ detail }) =>
              String(detail)
            ),
          );
          return await value.call(target, sql, args);
        };
      },
    });
  await noticesOf(watched("own"), { accountId, leads: [teamId] }, 10);
  await notices(watched("all"), { limit: 10 });
  // those of an account are its own, however few of all are unread
  await notices(watched("unread of account"), { accountId, isUnread: true, limit: 10 });
  const unread = await notices(watched("unread"), { isUnread: true, limit: 3 });
  assertEquals(unread.map(({ id }) => id), ["alert_000005", "alert_000004", "alert_000003"]);
  assertEquals(await unreadCount(watched("count")), 6);
  const uses = (name: string, index: string) =>
    plans.get(name)!.some((line) => line.includes(`${index} `) || line.endsWith(index));
  const text = JSON.stringify([...plans], undefined, 1);
  assert(uses("own", "alerts_by_account") && uses("own", "alerts_by_team"), text);
  assert(uses("all", "alerts_by_time"), text);
  assert(uses("unread of account", "alerts_by_account"), text);
  assert(uses("unread", "alerts_unread") && uses("count", "alerts_unread"), text);
  const sorts = [...plans].filter(([name, plan]) =>
    name !== "own" && plan.some((line) => line === "USE TEMP B-TREE FOR ORDER BY")
  );
  assertEquals(sorts, []);
  // what is sorted is as many as are shown of the account and of each team
  assertEquals(
    plans.get("own")!.filter((line) => line.startsWith("USE TEMP B-TREE")).length,
    1,
    text,
  );
});

/** Alerts by mark, of a minute each, in the order of the list. */
async function raised(
  database: Database,
  alerts: readonly (Partial<NewAlert> & { readonly mark: string })[],
): Promise<void> {
  const receivers = {
    ops: { url: "https://ops.example", kind: "json", alerts: ["low_credits"] },
  } as unknown as Parameters<Outbox["raise"]>[1];
  for (const [at, one] of alerts.entries()) {
    const outbox = new Outbox(database, () => START + at * 60_000);
    const alert = { kind: "disk_low", accountId: null, title: "", text: "", data: {}, ...one };
    await outbox.raise([alert as NewAlert], receivers);
  }
}

Deno.test("alerts are listed by account, by what is unread, by the state of a delivery, and by all of them", async () => {
  await using bench = await ledgerBench("file");
  const { database } = bench;
  const { accountId } = await bench.account();
  const kind = "low_credits";
  await raised(database, [
    { mark: "own", accountId, kind },
    { mark: "read", accountId, kind },
    { mark: "unsent", accountId },
    { mark: "other", kind },
    { mark: "done", kind },
    { mark: "old" },
  ]);
  await database.batch([
    { sql: "update alerts set read_at_ms = 1 where mark in ('read', 'old')" },
    {
      sql: `update alert_deliveries set state = 'delivered'
        where alert_id = (select id from alerts where mark = 'done')`,
    },
  ]);
  const marks = async (filter: Omit<Parameters<typeof notices>[1], "limit">) =>
    (await notices(database, { ...filter, limit: 10 })).map(({ mark }) => mark);
  assertEquals(await marks({}), ["old", "done", "other", "unsent", "read", "own"]);
  assertEquals(await marks({ accountId }), ["unsent", "read", "own"]);
  assertEquals(await marks({ isUnread: true }), ["done", "other", "unsent", "own"]);
  assertEquals(await marks({ state: "waiting" }), ["other", "read", "own"]);
  assertEquals(await marks({ state: "delivered" }), ["done"]);
  assertEquals(await marks({ accountId, isUnread: true }), ["unsent", "own"]);
  assertEquals(await marks({ accountId, state: "waiting" }), ["read", "own"]);
  assertEquals(await marks({ isUnread: true, state: "waiting" }), ["other", "own"]);
  assertEquals(await marks({ accountId, isUnread: true, state: "waiting" }), ["own"]);
  const [first] = await notices(database, { accountId, isUnread: true, limit: 1 });
  assertEquals(await marks({ accountId, isUnread: true, after: first!.id }), ["own"]);
});

Deno.test("what is marked as read was there when the list was seen, and is the reader's own", async () => {
  await using bench = await ledgerBench("file");
  const { database } = bench;
  const [{ accountId }, other] = [await bench.account(), await bench.account()];
  const { teamId } = await bench.team([accountId]);
  await raised(database, [
    { mark: "own", accountId },
    { mark: "team", teamId },
    { mark: "other", accountId: other.accountId },
    { mark: "later", accountId },
  ]);
  const read = async (by: "accountReadAtMs" | "readAtMs") =>
    (await notices(database, { limit: 10 })).filter((one) => one[by] !== null)
      .map(({ mark }) => mark).toReversed();
  const upToMs = START + 2 * 60_000;
  await markRead(database, { upToMs, nowMs: 7, reader: { accountId, leads: [] } });
  assertEquals(await read("accountReadAtMs"), ["own"]);
  await markRead(database, { upToMs, nowMs: 8, reader: { accountId, leads: [teamId] } });
  assertEquals(await read("accountReadAtMs"), ["own", "team"]);
  assertEquals(await read("readAtMs"), []);
  await markRead(database, { upToMs, nowMs: 9 });
  assertEquals(await read("readAtMs"), ["own", "team", "other"]);
  assertEquals(await unreadCount(database), 1);
});

Deno.test("old alerts are pruned in steps, but for those whose marks would be reached again", async () => {
  await using bench = await ledgerBench("file");
  const { database } = bench;
  await raised(database, [
    { mark: "a" },
    { mark: "b", kind: "low_credits" },
    { mark: "c" },
    { mark: "d" },
    { mark: "e" },
  ]);
  const beforeMs = START + 4 * 60_000; // when the last one was raised
  const prune = (limit: number) => pruneAlerts(database, { beforeMs, limit });
  const left = async () => (await notices(database, { limit: 10 })).map(({ mark }) => mark);
  assertEquals([await prune(2), await left()], [true, ["e", "d", "b"]]);
  assertEquals([await prune(2), await left()], [false, ["e", "b"]]);
  assertEquals([await prune(2), await left()], [false, ["e", "b"]]);
  const deliveries = await database.all("select alert_id from alert_deliveries");
  assertEquals(deliveries.length, 1);
});
