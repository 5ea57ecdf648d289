import Driver from "libsql";
import {
  type Account,
  Accounts,
  Keys,
  Members,
  TeamKeys,
  Teams,
} from "../../../src/people/accounts/mod.ts";
import { type Bonuses, Registration, Sales } from "../../../src/money/billing/mod.ts";
import { type Database, openDatabase } from "../../../src/ground/database/mod.ts";
import { sqliteError } from "../../../src/ground/database/sqlite/failures.ts";
import { render } from "../../../src/ground/sql/mod.ts";
import { newRequestId } from "../../../src/ground/platform/ids.ts";
import {
  admit,
  expireLots,
  grantStatements,
  lend,
  type Mismatch,
  type Noun,
  openPeriods,
  RULES,
  setBudget,
  settle,
  TierList,
  writeOffLoans,
} from "../../../src/money/ledger/mod.ts";
import { orderStatement } from "../../../src/money/payments/orders.ts";
import { paymentStatement, settleChange } from "../../../src/money/payments/settle_payment.ts";
import { writeEmptyDatabase } from "../../fake/empty_database.ts";
import { settlePrice } from "../../fake/ledger.ts";
import { tempDir } from "../../fake/temp.ts";
import { DayTotals, Retention } from "../../../src/money/usage/mod.ts";
import { SILENT } from "../../../src/ground/telemetry/mod.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.UTC(2030, 0, 1);
const BONUSES: Bonuses = {
  signup: 10,
  inviteSignup: 50,
  inviteFirstPayment: 500,
  ownerGrant: 1000,
  signupsPerNetwork: 10,
  unpaidInvites: 10,
};
const PRICES = { input: 100_000, cached: 50_000, output: 400_000, minimum: 1 };

let history: Promise<Uint8Array<ArrayBuffer>> | undefined;

/**
 * Writes a ledger that has a bit of everything: grants of each source, expiries, charges over several lots,
 * accounts with several keys, budgets, holds, uncollected and pruned requests, bonuses, windows.
 *
 * It is made once for all tests of a process, as that takes longer than most that is done with it.
 */
export async function writeHistory(file: string): Promise<void> {
  history ??= madeHistory();
  await Deno.writeFile(file, await history, { createNew: true });
}

async function madeHistory(): Promise<Uint8Array<ArrayBuffer>> {
  await using dir = await tempDir();
  const file = `${dir.path}/history.db`;
  let nowMs = START;
  const now = () => nowMs;
  await writeEmptyDatabase(file);
  const database = await openDatabase({ file, durability: "normal", rules: RULES, now });
  const accounts = new Accounts(database, now);
  const keys = new Keys(database, now);
  const registration = new Registration(database, accounts, BONUSES);
  const sales = new Sales(
    database,
    [
      { id: "small", name: "Small", credits: 300, priceUsd: 3, validDays: 30 },
      { id: "bound", name: "Bound", credits: 80, priceUsd: 1, validDays: null, models: ["svc-*"] },
    ],
    BONUSES,
    now,
  );
  const tierList = new TierList([
    { above: 0, minute: 1_000, hour: 10_000, day: 100_000 },
    { above: 100, minute: 2_000, hour: 20_000, day: 200_000 },
  ]);
  await database.batch(tierList.statements);

  const owner = await registration.owner("owner@example.com");
  const inviteCode = await accounts.inviteCode(owner);
  const ada = await registration.register({ email: "ada@example.com", inviteCode });
  const bob = await registration.register({ email: "bob@example.com" });
  await sales.sell(ada, sales.package("small"), { paid: true });
  await sales.grant(ada, { credits: 40, expiresAtMs: nowMs + 2 * HOUR, note: "for a while" });
  await sales.grant(ada, { credits: 25, expiresAtMs: nowMs + 9 * DAY, note: "for days" });
  const key = async (account: typeof ada, budgetCredits?: number) =>
    (await keys.issue(account, { budgetCredits })).id;
  const team = await new Teams(database, now).create({ name: "Platform", pool: false });
  for (const account of [bob, owner]) await new Members(database, now).add(team, account);
  const teamKeys = new TeamKeys(database, now);
  const keyOfTeam = async (account: typeof ada, budgetCredits?: number) =>
    (await teamKeys.issue(team, account, { budgetCredits })).id;
  const callers = [
    { accountId: ada.id, keyId: await key(ada, 400) },
    { accountId: ada.id, keyId: await key(ada) },
    { accountId: bob.id, keyId: await keyOfTeam(bob, 5) },
    { accountId: bob.id, keyId: await key(bob) },
    { accountId: owner.id, keyId: await keyOfTeam(owner) },
  ];

  const budgets = [
    { owner: "key", ownerId: callers[0]!.keyId, period: "month", zone: "Europe/Berlin" },
    { owner: "member", ownerId: `${team.id}:${bob.id}`, period: "week", zone: "Asia/Kathmandu" },
    { owner: "team", ownerId: team.id, period: "day", zone: "America/New_York" },
    { owner: "account", ownerId: owner.id, period: "day" },
  ] as const;
  for (const budget of budgets) {
    await setBudget(database, { ...budget, credits: 5_000 }, { nowMs });
  }

  const hold = async (caller: typeof callers[number], credits: number) => {
    const requestId = newRequestId(nowMs);
    const { verdict } = await admit(database, {
      ...caller,
      requestId,
      gatewayId: "gw",
      least: 1,
      wanted: credits,
      nowMs,
      leaseMs: 3_600_000,
      tierListId: tierList.id,
      route: "svc-k2",
    });
    return verdict === "admitted" ? requestId : undefined;
  };
  let count = 0;
  const request = async (caller: typeof callers[number], outputTokens: number) => {
    const admittedAtMs = nowMs;
    const requestId = await hold(caller, 2);
    if (requestId === undefined) return;
    count++;
    const tokens = { inputTokens: 20 + count, cachedTokens: 7, outputTokens };
    const sum = (tokens.inputTokens - 7) * PRICES.input + 7 * PRICES.cached +
      outputTokens * PRICES.output;
    const isCharged = outputTokens > 0;
    nowMs += 40;
    await settle(database, {
      ...caller,
      requestId,
      dialect: count % 2 === 0 ? "chat" : "messages",
      route: count % 3 === 0 ? "svc-k3" : "svc-k2",
      upstream: "one",
      upstreamModel: "model",
      attempts: 1,
      status: isCharged ? 200 : 502,
      ending: isCharged ? "complete" : "upstream_failed",
      streamed: false,
      usageSource: isCharged ? "upstream" : null,
      ...(isCharged ? tokens : { inputTokens: 0, cachedTokens: 0, outputTokens: 0 }),
      reasoningTokens: 0,
      startedAtMs: admittedAtMs,
      firstTokenMs: 5,
      durationMs: 30 + count,
      priceCredits: isCharged ? Math.max(PRICES.minimum, Math.ceil(sum / 1e6)) + count % 2 : 0,
      extraCredits: isCharged ? count % 2 : 0,
      counted: isCharged ? tokens : undefined,
      reported: isCharged ? tokens : undefined,
      prices: isCharged ? PRICES : null,
      admittedAtMs,
      ignored: "",
      tags: {
        project: count % 2 === 0 ? "env" : "p1", // a value that is the name of another tag
        env: caller === callers[0] ? "prod" : "ci",
        session: `s${count}`,
      },
      settledAtMs: nowMs,
      failure: isCharged || count % 3 === 0
        ? undefined
        : { reason: "upstream_unavailable", message: "No reply." },
    });
  };
  for (let day = 0; day < 12; day++) {
    for (const caller of callers) {
      await request(caller, 8);
      nowMs += 70_000;
      await request(caller, day % 4 === 0 ? 0 : 5);
      nowMs += day % 2 === 0 ? HOUR : 1_000;
    }
    if (day === 0) await request(callers[0]!, 60); // over several lots
    if (day < 2) await request(callers[3]!, 40); // more than there is
    await expireLots(database, nowMs);
    nowMs = START + (day + 1) * DAY;
    await openPeriods(database, nowMs);
  }
  const eve = await registration.register({ email: "eve@example.com", inviteCode });
  await sales.grant(bob, { credits: 200 });
  await sales.grant(ada, { credits: 200 });
  const mistake = await sales.grant(bob, { credits: 90, note: "by mistake" });
  await sales.takeBack(bob, { lotId: mistake.lotId, credits: 50, note: "meant 40" });
  const sold = await sales.sell(eve, sales.package("small"), { paid: true });
  await sales.takeBack(eve, { lotId: sold.lotId, note: "refunded" });
  await writePayments(database, { accounts, eve, nowMs });
  await request(callers[3]!, 10);
  await new Retention({ database, log: SILENT, now, days: 11, rows: 5_000 }).prune();
  await new DayTotals({ database, log: SILENT, now }).addUp();
  nowMs += 1_000;
  // a budget of a key that was charged before, and a hold of one that had earlier periods
  await setBudget(
    database,
    { owner: "key", ownerId: callers[3]!.keyId, period: "day", credits: 5_000 },
    { nowMs },
  );
  await hold(callers[4]!, 1);
  await request(callers[2]!, 0);
  await request(callers[4]!, 2_000_000 / 0.4); // more than there is
  await hold(callers[0]!, 9);
  await hold(callers[3]!, 4);
  const cleo = await registration.register({ email: "cleo@example.com" });
  await sales.sell(cleo, sales.package("bound"), { paid: false });
  const ofCleo = { accountId: cleo.id, keyId: await key(cleo) };
  await request(ofCleo, 10);
  await hold(ofCleo, 6);
  const lent = {
    ...callers[1]!,
    gatewayId: "gw",
    loanId: "loan_1",
    isNew: true,
    nowMs,
    leaseMs: 3_600_000,
    tierList,
    leastCredits: 1,
    leastPlaces: 1,
  };
  const gone = { ...lent, gatewayId: "gw_gone", loanId: "loan_gone", leaseMs: -1 };
  for (const one of [gone, lent]) {
    if (await lend(database, one) === undefined) throw new Error("nothing was lent");
    await writeOffLoans(database, { id: "off_1", gatewayId: "gw_gone", note: "lost", atMs: nowMs });
  }
  await database.close();
  const raw = openRaw(file);
  raw.prepare("pragma wal_checkpoint(truncate)").all([]); // all in the one file, to be copied
  raw.close();
  return await Deno.readFile(file);
}

