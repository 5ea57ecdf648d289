/** Rules are installed whole, once, by the program that has the newest ones, and never by a reader. */

import {
  backUp,
  type Database,
  DatabaseError,
  migrate,
  MIGRATIONS,
  restoreFile,
  type RuleObject,
  type RuleSet,
} from "../../../src/ground/database/mod.ts";
import { EmbeddedDatabase } from "../../../src/ground/database/file/embedded.ts";
import { definitionsOf } from "../../../src/ground/database/definitions_of.ts";
import { hashOfRules, objectsOfRules } from "../../../src/ground/database/rules.ts";
import { gatewayIdentity } from "../../../src/ground/database/gateway_identity.ts";
import { newRequestId } from "../../../src/ground/platform/ids.ts";
import {
  admit,
  audit,
  growHold,
  RULES,
  takeBack,
  TierList,
} from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../assert.ts";
import { sluice } from "../../fake/shell.ts";
import { ledgerBench, possible, settlePrice } from "../../fake/ledger.ts";
import { tempDir } from "../../fake/temp.ts";
import { PROOF, sized } from "../../tier.ts";

const NOW = Date.UTC(2030, 0, 1);
const now = () => NOW;

const withReserve = (sql: string) =>
  sql.replace("when free < new.least", "when free < new.least + coalesce(new.reserve, 0)");

/** The rules of a later program: admissions take another column, keys are no longer revised, one rule is new. */
const NEWER: RuleSet = {
  revision: RULES.revision + 1,
  rules: [
    ...RULES.rules.filter(({ name }) => name !== "revise_keys").map((rule) =>
      rule.name !== "admit" ? rule : {
        ...rule,
        objects: rule.objects.map((object): RuleObject =>
          "statements" in object
            ? { ...object, statements: object.statements.map(withReserve) }
            : "view" in object && "columns" in object
            ? { ...object, columns: { ...object.columns, reserve: "integer" } }
            : object
        ),
      }
    ),
    {
      name: "later",
      objects: [{ view: "later_things", query: "select 1 as one where false" }],
    },
  ],
};
const UNRELEASED: RuleSet = {
  ...NEWER,
  revision: RULES.revision,
};

async function installed(database: Database) {
  const row = await database.one("select revision, hash, installed_at_ms from installed_rules");
  const objects = (await definitionsOf(database).objects(database))
    .filter(({ object }) => /^(?:trigger|view) /.test(object));
  return {
    revision: row!.revision,
    hash: row!.hash,
    atMs: row!.installed_at_ms,
    objects: objects.map(({ object }) => object).toSorted(),
  };
}

function expected(rules: RuleSet, atMs: number, database: Partial<Database> = {}) {
  return {
    revision: rules.revision,
    hash: hashOfRules(rules, definitionsOf(database)),
    atMs,
    objects: objectsOfRules(rules).toSorted(),
  };
}

/** The same promises for the embedded file and for a server. */
for (const kind of possible(["file", "server", "postgres"])) {
  /** The gate has the others with a server, and these with a file. */
  const second = kind === "server" ? PROOF : {};

  Deno.test(
    `rules (${kind}): those of before are dropped, the new ones are all there is`,
    second,
    async () => {
      await using bench = await ledgerBench(kind);
      const { database } = bench;
      assertEquals(await installed(database), expected(RULES, 1, database));
      assertEquals((await migrate(database, { now, rules: RULES })).installedRules, false);
      const drop = definitionsOf(database).drop("trigger admissions_decide");
      await database.batch([{ sql: drop }]); // by hand
      assertEquals((await migrate(database, { now, rules: NEWER })).installedRules, true);
      assertEquals(await installed(database), expected(NEWER, NOW, database));
      const schema = (await audit(database)).mismatches.filter(({ noun }) => noun === "schema");
      assertEquals(schema.map(({ id }) => id).includes("rules"), true);
    },
  );

  // Proves P7.
  Deno.test(`rules (${kind}): of several programs one installs, and the newest ones stay`, async () => {
    await using bench = await ledgerBench(kind);
    const { database } = bench;
    for (let round = 1; round <= sized(1, 3); round++) {
      const [lower, higher] = [2 * round, 2 * round + 1].map((later) => ({
        ...NEWER,
        revision: RULES.revision + later,
      }));
      // each program has a connection of its own
      const programs = await Promise.all(
        Array.from({ length: 6 }, (_, at) => bench.connect().then((one) => [at, one] as const)),
      );
      try {
        const migrated = await Promise.all(programs.map(async ([at, one]) => {
          const rules = at % 2 === 0 ? higher! : { ...RULES, revision: lower!.revision };
          const { installedRules } = await migrate(one, { now, rules });
          return { installedRules, isHigher: at % 2 === 0 };
        }));
        const count = (isHigher: boolean) =>
          migrated.filter((one) => one.installedRules && one.isHigher === isHigher).length;
        assertEquals(count(true), 1);
        assert(count(false) <= 1);
      } finally {
        await Promise.all(programs.map(([, one]) => one.close()));
      }
      assertEquals(await installed(database), expected(higher!, NOW, database));
    }
  });

  Deno.test(`rules (${kind}): those that cannot be installed leave everything as it was`, async () => {
    await using bench = await ledgerBench(kind);
    const { database } = bench;
    const broken = {
      revision: RULES.revision + 1,
      rules: [...RULES.rules, {
        name: "broken",
        objects: [{
          trigger: "broken",
          event: "after insert" as const,
          on: "nothing",
          statements: ["select 1"],
        }],
      }],
    };
    await assertRejects(() => migrate(database, { now, rules: broken }), DatabaseError);
    assertEquals(await installed(database), expected(RULES, 1, database));
    assertEquals((await audit(database)).mismatches, []);
  });

  Deno.test(
    `rules (${kind}): an older program keeps newer rules and works with them`,
    second,
    async () => {
      await using bench = await ledgerBench(kind);
      const caller = await bench.account();
      const lotId = await bench.grant(caller.accountId, 100);
      const tierList = new TierList([{ above: 0, minute: 99, hour: 99, day: 99 }]);
      await bench.database.batch(tierList.statements);
      const work = async () => {
        const requestId = newRequestId(NOW);
        const holder = { ...caller, requestId, gatewayId: "gw", nowMs: NOW, leaseMs: 60_000 };
        const asked = { ...holder, least: 1, wanted: 2, tierListId: tierList.id };
        assertEquals((await admit(bench.database, asked)).verdict, "admitted");
        const held = await growHold(bench.database, { ...holder, wanted: 5, admittedAtMs: NOW });
        assertEquals(held, 5);
        const { charged } = await settlePrice(bench.database, { ...holder, price: 3 });
        assertEquals(charged, 3);
      };
      await work();
      // while it runs
      const newer = await bench.connect();
      await migrate(newer, { now, rules: NEWER });
      await work();
      // and after a restart
      await bench.reopen();
      assertEquals(await installed(bench.database), expected(NEWER, NOW, bench.database));
      await work();
      const taken = await takeBack(bench.database, {
        id: "take_back_1",
        accountId: caller.accountId,
        lotId,
        credits: 1,
        note: "why",
        atMs: NOW,
      });
      assertEquals(taken?.credits, 1);
      assertEquals(
        (await migrate(newer, { now: () => NOW + 1, rules: NEWER })).installedRules,
        false,
      );
      await newer.close();
      const { mismatches } = await audit(bench.database);
      assertEquals(mismatches.filter(({ noun }) => noun !== "schema"), []);
    },
  );
}

