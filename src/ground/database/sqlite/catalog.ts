import type { Database, Row } from "../database.ts";
import type { SchemaObject } from "../definitions.ts";

/** Internal objects of SQLite and of libSQL servers are left out. */
const OBJECTS = `select type || ' ' || name as object, sql, tbl_name from sqlite_master
  where sql is not null and name not like 'sqlite\\_%' escape '\\'
    and name not like 'libsql\\_%' escape '\\' and name <> 'schema_versions' order by 1`;

export const COLUMNS = `select made.name as of_table, "column".name, pk as place
  from sqlite_master as made join pragma_table_info(made.name) as "column"
  where made.type = 'table' and made.name not like 'sqlite\\_%' escape '\\'
    and made.name not like 'libsql\\_%' escape '\\' order by made.name, cid`;

export const REFERENCES =
  `select made.name as of_table, reference."from" as "column", reference."table" as parent
  from sqlite_master as made join pragma_foreign_key_list(made.name) as reference
  where made.type = 'table' order by 1, 2`;

/** All objects of a database, but for the list of its migrations. */
export async function schemaObjects(database: Database): Promise<SchemaObject[]> {
  return (await database.all(OBJECTS)).map(schemaObject);
}

/** The objects that statements make in an empty database. */
export async function objectsMadeBy(statements: readonly string[]): Promise<SchemaObject[]> {
  const { connectInMemory } = await import("./driver.ts"); // not all commands need the library
  const connection = connectInMemory();
  try {
    for (const statement of statements) connection.exec(statement);
    return connection.prepare(OBJECTS).all([]).map(schemaObject);
  } finally {
    connection.close();
  }
}

/** Whether a database has a table. */
export async function hasTable(database: Database, name: string): Promise<boolean> {
  const row = await database.one(
    "select count(*) as n from sqlite_master where type = 'table' and name = ?",
    [name],
  );
  return row?.n === 1;
}

function schemaObject({ object, tbl_name, sql }: Row): SchemaObject {
  return {
    object: String(object),
    table: String(tbl_name),
    definition: normalized(String(sql)),
  };
}

/** A text, a quoted name, a comment, white space, a word, or any one other character. */
const TOKEN = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[^]*?\*\/|\s+|[\w.]+|[^]/g;

/** A statement without comments, its tokens a space apart: SQLite keeps it as it was written, and columns as they were added. */
function normalized(sql: string): string {
  return sql.match(TOKEN)!.filter((token) => !/^(\s|--|\/\*)/.test(token)).join(" ");
}