/** Orders with refunds, disputes, debts that were paid off, a review, a redeemed code. */
async function writePayments(
  database: Database,
  { accounts, eve, nowMs }: {
    readonly accounts: Accounts;
    readonly eve: Account;
    readonly nowMs: number;
  },
): Promise<void> {
  const buyer = await accounts.create({ email: "buyer@example.com", invitedBy: eve.id });
  const { id: keyId } = await new Keys(database, () => nowMs).issue(buyer);
  let atMs = nowMs;
  const order = async (name: string, event?: string) => {
    atMs += 1_000;
    const id = `ord_${name}`;
    const orderId = id;
    await database.batch([
      orderStatement({
        id,
        accountId: buyer.id,
        provider: "stripe",
        origin: "console",
        reference: name,
        packageId: "small",
        packageName: "Small",
        credits: 300,
        validDays: 30,
        amount: 300,
        currency: "usd",
        livemode: true,
        lotId: `lot_${id}`,
        note: "Small",
        atMs,
      }),
      paymentStatement({
        orderId,
        paymentId: `pi_${name}`,
        sessionId: `cs_${name}`,
        amount: 300,
        eventId: event,
        bonusCredits: 500,
        isPayment: true,
        atMs,
      }),
      ...event === undefined ? [] : [{
        sql:
          `insert into payment_events values (?, 'checkout.session.completed', ?, 1, ?, 'applied',
          ?, ?)`,
        args: [event, `cs_${name}`, id, atMs, atMs],
      }],
    ]);
  };
  const change = async (
    kind: "refund" | "dispute",
    of: string,
    { amount, rank }: { readonly amount: number; readonly rank: 0 | 1 | 2 | 3 },
  ) => {
    atMs += 1_000;
    await settleChange(database, {
      id: `${kind}_${of}`,
      kind,
      paymentId: `pi_${of}`,
      amount,
      currency: "usd",
      livemode: true,
      rank,
      atMs,
    }, { accountIds: [] });
  };
  await order("spent", "evt_spent");
  await settlePrice(database, {
    requestId: newRequestId(atMs),
    accountId: buyer.id,
    keyId,
    price: 250,
    nowMs: atMs,
  });
  await change("refund", "spent", { amount: 300, rank: 1 });
  await order("pays_off", "evt_pays_off");
  await change("refund", "pays_off", { amount: 20, rank: 1 });
  await change("refund", "spent", { amount: 300, rank: 2 });
  await order("disputed", "evt_disputed");
  await change("dispute", "disputed", { amount: 300, rank: 1 });
  await order("odd");
  await database.batch([
    {
      sql: `insert into order_events (id, kind, cause_id, order_id, at_ms)
        values ('review:x', 'review', 'x', 'ord_odd', ?)`,
      args: [atMs],
    },
    { sql: "update orders set needs_look = 'x' where id = 'ord_odd'" },
    {
      sql: `insert into redemption_codes (id, digest, hint, credits, note, created_at_ms,
          redeemed_at_ms, redeemed_by) values ('code_1', 'd', 'h', 70, '', ?1, ?1, ?2)`,
      args: [atMs, buyer.id],
    },
    ...grantStatements({
      lotId: "lot_code_1",
      accountId: buyer.id,
      source: "grant",
      credits: 70,
      expiresAtMs: null,
      atMs,
    }),
  ]);
}

/** Something that was done to the file by hand. */
export interface Corruption {
  readonly name: string;
  /** Of which kind it is, all of which can be done at once. */
  readonly kind?: string;
  readonly sql: readonly string[];
  /** What the audit must name. */
  readonly noun: Noun;
  /** A query of the id that the audit must name, run before the corruption. */
  readonly id?: string;
  /** Whether the triggers fire, as when somebody uses the database's own shell. */
  readonly triggers?: boolean;
}

/** Whether an audit names a corruption, of which `id` is the id that it must name, if any. */
export function isNamed(
  mismatches: readonly Mismatch[],
  { noun }: Corruption,
  id: string | undefined,
): boolean {
  return mismatches.some((row) =>
    row.noun === noun && (id === undefined || row.id === id) && row.found !== row.expected
  );
}

/** The face of the driver that is used. */
interface Raw {
  exec(sql: string): void;
  prepare(sql: string): { all(args?: unknown[]): Record<string, string | number | null>[] };
  close(): void;
}

/** Opens the file past everything that protects it. */
export function openRaw(file: string): Raw {
  // the driver's own types do not know that rows are objects
  const raw = new Driver(file) as unknown as Raw;
  raw.exec("pragma foreign_keys = off");
  raw.exec("pragma ignore_check_constraints = on");
  return raw;
}

