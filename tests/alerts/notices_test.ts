/** Lists of alerts: each reader's own, and no more rows read than are shown. */

import { markRead, notices, noticesOf, unreadCount } from "../../src/alerts/mod.ts";
import type { Database } from "../../src/database/mod.ts";
import { assert, assertEquals } from "../assert.ts";
import { startGateway, type TestGateway } from "../fake/gateway.ts";

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
  const unread = await notices(watched("unread"), { isUnread: true, limit: 3 });
  assertEquals(unread.map(({ id }) => id), ["alert_000005", "alert_000004", "alert_000003"]);
  assertEquals(await unreadCount(watched("count")), 6);
  const uses = (name: string, index: string) =>
    plans.get(name)!.some((line) => line.includes(`${index} `) || line.endsWith(index));
  const text = JSON.stringify([...plans], undefined, 1);
  assert(uses("own", "alerts_by_account") && uses("own", "alerts_by_team"), text);
  assert(uses("all", "alerts_by_time"), text);
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
