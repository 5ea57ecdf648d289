import Driver from "libsql";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { environment, NO_GATEWAY, PROGRAM } from "../../fake/command.ts";
import { openStore } from "../../../src/assemble/mod.ts";
import { newRequestId } from "../../../src/ground/platform/mod.ts";
import { loadConfig } from "../../../src/settings/config/mod.ts";
import { settlePrice } from "../../fake/ledger.ts";
import { keptOpen } from "../../fake/kept_open.ts";
import { sluice } from "../../fake/shell.ts";
import { tempDir } from "../../fake/temp.ts";

const ADA = ["--account", "ada@example.com"];

/** A data directory with an account, and commands that run on it. */
async function place() {
  await using opened = new AsyncDisposableStack();
  const directory = opened.use(await tempDir()).path;
  const { openParts } = opened.use(keptOpen());
  const run = (...args: string[]) => sluice(args, { directory, env: NO_GATEWAY, openParts });
  const json = async (...args: string[]) => {
    const { code, out, err } = await run(...args, "--json");
    assertEquals([code, err], [0, ""], args.join(" "));
    return JSON.parse(out);
  };
  const made = await run("account", "create", "--email", "ada@example.com");
  assertEquals(made.code, 0);
  const owned = opened.move();
  return {
    path: directory,
    run,
    json,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

Deno.test("sluice credits grant --reference grants once; an automatic reference is printed", async () => {
  await using at = await place();
  const grant = ["credits", "grant", ...ADA, "--credits", "100", "--reference", "INV 7"];
  const [first, second] = [await at.json(...grant), await at.json(...grant)];
  assertEquals([first.balance, first.repeated, first.reference], [110, false, "INV 7"]);
  assertEquals([second.balance, second.repeated, second.lot], [110, true, first.lot]);
  assertStringIncludes((await at.run(...grant)).out, "Already granted under this reference");
  const other = await at.run(...grant.with(5, "101"));
  assertEquals([other.code, other.out], [1, ""]);
  assertStringIncludes(other.err, "was already used for a grant of 100 credits");

  const plain = await at.run("credits", "grant", ...ADA, "--credits", "5");
  const [, reference] = /--reference (ref_\w{16})/.exec(plain.out)!;
  const again = await at.json(
    ...["credits", "grant", ...ADA, "--credits", "5", "--reference", reference!],
  );
  assertEquals([again.balance, again.repeated], [115, true]);
  const sell = ["credits", "grant", ...ADA, "--package", "starter", "--paid", "--reference", "p1"];
  await at.json(...sell);
  assertEquals((await at.json(...sell)).balance, 615);
});

Deno.test("sluice credits take-back takes a lot back, by an entry with its note", async () => {
  await using at = await place();
  const { lot } = await at.json("credits", "grant", ...ADA, "--credits", "100");
  const take = ["credits", "take-back", ...ADA, "--lot", lot, "--note", "meant 70"];
  const some = await at.json(...take, "--credits", "30", "--reference", "t1");
  assertEquals([some.taken, some.balance, some.lot, some.repeated], [30, 80, lot, false]);
  assertEquals((await at.json(...take, "--credits", "30", "--reference", "t1")).balance, 80);
  const people = await at.run(...take);
  assertEquals(people.code, 0);
  assertStringIncludes(people.out, "Took back 70 credits");
  assertMatch(people.out, /--reference ref_\w{16}/);
  const nothing = await at.run(...take);
  assertEquals([nothing.code, nothing.out], [1, ""]);
  assertStringIncludes(nothing.err, "has no credits left");
  assertEquals((await at.run("credits", "take-back", ...ADA, "--lot", lot)).code, 2, "no note");
  assertEquals((await at.json("credits", "show", ...ADA)).balance, 10);
  assertEquals((await at.json("credits", "audit")).mismatches, []);
});

Deno.test("sluice credits audit names what was charged late, and of whom", async () => {
  await using dir = await tempDir();
  const config = await loadConfig({ env: NO_GATEWAY, directory: dir.path });
  const account = await (async () => {
    await using store = await openStore(config);
    const account = await store.accounts.create({ email: "ada@example.com" });
    await store.sales.grant(account, { credits: 100 });
    const { id: keyId } = await store.keys.issue(account, {});
    const nowMs = Date.now();
    const request = { accountId: account.id, keyId, nowMs };
    const details = { late: true };
    const { database } = store;
    await settlePrice(database, { ...request, requestId: newRequestId(nowMs), price: 30, details });
    await settlePrice(database, { ...request, requestId: newRequestId(nowMs), price: 7 });
    return account;
  })();
  const { code, out } = await sluice(["credits", "audit"], {
    directory: dir.path,
    env: NO_GATEWAY,
  });
  assertEquals(code, 0);
  assertStringIncludes(
    out,
    "30 credits of 1 request was charged late: the database had lost the charge after acknowledging it. " +
      `Accounts: ${account.id}\n`,
  );
});

Deno.test("a fault after a grant's commit is told, and the grant is not called failed", async () => {
  await using at = await place();
  const raw = new Driver(`${at.path}/data/sluice.db`);
  raw.exec("pragma busy_timeout = 5000"); // the gateway writes, too
  // a sum that cannot be read any more, as settings once allowed
  raw.exec("update lots set granted = 9007199254740991, remaining = 9007199254740991");
  raw.exec("update balances set balance = 9007199254740991");
  raw.close();
  for (const json of [[], ["--json"]]) {
    const done = await at.run("credits", "grant", ...ADA, "--credits", "7", ...json);
    assertEquals(done.code, 0, done.err);
    assertStringIncludes(done.err, "The credits were granted, but the balance could not be read");
    if (json.length > 0) assertEquals(JSON.parse(done.out).balance, null);
    else assertStringIncludes(done.out, "Granted 7 credits to ada@example.com");
  }
});

Deno.test("a grant that may have failed says how to repeat it safely", async () => {
  await using at = await place();
  const raw = new Driver(`${at.path}/data/sluice.db`);
  raw.exec("pragma busy_timeout = 5000"); // the gateway writes, too
  raw.exec(
    "create trigger fails before insert on lots when new.source = 'grant' begin select raise(abort, 'broken'); end",
  );
  raw.close();
  const done = await at.run("credits", "grant", ...ADA, "--credits", "7");
  assertEquals([done.code, done.out], [1, ""]);
  assertMatch(done.err, /broken[\s\S]*repeat[\s\S]*--reference ref_\w{16}/);
});

Deno.test("a grant whose output nobody reads was granted all the same", async () => {
  await using at = await place();
  const child = new Deno.Command(Deno.execPath(), {
    args: [...PROGRAM, "credits", "grant", ...ADA, "--credits", "7"],
    cwd: at.path,
    clearEnv: true,
    env: environment(),
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  await child.stdout.cancel();
  const { code } = await child.status;
  assertEquals([code, await new Response(child.stderr).text()], [0, ""]);
  assertEquals((await at.json("credits", "show", ...ADA)).balance, 17);
});

Deno.test("account disable ends sessions and links; key list tells the last use", async () => {
  await using at = await place();
  const { link } = await at.json("account", "link", "ada@example.com");
  assert(link.includes("/console/link/"));
  await at.json("account", "disable", "ada@example.com");
  await at.json("account", "enable", "ada@example.com");
  const { id } = await at.json("key", "create", ...ADA);
  const raw = new Driver(`${at.path}/data/sluice.db`);
  raw.exec("pragma busy_timeout = 5000"); // the gateway writes, too
  assertEquals(raw.prepare("select * from sign_in_links").all(), []);
  assertEquals((await at.json("key", "list", ...ADA)).data[0].last_used_at, null);
  raw.prepare("insert into key_uses values (?, ?)").run(id, Date.UTC(2030, 0, 1));
  raw.close();
  assertEquals(
    (await at.json("key", "list", ...ADA)).data[0].last_used_at,
    "2030-01-01T00:00:00.000Z",
  );
  assertStringIncludes((await at.run("key", "list", ...ADA)).out, "2030-01-01 00:00 UTC");
});

Deno.test("sluice credits audit is the last audit that operators see", async () => {
  await using at = await place();
  const last = () => {
    const file = new Driver(`${at.path}/data/sluice.db`);
    try {
      const row = file.prepare("select value from alert_jobs where name = 'last_audit'").get();
      return row === undefined ? undefined : JSON.parse(String((row as { value: string }).value));
    } finally {
      file.close();
    }
  };
  assertEquals(last(), undefined);
  const beganMs = Date.now();
  assertEquals((await at.json("credits", "audit")).mismatches, []);
  const { atMs, ...outcome } = last();
  assertEquals(outcome, { mismatches: 0, uncollectedCredits: 0 });
  assert(atMs >= beganMs - 1_000 && atMs <= Date.now() + 1_000);

  const file = new Driver(`${at.path}/data/sluice.db`);
  file.exec("drop table alert_jobs"); // it cannot be noted
  file.close();
  const { code, out } = await at.run("credits", "audit", "--json");
  assertEquals([code, JSON.parse(out).mismatches.length > 0], [1, true], "the report counts");
});

Deno.test("sluice credits lent lists what gateways are lent; write-off frees it of one that is gone, with a note", async () => {
  await using at = await place();
  const { account } = await at.json("credits", "grant", ...ADA, "--credits", "100");
  const { id } = await at.json("account", "show", account);
  const database = new Driver(`${at.path}/data/sluice.db`);
  const add = (gateway: string, credits: number, leaseUntilMs: number, keyId = "") =>
    database.prepare("insert into loans values (?, ?, ?, ?, ?, 1, 1, 1, 0, ?, 0)")
      .run(id, gateway, keyId, `loan_${gateway}${keyId}`, credits, leaseUntilMs);
  add("gw_gone", 40, 1);
  add("gw_here", 30, Date.now() + 3_600_000);
  const { id: keyId } = await at.json("key", "create", ...ADA, "--budget", "50");
  add("gw_gone", 5, 1, keyId);
  database.close();
  const { data } = await at.json("credits", "lent");
  assertEquals(
    data.map((
      one: Record<string, unknown>,
    ) => [one.gateway_id, one.accounts, one.credits, one.lapsed_credits, one.lapsed_keys]),
    [["gw_gone", 1, 45, 45, [keyId]], ["gw_here", 1, 30, 0, []]],
  );
  assertStringIncludes((await at.run("credits", "audit")).out, "45 credits are lent to gateways");
  const off = (gateway: string) => ["credits", "write-off", gateway, "--note", "disk lost"];
  for (const [gateway, message] of [["gw_here", "it is not gone"], ["gw_none", "not found"]]) {
    const { code, err } = await at.run(...off(gateway!));
    assertEquals(code, 1);
    assertStringIncludes(err, message!);
  }
  assertEquals((await at.run("credits", "write-off", "gw_gone")).code, 2, "a note is needed");
  const { out } = await at.run(...off("gw_gone"));
  assertStringIncludes(out, "Wrote off 45 credits that gw_gone was lent, of 1 account.");
  assertStringIncludes((await at.run("credits", "audit")).out, "in 2 loans were written off");
  const [entry] = (await at.json("log", "--limit", "1")).data;
  assertEquals([entry.operation, entry.object_id], ["loan.write_off", "gw_gone"]);
  assertEquals([entry.after.note, entry.after.credits], ["disk lost", 45]);
});