/**
 * Makes each corruption of a file in turn, lets `look` read the database as it is then, and takes it back.
 * Reads are of the connection that made it, so that they see what is not committed.
 *
 * Those that fire no triggers are made in a copy that has none, since to drop and make all triggers each time would take
 * most of the time. The schema that is read beside it is that of the file itself.
 *
 * @param look Gets the database, and the tables that the corruption names, with the views of them.
 */
export async function withEach<One extends Corruption>(
  file: string,
  corruptions: readonly One[],
  look: (
    database: Database,
    corruption: One,
    more: { readonly id: string | undefined; readonly touched: readonly string[] },
  ) => Promise<void>,
): Promise<void> {
  const copy = `${file}-without-triggers`;
  await Deno.copyFile(file, copy);
  const whole = openRaw(file);
  const bare = openRaw(copy);
  try {
    for (const { name } of bare.prepare(TRIGGERS).all([])) bare.exec(`drop trigger ${name}`);
    const relations = whole.prepare(RELATIONS).all([]);
    const readBare = readingFrom(bare, whole);
    const readWhole = readingFrom(whole, whole);
    for (const one of corruptions) {
      const isBare = one.triggers !== true && one.noun !== "schema";
      const raw = isBare ? bare : whole;
      const touched: string[] = [];
      for (const { name, type, sql } of relations) {
        const isTouched = type === "table"
          ? one.sql.some((statement) => mentions(statement, String(name)))
          : touched.some((other) => mentions(String(sql), other));
        if (isTouched) touched.push(String(name));
      }
      const isOfSchema = one.triggers === true && one.noun === "schema";
      const content = () => contentOf(raw, isOfSchema ? [] : touched);
      const before = content();
      const id = one.id === undefined
        ? undefined
        : String(Object.values(raw.prepare(one.id).all([])[0]!)[0]);
      raw.exec("begin");
      for (const statement of one.sql) raw.exec(statement);
      if (content() === before) throw new Error(`${one.name} changed nothing`);
      await look(isBare ? readBare : readWhole, one, { id, touched });
      raw.exec("rollback");
    }
  } finally {
    whole.close();
    bare.close();
  }
}

/** A database in which queries that read none of some tables find nothing; those of the schema read it. */
export function onlyReadersOf(database: Database, tables: readonly string[]): Database {
  const reads = (sql: string) =>
    SCHEMA_TABLES.some((name) => mentions(sql, name)) ||
    tables.some((name) => mentions(sql, name));
  return {
    ...database,
    all: (sql, args, options) =>
      reads(sql) ? database.all(sql, args, options) : Promise.resolve([]),
    one: (sql, args) => reads(sql) ? database.one(sql, args) : Promise.resolve(undefined),
  };
}

const SCHEMA_TABLES = ["sqlite_master", "schema_versions", "installed_rules"];

/** Tables, then views in the order in which they were made. */
const RELATIONS = `select type, name, sql from sqlite_master where type in ('table', 'view')
  order by type, rowid`;

const TRIGGERS = "select name from sqlite_master where type = 'trigger'";

/** Whether a statement has a name in it. */
function mentions(sql: string, name: string): boolean {
  return new RegExp(`\\b${name}\\b`).test(sql);
}

/** The schema and all rows of some tables, as a text. */
function contentOf(raw: Raw, tables: readonly string[]): string {
  const schema = raw.prepare("select type, name, tbl_name, sql from sqlite_master order by 1, 2")
    .all([]);
  const made = tables.filter((table) =>
    schema.some(({ type, name }) => type === "table" && name === table)
  );
  return JSON.stringify([
    schema,
    ...made.map((table) => [table, raw.prepare(`select * from "${table}"`).all([])]),
  ]);
}

/** A connection as a database that is only read; its schema is read from another one. */
function readingFrom(raw: Raw, schema: Raw): Database {
  const refused = () => Promise.reject(new TypeError("This database is only read"));
  const all: Database["all"] = async (sql, args = []) => {
    try {
      const from = mentions(sql, "sqlite_master") ? schema : raw;
      return await Promise.resolve(from.prepare(render(sql, "sqlite")).all([...args]));
    } catch (cause) {
      throw sqliteError("SQLITE_ERROR", String(cause), { cause });
    }
  };
  return {
    place: "raw",
    waiting: 0,
    all,
    one: async (sql, args) => (await all(sql, args))[0],
    batch: refused,
    write: refused,
    close: () => Promise.resolve(),
  };
}

/** The noun of each table's rows. */
export const NOUNS: Readonly<Record<string, Noun>> = {
  account_windows: "window",
  bound_holds: "hold",
  accounts: "account",
  balances: "balance",
  budget_keys: "budget",
  budget_periods: "budget",
  budgets: "budget",
  decisions: "decision",
  entries: "entry",
  first_payments: "lot",
  grants: "lot",
  holds: "hold",
  installed_rules: "schema",
  key_uses: "key",
  keys: "key",
  loans: "loan",
  loan_write_offs: "loan",
  lots: "lot",
  order_credits: "order",
  order_events: "order",
  orders: "order",
  payment_events: "order",
  payment_facts: "order",
  price_storage: "record",
  pruned_charges: "pruned",
  pruned_hours: "hour",
  pruned_records: "pruned",
  pruned_windows: "window",
  redemption_codes: "code",
  revisions: "revision",
  schema_versions: "schema",
  settling: "settlement",
  tag_values: "tag",
  take_backs: "entry",
  tiers: "tier",
  usage_day_totals: "day",
  usage_days: "day",
  usage_hours: "hour",
  usage_records: "record",
  usage_tags: "tag",
  usage_totals: "hour",
  windows: "window",
};

/** Tables that have nothing to do with credits. */
export const OTHER_TABLES = [
  "alert_conditions",
  "alert_deliveries",
  "alert_jobs",
  "alerts",
  "code_tries",
  "device_codes",
  "group_grants",
  "identities",
  "kept_items",
  "operation_log",
  "operation_log_pruned",
  "operation_requests",
  "passkey_challenges",
  "passkeys",
  "passwords",
  "database_identity",
  "probes",
  "provider_visits",
  "signups",
  "scim_groups",
  "scim_members",
  "scim_users",
  "secrets",
  "sessions",
  "sign_in_links",
  "team_members",
  "teams",
  "tool_codes",
  "tool_grants",
  "top_ups",
  "upstream_keys",
  "payment_contacts",
];

const FACT = "a fact that somebody stated; nothing else follows from it";
const DESCRIPTION = "describes the request; nothing else follows from it";
const BOUND = "a bound; raising it hides only rows older than it";

