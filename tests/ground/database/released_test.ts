import { assemble, type Gateway } from "../../../src/assemble/mod.ts";
import { loadConfig } from "../../../src/settings/config/mod.ts";
import {
  DatabaseError,
  EmbeddedDatabase,
  foldLog,
  migrate,
  type Migration,
  MIGRATIONS,
  openDatabase,
  readTogether,
  type Row,
} from "../../../src/ground/database/mod.ts";
import { audit, creditsOf, RULES } from "../../../src/money/ledger/mod.ts";
import { gatewayIdentity } from "../../../src/ground/database/gateway_identity.ts";
import { Accounts, Keys } from "../../../src/people/accounts/mod.ts";
import { SILENT } from "../../../src/ground/telemetry/mod.ts";
import { keyTotalsReading } from "../../../src/money/usage/mod.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../assert.ts";
import { writeEmptyDatabase } from "../../fake/empty_database.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { sluice } from "../../fake/shell.ts";
import { tempDir } from "../../fake/temp.ts";
import { RELEASED_KEY, unpack } from "./released.ts";

const VERSIONS = MIGRATIONS.map(({ version }) => version);
const LATEST = VERSIONS.at(-1)!;
const now = Date.now;

for (const version of VERSIONS) {
  // each was written by the program of its time: started, keys made and revoked, six requests
  Deno.test(`a database of schema ${version} opens, is brought up to date and passes the audit`, async () => {
    await using dir = await tempDir();
    const file = await unpack(version, dir.path);
    await using gateway = await gatewayOver(dir.path);
    const { database } = gateway;
    const accounts = new Accounts(database, now);
    const ada = await accounts.get("ada@example.com");
    const count = async (email: string) => {
      const { id } = await accounts.get(email);
      const { used } = await readTogether(database, { used: keyTotalsReading([id]) });
      return used.reduce((sum, { requests }) => sum + requests, 0);
    };
    assertEquals([await count("owner@localhost"), await count("ada@example.com")], [3, 3]);
    const keys = await new Keys(database, now).list(ada);
    assertEquals(keys.map(({ revokedAtMs }) => revokedAtMs !== null), [false, true]);
    const owner = await accounts.get("owner@localhost");
    assert((await creditsOf(database, owner.id, now())).balance > 999_000);
    assertEquals(gateway.owner.id, owner.id);
    const { url } = await gateway.listen();
    const reply = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${RELEASED_KEY}` },
      body: '{"model":"svc-k2","messages":[{"role":"user","content":"Hi"}]}',
    });
    await reply.text();
    assertEquals(reply.status, 200);
    assertEquals((await audit(database)).mismatches, []);
    const copy = await Deno.stat(`${file}.before-schema-${version + 1}`).catch(() => undefined);
    assertEquals(copy !== undefined, version < LATEST, "the copy before the change");
  });
}

async function gatewayOver(directory: string): Promise<Gateway> {
  const env = { SLUICE_OWNER_KEY: RELEASED_KEY, SLUICE_PORT: "0" };
  return await assemble(await loadConfig({ env, directory }), { log: SILENT });
}

Deno.test("a table of the first schema comes after those that it refers to", () => {
  const made = new Set<string>();
  const early: string[] = [];
  for (const sql of MIGRATIONS[0]!.statements) {
    const table = /^create table (\w+)/.exec(sql)?.[1];
    if (table === undefined) continue;
    made.add(table);
    const referred = [...sql.matchAll(/\breferences (\w+)/g)].map(([, one]) => one!);
    early.push(...referred.filter((one) => !made.has(one)).map((one) => `${table}: ${one}`));
  }
  assertEquals(early, []);
  assert(made.size > 50);
});

/** What a database lists as its steps. */
async function stepsOf(file: string): Promise<readonly Row[]> {
  const database = await EmbeddedDatabase.open(file, { durability: "normal" });
  try {
    return await database.all("select version, name from schema_versions order by version");
  } finally {
    await database.close();
  }
}

/** Changes a database by hand. */
async function change(file: string, ...statements: readonly string[]): Promise<void> {
  const { default: Driver } = await import("libsql");
  const driver = new Driver(file);
  for (const sql of statements) driver.exec(sql);
  driver.close();
}

const open = (file: string) => openDatabase({ file, durability: "normal", rules: RULES, now });
const STEPS = MIGRATIONS.map(({ version, name }) => ({ version, name }));

Deno.test("a database that came to the first schema in 27 steps is taken over, by each process that opens it", async () => {
  await using dir = await tempDir();
  const file = await unpack(27, dir.path);
  assertEquals((await stepsOf(file)).length, 27);
  const all = await Promise.all(Array.from({ length: 4 }, () => open(file)));
  await Promise.all(all.map((one) => one.close()));
  assertEquals(await stepsOf(file), STEPS);
});

Deno.test("a database of 27 steps whose schema was changed since is refused, and named", async () => {
  const random = new Random(testSeed());
  await using dir = await tempDir();
  const file = await unpack(27, dir.path);
  const database = await EmbeddedDatabase.open(file, { durability: "normal" });
  const objects = await database.all(
    "select type, name from sqlite_master where sql is not null and name <> 'schema_versions'",
  );
  await database.close();
  const pick = (type: string) =>
    String(random.pick(objects.filter((one) => one.type === type)).name);
  const changes = { table: "alter table NAME add column more integer", index: "drop index NAME" };
  for (const [type, sql] of Object.entries(changes)) {
    await using other = await tempDir();
    const changed = await unpack(27, other.path);
    const name = pick(type);
    await change(changed, sql.replace("NAME", name));
    const error = await assertRejects(() => open(changed), DatabaseError);
    assertEquals(error.code, "SLUICE_SCHEMA");
    assertStringIncludes(error.message, `not the one of version 27: ${type} ${name} differs. `);
    assertEquals((await stepsOf(changed)).length, 27);
  }
  // what is there besides harms nothing, and is the audit's to name
  await change(file, "create index by_hand on accounts (name)", "create table more (id integer)");
  const opened = await open(file);
  const { mismatches } = await audit(opened);
  await opened.close();
  assertEquals(mismatches.map(({ id }) => id), ["index by_hand"]);
});

Deno.test("a database of before the first schema is refused with what to do, and not changed", async () => {
  await using dir = await tempDir();
  const file = await unpack(27, dir.path);
  const database = await EmbeddedDatabase.open(file, { durability: "normal" });
  const said = (version: number) =>
    `it was written by an earlier build of Sluice: its schema is version ${version}, this program knows ` +
    "27 and later. ";
  for (let version = 26; version > 0; version--) {
    await database.batch([{
      sql: "delete from schema_versions where version > ?",
      args: [version],
    }]);
    const error = await assertRejects(
      () => migrate(database, { now, rules: RULES }),
      DatabaseError,
      said(version) + "Start the build of commit 14e0bef on it once, then this program",
    );
    assertEquals(error.code, "SLUICE_OLDER");
    const row = await database.one("select count(*) as n from schema_versions");
    assertEquals(row, { n: version });
  }
  await foldLog(database);
  await database.close();

  const run = (...args: string[]) => sluice(args, { directory: dir.path });
  const start = "Start the build of commit 14e0bef on it once, then this program";
  const { code, err } = await run("account", "list");
  assertEquals([code, err], [1, `sluice: Cannot use ${file} as ${said(1)}${start}\n`]);
  assertStringIncludes((await run("doctor", "--local")).out, said(1) + start);
  await using elsewhere = await tempDir();
  const restored = await sluice(["restore", file], { directory: elsewhere.path });
  assertEquals(restored.code, 1);
  assertStringIncludes(
    restored.err,
    `Cannot use ${file} as a backup: ${
      said(1)
    }Restore it with the build of commit 14e0bef and start ` +
      "that once, then use this program",
  );
  assertEquals(await stepsOf(file), [{ version: 1, name: "accounts, keys and usage" }]);
});

Deno.test("a backup of 27 steps is restored, and taken over when it is opened", async () => {
  await using dir = await tempDir();
  const backup = await unpack(27, dir.path);
  await using elsewhere = await tempDir();
  const run = (...args: string[]) => sluice(args, { directory: elsewhere.path });
  assertEquals((await run("restore", backup)).code, 0);
  const file = `${elsewhere.path}/data/sluice.db`;
  assertEquals((await stepsOf(file)).length, 27);
  assertStringIncludes((await run("credits", "audit")).out, "No mismatches found.");
  assertEquals(await stepsOf(file), STEPS);
  assertEquals((await stepsOf(backup)).length, 27);
});

/** A step of a later program. */
const NEXT: Migration = {
  version: LATEST + 1,
  name: "next",
  statements: [
    "alter table accounts add column more text",
    "create table next (id integer) strict",
  ],
};

Deno.test("the next step is applied once, by several programs at a time, and a copy of before is kept", async () => {
  await using dir = await tempDir();
  const file = `${dir.path}/sluice.db`;
  await writeEmptyDatabase(file);
  const migrations = [...MIGRATIONS, NEXT];
  const openLater = async (mayMigrate?: () => Promise<void>) => {
    await (await openDatabase({
      ...{ file, durability: "normal", rules: RULES, now, migrations, mayMigrate },
    })).close();
  };
  // and one that is slow: when it makes its copy, the others are done
  const others = () => Promise.all(Array.from({ length: 3 }, () => openLater())).then(() => {});
  await openLater(others);
  const { version, name } = NEXT;
  assertEquals(await stepsOf(file), [...STEPS, { version, name }]);
  const copy = `${file}.before-schema-${version}`;
  assertEquals((await Deno.stat(copy)).mode! & 0o777, 0o600);
  assertEquals(await stepsOf(copy), STEPS);
  const left = await Array.fromAsync(Deno.readDir(dir.path), (one) => one.name);
  assertEquals(left.filter((one) => one.startsWith(".")), [], "half a copy");
});

Deno.test("an older program refuses a newer database, and changes nothing in it", async () => {
  await using dir = await tempDir();
  const file = await unpack(LATEST, dir.path);
  const database = await open(file);
  await migrate(database, { now, rules: RULES, migrations: [...MIGRATIONS, NEXT] });
  await database.close();
  const { code, err } = await sluice(["serve", "--port", "0"], { directory: dir.path });
  assertEquals(code, 1);
  assertEquals(
    err,
    `sluice: Cannot use ${file} as it was written by a newer Sluice: its schema is version ${
      LATEST + 1
    }, ` +
      `this program knows up to ${LATEST}. Install the newer program or restore a backup\n`,
  );
  assertEquals((await stepsOf(file)).length, MIGRATIONS.length + 1);
});

Deno.test("a command of a newer program leaves the database of a running gateway as it is", async () => {
  await using dir = await tempDir();
  const file = await unpack(27, dir.path);
  {
    using _gateway = await gatewayIdentity(`${dir.path}/data`); // as a gateway holds it
    const { code, err } = await sluice(["account", "list"], { directory: dir.path });
    assertEquals(code, 1);
    assertStringIncludes(err, "restart the gateway");
  }
  assertEquals((await stepsOf(file)).length, 27);
  assertEquals((await sluice(["account", "list"], { directory: dir.path })).code, 0);
  assertEquals(await stepsOf(file), STEPS);
});
