import { type Authority, stillHas } from "../../../src/people/accounts/mod.ts";
import type { Database } from "../../../src/ground/database/mod.ts";
import { assertEquals } from "../../assert.ts";
import { ledgerBench } from "../../fake/ledger.ts";

/** What takes authority away from somebody, by the part of it that it takes away. */
const LOSSES: Readonly<Record<string, readonly ["account" | "key" | "team", string]>> = {
  "the account is disabled": ["account", "update accounts set disabled_at_ms = 1 where id = ?"],
  "the role is another": ["account", "update accounts set role = 'operator' where id = ?"],
  "the key is revoked": ["key", "update keys set revoked_at_ms = 1 where id = ?"],
  "the member is stopped": [
    "team",
    "update team_members set stopped_at_ms = 1 where account_id = ?",
  ],
  "the lead is a member": ["team", "update team_members set role = 'member' where account_id = ?"],
  "the member is removed": ["team", "delete from team_members where account_id = ?"],
};

async function holds(database: Database, authority: Authority): Promise<boolean> {
  const { sql, args } = stillHas(authority);
  return await database.one(`select 1 where ${sql}`, args) !== undefined;
}

for (const [loss, [part, sql]] of Object.entries(LOSSES)) {
  // Proves P12.
  Deno.test(`authority that has gone meanwhile is none, and that of others stays: ${loss}`, async () => {
    await using bench = await ledgerBench("file");
    const { database } = bench;
    const people = [await bench.account(), await bench.account()];
    const { teamId, callers } = await bench.team(people.map(({ accountId }) => accountId));
    await database.batch([{ sql: "update team_members set role = 'lead'", args: [] }]);
    const authorities = callers.map(({ accountId, keyId }): Authority => ({
      account: { id: accountId, role: "none" },
      keyId,
      inTeam: { teamId, role: "lead" },
    }));
    for (const one of authorities) assertEquals(await holds(database, one), true);
    const [gone, stays] = authorities as [Authority, Authority];
    const id = part === "key" ? gone.keyId! : gone.account.id;
    await database.batch([{ sql, args: [id] }]);
    assertEquals(await holds(database, gone), false);
    assertEquals(await holds(database, stays), true);
    const { account, keyId, inTeam } = gone;
    // what is not needed does not matter
    assertEquals(await holds(database, { account }), part !== "account");
    assertEquals(await holds(database, { account, keyId }), part === "team");
    assertEquals(await holds(database, { account, inTeam }), part === "key");
  });
}
