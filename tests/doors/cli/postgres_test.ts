/** Commands and a gateway on PostgreSQL, as operators use them. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { postgresFindings } from "../../../src/doors/cli/doctor_postgres.ts";
import { postgresServer, whyNoPostgres } from "../../fake/postgres.ts";
import { serveHere, sluice } from "../../fake/shell.ts";
import { tempDir, until } from "../../fake/temp.ts";

const why = await whyNoPostgres();
const ignore = why !== undefined;
const skipped = why === undefined ? "" : ` (skipped: ${why})`;
const PASSWORD = "hunter2";

Deno.test("doctor says what the loss of a server would cost, whatever its settings", () => {
  const health = {
    version: "15.1",
    bytes: 1,
    isEncrypted: true,
    database: "d",
    role: "r",
    mayCreate: true,
    fsync: "on",
    synchronousCommit: "on",
    standbyNames: "ANY 1 (b, c)",
    others: 0,
  };
  for (
    const [change, state, says] of [
      [{}, "ok", /disk of a standby \(ANY 1 \(b, c\)\): if the server is lost, no charge is$/],
      [{ synchronousCommit: "remote_apply" }, "ok", /disk of a standby/],
      [{ synchronousCommit: "remote_write" }, "ok", /memory .* unless the standby loses its power/],
      [{ synchronousCommit: "local" }, "warning", /own disk alone/],
      [{ standbyNames: "" }, "warning", /own disk alone/],
      [{ synchronousCommit: "off" }, "warning", /no disk .* lost with the server's power/],
      [{ fsync: "off" }, "warning", /no disk .* lost with the server's power/],
    ] as const
  ) {
    const found = postgresFindings({ ...health, ...change });
    assertEquals(found.map(({ state }) => state), [state]);
    assertMatch(found[0]!.detail, says);
  }
  const [, role] = postgresFindings({ ...health, mayCreate: false });
  assertStringIncludes(role!.advice!, "grant create on database d to r");
});

Deno.test(`a gateway charges on PostgreSQL, and its database moves to a file and back${skipped}`, {
  ignore,
}, async () => {
  await using server = await postgresServer({ durable: true });
  await using dir = await tempDir();
  await server.run(`create role sluice login; create role clerk login;
    create database one owner sluice; create database two owner sluice;\n`);
  const url = (database: string, user = "sluice") =>
    `postgres://${user}:${PASSWORD}@127.0.0.1:${server.port}/${database}`;
  let said = "";
  const run = async (database: string | undefined, ...args: string[]) => {
    const env: Record<string, string> = database === undefined
      ? {}
      : { SLUICE_DATABASE_URL: database };
    const finished = await sluice(args, { directory: dir.path, env });
    said += finished.out + finished.err;
    return finished;
  };
  const succeeded = async (...given: Parameters<typeof run>) => {
    const { code, out, err } = await run(...given);
    assertEquals([code, err], [0, ""], given.slice(1).join(" "));
    return out;
  };
  const charged = async (database: string | undefined) =>
    JSON.parse(await succeeded(database, "credits", "audit", "--json")).records;
  const serve = (env: Record<string, string>) =>
    serveHere(["--port", "0"], { directory: dir.path, env });

  {
    await using gateway = serve({ SLUICE_DATABASE_URL: url("one") });
    const [, at = ""] = await gateway.waitFor(/listening on (http:\S+)/);
    const [key = ""] = await gateway.waitFor(/sk-\w+/);
    for (let request = 0; request < 3; request++) {
      const { status, body } = await fetch(`${at}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({ model: "svc-k2", messages: [{ role: "user", content: "a" }] }),
      });
      await body?.cancel();
      assertEquals(status, 200);
    }
    await until(async () => await charged(url("one")) === 3);
    const doctor = await succeeded(url("one"), "doctor", "--local");
    assertMatch(
      doctor,
      /✓ database {3}127\.0\.0\.1:\d+\/one, PostgreSQL \d+\.\d.*, not encrypted, schema/,
    );
    assertStringIncludes(doctor, "! durability a commit waits for the server's own disk alone");
    const elsewhere = await run(
      url("one"),
      "migrate",
      "--to",
      `file:${dir.path}/copy.db`,
      "--data",
      "other",
    );
    assertEquals(elsewhere.code, 1);
    assertStringIncludes(elsewhere.err, "gateways or commands are using 127.0.0.1");
    const here = await run(url("one"), "migrate", "--to", `file:${dir.path}/copy.db`);
    assertStringIncludes(here.err, "Cannot migrate: a gateway is running on");
    said += gateway.out() + gateway.err();
  }

  await server.run(`\\c one
    grant select, insert, update, delete on all tables in schema public to clerk;\n`);
  const clerk = await succeeded(url("one", "clerk"), "doctor", "--local");
  assertStringIncludes(clerk, "clerk may not create schemas in one");
  for (const command of ["backup", "restore"]) {
    const { code, err } = await run(url("one"), command, "copy.db");
    assertEquals(code, 1);
    assertStringIncludes(err, "PostgreSQL: use pg_dump and pg_restore");
  }

  for (
    const [args, says] of [
      [["migrate"], "by either --to or --from"],
      [["migrate", "--to", "file:a", "--from", "file:b"], "by either --to or --from"],
      [["migrate", "--to", "mysql://x:hunter2@a/d"], "--to must start with file:"],
      [["migrate", "--to", "postgres://x:hunter/2@a/d"], "--to must be postgres://"],
      [["migrate", "--from", `file:${dir.path}/none/none.db`], "no database found at"],
      [["migrate", "--from", url("two")], "There is no database of Sluice at"],
      [["migrate", "--to", url("one")], "it has a database of Sluice already"],
      [["migrate", "--to", "http://127.0.0.1:1"], "Cannot use the libSQL server 127.0.0.1:1"],
    ] as const
  ) {
    const { code, err } = await run(url("one"), ...args);
    assert(code > 0 && err.includes(says), `${args.join(" ")}: ${code} ${err}`);
  }

  const seal = await server.run("\\c one\nselect value from secrets;\n");
  assertMatch(
    await succeeded(url("one"), "migrate", "--to", `file:${dir.path}/back/sluice.db`),
    /^Copied \d+ rows of \d+ tables from 127\.0\.0\.1:\d+\/one to .*\/back\/sluice\.db\. The audit of both/,
  );
  assertEquals(await charged(`file:${dir.path}/back/sluice.db`), 3);
  const again = await run(url("one"), "migrate", "--to", `file:${dir.path}/back/sluice.db`);
  assertStringIncludes(again.err, "the file exists. Move it away first");
  const { tables, rows } = JSON.parse(
    await succeeded(url("two"), "migrate", "--from", `file:${dir.path}/back/sluice.db`, "--json"),
  );
  assert(rows > 30 && tables.length > 60);
  assertEquals(await charged(url("two")), 3);
  assertEquals(await server.run("\\c two\nselect value from secrets;\n"), seal);
  assertEquals(seal.rows.length, 1);
  assertMatch(await succeeded(url("two"), "log"), /database\.migrate/);
  assertEquals(await charged(url("one")), 3, "what was copied stays");

  for (
    const [database, advice] of [
      [url("none"), /database "none" does not exist\n +→ create it: createdb --owner/],
      [url("one", "nobody"), /role "nobody" does not exist\n +→ check the role in database\.url/],
      [`postgres://sluice@127.0.0.1:1/one`, /ECONNREFUSED.*\n +→ check the host and port/],
    ] as const
  ) {
    const { code, out } = await run(database, "doctor", "--local");
    assertEquals(code, 1);
    assertMatch(out, advice);
  }
  const refused = await run(url("one", "nobody"), "credits", "audit");
  assertStringIncludes(refused.err, 'role "nobody" does not exist');
  assertEquals(said.includes(PASSWORD), false, "a password was shown");
});

Deno.test(`a ledger that does not add up is not migrated${skipped}`, { ignore }, async () => {
  await using server = await postgresServer({ durable: true });
  await using dir = await tempDir();
  const env = { SLUICE_DATABASE_URL: server.url };
  const run = (...args: string[]) => sluice(args, { directory: dir.path, env });
  assertEquals((await run("account", "create", "--email", "ada@example.com")).code, 0);
  await server.run(
    "alter table balances disable trigger user; update balances set balance = balance + 1;\n",
  );
  const { code, err } = await run("migrate", "--to", `file:${dir.path}/copy.db`);
  assertEquals(code, 1);
  assertMatch(err, /Cannot migrate: the audit of .* finds \d+ rows that do not match, such as/);
  await assertMissing(`${dir.path}/copy.db`);
});

async function assertMissing(path: string): Promise<void> {
  assertEquals(await Deno.lstat(path).then(() => true, () => false), false);
}
