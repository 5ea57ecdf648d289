import {
  hashOfRules,
  type Intake,
  isDecision,
  objectsOfRules,
  statementsOfRules,
} from "../../../src/ground/database/mod.ts";
import { POSTGRES_DEFINITIONS } from "../../../src/ground/database/postgres/definitions.ts";
import { RULES } from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { ledgerBench } from "../../fake/ledger.ts";

/**
 * The hash of each revision. A change of a rule gets the next number and a line here; the line of a revision
 * that was released is never edited.
 */
const REVISIONS: Readonly<Record<number, string>> = {
  1: "97a1b021726a39796c904aa488b153ff675fc34e540b3f686775e0fdbe87d9a5",
  2: "772122e8b2fdde90ed1cd9da9dd30fe4e9757d44c0dab8a44ae1bb8520977a6b",
  3: "1f6766f70e300c4fa9bf690317b8aafcb1a2c990f3adb8c67b122e143511c25a",
  4: "6afcb2a4373c84fababbc1c0353fd7583695a136ce013db36b2235fc8f80928c",
  5: "4828e030f844db1d92a7943803d77f73d92349def5cce5281bfa540e846b524a",
  6: "4d25161d5938a663990a47ca171ae518beaddc5f2f7c97221bd710288d755db1",
  7: "7747dc811d95c8ef042937e2cabca3d234fd69d19c526472bffb655833d02862",
  8: "7ef5a20b7aae9a082cf159cbc121193f27996a833f7e611e0d98bc9853d86c37",
  9: "88571e4b820c261872175d7c7fa3d6d4ab1c522db6c494fb29218da274192daf",
  10: "7e80ea35e21a515c244cac2820b640cc0688c37c5b5a7ff3da25a7a6225ff3fe",
  11: "ef2a459eed66910f2a3e8fd7d9ec9ef0d201faf37c26867d49891c663293c309",
  12: "8d93c05efcb66c0d72e9e14f8028754d31fda352acda96e23619b28ab6616ff7",
  13: "a7d587d0bb1aaadf4fa19cff511b618b2176d8a4f8b704df3f5e0c6c194e6712",
  14: "60ae11945b783dd44f7a4ece10a057b730b9fe152502ebe3f0b8bda9a7efb623",
  15: "28cc85e95606df59bcb2bc88a257bfd2516ef2de054047fdfe4104821a3d33d4",
  16: "f8789c1a3ecdb4b6325ac7fff80b7133cb578125fb4ad5cc5725068a380ccef3",
  17: "e0bbe79738c3143d19ef5175059af8716128e8799cfe34b1e0c2d486b8a15fd6",
  18: "d9150a075e09d54063c604581e7c00de8d9a49fa0ef5c41b820d2ad2ccfb982b",
  19: "3916c23905b7a9650e2766daeb809eb303331f430386d08a35cdec8d88f28315",
  20: "969a903159d26b122e1a9aafb9663850b129f8da49a57c5c9e722d5c7c2adf57",
  21: "356cb58db926a4949e3c471a687e5bdc6dcced9ba5bd556d20b0512a614ff46a",
  22: "eb01fe6aefb7eb3200a9ce1060de65c53673fb6bd51d34cb2d550da105d8ac34",
  23: "fde8e1d7f6e4232ee51db26616fa0a2500f85cdaac4cdb8da145849261cbbe09",
  24: "7a03b03056bf8525457a338395fbecfda1283e6e4ecbb543aca39d71b992d827",
  25: "7a03b03056bf8525457a338395fbecfda1283e6e4ecbb543aca39d71b992d827",
  26: "615ff2e47718a6aaec4febf4c0456a6bb345602bce715942c5baf1d3a3048cbb",
};

/** The same of what PostgreSQL gets, which alone has locks. Earlier revisions have none here. */
const ON_POSTGRES: Readonly<Record<number, string>> = {
  24: "5294ffd4fa21d1c97c4405eb111c5ced672b85c1d867439fc845bd8796b0411d",
  25: "a732d332d8ea44c758e554e4c693d1c2bc353144eac938d41160d16119a4e048",
  26: "31725cba557ea18f7b67d177bda078cf798029c3ab1b8ec4a076c2864f5914db",
};

Deno.test("rules that change get the next revision", () => {
  const { revision } = RULES;
  assertEquals(
    [REVISIONS[revision], ON_POSTGRES[revision]],
    [hashOfRules(RULES), hashOfRules(RULES, POSTGRES_DEFINITIONS)],
    "raise `revision` in src/money/ledger/rules/mod.ts and add its hashes here",
  );
  assertEquals(Object.keys(REVISIONS).length, revision, "every revision has its line");
});

Deno.test("each rule is a file of its own, by its name, and states itself", async () => {
  const folder = new URL("../../../src/money/ledger/rules/", import.meta.url);
  const files = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name);
  const shared = ["intake.ts", "mod.ts", "sql"];
  assertEquals(
    files.filter((file) => !shared.includes(file)).toSorted(),
    RULES.rules.map(({ name }) => `${name}.ts`).toSorted(),
  );
  for (const { name } of RULES.rules) {
    const text = await Deno.readTextFile(new URL(`${name}.ts`, folder));
    assert(
      new RegExp(`\\*/\\nexport const ${name.toUpperCase()}: Rule = \\{`).test(text),
      `${name}.ts has no doc comment`,
    );
  }
});

Deno.test("no two rules create the same object", () => {
  const objects = objectsOfRules(RULES);
  assertEquals(objects.filter((object, at) => objects.indexOf(object) !== at), []);
});

const OBJECTS = RULES.rules.flatMap(({ objects }) => objects);
const DECISIONS = OBJECTS.filter(isDecision);
const INTAKES = OBJECTS.filter((object): object is Intake =>
  "view" in object && "columns" in object
);

