import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { contentOf } from "../../fake/admin_client.ts";
import { alertReceiver } from "../../fake/alert_receiver.ts";
import { NO_GATEWAY } from "../../fake/command.ts";
import { keptOpen } from "../../fake/kept_open.ts";
import { lendToGone } from "../../fake/ledger.ts";
import { sluice } from "../../fake/shell.ts";
import { tempDir } from "../../fake/temp.ts";
import { type Database, openDatabase } from "../../../src/ground/database/mod.ts";
import { RULES } from "../../../src/money/ledger/mod.ts";

/** Commands that change nothing in the database. */
const READS = [
  "account list",
  "account show",
  "alerts list",
  "backup",
  "completion",
  "config check",
  "config schema",
  "config show",
  "credits audit",
  "credits lent",
  "credits show",
  "doctor",
  "help",
  "init",
  "invite show",
  "codes list",
  "key list",
  "log",
  "migrate",
  "models",
  "providers",
  "models sync",
  "payments list",
  "payments show",
  "reload",
  "requests",
  "requests show",
  "serve",
  "simulate",
  "team list",
  "team show",
  "upstream-key list",
  "upstream test",
  "usage",
  "usage reconcile",
  "version",
];

/** Writes in an order in which they work; words in capitals are what earlier ones made. */
const WRITES: readonly (readonly [string, string])[] = [
  ["account create", "--email ada@example.com"],
  ["account update", "ada@example.com --budget 900 --reset monthly"],
  ["account role", "ada@example.com finance"],
  ["account disable", "ada@example.com"],
  ["account enable", "ada@example.com"],
  ["account link", ""],
  ["key create", "--account ada@example.com --budget 5"],
  ["key update", "KEY --name laptop --budget 7"],
  ["key update", "KEY --raise 7 --until 2d"],
  ["key update", "KEY --budget none"],
  ["key rotate", "KEY"],
  ["key revoke", "KEY"],
  ["team create", "--name Platform"],
  ["team update", "Platform --models svc-k2"],
  ["team disable", "Platform"],
  ["team enable", "Platform"],
  ["team add", "Platform --account ada@example.com"],
  ["team update", "Platform --member ada@example.com --budget 5 --reset daily"],
  ["team update", "Platform --own-keys last"],
  ["upstream-key set", "--team Platform --upstream one --no-test"],
  ["upstream-key remove", "--team Platform --upstream one"],
  ["team stop", "Platform --account ada@example.com"],
  ["team start", "Platform --account ada@example.com"],
  ["team remove", "Platform --account ada@example.com"],
  ["credits grant", "--account ada@example.com --credits 50"],
  ["credits write-off", "gw_gone --note lost"],
  ["credits take-back", "--account ada@example.com --lot LOT --note twice"],
  ["alerts retry", ""],
  ["credits grant", "--account ada@example.com --package starter --paid --reference INV-1"],
  ["payments refund", "ORDER --amount 1.00"],
  ["payments reconcile", ""],
  ["codes create", "--credits 5"],
  ["codes revoke", "CODE"],
  ["env", ""],
  ["run", "-- true"],
  ["alerts test", ""],
  ["restore", "COPY"],
];

/** Imports are tried in tests/doors/cli/import_test.ts. */
const OTHERS = [
  // need a payment service
  "credits checkout",
  "payments dismiss",
  "import litellm",
  "import new-api",
  "import one-api",
  // of the shell's own user, at a gateway elsewhere
  ...["login", "token", "logout", "status"].map((name) => `auth ${name}`),
];

