import { Watch, type WatchOptions } from "../../../src/operating/alerts/watch.ts";
import { isAuditDue } from "../../../src/operating/alerts/daily_audit.ts";
import { lastAudit, notices, noticesOf } from "../../../src/operating/alerts/mod.ts";
import { conditionsOf, seeConditions } from "../../../src/operating/alerts/conditions.ts";
import type { SettingsInput } from "../../../src/settings/config/mod.ts";
import { disputedPrices, knownModels } from "../../../src/settings/known_models/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { alertReceiver } from "../../fake/alert_receiver.ts";
import { customer } from "../../fake/customer.ts";
import { NO_PASSES, startGateway, type TestGateway } from "../../fake/gateway.ts";
import type { Database } from "../../../src/ground/database/mod.ts";
import { OWNER_SIGN_IN } from "../../../src/people/operation_log/mod.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { until } from "../../fake/temp.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";

const DAY = 86_400_000;
const ROOMY = { freeBytes: 1e12, allBytes: 1e12 };

async function pass({ gateway: { alerts, database } }: TestGateway): Promise<string[]> {
  await alerts.watch.see();
  assert(await alerts.watch.pass());
  return (await notices(database, { limit: 1_000 })).map(({ mark }) => mark).toReversed();
}

Deno.test("low credits, budgets and expiries are told once for each mark, whatever the clock does", async () => {
  let nowMs = Date.now();
  await using gateway = await startGateway({
    settings: { alerts: { dailyAudit: false } }, // the test spends past the ledger
    now: () => nowMs,
    alertTimes: NO_PASSES,
  });
  const { sales, accounts, keys, database } = gateway.gateway;
  const ada = await customer(gateway, 1_000, { budget: 100 });
  const bob = await customer(gateway, 1_000);
  const seen = new Set<string>();
  /** Marks that this pass has reached. */
  const fresh = async () => {
    const marks = (await pass(gateway)).filter((mark) => !seen.has(mark)).toSorted();
    for (const mark of marks) seen.add(mark);
    return marks;
  };
  assertEquals(await fresh(), []);

  const account = await accounts.get(ada.email);
  const [key] = await keys.list(account);
  // what requests would have done
  const spend = (credits: number, budget: number) =>
    database.batch([
      {
        sql: `update balances set balance = ? where account_id = ?`,
        args: [credits, ada.accountId],
      },
      {
        sql: "update budget_periods set spent = ? where budget_id = ?",
        args: [budget, `key:${key!.id}:life`],
      },
    ]);
  await spend(201, 49);
  assertEquals(await fresh(), []);
  await spend(200, 85);
  const [budget, low] = await fresh();
  assert(low!.startsWith(`low_credits:${ada.accountId}:lot_`), low);
  assertEquals(budget, `budget_mark:key:${key!.id}:life:0:80`);
  await spend(0, 100);
  assertEquals(await fresh(), [`budget_mark:key:${key!.id}:life:0:100`]);

  // a new grant is a new mark
  nowMs += 1_000;
  const { lotId: lot } = await sales.grant(account, {
    credits: 500,
    expiresAtMs: nowMs + 30 * DAY,
  });
  await sales.grant(account, { credits: 500, expiresAtMs: nowMs + 3 * DAY });
  await spend(100, 100);
  const [again, ...others] = await fresh();
  assertEquals([again?.split(":")[0], others], ["low_credits", []]);
  nowMs += 24 * DAY;
  assertEquals(await fresh(), [`lot_expiring:${lot}:7d`]);
  nowMs -= 40 * DAY;
  assertEquals(await fresh(), []);
  nowMs += 40 * DAY + 5.5 * DAY;
  assertEquals(await fresh(), [`lot_expiring:${lot}:1d`]);

  await keys.issue(await accounts.get(bob.email), { name: "ci", expiresAtMs: nowMs + 8 * DAY });
  await keys.issue(await accounts.get(bob.email), { name: "hour", expiresAtMs: nowMs + 3_600_000 });
  assertEquals(await fresh(), []);
  nowMs += 7.5 * DAY;
  const [expiring] = await fresh();
  assert(expiring!.startsWith("key_expiring:key_") && expiring!.endsWith(":1d"), expiring);

  // each account sees its own
  const own = await noticesOf(database, { accountId: bob.accountId, leads: [] }, 10);
  assertEquals(own.map(({ mark }) => mark), [expiring]);
  assertStringIncludes(own[0]!.text, "The key ci of");
  // a disabled account is left alone
  await accounts.disable(ada.email);
  await sales.grant(account, { credits: 400 });
  await spend(10, 100);
  assertEquals(await fresh(), []);
});

