/** Tables have owners: SQL on a table is written in the folder that owns it, and nowhere else. */

import ts from "typescript";
import { TABLES as ACCOUNTS } from "../src/people/accounts/tables.ts";
import { TABLES as ALERTS } from "../src/operating/alerts/tables.ts";
import { TABLES as DATABASE } from "../src/ground/database/tables.ts";
import { TABLES as KEPT_ITEMS } from "../src/wire/kept_items/tables.ts";
import { TABLES as LEDGER } from "../src/money/ledger/tables.ts";
import { TABLES as PAYMENTS } from "../src/money/payments/tables.ts";
import { TABLES as OPERATION_LOG } from "../src/people/operation_log/tables.ts";
import { TABLES as SCIM } from "../src/people/scim/tables.ts";
import { TABLES as SIGN_IN } from "../src/people/sign_in/tables.ts";
import { TABLES as SEALING } from "../src/wire/sealing/tables.ts";
import { TABLES as USAGE } from "../src/money/usage/tables.ts";
import { assert, assertEquals } from "./assert.ts";
import { ledgerBench } from "./fake/ledger.ts";

const OWNED = {
  accounts: ACCOUNTS,
  alerts: ALERTS,
  database: DATABASE,
  kept_items: KEPT_ITEMS,
  ledger: LEDGER,
  payments: PAYMENTS,
  operation_log: OPERATION_LOG,
  sealing: SEALING,
  scim: SCIM,
  sign_in: SIGN_IN,
  usage: USAGE,
} as const;

/** Files whose SQL goes across owners, and why. */
const ACROSS: Readonly<Record<string, string>> = {
  "money/ledger/rules/": "keep the tables of several nouns in step, in one transaction",
  "money/ledger/audit/": "compares tables with each other",
  "money/ledger/audit.ts": "compares tables with each other",
  "ground/database/migrations/": "make and change every table",
};

/** Files that put the name of a table of their own into a statement. */
const COMPOSED: Readonly<Record<string, string>> = {
  "money/ledger/account_status.ts": "reads windows of keys and of accounts alike",
  "operating/importers/new_api/source_database.ts": "reads another program's database",
  "people/sign_in/single_uses.ts": "keeps visits to providers and challenges to passkeys alike",
  "ground/database/copy_rows.ts": "copies every table",
  "ground/database/postgres/definitions.ts": "inserts what is copied",
  "ground/database/sqlite/definitions.ts": "inserts what is copied",
  "ground/sql/functions.ts": "locks rows of the table that is named",
  "money/ledger/change_locked.ts": "changes holds or loans",
  "money/ledger/feed.ts": "inserts into the view of any intake",
};

const SRC = new URL("../src/", import.meta.url);
const OWNER_OF = new Map<string, string>(
  Object.entries(OWNED).flatMap(([folder, tables]) => tables.map((table) => [table, folder])),
);

/** What stands for an expression in a template. */
const HOLE = "\u0000";

/** What an expression in a template stands for: the table of a hint, rows of no table, or who knows. */
function standIn(expression: ts.Expression): string {
  if (!ts.isCallExpression(expression)) return HOLE;
  const called = expression.expression.getText();
  const [first] = expression.arguments;
  if (/^(?:elements|integers|members)Of$/.test(called)) return "json";
  const isTable = /^(?:byIndex|wholeTable)$/.test(called) && first !== undefined;
  return isTable && ts.isStringLiteralLike(first) ? first.text : HOLE;
}

/** The texts of a source file: strings, and templates with a hole for each expression. */
function textsOf(file: string, source: string): string[] {
  const texts: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node)) texts.push(node.text);
    else if (ts.isTemplateExpression(node)) {
      texts.push(
        node.head.text +
          node.templateSpans.map(({ expression, literal }) => standIn(expression) + literal.text)
            .join(""),
      );
    }
    ts.forEachChild(node, visit);
  };
  const kind = file.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
  visit(ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true, kind));
  return texts;
}

/** The tables that a text reads or writes if it is SQL; a hole for one that an expression names. */
function tablesIn(text: string): string[] {
  const tables: string[] = [];
  const place = new RegExp(
    `\\b(?:from|join|into|update|on|table|index)\\s+(${HOLE}|[a-z_]+${HOLE}?)`,
    "gi",
  );
  for (const [, table] of text.matchAll(place)) tables.push(table!);
  // from a, b
  for (const [, list] of text.matchAll(/\bfrom\s+([a-z_]+(?:\s*,\s*[a-z_]+)+)/gi)) {
    tables.push(...list!.split(/\s*,\s*/));
  }
  return tables;
}

