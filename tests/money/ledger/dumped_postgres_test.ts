/**
 * A schema that went through `pg_dump` and `pg_restore`, or `pg_upgrade`, is the one that the audit expects. What PostgreSQL reads is the
 * text that it made of a definition, and some definitions have another text after that: the audit would take them for a change.
 */

import { placeOf } from "../../../src/ground/database/postgres/place.ts";
import { PostgresTransport } from "../../../src/ground/database/postgres/transport.ts";
import { assert, assertEquals } from "../../assert.ts";
import { postgresDatabase, whyNoPostgres } from "../../fake/postgres.ts";
import { DEADLINE_MS } from "../../fake/temp.ts";

const why = await whyNoPostgres();
const ignore = why !== undefined;
const skipped = why === undefined ? "" : ` (skipped: ${why})`;

/** Each definition in the server's words, and what makes it again from them. */
const DEFINITIONS = `select 'view ' || relname as name, pg_get_viewdef(oid) as text,
    'create or replace view ' || oid::regclass || ' as ' || pg_get_viewdef(oid) as remake
  from pg_class where relkind = 'v' and relnamespace = 'public'::regnamespace
  union all
  select 'trigger ' || tgname, pg_get_triggerdef(oid),
    'drop trigger ' || quote_ident(tgname) || ' on ' || tgrelid::regclass || '; ' || pg_get_triggerdef(oid)
  from pg_trigger where not tgisinternal
  union all
  select 'check ' || conname, pg_get_constraintdef(oid),
    'alter table ' || conrelid::regclass || ' drop constraint ' || quote_ident(conname)
      || ', add constraint ' || quote_ident(conname) || ' ' || pg_get_constraintdef(oid)
  from pg_constraint where contype = 'c' and connamespace = 'public'::regnamespace
  union all
  select 'index ' || indexrelid::regclass, pg_get_indexdef(indexrelid),
    'drop index ' || indexrelid::regclass || '; ' || pg_get_indexdef(indexrelid)
  from pg_index join pg_class on pg_class.oid = indexrelid
  where relnamespace = 'public'::regnamespace
    and not exists (select 1 from pg_constraint where conindid = indexrelid)
  order by 1`;

Deno.test(`PostgreSQL has the same words for definitions that it read in its own${skipped}`, {
  ignore,
}, async () => {
  await using database = await postgresDatabase();
  const server = await PostgresTransport.connect(placeOf(database.url), { durable: false });
  try {
    const made = await server.read(DEFINITIONS, [], DEADLINE_MS);
    assert(made.length > 100, `${made.length} definitions`);
    for (const { remake } of made) {
      for (const sql of `${remake}`.split(/; (?=create )/i)) await server.commit([{ sql }]);
    }
    const read = await server.read(DEFINITIONS, [], DEADLINE_MS);
    const textOf = new Map(read.map(({ name, text }) => [name, text]));
    const changed = made.filter(({ name, text }) => textOf.get(name!) !== text);
    assertEquals(changed.map(({ name }) => name), []);
  } finally {
    await server.close();
  }
});
