import { assemble, type Gateway } from "../../../src/assemble/mod.ts";
import { loadConfig } from "../../../src/settings/config/mod.ts";
import {
  DatabaseError,
  migrate,
  MIGRATIONS,
  openDatabase,
} from "../../../src/ground/database/mod.ts";
import { audit, creditsOf, RULES, takeBack } from "../../../src/money/ledger/mod.ts";
import { gatewayIdentity } from "../../../src/ground/database/gateway_identity.ts";
import { Accounts, Keys } from "../../../src/people/accounts/mod.ts";
import { SILENT } from "../../../src/ground/telemetry/mod.ts";
import { usageReport } from "../../../src/money/usage/mod.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../assert.ts";
import { writeEmptyDatabase } from "../../fake/empty_database.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { sluice } from "../../fake/shell.ts";
import { tempDir } from "../../fake/temp.ts";
import { sized } from "../../tier.ts";
import { RELEASED_KEY, unpack } from "./released.ts";

const LATEST = MIGRATIONS.at(-1)!.version;
const VERSIONS = MIGRATIONS.map(({ version }) => version);
/** Schemas over which a whole gateway is started: in the gate the first, the latest and one in between. */
const SERVED = sized([1, new Random(testSeed()).integer(2, LATEST - 1), LATEST], VERSIONS);
/** Schemas that are opened: in the gate those, and some that are drawn; the first one goes through all migrations. */
const OPENED = sized(
  [...new Set([...SERVED, ...drawnVersions(6)])].toSorted((a, b) => a - b),
  VERSIONS,
);

function drawnVersions(count: number): number[] {
  const random = new Random(testSeed());
  return Array.from({ length: count }, () => random.pick(VERSIONS));
}