/** Columns that cannot be derived, and why. */
export const FREE: Readonly<Record<string, string>> = {
  "accounts.email": FACT,
  "accounts.name": FACT,
  "accounts.kind": FACT,
  "accounts.role": FACT,
  "accounts.created_at_ms": FACT,
  "accounts.disabled_at_ms": FACT,
  "accounts.invite_code": FACT,
  "keys.name": FACT,
  "keys.digest": FACT,
  "keys.hint": FACT,
  "keys.source": FACT,
  "keys.models": FACT,
  "keys.at_once": FACT,
  "keys.created_at_ms": FACT,
  "keys.expires_at_ms": FACT,
  "keys.revoked_at_ms": FACT,
  "budgets.raise_credits": FACT,
  "budgets.raise_until_ms": FACT,
  "budgets.marks": FACT,
  "budgets.set_at_ms": FACT,
  "keys.team_id": FACT,
  "keys.member_id": FACT,
  "keys.scopes": FACT,
  "keys.previous_digest": FACT,
  "keys.previous_until_ms": FACT,
  "holds.request_id": "known only to the gateway that runs the request; the lease bounds it",
  "holds.route": "known only to that gateway; the lease bounds it",
  "holds.asked": "known only to that gateway; the lease bounds it",
  "holds.lacks": "known only to that gateway; the lease bounds it",
  "holds.gateway_id": "known only to that gateway; the lease bounds it",
  "loans.gateway_id": "known only to that gateway; the lease bounds it",
  "loans.loan_id": "known only to that gateway; the lease bounds it",
  "loans.minute": "known only to that gateway; the lease bounds it",
  "loans.hour": "known only to that gateway; the lease bounds it",
  "loans.day": "known only to that gateway; the lease bounds it",
  "loan_write_offs.loan_id": "the loan has ended, and is known nowhere else",
  "loan_write_offs.write_off_id": "the loan has ended, and is known nowhere else",
  "loan_write_offs.gateway_id": "the loan has ended, and is known nowhere else",
  "loan_write_offs.note": "the loan has ended, and is known nowhere else",
  "loan_write_offs.at_ms": "as the clock said",
  "loans.lent_at_ms":
    "of a loan without a key it says nothing; of another the budgets' periods tell",
  "loans.recalled": "a wish; the gateway returns the loan",
  "usage_records.dialect": DESCRIPTION,
  "usage_records.upstream": DESCRIPTION,
  "usage_records.upstream_model": DESCRIPTION,
  "usage_records.attempts": DESCRIPTION,
  "usage_records.status": DESCRIPTION,
  "usage_records.streamed": DESCRIPTION,
  "usage_records.reasoning_tokens": "part of output_tokens; nothing else follows from it",
  "usage_records.first_token_ms": DESCRIPTION,
  "usage_records.ignored": DESCRIPTION,
  "usage_records.counted_input": DESCRIPTION,
  "usage_records.counted_output": DESCRIPTION,
  "usage_records.reported_input": DESCRIPTION,
  "usage_records.reported_output": DESCRIPTION,
  "usage_records.own_key": DESCRIPTION,
  "usage_records.details": DESCRIPTION,
  "usage_records.reason": "that of a failed request is in a roll-up, as a named corruption shows",
  "usage_records.message": DESCRIPTION,
  "usage_records.attempt_list": DESCRIPTION,
  "usage_records.balance_credits":
    "depends on the order of an account's settlements, which is not stored",
  "installed_rules.installed_at_ms": FACT,
  "pruned_records.through": BOUND,
  "pruned_windows.before_ms": BOUND,
  "revisions.number": "a counter of which only changes matter",
  "schema_versions.applied_at_ms": FACT,
  "take_backs.wanted": "what was asked for; what was taken is in its entry",
  "take_backs.note": FACT,
  "orders.origin": FACT,
  "orders.reference": FACT,
  "orders.package_id": FACT,
  "orders.package_name": FACT,
  "orders.created_at_ms": FACT,
  "orders.session_id": "the provider's; what it paid is in payment_id",
  "orders.session_url": "the provider's; nothing follows from it",
  "orders.checkout_options": "what the provider was asked for; what it paid is in payment_id",
  "orders.currency": "compared with those of its refunds and disputes only",
  "orders.livemode": "compared with those of its refunds and disputes only",
  "order_events.detail": "describes the event; nothing else follows from it",
  "payment_facts.at_ms": FACT,
  "payment_facts.as_of_ms": FACT,
  "payment_events.type": FACT,
  "payment_events.object_id": FACT,
  "payment_events.livemode": FACT,
  "payment_events.outcome": FACT,
  "payment_events.created_at_ms": FACT,
  "payment_events.received_at_ms": FACT,
  "redemption_codes.digest": FACT,
  "redemption_codes.hint": FACT,
  "redemption_codes.package_id": FACT,
  "redemption_codes.package_name": FACT,
  "redemption_codes.valid_days": FACT,
  "redemption_codes.note": FACT,
  "redemption_codes.created_at_ms": FACT,
  "redemption_codes.expires_at_ms": FACT,
  "redemption_codes.revoked_at_ms": FACT,
};

const UNBOUND = "it pays for all models; a corruption unbinds a lot that is bound";

/** Columns in which no value means something. */
const MAY_BE_EMPTY: Readonly<Record<string, string>> = {
  "usage_records.admitted_at_ms": "no window counted the request",
  "order_events.event_id": "it was found by asking",
  "lots.models": UNBOUND,
  "grants.models": UNBOUND,
  "orders.models": UNBOUND,
  "redemption_codes.models": UNBOUND,
};

/** How a column is changed where adding 1, or another letter, would be no change of what it means. */
const CHANGES: Readonly<Record<string, string>> = {
  "usage_hours.hour_at_ms": `hour_at_ms + ${HOUR}`,
  "pruned_hours.hour_at_ms": `hour_at_ms + ${HOUR}`,
  "usage_records.started_at_ms": `started_at_ms + ${HOUR}`,
  "usage_records.admitted_at_ms": `admitted_at_ms + 90000`,
  "usage_records.ending": "'client_left'",
  "usage_records.tags": "json_set(tags, '$.env', 'prod')",
  "usage_totals.hour_at_ms": `hour_at_ms + ${HOUR}`,
  "usage_days.day_at_ms": `day_at_ms + ${DAY}`,
  "usage_day_totals.day_at_ms": `day_at_ms + ${DAY}`,
  "usage_tags.at_ms": `at_ms + ${DAY}`,
  "usage_tags.span_ms": `iif(span_ms = ${DAY}, ${HOUR}, ${DAY})`,
  "tag_values.day_at_ms": `day_at_ms + ${DAY}`,
  "usage_records.usage_source": "null",
  "holds.created_at_ms": "created_at_ms + 120000",
  "pruned_charges.hour_at_ms": `hour_at_ms + ${30 * DAY}`,
  "pruned_charges.quarter_at_ms": `quarter_at_ms + ${DAY}`,
  "budget_keys.budget_id": "(select id from budgets where owner = 'account')",
  "holds.lease_until_ms": `lease_until_ms + ${30 * DAY}`,
  "loans.key_id": "'key_of_nobody'",
  "loans.lease_until_ms": `lease_until_ms + ${30 * DAY}`,
  "loan_write_offs.lease_until_ms": `at_ms + ${DAY}`,
  "usage_records.input_price": "input_price + 1000000",
  "usage_records.cached_price": "cached_price + 1000000",
  "usage_records.output_price": "output_price + 1000000",
  "usage_records.minimum_credits": "minimum_credits + 1000",
  "windows.span_ms": "60000",
  "account_windows.span_ms": "60000",
  "entries.kind": "'expire'",
  "key_uses.last_used_at_ms": `last_used_at_ms + ${HOUR}`,
  "lots.models": `'["svc-k3"]'`,
  "grants.models": `'["svc-k3"]'`,
  "orders.models": `'["svc-k3"]'`,
  "redemption_codes.models": `'["svc-k3"]'`,
  "lots.source": "'package'",
  "grants.source": "'package'",
};

/** Which row is changed where not any would do. */
const ROWS: Readonly<Record<string, string>> = {
  usage_records: "ending = 'complete' and charged_credits > 1 and minimum_credits = 1",
  entries: "kind = 'charge' and exists (select 1 from usage_records where request_id = cause_id)",
  // windows of days of which some were pruned say less
  windows: "span_ms = 3600000 and at_ms > (select max(at_ms) - 3 * 86400000 from windows)",
  account_windows:
    "span_ms = 3600000 and at_ms > (select max(at_ms) - 3 * 86400000 from account_windows)",
  accounts: "invited_by is not null and email <> 'buyer@example.com'",
  keys: "budget_credits is not null",
  budgets: "owner = 'key' and period = 'life'",
  budget_keys: "budget_id like 'key:%'",
  budget_periods: "spent > 0 and budget_id like 'account:%'",
  lots: "source = 'grant'",
  grants: "source = 'grant'",
  orders: "id = 'ord_pays_off'",
  order_events: "kind = 'paid' and event_id is not null",
  order_credits: "kind = 'taken'",
  payment_facts: "id = 'refund_pays_off'",
  redemption_codes: "redeemed_at_ms is not null",
  pruned_hours: "credits > 0",
  schema_versions: "version = (select max(version) from schema_versions)",
};