Deno.test("every command that changes something leaves a row in the log, and sluice log shows it", async () => {
  await using dir = await tempDir();
  await Deno.mkdir(`${dir.path}/data`);
  await using kept = keptOpen();
  const run = async (command: string) => {
    const result = await sluice(command.split(" ").filter(Boolean), {
      directory: dir.path,
      env: NO_GATEWAY,
      openParts: kept.openParts,
      input: "sk-own-0123456789abcd\n",
    });
    assertEquals(result.code, 0, `${command}: ${result.err}`);
    return result.out;
  };
  let database: Database | undefined;
  await using _open = { [Symbol.asyncDispose]: async () => await database?.close() };
  const look = async () => {
    database ??= await openDatabase({
      file: `${dir.path}/data/sluice.db`,
      durability: "normal",
      rules: RULES,
      now: Date.now,
    });
    const row = await database.one("select count(*) as n from operation_log");
    return { rows: Number(row!.n), content: await contentOf(database) };
  };
  await using receiver = alertReceiver();
  await Deno.writeTextFile(
    `${dir.path}/sluice.jsonc`,
    JSON.stringify({
      upstreams: { one: { url: "http://127.0.0.1:9/v1", key: "x" } },
      alerts: {
        receivers: { ops: { url: receiver.url, secret: "a secret of the tests" } },
        allowPrivateHosts: [receiver.host],
      },
    }),
  );
  const names: Record<string, string> = { COPY: "copy.db" };
  let before = { rows: 0, content: "" };
  for (const [command, args] of WRITES) {
    const filled = args.replace(/KEY|LOT|ORDER|CODE|COPY/, (word) => names[word]!);
    if (command === "restore") {
      await run("backup copy.db");
      await Promise.all([database?.close(), kept.close()]); // its file is replaced
      database = undefined;
    }
    const json = args.startsWith("-- ") || command === "env" ? [] : ["--json"];
    const out = await run([command, ...json, filled].join(" "));
    const after = await look();
    assert(after.rows > before.rows, `${command} ${args}`);
    assert(after.content !== before.content);
    before = after;
    if (command === "key create") names.KEY = JSON.parse(out).id;
    if (command === "credits grant") {
      const { lot, account } = JSON.parse(out);
      names.LOT = lot;
      const { id } = (await database!.one("select id from accounts where email = ?", [account]))!;
      if (args.includes("--credits")) await lendToGone(database!, String(id));
      before = await look();
    }
    if (command === "codes create") names.CODE = JSON.parse(out).codes[0].id;
    if (args.includes("INV-1")) {
      names.ORDER = JSON.parse(await run("payments list --json")).data[0].id;
      before = await look();
    }
  }
  const rows = JSON.parse(await run("log --json --limit 100")).data;
  assertEquals(new Set(rows.map(({ door }: { door: string }) => door)), new Set(["command"]));
  const role = rows.find(
    (row: { operation: string }) => row.operation === "account.role",
  );
  assertEquals([role.before.role, role.after.role], ["none", "finance"]);
  assertEquals(JSON.parse(await run("log --json --limit 1")).data.length, 1);
  assertEquals(
    JSON.parse(await run(`log --json --by ${role.actor} --limit 100`)).data.length,
    rows.length,
  );
  assertEquals(JSON.parse(await run("log --json --by nobody")).data, []);
  const about = JSON.parse(await run("log --json --about Platform --limit 100")).data;
  assert(about.every((row: { team_id: string }) => row.team_id === about[0].team_id));
  assertStringIncludes(await run("log --about ada@example.com --since 1h"), "account.role");
  assertEquals((await sluice(["log", "--since", "soon"], { directory: dir.path })).code, 2);
  assert(!/sk-[A-Za-z0-9]{20}|console\/link/.test(JSON.stringify(rows)));
});

Deno.test("the list of commands that write is complete", async () => {
  await using dir = await tempDir();
  const commandsOf = async (group: string): Promise<string[]> => {
    const { out } = await sluice([...group.split(" "), "--help"].filter(Boolean), {
      directory: dir.path,
    });
    const list = /Commands:\n([^]*?)(\n\n|$)/.exec(out)?.[1] ?? "";
    return [...list.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name]) => name!)
      .filter((name) => name !== "help");
  };
  const leaves: string[] = [];
  for (const name of await commandsOf("")) {
    const below = await commandsOf(name);
    leaves.push(...below.map((one) => `${name} ${one}`));
    if (below.length === 0 || ["requests", "models", "usage"].includes(name)) leaves.push(name);
  }
  const known = new Set([...READS, ...OTHERS, ...WRITES.map(([command]) => command)]);
  assertEquals(leaves.filter((one) => !known.has(one)), []);
});