for (const version of OPENED) {
  // each was written by the program of its time: started, keys made and revoked, six requests
  Deno.test(`a database of schema ${version} opens, is brought up to date and passes the audit`, async () => {
    await using dir = await tempDir();
    const file = await unpack(version, dir.path);
    const isServed = SERVED.includes(version);
    await using opened = new AsyncDisposableStack();
    const gateway = isServed ? opened.use(await gatewayOver(dir.path)) : undefined;
    const now = Date.now;
    const database = gateway?.database ??
      await openDatabase({ file, durability: "full", rules: RULES, now });
    if (gateway === undefined) opened.defer(() => database.close());
    const accounts = new Accounts(database, now);
    const ada = await accounts.get("ada@example.com");
    const count = async (email: string) => {
      const { id } = await accounts.get(email);
      const rows = await usageReport(database, { accountId: id, by: "model" });
      return rows.reduce((sum, { requests }) => sum + requests, 0);
    };
    assertEquals([await count("owner@localhost"), await count("ada@example.com")], [3, 3]);
    const keys = await new Keys(database, now).list(ada);
    assertEquals(keys.map(({ revokedAtMs }) => revokedAtMs !== null), [false, true]);
    const owner = await accounts.get("owner@localhost");
    assert((await creditsOf(database, owner.id, now())).balance > 999_000);
    if (gateway !== undefined) {
      assertEquals(gateway.owner.id, owner.id);
      const { url } = await gateway.listen();
      const reply = await fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${RELEASED_KEY}` },
        body: '{"model":"svc-k2","messages":[{"role":"user","content":"Hi"}]}',
      });
      await reply.text();
      assertEquals(reply.status, 200);
    }
    assertEquals((await audit(database)).mismatches, []);
    const copy = await Deno.stat(`${file}.before-schema-${version + 1}`).catch(() => undefined);
    assertEquals(copy !== undefined, version < LATEST, "the copy before the change");
  });
}

async function gatewayOver(directory: string): Promise<Gateway> {
  const env = { SLUICE_OWNER_KEY: RELEASED_KEY, SLUICE_PORT: "0" };
  return await assemble(await loadConfig({ env, directory }), { log: SILENT });
}

Deno.test("records that were pruned before hourly sums were kept are explained all the same", async () => {
  for (const version of [2, 4]) {
    for (const pruned of sized([2, 6], [1, 2, 5, 6])) {
      await using dir = await tempDir();
      const file = await unpack(version, dir.path);
      const { default: Driver } = await import("libsql");
      const driver = new Driver(file);
      driver.exec(`delete from usage_records where request_id in
        (select request_id from usage_records order by request_id limit ${pruned})`);
      driver.close();
      const database = await openDatabase({
        file,
        durability: "full",
        rules: RULES,
        now: Date.now,
      });
      const { mismatches, records } = await audit(database);
      assertEquals([records, mismatches], [6 - pruned, []]);
      await database.batch([{ sql: "delete from usage_records" }]);
      assertEquals((await audit(database)).mismatches, []);
      await database.close();
    }
  }
});

Deno.test("a bonus of before take-backs is undone with the payment that earned it", async () => {
  await using dir = await tempDir();
  const file = await unpack(5, dir.path);
  const { default: Driver } = await import("libsql");
  const driver = new Driver(file);
  driver.exec(`update accounts set invited_by = (select id from accounts where role = 'owner')
    where role <> 'owner'`);
  const ada = "(select id from accounts where role <> 'owner')";
  const owner = "(select id from accounts where role = 'owner')";
  for (
    const [id, account, source, at] of [
      ["'lot_gift'", ada, "package", 1_799],
      ["'lot_paid'", ada, "package", 1_800],
      [`'lot_payment_' || ${ada}`, owner, "invite_payment", 1_800],
      ["'lot_later'", ada, "package", 1_801],
    ]
  ) {
    driver.exec(`insert into lots (id, account_id, source, granted, remaining, created_at_ms)
      values (${id}, ${account}, '${source}', 500, 0, ${at})`);
    driver.exec(`insert into entries values (${account}, ${id}, ${id}, 'grant', 500, ${at})`);
  }
  driver.close();
  const now = Date.now;
  const database = await openDatabase({ file, durability: "full", rules: RULES, now });
  assertEquals((await audit(database)).mismatches, []);
  const { id: accountId } = (await database.one("select id from accounts where role <> 'owner'"))!;
  const taken = await Promise.all(
    ["lot_gift", "lot_later", "lot_paid"].map((lotId) =>
      takeBack(database, {
        id: `take_back_${lotId}`,
        accountId: String(accountId),
        lotId,
        note: "refunded",
        atMs: now(),
      })
    ),
  );
  assertEquals(taken.map((one) => [one?.credits, one?.bonusCredits]), [
    [500, 0],
    [500, 0],
    [500, 500],
  ]);
  assertEquals((await audit(database)).mismatches, []);
  await database.close();
});

Deno.test("an older program refuses a newer database, and changes nothing in it", async () => {
  const now = Date.now;
  await using dir = await tempDir();
  {
    const file = `${dir.path}/newer.db`;
    await writeEmptyDatabase(file);
    const database = await openDatabase({ file, durability: "full", rules: RULES, now });
    for (const version of VERSIONS.slice(1)) {
      const older = MIGRATIONS.filter((one) => one.version < version);
      const { message } = await assertRejects(
        () => migrate(database, { now, migrations: older }),
        DatabaseError,
      );
      assert(message.includes("written by a newer Sluice"), message);
    }
    assertEquals((await audit(database)).mismatches, []);
    await database.close();
  }
  const file = await unpack(1, dir.path);
  const { default: Driver } = await import("libsql");
  const driver = new Driver(file);
  driver.exec("insert into schema_versions values (999, 'later', 0)");
  driver.close();
  const { code, err } = await sluice(["serve", "--port", "0"], { directory: dir.path });
  assertEquals(code, 1);
  assertEquals(
    err,
    `sluice: Cannot use ${file} as it was written by a newer Sluice: its schema is version 999, this ` +
      `program knows up to ${LATEST}. Install the newer program or restore a backup\n`,
  );
});

Deno.test("a command of a newer program leaves the database of a running gateway as it is", async () => {
  await using dir = await tempDir();
  const file = await unpack(1, dir.path);
  const isChanged = () => Deno.stat(`${file}.before-schema-2`).then(() => true, () => false);
  {
    using _gateway = await gatewayIdentity(`${dir.path}/data`); // as a gateway holds it
    const { code, err } = await sluice(["account", "list"], { directory: dir.path });
    assertEquals(code, 1);
    assertStringIncludes(err, "restart the gateway");
  }
  assertEquals(await isChanged(), false);
  assertEquals((await sluice(["account", "list"], { directory: dir.path })).code, 0);
  assertEquals(await isChanged(), true);
});