/** Nouns that a column's change shows as, where that is another than its table's. */
const SHOWS_AS: Readonly<Record<string, Noun>> = {
  "accounts.id": "balance",
  "accounts.invited_by": "lot",
  "keys.id": "hour",
  "keys.account_id": "hour",
  "keys.budget_credits": "budget",
  "entries.account_id": "record",
  "entries.cause_id": "record",
  "entries.lot_id": "lot",
  "entries.kind": "record",
  "entries.credits": "record",
  "entries.at_ms": "record",
  "usage_records.request_id": "entry",
  "usage_records.key_id": "hour",
  "usage_records.route": "hour",
  "usage_records.ending": "hour",
  "usage_records.started_at_ms": "hour",
  "usage_records.duration_ms": "hour",
  "usage_records.tags": "tag",
  "usage_records.input_tokens": "hour",
  "usage_records.output_tokens": "hour",
  "pruned_hours.uncollected_requests": "pruned",
  "pruned_hours.uncollected_credits": "pruned",
  "usage_records.admitted_at_ms": "window",
  "holds.key_id": "window",
  "holds.credits": "balance",
  "loans.account_id": "balance",
  "loans.credits": "balance",
  "holds.created_at_ms": "window",
  "loan_write_offs.account_id": "balance",
  "loan_write_offs.credits": "balance",
};

const SHOWS_DELETED_AS: Readonly<Record<string, Noun>> = {
  bound_holds: "lot",
  accounts: "balance",
  entries: "record",
  usage_records: "hour",
  keys: "hour",
  holds: "balance",
  loans: "balance",
  loan_write_offs: "balance",
};

const SHOWS_PHANTOM_AS: Readonly<Record<string, Noun>> = {
  accounts: "balance",
  entries: "lot",
  usage_records: "hour",
  keys: "budget",
  holds: "balance",
  loan_write_offs: "balance",
};

/** Columns of which no two rows have the same, besides keys. */
const UNIQUE = [
  "digest",
  "email",
  "invite_code",
  "orders.reference",
  "orders.lot_id",
  "orders.session_id",
  "orders.payment_id",
  "orders.receipt",
  "order_events.event_id",
];

interface Column {
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
  readonly pk: number;
}

/** A corruption for each column, and of each table a deleted and a phantom row, from the schema itself. */
export function generatedCorruptions(file: string): Corruption[] {
  const raw = openRaw(file);
  try {
    const tables = raw.prepare(
      `select name from sqlite_master where type = 'table' and name not like 'sqlite_%'
        and name not like 'libsql_%' order by name`,
    ).all([]).map(({ name }) => String(name)).filter((name) => !OTHER_TABLES.includes(name));
    return tables.flatMap((table) => {
      const columns = raw.prepare(`pragma table_info(${table})`).all([]) as unknown as Column[];
      const { n } = raw.prepare(`select count(*) as n from ${table}`).all([])[0]!;
      return ofTable(table, columns, Number(n));
    });
  } finally {
    raw.close();
  }
}

function ofTable(table: string, columns: readonly Column[], rows: number): Corruption[] {
  const noun = NOUNS[table];
  if (noun === undefined) {
    throw new Error(`tests/money/ledger/corruptions.ts does not know ${table}`);
  }
  const names = columns.map(({ name }) => name);
  const keys = columns.filter(({ pk }) => pk > 0).map(({ name }) => name);
  const key = keys.length > 0 ? keys : names;
  const pick = `(${key.join(", ")}) = (select ${key.join(", ")} from ${table}
    where ${ROWS[table] ?? "true"} order by ${key.join(", ")} limit 1
    offset (select count(*) / 2 from ${table} where ${ROWS[table] ?? "true"}))`;
  const made: Corruption[] = [];
  for (const column of rows === 0 ? [] : columns) {
    const name = `${table}.${column.name}`;
    if (FREE[name] !== undefined) continue;
    const shown = SHOWS_AS[name] ?? noun;
    made.push({
      name: `${name} changed`,
      sql: [
        `update or replace ${table} set ${column.name} = ${changed(name, column)} where ${pick}`,
      ],
      noun: shown,
    });
    if (column.notnull === 0 && column.pk === 0 && MAY_BE_EMPTY[name] === undefined) {
      made.push({
        name: `${name} emptied`,
        sql: [`update ${table} set ${column.name} = null where ${pick}`],
        noun: shown,
      });
    }
  }
  if (rows > 0) {
    made.push({
      name: `a row of ${table} deleted`,
      sql: [`delete from ${table} where ${pick}`],
      noun: SHOWS_DELETED_AS[table] ?? noun,
    });
  }
  const copy = columns.map((column) =>
    UNIQUE.includes(column.name) || UNIQUE.includes(`${table}.${column.name}`)
      ? column.type === "INTEGER" ? `${column.name} + 1000` : `${column.name} || 'x'`
      : column.pk > 0
      ? column.type === "INTEGER"
        ? changed(`${table}.${column.name}`, column)
        : `${column.name} || 'x'`
      : column.name
  );
  made.push({
    name: `a phantom row of ${table}`,
    sql: rows === 0
      ? [`insert into ${table} values (${columns.map(empty).join(", ")})`]
      : [`insert into ${table} select ${copy.join(", ")} from ${table} where ${pick}`],
    noun: SHOWS_PHANTOM_AS[table] ?? noun,
  });
  return made;
}

function changed(name: string, { name: column, type }: Column): string {
  const own = CHANGES[name];
  if (own !== undefined) return own;
  if (/account_id$|invited_by$/.test(column)) {
    return `(select id from accounts where id <> ${column} order by email desc limit 1)`;
  }
  if (column === "key_id") return `(select id from keys where id <> key_id order by id limit 1)`;
  if (column === "lot_id" && name === "entries.lot_id") {
    return `(select id from lots where id <> lot_id order by id limit 1)`;
  }
  return type === "INTEGER" ? `${column} + 1` : `${column} || 'x'`;
}

function empty({ name, type }: Column): string {
  return name === "verdict" ? "'admitted'" : type === "INTEGER" ? "1" : "'x'";
}