Deno.test("thresholds are set in the settings, for all and for single accounts", async () => {
  await using gateway = await startGateway({
    settings: {
      alerts: {
        lowCredits: {
          percent: 0,
          credits: 100,
          accounts: { "nobody@example.com": 9_000, "big@example.com": 5_000 },
        },
      },
    },
    alertTimes: NO_PASSES,
  });
  const { sales, accounts } = gateway.gateway;
  const of = async (email: string, credits: number) => {
    const account = await accounts.create({ email });
    await sales.grant(account, { credits });
    return account.id;
  };
  const low = await of("low@example.com", 100);
  await of("enough@example.com", 101);
  const big = await of("big@example.com", 5_000);
  const found = (await pass(gateway)).map((mark) => mark.split(":")[1]);
  assertEquals(found.toSorted(), [low, big].toSorted());
});

Deno.test("thousands of accounts are walked in pages, and the next pass goes on", async () => {
  await using receiver = alertReceiver();
  await using gateway = await startGateway({
    settings: {
      alerts: {
        lowCredits: { credits: 1_000 },
        receivers: { ops: { url: receiver.url, secret: "secret" } },
        allowPrivateHosts: [receiver.host],
      },
    },
    alertTimes: NO_PASSES,
  });
  const { database } = gateway.gateway;
  const rows = JSON.stringify(Array.from({ length: 1_200 }, (_, at) => `acc_${at}`));
  await database.batch([
    {
      sql: `insert into accounts (id, email, name, role, created_at_ms)
        select value, value || '@example.com', '', 'none', 1 from json_each(?)`,
      args: [rows],
    },
    {
      sql: `insert into lots (id, account_id, source, granted, remaining, created_at_ms)
        select 'lot_' || value, value, 'grant', 10, 10, 1 from json_each(?)`,
      args: [rows],
    },
  ]);
  const marks = await pass(gateway);
  assertEquals(marks.length, 1_000, "the page of notices");
  await receiver.waitFor(1_200);
  assert(receiver.received.length <= 30, `${receiver.received.length} deliveries`);
  assertEquals(new Set(receiver.marks).size, 1_200);
});

/** Rows of the log that say when an owner signed in without a provider. */
const signedIn = (database: Database, rows: Readonly<Record<string, number>>) =>
  database.batch(
    Object.entries(rows).map(([id, atMs]) => ({
      sql: `insert into operation_log (id, at_ms, operation, door, address, actor, after, outcome)
      values (?, ?, ?, 'console', '127.0.0.1', 'owner', '{"by":"link"}', 'done')`,
      args: [id, atMs, OWNER_SIGN_IN],
    })),
  );

Deno.test("what is more than a page is walked to its end: lots, keys, stopped top-ups, sign-ins", async () => {
  const nowMs = Date.now();
  await using gateway = await startGateway({
    settings: { alerts: { dailyAudit: false } },
    now: () => nowMs,
    alertTimes: NO_PASSES,
  });
  const { database } = gateway.gateway;
  const ids = Array.from({ length: 501 }, (_, at) => `acc_${at}`);
  await signedIn(database, Object.fromEntries(ids.map((id) => [`op_${id}`, nowMs])));
  const [fromMs, toMs] = [nowMs - 30 * DAY, nowMs + DAY / 2];
  await database.batch([
    `accounts (id, email, name, role, created_at_ms)
      select value, value || '@example.com', '', 'none', ?2`,
    `lots (id, account_id, source, granted, remaining, created_at_ms, expires_at_ms)
      select 'lot_' || value, value, 'grant', 10, 10, ?2, ?3`,
    `keys (id, account_id, name, digest, hint, source, created_at_ms, expires_at_ms)
      select 'key_' || value, value, '', substr('${
      "0".repeat(64)
    }' || value, -64), '', 'issued', ?2, ?3`,
    `top_ups (account_id, is_on, below_credits, package_id, max_per_month, stopped, stopped_at_ms,
        changed_at_ms)
      select value, 1, 1, 'starter', 1, 'Declined.', ?2, ?2`,
  ].map((into) => ({
    sql: `insert into ${into} from json_each(?1) where ?3 > 0`,
    args: [JSON.stringify(ids), into.startsWith("top_ups") ? nowMs : fromMs, toMs],
  })));
  assert(await gateway.gateway.alerts.watch.pass());
  const rows = await database.all(
    "select kind, count(*) as number from alerts where kind <> 'low_credits' group by kind",
  );
  assertEquals(Object.fromEntries(rows.map(({ kind, number }) => [kind, Number(number)])), {
    key_expiring: 501,
    lot_expiring: 501,
    owner_signed_in: 501,
    top_up_stopped: 501,
  });
});

