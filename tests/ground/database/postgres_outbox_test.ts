/** What is kept while a PostgreSQL is there, and gives no connection. */

import { assertEquals } from "../../assert.ts";
import { postgresEngine } from "../../../src/ground/database/postgres/engine.ts";
import { postgresServer, whyNoPostgres } from "../../fake/postgres.ts";
import { tempDir, until } from "../../fake/temp.ts";
import { ADD } from "../../fake/things.ts";

const why = await whyNoPostgres();
const ignore = why !== undefined;
const skipped = why === undefined ? "" : ` (skipped: ${why})`;

const SET_UP = `create role gateway login;
grant all on schema public to gateway;
set role gateway;
create table things (id text primary key, n bigint check (n <> 13));
create table database_identity (only_row bigint primary key, id text);
insert into database_identity values (1, 'the-database');
`;

/** Ends the connections that it has. */
const END =
  "select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = 'gateway'";
/** Connections that there are learn of it a moment later. */
const RELOAD = "select pg_reload_conf(), pg_sleep(0.2)";
/** How its operator keeps a gateway from connecting, and undoes that. */
const REFUSALS: Readonly<Record<string, readonly [refuse: string, accept: string]>> = {
  "its sign-in is refused": [`alter role gateway nologin;\n${END}`, "alter role gateway login"],
  "there are too many connections": [
    `alter role gateway connection limit 0;\n${END}`,
    "alter role gateway connection limit -1",
  ],
  "its database is closed": [
    `alter database sluice allow_connections false;\n${END}`,
    "alter database sluice allow_connections true",
  ],
  "it takes no writes": [
    `alter system set default_transaction_read_only = on;\n${RELOAD}`,
    `alter system reset default_transaction_read_only;\n${RELOAD}`,
  ],
  "its rights were taken away": [
    "\\c sluice\nrevoke all on things from gateway",
    "\\c sluice\ngrant all on things to gateway",
  ],
  "its tables are being replaced": [
    "\\c sluice\nalter table things rename to things_away",
    "\\c sluice\nalter table things_away rename to things",
  ],
};

// Proves P1.
Deno.test(
  `what is written behind is kept while a PostgreSQL refuses connections, and is there once it does not${skipped}`,
  { ignore },
  async (t) => {
    await using dir = await tempDir();
    await using server = await postgresServer();
    const run = async (script: string) => {
      const { errors, rows } = await server.run(`${script};\n`);
      assertEquals(errors, []);
      return rows;
    };
    await run(`create database sluice`);
    await run(`\\c sluice\n${SET_UP}`);
    const url = server.url.replace("postgres@", "gateway@").replace(/postgres$/, "sluice");
    const database = await postgresEngine(url, { durability: "normal" }).open();
    await using _ = { [Symbol.asyncDispose]: () => database.close() };
    const said: unknown[] = [];
    await database.keepOutbox({
      path: `${dir.path}/gateway.server`,
      gatewayId: "gw",
      writes: [ADD],
      onState() {},
      onFault: (fault) => said.push(fault),
      onRefused: (item) => said.push(item),
    });
    const count = async () => (await database.one("select count(*) as n from things"))?.n;
    let n = 0;
    for (const [name, [refuse, accept]] of Object.entries(REFUSALS)) {
      await t.step(name, async () => {
        await database.writeBehind!(ADD, { id: `${name} straight`, n });
        await run(refuse);
        const before = n;
        await Promise.all(
          Array.from(
            { length: 5 },
            (_, at) => database.writeBehind!(ADD, { id: `${name} ${at}`, n: at }),
          ),
        );
        assertEquals(database.outbox?.kept, 5);
        await run(accept);
        await until(() => database.outbox?.kept === 0, { what: "the end of what was kept" });
        n = before + 6;
        assertEquals(await count(), n);
      });
    }
    assertEquals(said, []);
  },
);