Deno.test("rules: a database without any is given them with its schema, whichever program comes first", async () => {
  await using dir = await tempDir();
  const open = async (rules: RuleSet) => {
    const database = await EmbeddedDatabase.open(`${dir.path}/sluice.db`, { durability: "normal" });
    await migrate(database, { now, rules });
    return database;
  };
  const all = await Promise.all([RULES, NEWER, RULES, NEWER].map(open));
  assertEquals(await installed(all[0]!), expected(NEWER, NOW, all[0]!));
  await Promise.all(all.map((one) => one.close()));
});

Deno.test("rules: migrations alone leave no trigger and no view", async () => {
  await using dir = await tempDir();
  const database = await EmbeddedDatabase.open(`${dir.path}/sluice.db`, { durability: "normal" });
  const migrated = await migrate(database, { now });
  assertEquals(migrated, { from: 0, to: MIGRATIONS.at(-1)!.version, installedRules: false });
  assertEquals((await installed(database)).objects, []);
  await database.close();
});

Deno.test("rules: of one revision the program's own are installed, as nobody released the others", async () => {
  await using bench = await ledgerBench("file");
  await migrate(bench.database, { now, rules: UNRELEASED });
  assertEquals(await installed(bench.database), expected(UNRELEASED, NOW, bench.database));
  await bench.reopen();
  assertEquals(await installed(bench.database), expected(RULES, 1, bench.database));
});

Deno.test("rules: neither a backup nor a restore installs any", async () => {
  await using dir = await tempDir();
  const file = `${dir.path}/sluice.db`;
  const older = { ...NEWER, revision: 0 };
  const database = await EmbeddedDatabase.open(file, { durability: "normal" });
  await migrate(database, { now, rules: older });
  await backUp(database, `${dir.path}/backup.db`);
  await database.close();
  await restoreFile(`${dir.path}/backup.db`, file, { nowMs: NOW });
  const restored = await EmbeddedDatabase.open(file, { durability: "normal" });
  assertEquals(await installed(restored), expected(older, NOW, restored));
  await restored.close();
});

Deno.test("a command of a newer program leaves the rules of a running gateway as they are", async () => {
  await using dir = await tempDir();
  await Deno.mkdir(`${dir.path}/data`);
  const file = `${dir.path}/data/sluice.db`;
  const older = { ...NEWER, revision: 0 };
  const open = () => EmbeddedDatabase.open(file, { durability: "normal" });
  const database = await open();
  await migrate(database, { now, rules: older });
  await database.close();
  const read = async () => {
    const one = await open();
    const found = await installed(one);
    await one.close();
    return found;
  };
  {
    using _gateway = await gatewayIdentity(`${dir.path}/data`); // as a gateway holds it
    const { code, err } = await sluice(["account", "list"], { directory: dir.path });
    assertEquals(code, 1);
    assertStringIncludes(err, "restart the gateway");
  }
  assertEquals(await read(), expected(older, NOW));
  assertEquals((await sluice(["account", "list"], { directory: dir.path })).code, 0);
  assertEquals((await read()).hash, hashOfRules(RULES));
});
