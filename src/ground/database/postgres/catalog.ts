import { type Database, DatabaseError, type Row } from "../database.ts";
import type { SchemaObject } from "../definitions.ts";

/** Where objects are made to be compared with: never for longer than a transaction. */
const SCRATCH = "sluice_expected";

/**
 * What the present schema has, in the server's own words without the schema's name. A trigger that is switched off is another one, and
 * so is a table whose references are not looked after. What operators may set, such as how a table is vacuumed, is left out.
 */
const OBJECTS = `with here as (
    select oid, quote_ident(nspname) || '.' as prefix from pg_namespace
    where nspname = current_schema()
  ), tables as (
    select pg_class.* from pg_class join here on relnamespace = here.oid
    where relkind in ('r', 'p')
  ), objects as (
    select 'table ' || relname as object, relname as of_table,
      concat_ws(' ', relpersistence, relrowsecurity, (
        select string_agg(
          concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull, attgenerated, attidentity,
            nullif(attcollation, 0)::regcollation, pg_get_expr(adbin, adrelid)),
          ', ' order by attnum
        ) from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
        where attrelid = tables.oid and attnum > 0 and not attisdropped
      ), (
        select string_agg(conname || ' ' || pg_get_constraintdef(oid), ', ' order by conname)
        from pg_constraint where conrelid = tables.oid
      ), (
        select count(*) from pg_trigger
        where tgrelid = tables.oid and tgisinternal and tgenabled <> 'O'
      )) as definition
    from tables
    union all
    select 'index ' || pg_class.relname, tables.relname,
      concat_ws(' ', pg_get_indexdef(indexrelid), indisvalid)
    from pg_index join pg_class on pg_class.oid = indexrelid join tables on tables.oid = indrelid
    union all
    select 'trigger ' || tgname, relation.relname, concat_ws(' ', pg_get_triggerdef(pg_trigger.oid), tgenabled)
    from pg_trigger join pg_class as relation on relation.oid = tgrelid
      join here on here.oid = relation.relnamespace where not tgisinternal
    union all
    select 'trigger ' || rulename, relation.relname, concat_ws(' ', pg_get_ruledef(pg_rewrite.oid), ev_enabled)
    from pg_rewrite join pg_class as relation on relation.oid = ev_class
      join here on here.oid = relation.relnamespace where rulename <> '_RETURN'
    union all
    select 'view ' || relname, relname, pg_get_viewdef(pg_class.oid)
    from pg_class join here on relnamespace = here.oid where relkind = 'v'
    union all
    select 'function ' || proname, '', case
        when prokind = 'a' then (
          select concat_ws(' ', aggtransfn, aggmtransfn, aggminvtransfn, aggcombinefn, agginitval)
          from pg_aggregate where aggfnoid = pg_proc.oid
        )
        else pg_get_functiondef(pg_proc.oid) end
    from pg_proc join here on pronamespace = here.oid
    union all
    select 'collation ' || collname, '',
      concat_ws(' ', collprovider, collisdeterministic, pg_encoding_to_char(collencoding))
    from pg_collation join here on collnamespace = here.oid
  )
  select object, min(of_table) as of_table,
    string_agg(replace(definition, prefix, ''), ' ' order by definition) as definition
  from objects, here group by object order by object`;

/** All columns. */
export const COLUMNS = `select relname as of_table, attname as name,
    coalesce(array_position(indkey::int2[], attnum) + 1, 0) as place
  from pg_class join pg_attribute on attrelid = pg_class.oid
    left join pg_index on indrelid = pg_class.oid and indisprimary
  where relnamespace = current_schema()::regnamespace and relkind = 'r' and attnum > 0 and not attisdropped
  order by relname, attnum`;

const REFERENCES =
  `select conrelid::regclass as of_table, conname as name, pg_get_constraintdef(oid) as definition
  from pg_constraint where contype = 'f' and connamespace = current_schema()::regnamespace`;

/** Takes references away, so that rows need not come after those that they refer to, and has them back. */
export async function withoutReferences(
  database: Database,
): Promise<{ readonly before: string[]; readonly after: string[] }> {
  const found = await database.all(REFERENCES);
  return {
    before: found.map(({ of_table, name }) => `alter table ${of_table} drop constraint ${name}`),
    after: [
      ...found.map(({ of_table, name, definition }) =>
        `alter table ${of_table} add constraint ${name} ${definition}`
      ),
      "analyze", // plans for empty tables take hours for millions of rows
    ],
  };
}

/** The schema in which tables are made, and the one where a table is found: the first of the search path that has it. */
const SCHEMAS = `select current_schema() as here, (
    select nspname from pg_class join pg_namespace on pg_namespace.oid = relnamespace
    where pg_class.oid = to_regclass(?)
  ) as found, current_user as role`;

/**
 * Whether a database has a table.
 *
 * @throws {DatabaseError} If it has, and new ones would be made in another schema: they would hide those that there are, from
 *   gateways that run as well, whose accounts would be gone.
 */
export async function hasTable(database: Database, name: string): Promise<boolean> {
  const { here, found, role } = (await database.one(SCHEMAS, [name]))!;
  if (here === null) {
    throw new DatabaseError(
      "SLUICE_SCHEMA",
      `Cannot use ${database.place} as it has no schema that is in the search path of ${role}: make one, or ` +
        `alter role ${role} set search_path = public`,
    );
  }
  if (found !== null && found !== here) {
    throw new DatabaseError(
      "SLUICE_SCHEMA",
      `Cannot use ${database.place} as its tables are in the schema ${found}, and ${here} comes first in the search path of ` +
        `${role}: drop ${here}, or alter role ${role} set search_path = ${found}`,
    );
  }
  return found === here;
}

/** All objects of a database's schema, those that share a name as one. */
export async function schemaObjects(database: Database): Promise<SchemaObject[]> {
  return (await database.all(OBJECTS)).map(schemaObject);
}

/** The objects that statements make in an empty schema: the database makes them, says what they are, and undoes it. */
export async function objectsMadeBy(
  statements: readonly string[],
  database: Database,
): Promise<SchemaObject[]> {
  const made = [
    `create schema ${SCRATCH}`,
    `select set_config('search_path', '${SCRATCH}', true)`,
    ...statements,
    OBJECTS,
  ];
  const rows = await database.batch(made.map((sql) => ({ sql })), { undone: true });
  return rows.at(-1)!.map(schemaObject);
}

function schemaObject({ object, of_table, definition }: Row): SchemaObject {
  return {
    object: String(object),
    table: String(of_table),
    definition: String(definition),
  };
}