/** Each table, index, trigger and view dropped or changed, from the schema itself. */
export function schemaCorruptions(file: string): Corruption[] {
  const raw = openRaw(file);
  const objects = raw.prepare(
    `select type, name, tbl_name, sql from sqlite_master where sql is not null
      and name not like 'sqlite_%' and name not like 'libsql_%' order by type, name`,
  ).all([]);
  raw.close();
  return objects.flatMap((row): Corruption[] => {
    const [type, name, table, sql] = [row.type, row.name, row.tbl_name, row.sql].map(String) as [
      string,
      string,
      string,
      string,
    ];
    if (table === "schema_versions") return [];
    const id = `select '${type} ${name}'`;
    const rewrite = (to: string) => [
      "pragma writable_schema = on",
      `update sqlite_master set sql = '${to.replaceAll("'", "''")}' where name = '${name}'`,
      "pragma writable_schema = off",
    ];
    const made: Corruption[] = [];
    const add = (what: string, statements: readonly string[]) =>
      made.push({
        name: `${type} ${name} ${what}`,
        kind: `${type} ${what}`,
        sql: statements,
        noun: "schema",
        id,
        triggers: true,
      });
    if (type !== "table") add("dropped", [`drop ${type} ${name}`]);
    if (type === "trigger") {
      add("does nothing", [
        `drop trigger ${name}`,
        `${sql.slice(0, sql.search(/\bbegin\b/))} begin select 1; end`,
      ]);
    }
    if (type === "table") {
      add("has another column", [`alter table ${name} add column surplus integer`]);
      if (sql.includes(" check (")) {
        add("without a check", rewrite(sql.replace(/ check \(/, " check (true or ")));
      }
    }
    if (/unique/i.test(sql) && type === "index") {
      add("is not unique", [`drop index ${name}`, sql.replace(/unique /i, "")]);
    }
    return made;
  });
}

const RECORD =
  "(select request_id from usage_records where charged_credits > 1 order by 1 limit 1)";
const OTHER = `(select id from accounts where email = 'bob@example.com')`;
const HELD = "(select request_id from holds limit 1)";

/** What an attacker, a bug or a helpful hand would do. */
export const NAMED_CORRUPTIONS: readonly Corruption[] = [
  {
    name: "what was written off is lent again, past the triggers",
    sql: [
      "update loans set loan_id = 'loan_gone', account_id = (select account_id from loan_write_offs)",
    ],
    noun: "loan",
    id: "select 'loan_gone'",
  },
  {
    name: "a write-off of what could still be spent",
    sql: ["update loan_write_offs set lease_until_ms = at_ms + 7200000"],
    noun: "loan",
    id: "select 'loan_gone'",
  },
  {
    name: "a failed request has another reason",
    sql: ["update usage_records set reason = 'internal' where reason is not null"],
    noun: "tag",
  },
  {
    name: "a tag's requests are given to another value",
    sql: [
      "update usage_tags set value = 'p2' where name = 'project' and value = 'p1'",
    ],
    noun: "tag",
  },
  {
    name: "what an order took back is called an operator's doing",
    sql: [
      `update take_backs set id = 'take_back_by_hand'
        where id = (select id from order_credits where kind = 'taken' limit 1)`,
      `update order_credits set id = 'take_back_by_hand'
        where kind = 'taken' and id not in (select id from take_backs)`,
    ],
    noun: "order",
  },
  {
    name: "a payment invented for an order",
    sql: [
      "update orders set state = 'paid', payment_id = 'pi_none', paid_amount = 1, paid_at_ms = 1 where id = 'ord_odd'",
    ],
    noun: "order",
    id: "select 'ord_odd'",
  },
  {
    name: "a package granted without an order, through the triggers",
    sql: [
      `insert into lots (id, account_id, source, granted, remaining, created_at_ms)
        select 'lot_free', id, 'package', 9, 0, 5 from accounts limit 1`,
      `insert into entries select account_id, id, id, 'grant', 9, 5 from lots where id = 'lot_free'`,
    ],
    noun: "order",
    id: "select 'lot_free'",
    triggers: true,
  },
  {
    name: "a debt forgiven for nothing, through the triggers",
    sql: [
      `insert into order_credits select 'forgiven_' || cause || '_' || role, cause, order_id, role,
        account_id, 'forgiven', credits, null, at_ms from order_credits where kind = 'owed' limit 1`,
    ],
    noun: "order",
    id: "select order_id from order_credits where kind = 'owed' limit 1",
    triggers: true,
  },
  {
    name: "a refund forgotten with its event",
    sql: [
      "delete from payment_facts where id = 'refund_pays_off'",
      "delete from order_events where cause_id = 'refund_pays_off'",
    ],
    noun: "order",
    id: "select 'ord_pays_off'",
  },
  {
    name: "a refund made smaller with its event and the order",
    sql: [
      "update payment_facts set amount = 5 where id = 'refund_pays_off'",
      "update order_events set amount = 5 where cause_id = 'refund_pays_off'",
      "update orders set gone_amount = 5 where id = 'ord_pays_off'",
    ],
    noun: "order",
    id: "select 'ord_pays_off'",
  },
  {
    name: "a dispute called won",
    sql: ["update orders set state = 'paid', gone_amount = 0 where id = 'ord_disputed'"],
    noun: "order",
    id: "select 'ord_disputed'",
  },
  {
    name: "two orders exchange their payments",
    sql: [
      "update orders set payment_id = null where id in ('ord_spent', 'ord_odd')",
      "update orders set payment_id = 'pi_odd' where id = 'ord_spent'",
      "update orders set payment_id = 'pi_spent' where id = 'ord_odd'",
    ],
    noun: "order",
    id: "select 'ord_odd'",
  },
  {
    name: "a code redeemed twice",
    sql: [
      `insert into redemption_codes select 'code_2', digest || 'x', hint, package_id, package_name,
        credits, valid_days, note, created_at_ms, expires_at_ms, revoked_at_ms, redeemed_at_ms,
        redeemed_by, models from redemption_codes`,
    ],
    noun: "code",
    id: "select 'code_2'",
  },
  {
    name: "credits that are bound to models charged to a request of another one",
    sql: [
      `update lots set models = '["other"]' where models is not null`,
      `update grants set models = '["other"]' where models is not null`,
      `update orders set models = '["other"]' where models is not null`,
      "update holds set route = 'other'",
    ],
    noun: "entry",
    id: `select cause_id || ' ' || lot_id from entries join lots on lots.id = lot_id
      where models is not null and kind = 'charge'`,
  },
  {
    name: "a bound lot that is not bound any more",
    sql: ["update lots set models = null where models is not null"],
    noun: "lot",
    id: "select id from lots where models is not null",
  },
  {
    name: "a hold that reserves credits which are bound to another model",
    sql: ["update holds set route = 'other'"],
    noun: "hold",
    id: "select request_id from bound_holds",
  },
  {
    name: "a hold that reserves more of bound credits than it holds",
    sql: [
      "update bound_holds set credits = credits + 1",
      "update lots set reserved = reserved + 1 where models is not null",
    ],
    noun: "hold",
    id: "select request_id from bound_holds",
  },
  {
    name: "credits held that no lot has which is not bound",
    sql: [
      "delete from bound_holds",
      "update lots set reserved = 0",
      "update holds set credits = 60 where route is not null and account_id = (select account_id from lots where models is not null)",
      "update balances set held = 60 where account_id = (select account_id from lots where models is not null)",
    ],
    noun: "balance",
    id: "select account_id from lots where models is not null",
  },
  {
    name: "a second grant entry on a lot, through the triggers",
    sql: [
      "update lots set granted = granted + 50 where source = 'package'",
      `insert into entries select account_id, 'lot_again', id, 'grant', 50, created_at_ms from lots
        where source = 'package'`,
    ],
    noun: "entry",
    triggers: true,
  },
  {
    name: "all budgets deleted",
    sql: ["delete from budgets"],
    noun: "budget",
    id: "select id from budgets where owner = 'key' and period = 'life' limit 1",
  },
  {
    name: "budgets and what they apply to deleted together, past the triggers",
    sql: ["delete from budget_periods", "delete from budget_keys", "delete from budgets"],
    noun: "key",
    id: "select key_id from budget_keys limit 1",
  },
  {
    name: "a budget's periods deleted, and one for life",
    sql: ["delete from budget_periods where ends_at_ms = 9007199254740991"],
    noun: "budget",
    id: "select id || ' 0' from budgets where period = 'life' limit 1",
  },
  {
    name: "what was spent moved from one period to another",
    sql: [
      `update budget_periods set spent = spent - 1 where (budget_id, starts_at_ms) =
        (select budget_id, starts_at_ms from budget_periods where spent > 0
          and budget_id like 'account:%' order by 2 limit 1)`,
      `update budget_periods set spent = spent + 1 where (budget_id, starts_at_ms) =
        (select budget_id, starts_at_ms from budget_periods where budget_id like 'account:%'
          order by 2 desc limit 1)`,
    ],
    noun: "budget",
  },
  {
    name: "the turn of a period moved in both of its rows",
    sql: [
      `update budget_periods set ends_at_ms = ends_at_ms + ${HOUR} where budget_id like 'account:%'`,
      `update budget_periods set starts_at_ms = starts_at_ms + ${HOUR}
        where budget_id like 'account:%'`,
    ],
    noun: "budget",
  },
  {
    name: "a budget renewed twice in one period",
    sql: [
      `update budget_periods set ends_at_ms = starts_at_ms + 12 * ${HOUR}
        where (budget_id, starts_at_ms) = (select budget_id, starts_at_ms from budget_periods
          where budget_id like 'account:%' order by 2 limit 1)`,
    ],
    noun: "budget",
  },
  {
    name: "a key freed from its account's budget, with its count",
    sql: [
      "update keys set budgets = budgets - 1 where id in (select key_id from budget_keys where budget_id like 'account:%')",
      "delete from budget_keys where budget_id like 'account:%'",
    ],
    noun: "budget",
  },
  {
    name: "a key freed from its account's budget, through the triggers",
    sql: ["delete from budget_keys where budget_id like 'account:%'"],
    noun: "budget",
    triggers: true,
  },
  {
    name: "a pruned charge moved to another hour with its admission",
    sql: [
      `update pruned_charges set hour_at_ms = hour_at_ms + ${30 * DAY},
        quarter_at_ms = quarter_at_ms + ${30 * DAY}`,
    ],
    noun: "pruned",
  },
  {
    name: "what an account owes called over its budget",
    sql: [
      `update usage_records set over_budget_credits = over_budget_credits + 1
        where owed_credits > 0`,
    ],
    noun: "record",
  },
  { name: "all balances deleted", sql: ["delete from balances"], noun: "balance" },
  {
    name: "more credits than can be added up",
    sql: ["update lots set remaining = 9223372036854775807"],
    noun: "lot",
  },
  {
    name: "a record moved to another account",
    sql: [`update usage_records set account_id = ${OTHER} where request_id = ${RECORD}`],
    noun: "record",
    id: `select ${RECORD}`,
  },
  {
    name: "a record and its roll-up moved to another account",
    sql: [
      `update usage_records set account_id = ${OTHER} where key_id in (select id from keys
        where account_id = (select id from accounts where role = 'owner'))`,
      `update usage_hours set account_id = ${OTHER} where key_id in (select id from keys
        where account_id = (select id from accounts where role = 'owner'))`,
    ],
    noun: "hour",
  },
  {
    name: "a roll-up moved to another day",
    sql: [
      `update usage_hours set hour_at_ms = hour_at_ms + ${DAY} + ${HOUR} * 11
        where hour_at_ms = (select max(hour_at_ms) from usage_hours)`,
    ],
    noun: "hour",
  },
  {
    name: "roll-ups of two routes exchanged",
    sql: [
      "update usage_hours set route = route || '-'",
      "update usage_hours set route = iif(route = 'svc-k2-', 'svc-k3', 'svc-k2')",
    ],
    noun: "hour",
  },
  {
    name: "a roll-up inflated with its balance",
    sql: [
      "update usage_hours set requests = requests + 1",
      `update balances set requests = (select coalesce(sum(requests), 0) from usage_hours
        where account_id = balances.account_id)`,
    ],
    noun: "hour",
  },
  {
    name: "credits moved from one roll-up to another of the account",
    sql: [
      `update usage_hours set credits = credits + 3 where (account_id, hour_at_ms, key_id, route) =
        (select account_id, hour_at_ms, key_id, route from usage_hours order by 1, 2 limit 1)`,
      `update usage_hours set credits = credits - 3 where (account_id, hour_at_ms, key_id, route) =
        (select account_id, hour_at_ms, key_id, route from usage_hours where credits > 3
          order by 1, 2 limit 1 offset 1)`,
    ],
    noun: "hour",
  },
  {
    name: "a phantom hold, through the triggers",
    sql: [
      `insert into holds (request_id, account_id, key_id, gateway_id, credits, created_at_ms, lease_until_ms)
        select 'req_phantom', account_id, key_id, gateway_id, 3,
        created_at_ms + ${DAY}, lease_until_ms from holds limit 1`,
    ],
    noun: "window",
    triggers: true,
  },
  {
    name: "a phantom hold that is never released, through the triggers",
    sql: [
      `insert into holds (request_id, account_id, key_id, gateway_id, credits, created_at_ms, lease_until_ms)
        select 'req_phantom', account_id, key_id, gateway_id, 3, created_at_ms,
        9000000000000000 from holds limit 1`,
    ],
    noun: "hold",
    id: "select 'req_phantom'",
    triggers: true,
  },
  {
    name: "a hold of a settled request, through the triggers",
    sql: [
      `insert into holds (request_id, account_id, key_id, gateway_id, credits, created_at_ms, lease_until_ms)
        select ${RECORD}, account_id, key_id, gateway_id, 1, created_at_ms,
        lease_until_ms from holds limit 1`,
    ],
    noun: "hold",
    id: `select ${RECORD}`,
    triggers: true,
  },
  {
    name: "a hold of another account's key, through the triggers",
    sql: [
      `insert into holds (request_id, account_id, key_id, gateway_id, credits, created_at_ms, lease_until_ms)
        select 'req_other', ${OTHER}, key_id, gateway_id, 1, created_at_ms,
        lease_until_ms from holds where account_id <> ${OTHER} limit 1`,
    ],
    noun: "hold",
    id: "select 'req_other'",
    triggers: true,
  },
  {
    name: "a hold deleted past its trigger",
    sql: [`delete from holds where request_id = ${HELD}`],
    noun: "balance",
    id: `select account_id from holds where request_id = ${HELD}`,
  },
  {
    name: "pruned counts raised together",
    sql: ["update pruned_records set records = records + 5, uncollected_credits = 9"],
    noun: "pruned",
  },
  {
    name: "uncollected credits forgotten",
    sql: ["update pruned_records set uncollected_requests = 0, uncollected_credits = 0"],
    noun: "pruned",
  },
  {
    name: "the bound of pruned records lowered",
    sql: ["update pruned_records set through = ''"],
    noun: "entry",
  },
  {
    name: "a record from between others deleted, through the triggers",
    sql: [`delete from usage_records where request_id =
      (select request_id from usage_records order by 1 limit 1 offset 9)`],
    noun: "hour",
    triggers: true,
  },
  {
    name: "a record's price raised with its charge",
    sql: [
      `update usage_records set price_credits = price_credits + 1,
        charged_credits = charged_credits + 1 where request_id = ${RECORD}`,
    ],
    noun: "record",
    id: `select ${RECORD}`,
  },
  {
    name: "a record's price hidden as uncollected",
    sql: [
      `update usage_records set price_credits = price_credits + 7 where request_id = ${RECORD}`,
    ],
    noun: "record",
    id: `select ${RECORD}`,
  },
  {
    name: "a record's prices removed",
    sql: [
      `update usage_records set input_price = null, cached_price = null, output_price = null,
        minimum_credits = null where request_id = ${RECORD}`,
    ],
    noun: "record",
    id: `select ${RECORD}`,
  },
  {
    name: "all prices declared unknown",
    sql: [
      "update usage_records set input_price = null, cached_price = null, output_price = null, minimum_credits = null",
      "update price_storage set unpriced_through = '~'",
    ],
    noun: "record",
  },
  {
    name: "a record's tokens changed with its roll-up",
    sql: [
      `update usage_records set output_tokens = output_tokens + 100 where request_id = ${RECORD}`,
      `update usage_hours set output_tokens = output_tokens + 100
        where (account_id, hour_at_ms, key_id, route) = (select account_id,
          started_at_ms / 3600000 * 3600000, key_id, route from usage_records
          where request_id = ${RECORD})`,
    ],
    noun: "record",
    id: `select ${RECORD}`,
  },
  {
    name: "a charge deleted and given back",
    sql: [
      `update lots set remaining = remaining - (select sum(credits) from entries
        where cause_id = ${RECORD} and lot_id = lots.id)
        where id in (select lot_id from entries where cause_id = ${RECORD})`,
      `delete from entries where cause_id = ${RECORD}`,
    ],
    noun: "record",
    id: `select ${RECORD}`,
  },
  {
    name: "a phantom charge, through the triggers",
    sql: [
      `insert into entries select account_id, 'req_zzz', id, 'charge', -2, 1 from lots
        where remaining > 2 limit 1`,
    ],
    noun: "entry",
    id: "select 'req_zzz'",
    triggers: true,
  },
  {
    name: "a charge taken from another account's lot, through the triggers",
    sql: [
      `insert into entries select ${OTHER}, 'req_zzz', id, 'charge', -2, 1 from lots
        where account_id <> ${OTHER} and remaining > 2 limit 1`,
    ],
    noun: "lot",
    triggers: true,
  },
  {
    name: "a lot that has expired is valid for longer",
    sql: [`update lots set expires_at_ms = expires_at_ms + ${DAY} where note = 'for days'`],
    noun: "lot",
    id: "select id from lots where note = 'for days'",
  },
  {
    name: "credits expired before their time, through the triggers",
    sql: [
      `insert into entries select account_id, 'expiry_early', id, 'expire', -1, 1 from lots
        where source = 'package' limit 1`,
    ],
    noun: "entry",
    triggers: true,
  },
  {
    name: "a bonus given to another account",
    sql: [
      `update lots set account_id = ${OTHER} where source = 'invite_payment'`,
      `update grants set account_id = ${OTHER} where source = 'invite_payment'`,
      `update entries set account_id = ${OTHER} where lot_id like 'lot_payment_%'`,
      `update balances set balance = (select coalesce(sum(remaining), 0) from lots
        where account_id = balances.account_id)`,
    ],
    noun: "lot",
    id: "select id from lots where source = 'invite_payment'",
  },
  {
    name: "a take-back of more than was asked for, with its entry",
    sql: [
      "update take_backs set credits = credits + 5 where note = 'meant 40'",
      `update entries set credits = credits - 5 where cause_id =
        (select id from take_backs where note = 'meant 40')`,
    ],
    noun: "lot",
    id: "select lot_id from take_backs where note = 'meant 40'",
  },
  {
    name: "credits taken back by an entry alone, through the triggers",
    sql: [
      `insert into entries select account_id, 'take_back_none', id, 'take_back', -1, 1 from lots
        where remaining > 0 limit 1`,
    ],
    noun: "entry",
    id: "select 'take_back_none'",
    triggers: true,
  },
  {
    name: "a bonus undone for nothing, through the triggers",
    sql: [
      `insert into take_backs select 'take_back_none_bonus', account_id, id, 1, null, 'x', 1 from lots
        where remaining > 0 limit 1`,
    ],
    noun: "entry",
    id: "select 'take_back_none_bonus'",
    triggers: true,
  },
  {
    name: "an expiry called a take-back",
    sql: ["update entries set kind = 'take_back' where kind = 'expire'"],
    noun: "entry",
    id: "select cause_id from entries where kind = 'expire' limit 1",
  },
  {
    name: "a first payment forgotten",
    sql: ["delete from first_payments"],
    noun: "lot",
    id: "select account_id from first_payments limit 1",
  },
  {
    name: "a key's use forgotten",
    sql: ["delete from key_uses"],
    noun: "key",
    id: "select key_id from key_uses limit 1",
  },
  {
    name: "a lot deleted with its entries",
    sql: [
      "delete from entries where lot_id in (select id from lots where source = 'signup' limit 1)",
      "delete from lots where id = (select id from lots where source = 'signup' limit 1)",
    ],
    noun: "lot",
    id: "select id from lots where source = 'signup' limit 1",
  },
  {
    name: "a window reset",
    sql: [
      "delete from windows where at_ms >= (select max(at_ms) from windows where span_ms = 86400000)",
    ],
    noun: "window",
  },
  {
    name: "a minute's count moved to the next hour",
    sql: [
      `update windows set at_ms = at_ms + 3600000 where (key_id, at_ms) =
        (select key_id, at_ms from windows where span_ms = 60000 order by 2 desc limit 1)
        and span_ms = 60000`,
    ],
    noun: "window",
  },
  {
    name: "an account's windows reset",
    sql: ["delete from account_windows"],
    noun: "window",
  },
  {
    name: "an account's windows lowered alike",
    sql: [
      `update account_windows set used = used - 1 where used > 1
        and at_ms >= (select max(at_ms) from windows where span_ms = 86400000)`,
    ],
    noun: "window",
  },
  {
    name: "the limits of an account raised",
    sql: ["update tiers set account_minute = 1000000000"],
    noun: "tier",
  },
  {
    name: "the limits of an account removed, as if an older gateway had stored the tier",
    sql: ["update tiers set account_minute = null, account_hour = null, account_day = null"],
    noun: "tier",
  },
  {
    name: "what an account owes forgotten",
    sql: ["update usage_records set owed_credits = 0"],
    noun: "record",
  },
  {
    name: "the limits of a tier raised",
    sql: ["update tiers set minute = 1000000000"],
    noun: "tier",
  },
  {
    name: "a key's budget raised, past the triggers",
    sql: ["update budgets set credits = 1000000"],
    noun: "budget",
  },
  {
    name: "a balance raised with its lot",
    sql: [
      "update lots set remaining = granted where source = 'package'",
      "update balances set balance = (select coalesce(sum(remaining), 0) from lots where account_id = balances.account_id)",
    ],
    noun: "lot",
    id: "select id from lots where source = 'package'",
  },
  {
    name: "a trigger that nobody made",
    sql: [
      `create trigger gives_more after insert on entries begin
        update balances set consumed = consumed; end`,
    ],
    noun: "schema",
    id: "select 'trigger gives_more'",
    triggers: true,
  },
  {
    name: "an index that nobody made",
    sql: ["create unique index one_lot on lots (id, account_id)"],
    noun: "schema",
    id: "select 'index one_lot'",
    triggers: true,
  },
  {
    name: "a space in a text of a check",
    sql: [
      "pragma writable_schema = on",
      `update sqlite_master set sql = replace(sql, '''take_back''', ''' take_back''')
        where name = 'entries'`,
      "pragma writable_schema = off",
    ],
    noun: "schema",
    id: "select 'table entries'",
    triggers: true,
  },
  {
    name: "a table renamed",
    sql: ["alter table tiers rename to tiers_old"],
    noun: "schema",
    id: "select 'table tiers'",
  },
  {
    name: "a column dropped",
    sql: [
      "drop index lots_with_credits",
      "drop index lots_by_expiry",
      "alter table lots rename column note to remark",
    ],
    noun: "schema",
    id: "select 'table lots'",
  },
];