Deno.test("sign-ins of owners are told of the day before the first pass, and from then on those that come late, too", async () => {
  let nowMs = Date.now();
  await using gateway = await startGateway({ now: () => nowMs, alertTimes: NO_PASSES });
  const { database } = gateway.gateway;
  const told = async () =>
    (await pass(gateway)).filter((mark) => mark.startsWith("owner_signed_in")).toSorted();
  await signedIn(database, { before: nowMs - DAY - 1, within: nowMs - DAY });
  assertEquals(await told(), ["owner_signed_in:within"]);
  const lastMs = nowMs;
  nowMs += 3_600_000;
  await signedIn(database, { late: lastMs - 600_000, "too late": lastMs - 600_001 });
  assertEquals(await told(), ["owner_signed_in:late", "owner_signed_in:within"]);
});

Deno.test("a pass that finds nothing new writes nothing but who makes it, and wakes no deliveries", async () => {
  const nowMs = Date.now();
  const used: string[] = [];
  await using gateway = await startGateway({
    settings: {
      alerts: {
        dailyAudit: false,
        receivers: { ops: { url: "https://127.0.0.1/", kind: "slack", alerts: ["audit_failed"] } },
      },
    },
    now: () => nowMs,
    alertTimes: {
      ...NO_PASSES,
      deliverEveryMs: 1e8,
      diskSpace: () => Promise.resolve({ freeBytes: 0, allBytes: 1e10 }),
    },
    wrapDatabase: (database) => ({
      ...guardedDatabase(database, () => {}),
      one: (sql, args) => (used.push(sql), database.one(sql, args)),
      batch(statements) {
        used.push(...statements.map(({ sql }) => sql));
        return database.batch(statements);
      },
    }),
  });
  const { accounts, alerts, database, keys } = gateway.gateway;
  const ada = await customer(gateway, 1_000, { budget: 100 });
  const [key] = await keys.list(await accounts.get(ada.email));
  await keys.issue(await accounts.get(ada.email), { expiresAtMs: nowMs + 1 });
  await database.batch([
    { sql: "update balances set balance = 1 where account_id = ?", args: [ada.accountId] },
    {
      sql: "update budget_periods set spent = 90 where budget_id = ?",
      args: [`key:${key!.id}:life`],
    },
  ]);
  const kinds = (await pass(gateway)).map((mark) => mark.split(":")[0]);
  assertEquals(kinds.toSorted(), ["budget_mark", "disk_low", "low_credits"]);
  used.length = 0;
  assert(await alerts.watch.pass());
  const written = used.flatMap((sql) =>
    /^\s*(?:insert into|update|delete from)\s+(alert\w+)/.exec(sql)?.[1] ?? []
  );
  assertEquals(written, ["alert_jobs"]);
  assertEquals(used.filter((sql) => sql.includes("alert_deliveries")), []);
});

Deno.test("a circuit that stays open is told once, and when it is closed", async () => {
  let nowMs = Date.now();
  let works = false;
  await using upstream = fakeUpstream(() =>
    works
      ? Response.json({
        id: "1",
        object: "chat.completion",
        model: "m",
        choices: [{
          index: 0,
          message: { role: "assistant", content: "Hi" },
          finish_reason: "stop",
        }],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      })
      : new Response("broken", { status: 500 })
  );
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url, model: "m" } },
    now: () => nowMs,
    alertTimes: NO_PASSES,
  });
  const ask = async () => await (await gateway.chat("Hi")).body?.cancel();
  for (let times = 0; times < 6; times++) await ask();
  assertEquals(await pass(gateway), [], "it may be over in a moment");
  nowMs += 30_000;
  const [opened, ...rest] = await pass(gateway);
  assert(/^circuit_opened:[^/]+\/m:\d+$/.test(opened!), opened);
  assertEquals(rest, []);
  // it flaps
  for (let times = 0; times < 3; times++) {
    nowMs += 20_000;
    await ask();
    assertEquals((await pass(gateway)).length, 1);
  }
  works = true;
  nowMs += 61_000;
  await ask();
  await ask();
  const since = opened!.split(":").at(-1);
  const all = await pass(gateway);
  assertEquals(all.slice(1).map((mark) => mark.split(":")[0]), ["circuit_closed"]);
  assert(all[1]!.endsWith(`:${since}`));
  assertEquals((await pass(gateway)).length, 2);
});

