/** What PostgreSQL makes of the SQL that is rendered for it. */

import fc from "fast-check";
import { assertEquals, assertRejects } from "../../assert.ts";
import {
  DatabaseError,
  MIGRATIONS,
  openDatabase,
  type Value,
} from "../../../src/ground/database/mod.ts";
import { POSTGRES_DEFINITIONS } from "../../../src/ground/database/postgres/definitions.ts";
import {
  ask,
  type Client,
  Connections,
} from "../../../src/ground/database/postgres/connections.ts";
import { postgresEngine } from "../../../src/ground/database/postgres/engine.ts";
import { placeOf } from "../../../src/ground/database/postgres/place.ts";
import { HAS_CHANGED, jsonArray, lockRows, render, textAt } from "../../../src/ground/sql/mod.ts";
import { RULES } from "../../../src/money/ledger/mod.ts";
import { postgresServer, whyNoPostgres } from "../../fake/postgres.ts";
import { DEADLINE_MS } from "../../fake/temp.ts";
import { sized } from "../../tier.ts";

const why = await whyNoPostgres();
const ignore = why !== undefined;
const skipped = why === undefined ? "" : ` (skipped: ${why})`;

const script = (statements: readonly string[]) =>
  statements.map((statement) => `${statement};\n`).join("");

Deno.test(
  `PostgreSQL takes the schema, and every statement of every rule${skipped}`,
  { ignore },
  async () => {
    await using server = await postgresServer();
    const objects = RULES.rules.flatMap((rule) => rule.objects);
    const { first, ofSteps, create } = POSTGRES_DEFINITIONS;
    const made = [...first, ...ofSteps(MIGRATIONS), ...objects.flatMap(create)];
    assertEquals((await server.run(script(made))).errors, []);

    // the body of a function is looked at when it runs: each statement is prepared here, with values of the columns' types for its row
    const bodies = objects.flatMap((object) => {
      if (!("trigger" in object)) return [];
      const locks = "locks" in object && object.locks || [];
      return [
        ...locks.map(lockRows),
        ...(object.when === undefined ? [] : [`select (${object.when}) is true`]),
        ...("statements" in object ? object.statements : []),
      ].map((sql) => sql.replace(/\b(?:new|old)\.(\w+)/g, `(select $1 from ${object.on})`));
    });
    const { errors } = await server.run(script(
      bodies.map((sql, at) => `prepare statement_${at} as ${render(sql, "postgres")}`),
    ));
    assertEquals(errors, []);
    const { rows } = await server.run(
      "select count(*) from information_schema.columns where data_type = 'integer' and table_schema = 'public';\n",
    );
    assertEquals(rows, ["0"], "columns of 32 bits");
  },
);

Deno.test(`a database that orders texts as a language does is not used${skipped}`, {
  ignore,
}, async () => {
  await using server = await postgresServer();
  const from = "create database other template template0 encoding";
  for (
    const other of ["'UTF8' locale_provider icu icu_locale 'en' locale 'C'", "'LATIN1' locale 'C'"]
  ) {
    assertEquals((await server.run(`${from} ${other};\n`)).errors, []);
    const url = server.url.replace(/postgres$/, "other");
    const error = await assertRejects(
      () => postgresEngine(url, { durability: "normal" }).open(),
      DatabaseError,
      "encoding 'UTF8' locale 'C'",
    );
    assertEquals(error.code, "SLUICE_ORDER");
    await server.run("drop database other;\n");
  }
});

Deno.test(`a PostgreSQL that does not wait for its disk is not taken for one that does${skipped}`, {
  ignore,
}, async () => {
  const open = async (url: string, durability: "full" | "normal") => {
    const database = await postgresEngine(url, { durability }).open();
    await database.close();
  };
  const refused = async (url: string, off: string) => {
    const error = await assertRejects(() => open(url, "full"), DatabaseError, `(off: ${off})`);
    assertEquals([error.code, error.isPassing], ["SLUICE_NOT_DURABLE", false]);
    await open(url, "normal");
  };
  const forgetful = `alter database postgres set synchronous_commit = off;\n`;
  {
    await using server = await postgresServer();
    await refused(server.url, "fsync");
    await server.run(forgetful);
    await refused(server.url, "fsync, synchronous_commit");
  }
  await using server = await postgresServer({ durable: true });
  await open(server.url, "full");
  await server.run(forgetful);
  await refused(server.url, "synchronous_commit");
});

