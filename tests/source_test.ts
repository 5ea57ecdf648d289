/**
 * What of the promises can be read from the source: where a clock is read, where chance is, who connects to others, that credits and
 * tokens stay whole numbers, that only the engines know SQLite, and that nothing searches by counting. A place that does so has a reason in its row; one that no longer does loses its row.
 */

import ts from "typescript";
import { assert, assertEquals } from "./assert.ts";
import { ledgerBench } from "./fake/ledger.ts";

const SRC = new URL("../src/", import.meta.url);

/** What only some places may do. */
interface Rule {
  readonly what: string;
  readonly finds: (node: ts.Node) => boolean;
  /** Files and folders that may, and why. */
  readonly places: Readonly<Record<string, string>>;
  /** Code that is found. */
  readonly examples: readonly string[];
  /** Code that looks like it, and is not. */
  readonly fine: readonly string[];
}

const isMember = (node: ts.Node, names: RegExp) =>
  ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.expression) &&
  names.test(`${node.expression.text}.${node.name.text}`);

const isCallOf = (node: ts.Node, names: RegExp) =>
  ts.isCallExpression(node) && ts.isIdentifier(node.expression) && names.test(node.expression.text);

/** Whether a node imports values, not only types, of a module. */
function isImportOf(node: ts.Node, modules: RegExp): boolean {
  const from = (ts.isImportDeclaration(node) && node.importClause?.phaseModifier === undefined ||
        ts.isExportDeclaration(node) && !node.isTypeOnly) && node.moduleSpecifier ||
    ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword &&
      node.arguments[0];
  return from !== false && from !== undefined && ts.isStringLiteral(from) &&
    modules.test(from.text);
}

/** Numbers that are whole: names of credits and tokens, but not of credits a token, a dollar or a share. */
const WHOLE = /(?:^|[a-z.])(?:[cC]redits|[tT]okens)$/;
const ROUNDED = /^(?:Math\.(?:ceil|floor|round|trunc)|BigInt|Number|wholeCredits)$/;

/** Whether an expression may have a fraction: it divides or multiplies by one, and nothing rounds that. */
function mayHaveFraction(node: ts.Node): boolean {
  if (ts.isCallExpression(node) && ROUNDED.test(node.expression.getText())) return false;
  if (ts.isBigIntLiteral(node) || ts.isFunctionLike(node)) return false;
  if (ts.isBinaryExpression(node)) {
    const { kind } = node.operatorToken;
    if (kind === ts.SyntaxKind.SlashToken) return !/\dn\b/.test(node.getText());
    const isFraction = [node.left, node.right].some((side) =>
      ts.isNumericLiteral(side) && !Number.isInteger(Number(side.text))
    );
    if (kind === ts.SyntaxKind.AsteriskToken && isFraction) return true;
  }
  return ts.forEachChild(node, (child) => mayHaveFraction(child) || undefined) ?? false;
}

/** Whether a node gives a name of whole numbers a value that may have a fraction. */
function isFractionOfWhole(node: ts.Node): boolean {
  if (ts.isVariableDeclaration(node) || ts.isPropertyAssignment(node)) {
    const { initializer } = node;
    return initializer !== undefined && WHOLE.test(node.name.getText()) &&
      mayHaveFraction(initializer);
  }
  return ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
    WHOLE.test(node.left.getText()) && mayHaveFraction(node.right);
}

/** Whether a node reads a field of a row or a body as a number with a fraction. */
function isLooseField(node: ts.Node): boolean {
  return ts.isPropertyAssignment(node) && /(?:^|_)(?:credits|tokens)$/.test(node.name.getText()) &&
    /^z\s*\.number\(\)(?!\s*\.int\(\))/.test(node.initializer.getText());
}

/** The text of a literal, with a letter for each hole; undefined for anything else. */
function literalText(node: ts.Node): string | undefined {
  if (ts.isTemplateExpression(node)) {
    return node.head.text + node.templateSpans.map(({ literal }) => `h${literal.text}`).join("");
  }
  const isLiteral = ts.isStringLiteralLike(node) || ts.isRegularExpressionLiteral(node);
  return isLiteral ? node.text : undefined;
}

