/** Reports, exports and audits read a standby of PostgreSQL; nothing else does. */

import { replicaFinding } from "../../../src/doors/cli/doctor_postgres.ts";
import { type Database, openDatabase } from "../../../src/ground/database/mod.ts";
import { placeOf } from "../../../src/ground/database/postgres/place.ts";
import { PostgresReplica } from "../../../src/ground/database/postgres/replica.ts";
import { newRequestId } from "../../../src/ground/platform/ids.ts";
import {
  audit,
  creditsOf,
  grantStatements,
  newLotId,
  RULES,
} from "../../../src/money/ledger/mod.ts";
import { entriesCsv, reportUsage, requestsCsv, usageQuery } from "../../../src/money/usage/mod.ts";
import { Accounts, Keys, Teams } from "../../../src/people/accounts/mod.ts";
import { assertEquals, assertMatch } from "../../assert.ts";
import { settlePrice } from "../../fake/ledger.ts";
import { PostgresCluster, whyNoPostgres } from "../../fake/postgres_cluster.ts";
import { until } from "../../fake/temp.ts";
import { PROOF } from "../../tier.ts";

const why = await whyNoPostgres();
const NOW = Date.UTC(2026, 6, 1, 12);

const cluster = () => PostgresCluster.create({ settings: ["fsync=off"] });

/** What reports say of a database that has only charges of one credit, and what decides. */
async function seenIn(database: Database, accountId: string) {
  const now = () => NOW + 1;
  const accounts = new Accounts(database, now);
  const parts = { database, accounts, teams: new Teams(database, now), now };
  const query = usageQuery.parse({ since: "30d" });
  const lines = async (csv: Promise<AsyncGenerator<string>>) =>
    (await Array.fromAsync(await csv)).join("").split("\r\n").length - 2;
  const { records, mismatches } = await audit(database);
  assertEquals(mismatches, []);
  return {
    audited: records,
    reported: (await reportUsage(parts, query)).totals.requests,
    exported: await lines(requestsCsv(parts, query)),
    entries: await lines(entriesCsv(parts, query)),
    balance: (await creditsOf(database, accountId, now())).balance,
  };
}

