/** The audit of a PostgreSQL names the corruptions of rows that the audit of a file names. */

import { copyDatabase, DatabaseError, ServerDatabase } from "../../../src/ground/database/mod.ts";
import { fileEngine } from "../../../src/ground/database/file/engine.ts";
import { postgresEngine } from "../../../src/ground/database/postgres/engine.ts";
import { placeOf } from "../../../src/ground/database/postgres/place.ts";
import { PostgresTransport } from "../../../src/ground/database/postgres/transport.ts";
import type { Transport } from "../../../src/ground/database/server/transport.ts";
import { audit, RULES } from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { possible } from "../../fake/ledger.ts";
import { postgresServer } from "../../fake/postgres.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { tempDir } from "../../fake/temp.ts";
import { sampled } from "../../tier.ts";
import {
  type Corruption,
  generatedCorruptions,
  isNamed,
  NAMED_CORRUPTIONS,
  writeHistory,
} from "./corruptions.ts";

/** Functions that corruptions use and only SQLite has. */
const FUNCTIONS = [
  ...["bigint", "text"].map((type) =>
    `create function iif(boolean, ${type}, ${type}) returns ${type} language sql
      as 'select case when $1 then $2 else $3 end'`
  ),
  `create function json_set(text, text, text) returns text language sql
    as 'select jsonb_set($1::jsonb, array[substr($2, 3)], to_jsonb($3))::text'`,
];

/** What would refuse corruptions of single columns, and is off in the file, too. */
const WITHOUT_CHECKS = `do $$ declare one record; begin
  for one in select conrelid::regclass as "table", conname from pg_constraint
    where contype in ('c', 'f') and connamespace = 'public'::regnamespace and conrelid <> 0 loop
    execute format('alter table %s drop constraint %I', one."table", one.conname);
  end loop; end $$`;

/** Corruptions of which there are none here, by their name: what PostgreSQL says of them. */
const REFUSED: readonly (readonly [RegExp, code: string])[] = [
  [/ changed$/, "23505"], // a row takes no other's place
  [/^a phantom row of settling$/, "22P02"], // a column of numbers takes no text
];

/** A copy of the history on a PostgreSQL, without checks. */
async function historyOn(url: string, file: string): Promise<PostgresTransport> {
  const source = await fileEngine(file, { durability: "normal" }).open();
  await postgresEngine(url, { durability: "normal" }).fill((target) =>
    copyDatabase(source, target, { rules: RULES, now: () => 1, tell: () => {} })
  );
  await source.close();
  const transport = await PostgresTransport.connect(placeOf(url), { durable: false });
  for (const sql of [WITHOUT_CHECKS, ...FUNCTIONS]) await transport.commit([{ sql }]);
  return transport;
}

/** A transaction within which others are made, and undone. */
function withSavepoints(inside: Transport): Transport {
  return {
    ...inside,
    async commit(statements) {
      await inside.read("savepoint made_within", []);
      try {
        return await inside.commit(statements);
      } finally {
        await inside.read("rollback to savepoint made_within", []);
      }
    },
  };
}

/** What is done in a transaction, which is undone. */
async function undone<T>(
  transport: PostgresTransport,
  act: (inside: Transport) => Promise<T>,
): Promise<T> {
  const done: T[] = [];
  try {
    await transport.transaction(async (inside) => {
      done.push(await act(inside));
      throw new Error("undone");
    });
  } catch (error) {
    if (done.length === 0) throw error;
  }
  return done[0]!;
}

/** What the audit misses of a corruption, which is undone. */
async function missedOf(transport: PostgresTransport, one: Corruption): Promise<string[]> {
  try {
    return await undone(transport, async (inside) => {
      const database = new ServerDatabase(withSavepoints(inside), { durable: false });
      const [id] = one.id === undefined ? [] : Object.values((await database.one(one.id))!);
      if (!one.triggers) await inside.read("set local session_replication_role = replica", []);
      for (const sql of one.sql) await inside.read(sql.replace("update or replace", "update"), []);
      const { mismatches } = await audit(database);
      if (isNamed(mismatches, one, id === undefined ? id : String(id))) return [];
      const others = mismatches.filter(({ noun }) => noun !== "schema");
      return [`${one.name}: ${JSON.stringify(others.slice(0, 6))}`];
    });
  } catch (error) {
    const said = error instanceof DatabaseError ? error.code : "";
    const isRefused = REFUSED.some(([names, code]) => names.test(one.name) && code === said);
    return isRefused ? [] : [`${one.name}: ${error}`];
  }
}

for (const kind of possible(["postgres"])) {
  Deno.test(`the audit of a ${kind} names corruptions, generated or thought of`, async () => {
    const seed = testSeed();
    await using server = await postgresServer();
    await using dir = await tempDir();
    const file = `${dir.path}/history.db`;
    await writeHistory(file);
    const transport = await historyOn(server.url, file);
    const all = [...NAMED_CORRUPTIONS, ...generatedCorruptions(file)];
    const ofRows = all.filter(({ noun }) => noun !== "schema");
    assert(ofRows.length > 250);
    const missed: string[] = [];
    for (const one of sampled(ofRows, new Random(seed), 40)) {
      missed.push(...await missedOf(transport, one));
    }
    await transport.close();
    assertEquals(missed, [], `SLUICE_TEST_SEED=${seed}`);
  });
}