/** Words that only SQLite has, or gives a meaning of its own; a call of `min` or `max` with several arguments is one. */
const SQLITE: readonly RegExp[] = [
  /SQLITE_|\bsqlite_(?:master|schema)\b|^pragma |\bpragma_[a-z_]+\(|\bvacuum\b/,
  /\bbegin (?:immediate|exclusive)\b|\bchanges\(\)|\b(?:last_insert_)?rowid\b/,
  /\binsert or [a-z]+\b|\b(?:indexed by|not indexed)\b|\bcollate\b|\bglob \?|\blimit -1\b/,
  /(?:, |\b(?:where|and|or|by) )\+[a-z_]+\b|^\+[a-z_]+ (?:in|=)|\bis not (?:\?|[a-z_]+\.[a-z])/,
  /\b(?:iif|ifnull|instr|printf|strftime|julianday|unixepoch|typeof|randomblob|group_concat)\(/,
  /\bjson(?:b|_each|_object|_array|_group_array|_group_object|_valid)?\((?!\))|->>?\s/,
  /\bcross join \w+(?: as \w+)?\s+on\b|\b(?:sum|total|avg)\(|\brandom\(\) %|\bsubstr\([^,]*, -|\b(?:min|max)\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*,/,
];

const RULES: readonly Rule[] = [
  {
    what: "reads the clock (P7: parts are given one)",
    finds: (node) =>
      isMember(node, /^Date\.now$/) ||
      ts.isNewExpression(node) && node.expression.getText() === "Date" &&
        (node.arguments?.length ?? 0) === 0,
    places: {
      "assemble/store.ts": "the clock that all parts are given, where no test gives another",
      "assemble/serving_thread.ts": "the log of a thread, before it has parts",
      "assemble/servings.ts": "says to a command of this machine when settings were reloaded",
      "doors/cli/":
        "commands run beside the gateway, on the clock of the machine that they are typed on",
      "ground/files/replace_file.ts": "compares with the times of files, which are the machine's",
      "people/sign_in/provider.ts":
        "its library has that clock: it is told by how much ours differs",
      "wire/dialects/responses/errors.ts": "the date of an object that nothing is known of",
    },
    examples: ["const atMs = Date.now();", "const options = { now: Date.now };", "new Date();"],
    fine: ["new Date(nowMs).toISOString();", "performance.timeOrigin;"],
  },
  {
    what: "is random",
    finds: (node) =>
      isMember(node, /^(?:Math\.random|crypto\.(?:getRandomValues|randomUUID))$/) ||
      isCallOf(node, /^random(?:Bytes|Int|UUID)$/),
    places: {
      "ground/platform/ids.ts": "ids and secrets",
      "people/accounts/passwords.ts": "salts",
      "wire/sealing/": "keys and nonces",
      "wire/large_bodies/detached_base64.ts": "a mark that no client can guess",
      "settings/config/settings_editor.ts": "the name of a temporary file",
      "requests/upstreams/circuit.ts": "spreads probes of a target",
      "requests/upstreams/retry_policy.ts": "spreads repetitions",
      "operating/alerts/deliveries.ts": "spreads repetitions",
    },
    examples: ["Math.random();", "crypto.randomUUID();", "randomBytes(16);"],
    fine: ["randomText(16);"],
  },
  {
    what: "reads the environment: only the program's entry does, for the configuration",
    finds: (node) => isMember(node, /^(?:Deno|process)\.env$/),
    places: {},
    examples: ["Deno.env.get('HOME');", "const { HOME } = process.env;"],
    fine: ["context.env('HOME');"],
  },
  {
    what: "connects to others (P10)",
    finds: (node) =>
      isCallOf(node, /^fetch$/) ||
      isMember(node, /^(?:globalThis\.fetch|Deno\.(?:connect\w*|createHttpClient|resolveDns))$/) ||
      ts.isNewExpression(node) && node.expression.getText() === "WebSocket" ||
      isImportOf(node, /^(?:undici|pg|node:(?:net|tls|https?|http2|dns|dgram))(?:\/|$)/),
    places: {
      "ground/ways_out/": "connections of upstreams, alerts and payments, by way of a proxy or not",
      "requests/images/resolve.ts": "the guard of addresses that clients name",
      "ground/database/server/libsql.ts": "the database server of the settings",
      "ground/database/postgres/connections.ts": "the same",
    },
    examples: [
      "await fetch(url);",
      "Deno.connect({ port });",
      'import { Pool } from "undici";',
      'export { fetch } from "undici";',
      'const { default: pg } = await import("pg");',
    ],
    fine: ['import type { Pool } from "undici";', "app.fetch(request);", "this.#fetch(url);"],
  },
  {
    what: "says what only SQLite understands: `ground/sql/functions.ts` says it for any engine",
    finds: (node) => {
      const text = literalText(node);
      return text !== undefined && SQLITE.some((words) => words.test(text));
    },
    places: {
      "ground/database/file/": "an engine on SQLite",
      "ground/database/server/": "an engine on SQLite",
      "ground/database/sqlite/": "what both have in common",
      "ground/database/postgres/": "leaves out what tables of SQLite are told",
      "ground/sql/": "how SQLite spells it",
      "ground/database/migrations/": "the schema of databases that there are",
      "operating/importers/new_api/source_database.ts": "reads another program's SQLite file",
    },
    examples: [
      '"select value from json_each(?)";',
      "`select ${a}, max(${b}, c)`;",
      "`set n = max(n, 0)`;",
      'code.startsWith("SQLITE_BUSY");',
      "/^SQLITE_FULL/;",
      '"insert or ignore into tiers";',
      '"where a = ? and +b = 1";',
      "`${a} ->> 'name'`;",
      '"coalesce(sum(credits), 0) as credits";',
      "`from lots cross join ${entries}\n on id = lot_id`",
    ],
    fine: [
      '"select max(at_ms), min(coalesce(a, 0)) from usage_days";',
      "typeof (value);",
      '"Choose another pragmatic name, or glob it.";',
      '"a is not null and (a, b) > (?, ?)";',
    ],
  },
  {
    what: "skips rows by their number, each of which is read",
    finds: (node) => /\blimit \S+\s+offset\b/.test(literalText(node) ?? ""),
    places: {
      "ground/database/scan.ts": "a page",
      "money/ledger/audit.ts": "a range of records",
      "people/operation_log/requests.ts": "as many replies as are kept",
      "people/scim/directory.ts": "the client says from which one on; pages are of members alone",
      "people/sign_in/single_uses.ts": "as many as may wait",
      "wire/kept_items/prune.ts": "as many as are added up at a time",
    },
    examples: ['"select id from records order by id limit 1 offset ?";', "`limit 1 offset ${n}`;"],
    fine: ["const { offset } = page;", '"the offset of a zone";'],
  },
  {
    what: "gives credits or tokens a fraction (P3)",
    finds: (node) => isFractionOfWhole(node) || isLooseField(node),
    places: {},
    examples: [
      "const leftCredits = credits / 2;",
      "x = { tokens: length * 0.3 };",
      "this.tokens = bytes / 4;",
      "z.object({ credits: z.number() });",
    ],
    fine: [
      "const leftCredits = Math.floor(credits / 2);",
      "const creditsPerUsd = credits / usd;",
      "z.object({ credits: z.int() });",
      "const tokens = a + b * 2;",
    ],
  },
];

function parse(path: string, text: string): ts.SourceFile {
  const kind = path.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
  return ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true, kind);
}

/** Lines that a rule finds in a file. */
function foundIn(file: ts.SourceFile, { finds }: Rule): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (finds(node)) {
      const { line } = file.getLineAndCharacterOfPosition(node.getStart());
      found.push(`${file.fileName}:${line + 1}: ${node.getText().split("\n")[0]}`);
    } else ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

async function* sources(folder = ""): AsyncGenerator<ts.SourceFile> {
  for await (const { name, isDirectory } of Deno.readDir(new URL(folder, SRC))) {
    const path = `${folder}${name}`;
    if (isDirectory) yield* sources(`${path}/`);
    else if (/\.tsx?$/.test(name)) yield parse(path, await Deno.readTextFile(new URL(path, SRC)));
  }
}

Deno.test("clocks, chance, connections, SQLite, skipped rows and fractions are only where a row says why", async () => {
  const faults: string[] = [];
  const unused = new Set(
    RULES.flatMap(({ what, places }) => Object.keys(places).map((place) => `${place} ${what}`)),
  );
  for await (const file of sources()) {
    for (const rule of RULES) {
      const found = foundIn(file, rule);
      const place = Object.keys(rule.places).find((one) => file.fileName.startsWith(one));
      if (place === undefined) faults.push(...found.map((line) => `${line}: ${rule.what}`));
      else if (found.length > 0) unused.delete(`${place} ${rule.what}`);
    }
  }
  assertEquals(faults, []);
  assertEquals([...unused], [], "rows that nothing needs any more");
});

for (const rule of RULES) {
  Deno.test(`the rule finds what ${rule.what}, and nothing that looks like it`, () => {
    for (const code of rule.examples) {
      assert(foundIn(parse("a.ts", code), rule).length > 0, code);
    }
    for (const code of rule.fine) assertEquals(foundIn(parse("a.ts", code), rule), [], code);
  });
}

// what `settling` is given becomes a record in the same transaction
Deno.test("each table is strict, and its credits and tokens are integers (P3)", async () => {
  await using bench = await ledgerBench("file");
  const rows = await bench.database.all(
    `select list.name || '.' || info.name as at, list.strict, info.type
      from pragma_table_list as list, pragma_table_info(list.name) as info
      where list.schema = 'main' and list.name <> 'settling' and list.type = 'table' and list.name not like 'sqlite\\_%' escape '\\'`,
  );
  assert(rows.length > 100);
  const isWhole = /(?:credits|tokens|balance|held|consumed|spent|granted|remaining|price)$/;
  assertEquals(
    rows.filter(({ at, strict, type }) =>
      strict !== 1 || isWhole.test(String(at)) && type !== "INTEGER"
    ),
    [],
  );
});