const IS_SQL = /\b(select|insert into|update|delete from|exists|join|from)\b/i;
/** A hole is looked at only where there is no doubt that the text is a statement. */
const IS_STATEMENT = /^\s*(\(?select|insert|update|delete|with|create|drop|alter)\b/i;

/** What a sentence that begins with such a word lacks. */
const IS_SQL_CLAUSE = new RegExp(
  `\\b(?:from|into|set|where|table|index|trigger|view)\\s+[a-z_${HOLE}]|^\\s*select\\s+[\\d${HOLE}]`,
);

function faultsOf(file: string, source: string): string[] {
  const [, folder] = file.split("/");
  const faults = new Set<string>();
  for (const text of textsOf(file, source)) {
    if (!IS_SQL.test(text)) continue;
    for (const table of tablesIn(text)) {
      const owner = OWNER_OF.get(table);
      if (owner !== undefined && owner !== folder) {
        faults.add(`${file} uses ${table}, which ${owner}/ owns`);
      }
      if (table.includes(HOLE) && IS_STATEMENT.test(text)) {
        faults.add(`${file} names a table by an expression`);
      }
    }
  }
  return [...faults];
}

/** Whether a file may do so. */
function isExempt(file: string): boolean {
  return [...Object.keys(ACROSS), ...Object.keys(COMPOSED)].some((one) => file.startsWith(one));
}

async function* files(folder = ""): AsyncGenerator<string> {
  for await (const entry of Deno.readDir(new URL(folder, SRC))) {
    if (entry.isDirectory) yield* files(`${folder}${entry.name}/`);
    else if (/\.tsx?$/.test(entry.name)) yield `${folder}${entry.name}`;
  }
}

Deno.test("SQL on a table is written in the folder that owns it", async () => {
  const faults: string[] = [];
  for await (const file of files()) {
    if (!isExempt(file)) {
      faults.push(...faultsOf(file, await Deno.readTextFile(new URL(file, SRC))));
    }
  }
  assertEquals(faults, []);
});

/** Rooms without tables that ask the database something, and what. */
const ASKING: Readonly<Record<string, string>> = {
  "ground/row.ts": "for the values of a row, to add it to the table that its caller names",
  "ground/sql": "for the elements of a JSON text",
  "operating/operations": "whether a condition holds, which the owner of its tables made",
};

Deno.test("SQL is written only in rooms that own tables (P7)", async () => {
  const owners = new Set(Object.keys(OWNED));
  const faults: string[] = [];
  const unused = new Set(Object.keys(ASKING));
  for await (const file of files()) {
    const [wing, room] = file.split("/");
    if (owners.has(room!) || isExempt(file)) continue;
    const texts = textsOf(file, await Deno.readTextFile(new URL(file, SRC)));
    const sql = texts.filter((text) => IS_STATEMENT.test(text) && IS_SQL_CLAUSE.test(text));
    if (sql.length > 0 && !unused.delete(`${wing}/${room}`) && !(`${wing}/${room}` in ASKING)) {
      faults.push(`${file}: ${sql[0]!.trim().slice(0, 60)}`);
    }
  }
  assertEquals(faults, []);
  assertEquals([...unused], [], "rows that nothing needs any more");
});

Deno.test("what is exempt needs to be", async () => {
  const faults: string[] = [];
  for await (const file of files()) {
    if (isExempt(file)) faults.push(...faultsOf(file, await Deno.readTextFile(new URL(file, SRC))));
  }
  for (const [exempt] of [...Object.entries(ACROSS), ...Object.entries(COMPOSED)]) {
    assert(faults.some((fault) => fault.startsWith(exempt)), exempt);
  }
  // an owner's own tables are its own there as well
  const composed = faults.filter((fault) => COMPOSED[fault.split(" ")[0]!] !== undefined);
  assert(composed.every((fault) => fault.endsWith("by an expression")), composed.join(", "));
});

Deno.test("each table and view has one owner", async () => {
  await using bench = await ledgerBench("file");
  const rows = await bench.database.all(
    "select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite\\_%' escape '\\'",
  );
  const owned = Object.values<readonly string[]>(OWNED).flatMap((tables) => [...tables]);
  assertEquals(rows.map(({ name }) => String(name)).toSorted(), owned.toSorted());
});

for (
  const [what, sql] of Object.entries({
    "a read": '"select id from lots where id = ?"',
    "a join": "`select 1 from x left join entries on id = ${id}`",
    "a second table": '"select 1 from x, holds"',
    "an insert": '"insert into usage_records (a) values (1)"',
    "an update": '"update budgets set spent = 0"',
    "a delete": "`delete\n  from account_windows where ${clause}`",
    "a condition": '"exists (select 1 from accounts where id = ?)"',
    "a table with a hint": '`select 1 from ${byIndex("entries", "entries_but_charges")}`',
    "a trigger": '"create trigger t after insert on entries begin select 1; end"',
    "a name by an expression": "`delete from ${table} where id = ?`",
  })
) {
  Deno.test(`tables: ${what} outside of its owner is found`, () => {
    assertEquals(faultsOf("doors/http/app.ts", `const sql = ${sql};`).length, 1);
  });
}

Deno.test("tables: an owner's own tables and words that are no SQL are left alone", () => {
  assertEquals(
    faultsOf("money/ledger/a.ts", '"select * from lots join entries on id = lot_id"'),
    [],
  );
  assertEquals(faultsOf("doors/cli/a.ts", "`Cannot update ${name}: choose from ${list}`"), []);
  assertEquals(faultsOf("doors/console/a.tsx", '<select name="keys">Revoke keys</select>'), []);
});
