/** Databases are copied whole between engines, or not at all. */

import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { copyDatabase, type Database, DatabaseError } from "../../../src/ground/database/mod.ts";
import { type Engine } from "../../../src/ground/database/engine.ts";
import { fileEngine } from "../../../src/ground/database/file/engine.ts";
import { postgresEngine } from "../../../src/ground/database/postgres/engine.ts";
import { audit, RULES } from "../../../src/money/ledger/mod.ts";
import {
  type LedgerBench,
  ledgerBench,
  type LedgerKind,
  possible,
  settlePrice,
} from "../../fake/ledger.ts";
import { postgresServer, whyNoPostgres } from "../../fake/postgres.ts";
import { tempDir } from "../../fake/temp.ts";
import { sized } from "../../tier.ts";

const how = { rules: RULES, now: () => 1, tell: () => {} };
const copied = (from: Database, to: Engine) =>
  to.fill!((target) => copyDatabase(from, target, how));

/** Accounts that were invited by those behind them, a team, and more records than one page has. */
async function fill(bench: LedgerBench): Promise<void> {
  const { database } = bench;
  const accounts = [];
  for (let at = 0; at < 120; at++) accounts.push(await bench.account());
  const ids = accounts.map(({ accountId }) => accountId).toSorted();
  await database.batch(
    ids.slice(1).map((id, at) => ({
      sql: "update accounts set invited_by = ? where id = ?",
      args: [id, ids[at]!],
    })),
  );
  await bench.team(ids.slice(0, 2));
  const [{ accountId, keyId }] = accounts as [typeof accounts[0]];
  await bench.grant(accountId, 1_000_000, null, 0, ["a", "ÄÖ \"'\\ \u{1F600}"]);
  await Promise.all(
    Array.from({ length: 230 }, (_, at) =>
      settlePrice(database, {
        requestId: `req_${at}`,
        accountId,
        keyId,
        price: at,
        nowMs: 1_700_000_000_000 + at * 3_600_000,
      })),
  );
}

async function contents(database: Database): Promise<unknown> {
  const tables = ["accounts", "lots", "entries", "usage_records", "usage_hours", "team_members"];
  return await Promise.all([...tables, "database_identity"].map(async (table) => {
    const rows = await database.all(`select * from ${table}`);
    return rows.map((row) => JSON.stringify(row, Object.keys(row).toSorted())).toSorted();
  }));
}

for (
  const kind of possible(sized<readonly LedgerKind[]>(["file"], ["file", "server", "postgres"]))
) {
  Deno.test(`a ${kind} is copied to a file and to PostgreSQL, row by row, with its rules`, async () => {
    await using source = await ledgerBench(kind);
    await using dir = await tempDir();
    await fill(source);
    const before = await contents(source.database);
    const server = kind === "server" || await whyNoPostgres() !== undefined
      ? undefined
      : await postgresServer();
    await using _server = server ?? { async [Symbol.asyncDispose]() {} };
    const engines: Engine[] = [fileEngine(`${dir.path}/copy.db`, { durability: "normal" })];
    if (server !== undefined) {
      engines.push(
        postgresEngine(server.url, { durability: "normal" }),
      );
    }
    for (const engine of engines) {
      const tables = await copied(source.database, engine);
      assertEquals(tables.find(({ table }) => table === "usage_records")?.rows, 230);
      const database = await engine.open();
      try {
        assertEquals(await contents(database), before);
        const { mismatches, records } = await audit(database);
        assertEquals([mismatches, records], [[], 230]);
        const [account] = await database.all("select account_id, key_id from usage_records");
        await settlePrice(database, {
          requestId: "req_after",
          accountId: String(account!.account_id),
          keyId: String(account!.key_id),
          price: 5,
          nowMs: 1_800_000_000_000,
        });
        assertEquals((await audit(database)).mismatches, [], "its rules decide from then on");
      } finally {
        await database.close();
      }
      await assertRejects(() => copied(source.database, engine), DatabaseError);
    }
    assertEquals(await contents(source.database), before);
  });
}

for (const kind of possible(sized<readonly LedgerKind[]>(["file"], ["file", "postgres"]))) {
  Deno.test(`nothing is left in a ${kind} that rows do not arrive in as they were`, async () => {
    await using source = await ledgerBench("file");
    await using dir = await tempDir();
    await fill(source);
    const server = kind === "postgres" ? await postgresServer() : undefined;
    await using _server = server ?? { async [Symbol.asyncDispose]() {} };
    const engine = server === undefined
      ? fileEngine(`${dir.path}/copy.db`, { durability: "normal" })
      : postgresEngine(server.url, { durability: "normal" });
    /** Has a page of records read otherwise than it is, or not at all. */
    const other = (change: (rows: readonly object[]) => readonly object[]): Database =>
      Object.assign(Object.create(source.database), {
        async all(...given: Parameters<Database["all"]>) {
          const rows = await source.database.all(...given);
          return /from usage_records/.test(given[0]) ? change(rows) : rows;
        },
      });
    const refused = async (database: Database, message: RegExp) => {
      const error = await assertRejects(() => copied(database, engine), Error);
      assert(message.test(error.message), error.message);
    };
    await refused(
      other((rows) => rows.map((row) => ({ ...row, account_id: "acc_nobody" }))),
      /violates foreign key|refer to others/,
    );
    await refused(
      other((rows) => rows.map((row) => ({ ...row, request_id: "one" }))),
      /Cannot copy rows of usage_records/,
    );
    await refused(
      other((rows) => rows.length > 1 ? rows.slice(1) : rows),
      /The copy of usage_records is not what was copied: \d+ rows, not 230/,
    );
    const lost = engine.fill!((target) =>
      copyDatabase(source.database, {
        place: target.place,
        dialect: target.dialect,
        waiting: 0,
        all: (...given) => target.all(...given),
        one: (...given) => target.one(...given),
        write: (...given) => target.write(...given),
        close: () => target.close(),
        batch: (statements) =>
          target.batch(statements.map(({ sql, args }) => ({
            sql,
            args: (args ?? []).map((arg) =>
              typeof arg === "string"
                ? arg.replace(/"price_credits":7\b/, '"price_credits":8')
                : arg
            ),
          }))),
      }, how)
    );
    await assertRejects(
      () => lost,
      DatabaseError,
      "The copy of usage_records is not what was copied: 230 rows",
    );
    const tables = await copied(source.database, engine);
    assert(tables.length > 60, "there was nothing in the way");
  });
}

for (const kind of possible(["postgres"] as const)) {
  Deno.test(`the time-outs of a ${kind} for statements of others do not end a copy`, async () => {
    await using server = await postgresServer();
    const names = ["statement_timeout", "idle_in_transaction_session_timeout"];
    for (const name of names) {
      await server.run(`alter database postgres set ${name} = '20s';\n`);
    }
    const read = (database: Database) =>
      database.one(`select ${names.map((name) => `current_setting('${name}') as ${name}`)}`);
    const engine = postgresEngine(server.url, { durability: "normal" });
    const opened = await engine.open();
    assertEquals(Object.values((await read(opened))!), ["20s", "20s"]);
    await opened.close();
    assertEquals(Object.values((await engine.fill!(read))!), ["0", "0"]);
  });
}
