/** Databases are copied whole between engines, or not at all. */

import { assert, assertEquals, assertRejects } from "../../assert.ts";
import {
  copyDatabase,
  type Database,
  DatabaseError,
  openDatabase,
  type ServerDatabase,
} from "../../../src/ground/database/mod.ts";
import { type Engine } from "../../../src/ground/database/engine.ts";
import { fileEngine } from "../../../src/ground/database/file/engine.ts";
import { postgresEngine } from "../../../src/ground/database/postgres/engine.ts";
import { serverEngine } from "../../../src/ground/database/server/engine.ts";
import { audit, RULES } from "../../../src/money/ledger/mod.ts";
import {
  type LedgerBench,
  ledgerBench,
  type LedgerKind,
  possible,
  settlePrice,
} from "../../fake/ledger.ts";
import { postgresServer, whyNoPostgres } from "../../fake/postgres.ts";
import { canRunSqld, sqldServer } from "../../fake/sqld.ts";
import { tempDir } from "../../fake/temp.ts";
import { isProof, sized } from "../../tier.ts";

const how = { rules: RULES, now: () => 1, tell: () => {} };
const libsqlEngine = (url: string) =>
  serverEngine({ url, token: undefined }, { durability: "normal" });
const copied = (from: Database, to: Engine) => to.fill((target) => copyDatabase(from, target, how));

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
  Deno.test(`a ${kind} is copied to another engine, row by row, with its rules`, async () => {
    await using source = await ledgerBench(kind);
    await using dir = await tempDir();
    await fill(source);
    const before = await contents(source.database);
    const server = kind === "server" || await whyNoPostgres() !== undefined
      ? undefined
      : await postgresServer();
    await using _server = server ?? { async [Symbol.asyncDispose]() {} };
    const engines: Engine[] = [fileEngine(`${dir.path}/copy.db`, { durability: "normal" })];
    const sqld = isProof && await canRunSqld()
      ? await sqldServer(`${dir.path}/sqld`, { durable: false })
      : undefined;
    await using _sqld = sqld ?? { async [Symbol.asyncDispose]() {} };
    if (sqld !== undefined) engines.push(libsqlEngine(sqld.url));
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

const onServer = await canRunSqld() ? ["server" as const] : [];
for (
  const kind of possible(sized<readonly LedgerKind[]>(["file"], ["file", ...onServer, "postgres"]))
) {
  Deno.test(`nothing is left in a ${kind} that rows do not arrive in as they were`, async () => {
    await using source = await ledgerBench("file");
    await using dir = await tempDir();
    await fill(source);
    const server = kind === "postgres" ? await postgresServer() : undefined;
    await using _server = server ?? { async [Symbol.asyncDispose]() {} };
    const sqld = kind === "server"
      ? await sqldServer(`${dir.path}/sqld`, { durable: false })
      : undefined;
    await using _sqld = sqld ?? { async [Symbol.asyncDispose]() {} };
    const engine = server !== undefined
      ? postgresEngine(server.url, { durability: "normal" })
      : sqld !== undefined
      ? libsqlEngine(sqld.url)
      : fileEngine(`${dir.path}/copy.db`, { durability: "normal" });
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
      /foreign key|refer to others/i,
    );
    await refused(
      other((rows) => rows.map((row) => ({ ...row, request_id: "one" }))),
      /Cannot copy rows of usage_records/,
    );
    await refused(
      other((rows) => rows.length > 1 ? rows.slice(1) : rows),
      /The copy of usage_records is not what was copied: \d+ rows, not 230/,
    );
    const lost = engine.fill((target) =>
      copyDatabase(source.database, {
        place: target.place,
        dialect: target.dialect,
        isUnfinished: target.isUnfinished,
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

for (const kind of onServer) {
  Deno.test(`a ${kind} that is being copied to is used by nobody, and what was interrupted is copied again`, async () => {
    await using source = await ledgerBench("file");
    await using dir = await tempDir();
    await fill(source);
    await using sqld = await sqldServer(dir.path, { durable: false });
    const engine = libsqlEngine(sqld.url);
    const use = () =>
      openDatabase({
        file: undefined,
        server: { url: sqld.url, token: undefined },
        rules: RULES,
        durability: "normal",
        now: () => 1,
      });
    const interrupted = await engine.open() as ServerDatabase;
    interrupted.isUnfinished = true;
    await assertRejects(
      () =>
        copyDatabase(source.database, interrupted, {
          ...how,
          tell: () => {
            throw new Error("killed");
          },
        }),
      Error,
      "killed",
    );
    await interrupted.close();
    await assertRejects(use, DatabaseError, "it is being copied to, or that was interrupted");
    await copied(source.database, engine);
    const database = await use();
    assertEquals(await contents(database), await contents(source.database));
    assertEquals((await audit(database)).mismatches, []);
    await database.close();
  });

  Deno.test(`tables of others in a ${kind} are left alone`, async () => {
    await using source = await ledgerBench("file");
    await using dir = await tempDir();
    await using sqld = await sqldServer(dir.path, { durable: false });
    const engine = libsqlEngine(sqld.url);
    const others = await engine.open();
    await others.batch([
      { sql: "create table accounts (id text)" },
      { sql: "insert into accounts values ('theirs')" },
    ]);
    await assertRejects(
      () => copied(source.database, engine),
      DatabaseError,
      "it has the table accounts of another program",
    );
    assertEquals(await others.all("select id from accounts"), [{ id: "theirs" }]);
    await others.close();
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
    assertEquals(Object.values((await engine.fill(read))!), ["0", "0"]);
  });
}