Deno.test("an upstream that reports what cannot be true raises one alert a day", async () => {
  let nowMs = Date.now();
  let output = 3;
  await using upstream = fakeUpstream(() =>
    completion("well", { usage: { prompt_tokens: 9, completion_tokens: output } })
  );
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url, model: "m" } },
    now: () => nowMs,
    alertTimes: NO_PASSES,
  });
  const ask = async () => await (await gateway.chat("Hi", { max_tokens: 10 })).text();
  for (let times = 0; times < 5; times++) await ask();
  assertEquals(await pass(gateway), []);
  output = 1_000_000;
  for (let times = 0; times < 5; times++) await ask();
  const day = new Date(nowMs).toISOString().slice(0, 10);
  assertEquals(await pass(gateway), [`usage_departs:default:${day}`]);
  nowMs += 60_000;
  await ask();
  assertEquals((await pass(gateway)).length, 1);
});

Deno.test("a circuit that closes before it is worth an alert is not told of at all", async () => {
  let nowMs = Date.now();
  await using gateway = await startGateway({ now: () => nowMs, alertTimes: NO_PASSES });
  const { alerts, database } = gateway.gateway;
  const seen = { name: "circuit:u/m", kind: "circuit", detail: "u/m: broken" } as const;
  await seeConditions(database, [seen], nowMs);
  nowMs += 20_000;
  await seeConditions(database, [seen], nowMs);
  assert(await alerts.watch.pass());
  nowMs += 61_000;
  assertEquals(await pass(gateway), []);
  assertEquals(await conditionsOf(database), []);
});

Deno.test("a disk that is nearly full is told once until it has had room for an hour", async () => {
  let nowMs = Date.now();
  let space = { freeBytes: 9e8, allBytes: 1e10 };
  await using gateway = await startGateway({
    now: () => nowMs,
    alertTimes: { ...NO_PASSES, diskSpace: () => Promise.resolve(space) },
  });
  assertEquals((await pass(gateway)).map((mark) => mark.split(":")[0]), ["disk_low"]);
  space = ROOMY;
  nowMs += 600_000;
  await pass(gateway);
  space = { freeBytes: 4e11, allBytes: 1e13 };
  assertEquals((await pass(gateway)).length, 1);
  space = ROOMY;
  nowMs += 3_600_000;
  await pass(gateway);
  space = { freeBytes: 0, allBytes: 1e10 };
  assertEquals((await pass(gateway)).length, 2);
});

Deno.test("an audit that is not clean is told once for the same mismatches", async () => {
  let nowMs = Date.now();
  await using gateway = await startGateway({ now: () => nowMs, alertTimes: NO_PASSES });
  const { database } = gateway.gateway;
  const ada = await customer(gateway, 1_000);
  await pass(gateway);
  const audited = async () => {
    nowMs += DAY + 1;
    await pass(gateway);
    await until(async () => (await lastAudit(database))?.atMs === nowMs, { what: "the audit" });
    return (await pass(gateway)).filter((mark) => mark.startsWith("audit"));
  };
  await database.batch([{
    sql: "update balances set consumed = 5 where account_id = ?",
    args: [ada.accountId],
  }]);
  const [first] = await audited();
  assert(/^audit_failed:[0-9a-f]{32}$/.test(first!), first);
  assertEquals(await audited(), [first]);
});

Deno.test("no audit is made where the settings want none", async () => {
  let nowMs = Date.now();
  await using gateway = await startGateway({
    settings: { alerts: { dailyAudit: false } },
    now: () => nowMs,
    alertTimes: NO_PASSES,
  });
  const isDue = () => isAuditDue(gateway.gateway.database, nowMs);
  assertEquals(await isDue(), false, "the first start");
  nowMs += DAY;
  await pass(gateway);
  assertEquals(await isDue(), true, "nothing has asked for it");
});

Deno.test("changed prices of listed models are told, changes of the settings are not", async () => {
  let models: unknown[] = [{ id: "m1", pricing: { prompt: "0.000001", completion: "0.000002" } }];
  await using upstream = fakeUpstream(() => Response.json({ object: "list", data: models }));
  const settings = { upstream: { url: upstream.url, discover: true } };
  await using gateway = await startGateway({ settings, alertTimes: NO_PASSES });
  assertEquals(await pass(gateway), []);
  models = [...models, { id: "m2" }];
  // a reload asks the upstreams again, with the same settings
  await gateway.reload(settings);
  const marks = await pass(gateway);
  assertEquals(marks.map((mark) => mark.split(":")[0]), ["catalog_changed"]);
  const [one] = await notices(gateway.gateway.database, { limit: 1 });
  assertEquals(one!.data.changes, ["m2 was added"]);
  models = [{ id: "m1", pricing: { prompt: "0.000001", completion: "0.000002" } }];
  await gateway.reload({ ...settings, credits: { perUsd: 7 } });
  assertEquals(await pass(gateway), marks);
});