Deno.test(`texts are read as they were written, whatever is in them${skipped}`, {
  ignore,
}, async () => {
  await using server = await postgresServer();
  const database = await postgresEngine(server.url, { durability: "normal" }).open();
  await using _ = { [Symbol.asyncDispose]: () => database.close() };
  const taken = `select ?1 as whole, ${textAt("?2", 0)} as taken, ?3 as json,
    ${jsonArray("?1", textAt("?2", 0))} as made, ?1 = ${textAt("?2", 0)} as is_same`;
  const halves = ["\ud83d", "\ude00", "\\ud83d", "\\uDE00"];
  const unit = fc.constantFrom(
    ...'a0u1\\"\0\ufdd0é',
    "\\u0000",
    "\\ufdd0",
    "😀",
    "{}",
    "[",
    ...halves,
  );
  // half a surrogate pair is no character, which JSON escapes
  const whole = (json: string) =>
    json.replace(/\\\\|\\ud[89a-f]../g, (found) => found === "\\\\" ? found : "\ufffd");
  const texts = fc.string({ unit, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(texts, fc.object({ key: texts, values: [texts] }), async (text, object) => {
      const json = JSON.stringify({ text, object });
      assertEquals(await database.one(taken, [text, JSON.stringify([text]), json]), {
        whole: text.toWellFormed(),
        taken: text.toWellFormed(),
        json: whole(json),
        made: whole(JSON.stringify([text, text])).replace(",", ", "),
        is_same: 1,
      });
    }),
    { numRuns: sized(200, 2_000) },
  );
});

Deno.test(
  `what was prepared before a table was altered is prepared again, on each connection${skipped}`,
  {
    ignore,
  },
  async () => {
    await using server = await postgresServer();
    const database = await postgresEngine(server.url, { durability: "normal" }).open();
    await using _ = { [Symbol.asyncDispose]: () => database.close() };
    await database.batch([{ sql: "create table numbers (id bigint)" }]);
    const insert = { sql: "insert into numbers values (?) returning *", args: [1] };
    const read = () =>
      Promise.all(Array.from({ length: 20 }, () => database.all("select * from numbers")));
    await database.batch([insert]);
    await read();
    await Promise.all(Array.from({ length: 20 }, () => database.batch([insert])));
    await database.batch([{ sql: "alter table numbers add column n bigint default 2" }]);
    assertEquals(await database.batch([insert]), [[{ id: 1, n: 2 }]]);
    for (const rows of await read()) assertEquals([rows.length, rows[0]], [22, { id: 1, n: 2 }]);
  },
);

Deno.test(`a ledger is not hidden by an empty one in a schema that comes first${skipped}`, {
  ignore,
}, async () => {
  await using server = await postgresServer();
  const run = async (script: string) => assertEquals((await server.run(`${script};\n`)).errors, []);
  await run("create role gw login;\ncreate database gw owner gw");
  const url = server.url.replace("postgres@", "gw@").replace(/postgres$/, "gw");
  const open = () =>
    openDatabase({
      file: undefined,
      server: { url, token: undefined },
      durability: "normal",
      rules: RULES,
      now: () => 1,
    });
  const refused = async (says: string) => {
    const { code } = await assertRejects(open, DatabaseError, says);
    assertEquals(code, "SLUICE_SCHEMA");
  };
  const first = await open();
  await using _ = { [Symbol.asyncDispose]: () => first.close() };
  await first.batch([{ sql: "insert into probes (id, number) values (1, 7)" }]);
  // the path of each role begins with a schema of its own name
  await run("\\c gw\ncreate schema gw authorization gw");
  await refused("its tables are in the schema public, and gw comes first in the search path of gw");
  assertEquals(await first.all("select number from probes"), [{ number: 7 }]);
  await run("alter role gw set search_path = nowhere");
  await refused("no schema that is in the search path of gw");
  await run("alter role gw set search_path = public");
  await (await open()).close();
});

Deno.test(`what a pooler drops from all connections is prepared again${skipped}`, {
  ignore,
}, async () => {
  await using server = await postgresServer();
  const database = await postgresEngine(server.url, { durability: "normal" }).open();
  await using _ = { [Symbol.asyncDispose]: () => database.close() };
  await database.batch([{ sql: "create table numbers (id bigint)" }]);
  const everywhere = (sql: string) =>
    Promise.all(Array.from({ length: 20 }, () => database.all(sql)));
  const write = () =>
    database.batch([
      { sql: "insert into numbers values (?)", args: [1] },
      { sql: `select 1 as told where ${HAS_CHANGED}` },
    ]);
  assertEquals(await database.batch([{ sql: "-- nothing" }, { sql: "select 1 as n" }]), [[], [{
    n: 1,
  }]]);
  await everywhere("select pg_sleep(0.01)");
  assertEquals(await write(), [[], [{ told: 1 }]]);
  for (const drop of ["deallocate all", "discard all"]) {
    await everywhere(drop);
    await everywhere("select pg_sleep(0.01)");
    assertEquals(await write(), [[], [{ told: 1 }]]);
  }
  assertEquals(await database.all("select count(*) as n from numbers"), [{ n: 3 }]);
});

/** What a gateway knows of statements, which each has for itself. */
async function anotherGateway(name: string) {
  const load = (file: string) =>
    import(new URL(`../../../src/ground/database/postgres/${file}?${name}`, import.meta.url).href);
  const [{ prepared }, { Pipeline }] = await Promise.all([
    load("statement.ts") as Promise<
      typeof import("../../../src/ground/database/postgres/statement.ts")
    >,
    load("pipeline.ts") as Promise<
      typeof import("../../../src/ground/database/postgres/pipeline.ts")
    >,
  ]);
  return async (client: Client, sql: string, args: readonly Value[]) => {
    const pipeline = new Pipeline([prepared(sql, args)]);
    client.query(pipeline);
    return (await pipeline.rows)[0];
  };
}

Deno.test(
  `of gateways whose connection is one at the server, none gets what another has prepared${skipped}`,
  {
    ignore,
  },
  async () => {
    await using server = await postgresServer();
    const place = placeOf(server.url);
    const connections = new Connections(place, { patienceMs: DEADLINE_MS, durable: false });
    await using _ = { [Symbol.asyncDispose]: () => connections.close() };
    const [one, other] = [await anotherGateway("one"), await anotherGateway("other")];
    const balance = "select n as balance from balances where account = ?";
    const charge = "update balances set n = n - 60 where account = ? returning n";
    await connections.use(async (client) => {
      await ask(client, [{ text: "create table balances (account text, n bigint)" }]);
      await ask(client, [{ text: "insert into balances values ('acc_1', 100)" }]);
      assertEquals(await one(client, balance, ["acc_1"]), [{ balance: 100 }]);
      assertEquals(await other(client, charge, ["acc_1"]), [{ n: 40 }]);
      assertEquals(await one(client, balance, ["acc_1"]), [{ balance: 40 }]);
    });
  },
);

Deno.test(
  `statements that are committed together are done in their order, all or none, and each has its own rows${skipped}`,
  { ignore },
  async () => {
    await using server = await postgresServer();
    const database = await postgresEngine(server.url, { durability: "normal" }).open();
    await using _ = { [Symbol.asyncDispose]: () => database.close() };
    await database.batch([
      { sql: "create table numbers (id bigint primary key, twice bigint)" },
      { sql: "create table notes (note text)" },
    ]);
    const id = fc.integer({ min: 0, max: 9 });
    // texts that are prepared for the first time may be refused then
    const text = fc.integer({ min: 0, max: 20 });
    const write = fc.oneof(
      fc.record({ kind: fc.constant("add" as const), id, text }),
      fc.record({ kind: fc.constant("remove" as const), id, text: fc.constant(0) }),
    );
    const step = fc.oneof(
      write.map((one) => [one]),
      // one that asks what the one before it has changed
      write.map((one) => [one, { kind: "note" as const, id: one.id, text: 0 }]),
      fc.constant([{ kind: "read" as const, id: 0, text: 0 }]),
    );
    const sqlOf = {
      add: "insert into numbers values (?1, 2 * ?1) returning twice",
      remove: "delete from numbers where id = ? returning id, twice",
      note: `insert into notes select ? || '' where ${HAS_CHANGED} returning note`,
      read: "select json_agg(id order by id)::text as ids from numbers",
    };
    let numbers: readonly number[] = [];
    let notes: readonly string[] = [];
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 5 }), async (steps) => {
        const statements = steps.flat();
        let [now, noted] = [numbers, notes];
        let changed = false;
        let isRefused = false;
        const expected = statements.map(({ kind, id }) => {
          const has = now.includes(id);
          isRefused ||= kind === "add" && has;
          if (kind === "read") {
            return [{ ids: now.length === 0 ? null : `[${now.toSorted().join(", ")}]` }];
          }
          if (kind === "note") {
            if (changed) noted = [...noted, `${id}`];
            return changed ? [{ note: `${id}` }] : [];
          }
          changed = kind === "add" || has;
          now = kind === "add" ? [...now, id] : now.filter((one) => one !== id);
          if (kind === "add") return [{ twice: 2 * id }];
          return has ? [{ id, twice: 2 * id }] : [];
        });
        const done = database.batch(
          statements.map(({ kind, id, text }) => ({
            sql: `${sqlOf[kind]} -- ${text}`,
            args: kind === "read" ? [] : [id],
          })),
        );
        if (isRefused) {
          const { kind } = await assertRejects(() => done, DatabaseError);
          assertEquals(kind, "duplicate");
        } else {
          assertEquals(await done, expected);
          [numbers, notes] = [now, noted];
        }
        const left = await database.one(
          "select (select count(*) from numbers) as numbers, (select count(*) from notes) as notes",
        );
        assertEquals(left, { numbers: numbers.length, notes: notes.length });
      }),
      { numRuns: sized(300, 3_000) },
    );
  },
);