Deno.test({
  name: `reports may be behind as a standby is, and read the database itself where it is away${
    why === undefined ? "" : ` (skipped: ${why})`
  }`,
  ignore: why !== undefined || PROOF.ignore,
  async fn(t) {
    using stack = new DisposableStack();
    const primary = stack.adopt(await cluster(), (one) => one.endNow());
    await primary.init();
    await primary.start();
    const standby = stack.adopt(await cluster(), (one) => one.endNow());
    await standby.copy(primary);
    await standby.start();
    await using closing = new AsyncDisposableStack();
    const states: (string | undefined)[] = [];
    const onReplica = (fault: string | undefined) => void states.push(fault);
    const database = closing.adopt(
      await openDatabase({
        file: undefined,
        server: { url: primary.url, token: undefined, replicaUrl: standby.url, onReplica },
        durability: "normal",
        rules: RULES,
        now: () => NOW,
      }),
      (one) => one.close(),
    );
    const account = await new Accounts(database, () => NOW).create({ email: "a@example.com" });
    const { id: accountId } = account;
    const { id: keyId } = await new Keys(database, () => NOW).issue(account);
    await database.batch(
      grantStatements({
        lotId: newLotId(),
        accountId,
        source: "grant",
        credits: 100,
        expiresAtMs: null,
        atMs: NOW,
      }),
    );
    let charged = 0;
    const charge = async () => {
      charged++;
      const requestId = newRequestId(NOW);
      await settlePrice(database, { requestId, accountId, keyId, price: 1, nowMs: NOW });
    };
    const all = () => ({
      audited: charged,
      reported: charged,
      exported: charged,
      entries: 1 + charged,
      balance: 100 - charged,
    });
    const caughtUp = () =>
      until(async () => (await database.replica!.look()).about === "a standby, 0.0 s behind", {
        what: "a standby that has everything",
      });
    await charge();
    await caughtUp();

    await t.step("what a standby lacks, reports lack, and nothing that decides", async () => {
      assertEquals(await seenIn(database, accountId), all());
      await standby.run("select pg_wal_replay_pause();\n");
      await until(async () =>
        (await standby.run("select pg_get_wal_replay_pause_state();\n")).rows[0] === "paused"
      );
      const before = all();
      await charge();
      assertEquals(await seenIn(database, accountId), { ...before, balance: 100 - charged });
      assertEquals(states, []);
    });

    const replicaOf = (options: { maxBehindMs?: number; lookMs?: number }) =>
      closing.adopt(
        new PostgresReplica(placeOf(standby.url), {
          primary: database,
          onState: (fault) => states.push(fault),
          ...options,
        }),
        (one) => one.close(),
      );
    /** The database with another replica. */
    const withReplica = (replica: PostgresReplica): Database => ({
      place: database.place,
      dialect: database.dialect,
      waiting: 0,
      replica,
      all: (...args) => database.all(...args),
      one: (...args) => database.one(...args),
      batch: (...args) => database.batch(...args),
      write: (...args) => database.write(...args),
      close: () => Promise.resolve(),
    });

    await t.step("a standby that is too far behind is not read", async () => {
      const strict = replicaOf({ maxBehindMs: 0 });
      assertEquals(await seenIn(withReplica(strict), accountId), all());
      assertMatch(states.splice(0).join(), /^a standby, \d+\.\d s behind$/);
      const { state, detail } = await replicaFinding(strict);
      assertEquals(state, "warning");
      assertMatch(detail, /^127\.0\.0\.1:\d+\/postgres: a standby, \d+\.\d s behind$/);
      await standby.run("select pg_wal_replay_resume();\n");
      await caughtUp();
      assertEquals((await replicaFinding(strict)).state, "ok");
    });

    await t.step("a server that takes writes is not taken for a standby", async () => {
      const wrong = new PostgresReplica(placeOf(primary.url), {
        primary: database,
        onState: () => {},
      });
      closing.adopt(wrong, (one) => one.close());
      assertMatch((await replicaFinding(wrong)).detail, /no standby, as it takes writes$/);
    });

    await t.step("a standby that is killed is read again when it is back", async () => {
      const watchful = withReplica(replicaOf({ lookMs: 50 }));
      assertEquals(await seenIn(watchful, accountId), all());
      assertEquals(states, []);
      await standby.kill();
      await charge();
      assertEquals(await seenIn(watchful, accountId), all());
      assertEquals(states.splice(0).length, 1);
      assertEquals((await replicaFinding(watchful.replica!)).state, "warning");
      await standby.start();
      await until(async () => {
        await watchful.replica!.one("select 1 as one");
        return states.length > 0;
      });
      assertEquals(states, [undefined]);
      await caughtUp();
      assertEquals(await seenIn(watchful, accountId), all());
    });
  },
});

Deno.test("only reports, exports and the audit read what may be behind", async () => {
  const found: string[] = [];
  const look = async (folder: URL) => {
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      const url = new URL(isDirectory ? `${name}/` : name, folder);
      if (isDirectory) await look(url);
      else if (/\bforReports\(|\.replica\b/.test(await Deno.readTextFile(url))) {
        found.push(url.pathname.replace(/^.*\/src\//, ""));
      }
    }
  };
  await look(new URL("../../../src/", import.meta.url));
  assertEquals(found.toSorted(), [
    "doors/cli/doctor.ts",
    "ground/database/database.ts",
    "ground/database/postgres/engine.ts",
    "ground/database/server/server.ts",
    "ground/database/wrapped_database.ts",
    "money/ledger/audit.ts",
    "money/usage/record_csv.ts",
    "money/usage/usage_report.ts",
  ]);
});