Deno.test("each intake has one decision, which says what it locks, in the order of all", () => {
  assertEquals(
    DECISIONS.map(({ on }) => on).toSorted(),
    INTAKES.map(({ view }) => view).toSorted(),
  );
  for (const { trigger, locks } of DECISIONS) assert(locks.length > 0, trigger);
});

/** All that have statements. */
const TRIGGERS = OBJECTS.flatMap((object) =>
  "statements" in object ? [{ ...object, locks: object.locks ?? [] }] : []
);

Deno.test("triggers lock tables in one order", () => {
  const order = ["revisions", "balances", "budgets"];
  for (const { trigger, locks } of TRIGGERS) {
    const places = locks.map(({ table }) => order.indexOf(table));
    assertEquals(places, [...new Set(places)].toSorted(), trigger);
  }
});

/** What has to be locked before a row is inserted, or changed or deleted: by any transaction, or it may wait in a circle for one that has the lock. */
const BELONGS_TO: Readonly<Record<string, { readonly insert?: string; readonly other?: string }>> =
  {
    balances: { other: "balances" },
    bound_holds: { insert: "balances", other: "balances" },
    budget_keys: { insert: "budgets", other: "budgets" }, // which its row refers to
    budget_periods: { insert: "budgets", other: "budgets" },
    budgets: { other: "budgets" },
    holds: { insert: "balances", other: "balances" },
    loans: { insert: "balances", other: "balances" },
    lots: { other: "balances" },
  };

/** What other programs' statements have locked when they set off triggers of a table, by `changeLocked` and `budgetStatements`. */
const SET_OFF_WITH: Readonly<Record<string, readonly string[]>> = {
  budget_keys: ["balances", "budgets"],
  budget_periods: ["balances", "budgets"],
  budgets: ["balances", "budgets"],
  holds: ["balances", "budgets"],
  loan_write_offs: ["balances", "budgets"],
  loans: ["balances", "budgets"],
};
/** Tables of which decisions alone change rows: what their triggers do is followed from there. */
const DECIDED = ["bound_holds", "order_credits", "take_backs", "usage_records"];

const EVENTS = { "insert into": "insert", "update": "update", "delete from": "delete" } as const;

/** The triggers that a statement sets off. */
function setOff(sql: string, how: keyof typeof EVENTS, table: string) {
  const events: string[] = [EVENTS[how]];
  if (how === "insert into" && /do update/.test(sql)) events.push("update");
  return TRIGGERS.filter(({ on, event, ...one }) =>
    on === table && events.includes(event.split(" ").at(-1)!) &&
    (!("columns" in one) || one.columns!.some((column) => sql.includes(` ${column} = `)))
  );
}

// Proves P7.
Deno.test("what triggers change is locked before, by them or by those who set them off", () => {
  let changes = 0;
  const unlocked: string[] = [];
  const follow = (
    { trigger, locks, statements }: typeof TRIGGERS[number],
    locked: readonly string[],
    by: string,
  ) => {
    const path = `${by} ${trigger}`;
    const has = new Set([...locked, ...locks.map(({ table }) => table)]);
    for (const sql of statements) {
      for (const [, word, table] of sql.matchAll(/\b(insert into|update|delete from) (\w+)/g)) {
        if (table === "set") continue; // of `on conflict do update`
        const how = word as keyof typeof EVENTS;
        const needed = BELONGS_TO[table!]?.[how === "insert into" ? "insert" : "other"];
        // changing what is locked otherwise waits for it as well, and what is new is nobody else's yet
        if (needed === table || table === "budgets") has.add(table!);
        if (needed !== undefined && !has.has(needed)) unlocked.push(`${path}: ${how} ${table}`);
        changes += needed === undefined ? 0 : 1;
        for (const next of setOff(sql, how, table!)) follow(next, [...has], path);
      }
    }
  };
  for (const one of TRIGGERS) {
    if (!DECIDED.includes(one.on)) follow(one, SET_OFF_WITH[one.on] ?? [], "");
  }
  assertEquals(unlocked, []);
  assert(changes > 100, `${changes}`);
});

Deno.test("a column of an intake has the type that tables give a column of its name", async () => {
  await using bench = await ledgerBench("file");
  const rows = await bench.database.all(
    `select tables.name as "table", columns.name, columns.type from sqlite_master as tables,
        pragma_table_info(tables.name) as columns where tables.type = 'table'`,
  );
  const types = Map.groupBy(rows, ({ name }) => String(name));
  let compared = 0;
  for (const { view, columns } of INTAKES) {
    for (const [column, type] of Object.entries(columns)) {
      // tables of one row have a number as their id; here requests are a list, elsewhere their number
      if (["id", "requests"].includes(column)) continue;
      // what is to be settled is kept for a moment, in columns without types
      const known = (types.get(column) ?? []).filter((one) => one.table !== "settling");
      for (const one of known) {
        assertEquals(String(one.type).toLowerCase(), type, `${view}.${column}, ${one.table}`);
      }
      if (known.length > 0) compared++;
    }
  }
  assert(compared > 50, `${compared}`);
});

Deno.test("triggers are data: their statements are made in one place for each engine", async () => {
  const texts: string[] = [];
  const search = async (folder: URL): Promise<void> => {
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      if (isDirectory) await search(new URL(`${name}/`, folder));
      else if (/create (temp )?trigger/i.test(await Deno.readTextFile(new URL(name, folder)))) {
        texts.push(name);
      }
    }
  };
  await search(new URL("../../../src/", import.meta.url));
  assertEquals(texts.toSorted(), ["definitions.ts", "rule_objects.ts"]);
  assertEquals(statementsOfRules(RULES).length, OBJECTS.length);
});