Deno.test("a published price that the other source does not confirm is told once, unless the settings have a price", async () => {
  const url = "https://api.openai.com/v1";
  const { id } = knownModels().find(({ id, provider }) =>
    provider === "openai" && disputedPrices(id, url).length > 0
  )!;
  await using upstream = fakeUpstream(() => Response.json({ object: "list", data: [] }));
  const settingsOf = (more: object = {}): SettingsInput => ({
    alerts: { dailyAudit: false },
    upstreams: { own: { provider: "openai", url: upstream.url, key: "k" } },
    routes: { house: { targets: [{ upstream: "own", model: id }], ...more } },
  });
  await using gateway = await startGateway({ settings: settingsOf(), alertTimes: NO_PASSES });
  const disputes = async () =>
    (await pass(gateway)).filter((mark) => mark.startsWith("price_disagrees:"));
  const [mark, ...more] = await disputes();
  assertEquals([mark?.split(":").slice(0, 3), more], [
    ["price_disagrees", "house", `own/${id}`],
    [],
  ]);
  const [one] = await notices(gateway.gateway.database, { limit: 1 });
  assertEquals(one!.data.prices, disputedPrices(id, url).map((price) => ({ ...price })));
  assertStringIncludes(one!.text, `what ${id} of own costs per million tokens: `);
  await gateway.reload({ ...settingsOf(), logLevel: "warn" });
  assertEquals(await disputes(), [mark]);

  const prices = { input: 1, cached: 1, output: 1 };
  await using decided = await startGateway({
    settings: settingsOf({ prices }),
    alertTimes: NO_PASSES,
  });
  assertEquals((await pass(decided)).filter((one) => one.startsWith("price_disagrees")), []);
});

Deno.test("old alerts are deleted, but for those whose marks could be reached again", async () => {
  let nowMs = Date.now();
  await using gateway = await startGateway({ now: () => nowMs, alertTimes: NO_PASSES });
  const { alerts, database } = gateway.gateway;
  const of = (kind: "disk_low" | "low_credits", at: number) => ({
    mark: `${kind}:${at}`,
    kind,
    accountId: null,
    title: "",
    text: "",
    data: {},
  });
  await alerts.outbox.raise(
    Array.from({ length: 450 }, (_, at) => of("disk_low", at)),
    gateway.gateway.config.settings.alerts.receivers,
  );
  await alerts.outbox.raise([of("low_credits", 1)], {});
  nowMs += 91 * DAY;
  assertEquals(await pass(gateway), ["low_credits:1"]);
  assertEquals((await database.all("select * from alert_deliveries")).length, 0);
});

Deno.test("old alerts are deleted an hour apart, four thousand each time", async () => {
  let nowMs = Date.now();
  await using gateway = await startGateway({ now: () => nowMs, alertTimes: NO_PASSES });
  const { alerts, database } = gateway.gateway;
  await database.batch([{
    sql: `insert into alerts (id, mark, kind, title, text, data, created_at_ms)
      select value, value, 'disk_low', '', '', '{}', ?2 from json_each(?1)`,
    args: [JSON.stringify(Array.from({ length: 4_201 }, (_, at) => `alert_${at}`)), nowMs],
  }]);
  nowMs += 91 * DAY;
  for (const time of ["the first pass", "the next one"]) {
    assert(await alerts.watch.pass());
    const row = await database.one("select count(*) as number from alerts");
    assertEquals(Number(row!.number), 201, time);
  }
});

Deno.test("what fails is logged, unless it fails because the watch is closed", async () => {
  const logged: string[] = [];
  let looks = 0;
  let fail: (error: Error) => void = () => {};
  const away = () => Promise.reject(new Error("the database is closed"));
  const watch = new Watch({
    database: { all: away, one: away, batch: away },
    log: { warn: (what: string) => logged.push(what) },
    now: () => 0,
    see: () => {
      looks++;
      return new Promise((_resolve, reject) => fail = reject);
    },
    times: { seeEveryMs: 1, passEveryMs: 1e8, circuitMs: 1, circuitQuietMs: 1 },
  } as unknown as WatchOptions);
  watch.start();
  for (let at = 1; at <= 3; at++) {
    await until(() => looks === at, { what: `look ${at}` });
    if (at < 3) fail(new Error("away"));
  }
  const closed = watch.close();
  fail(new Error("closed"));
  await closed;
  assertEquals(logged, Array.from({ length: 2 }, () => "conditions could not be noted"));
});
