/**
 * Writes the database that a busy installation has after 90 days: by SQL, a day to a transaction, since a settlement each
 * would take hours. Roll-ups, windows and sums are made by the statements that the rules make them with, and the books
 * are closed: `sluice credits audit` finds nothing.
 */

import { openDatabase } from "../src/ground/database/mod.ts";
import { connect, type Connection } from "../src/ground/database/sqlite/driver.ts";
import { grantStatements, newLotId, RULES, setBudget } from "../src/money/ledger/mod.ts";
import { addToHours, rolledUp } from "../src/money/ledger/rules/sql/roll_ups.ts";
import { addToTags } from "../src/money/ledger/rules/sql/tags.ts";
import { countRequests } from "../src/money/ledger/rules/sql/windows.ts";
import { startGateway, type TestGateway } from "../tests/fake/gateway.ts";
import { say } from "./harness.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DAYS = 90;
const ACCOUNTS = 200;
const KEYS = 1_000;
const TEAMS = 5;
const MEMBERS = 10;
/** Keys of the account that has a tenth of all requests. */
const BIG_KEYS = 40;
const ALERTS = 20_000;
/** Alerts of the large account alone. */
const BIG_ALERTS = 400_000;
const OPERATIONS = 50_000;
const GRANTED = 1e11;

/** What is in the database, and as whom its pages can be seen. */
export interface LargeDatabase {
  /** The time at which it was made: that of the gateway which shows it. */
  readonly nowMs: number;
  readonly requests: number;
  /** Email addresses by role; `big` has a tenth of all requests, `ten` has ten. */
  readonly emails: Readonly<
    Record<"owner" | "operator" | "finance" | "lead" | "member" | "big" | "ten", string>
  >;
  readonly accountIds: { readonly big: string; readonly member: string };
  readonly keyId: string;
  readonly teamId: string;
  readonly model: string;
  /** A complete request of the large account, and one that failed. */
  readonly requestId: string;
  readonly failedId: string;
}

interface Key {
  readonly id: string;
  readonly accountId: string;
  /** Its share of the requests of an hour in which it is used. */
  readonly weight: number;
  /** Whether it is used at night and on weekends as well. */
  readonly isService: boolean;
}

const PRICES = { input: 1_200, cached: 300, output: 12_345 };
const MODELS = [
  ...Array.from({ length: 15 }, (_, at) => `model-${at + 1}`),
  ...Array.from({ length: 45 }, (_, at) => `provider-${at % 7}/instruct-${at + 1}-2026-06`),
];

/** Settings of a gateway that shows the database in a directory. */
export function largeSettings(directory: string) {
  return {
    data: directory,
    credits: { perUsd: 1_000 },
    routes: Object.fromEntries(MODELS.map((id) => [id, {
      targets: [{ upstream: "simulator", model: id }],
      prices: PRICES,
    }])),
    retention: { requestDays: 400, requestRows: 100_000_000 },
    owner: { email: "owner@example.com" },
  };
}

/** Writes `sluice.db` in a directory. */
export async function writeLargeDatabase(
  directory: string,
  requests: number,
): Promise<LargeDatabase> {
  const nowMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
  const startMs = nowMs - DAYS * DAY_MS;
  let made;
  {
    await using gateway = await startGateway({
      settings: largeSettings(directory),
      now: () => startMs - DAY_MS,
    });
    made = await makeAccounts(gateway, startMs);
  }
  const file = `${directory}/sluice.db`;
  const driver = connect(file);
  const saved = driver.prepare(
    `select type, name, sql from sqlite_master where type = 'trigger' or (type = 'index'
        and tbl_name in ('usage_records', 'entries') and sql is not null)`,
  ).all([]) as { type: string; name: string; sql: string }[];
  driver.exec(`pragma foreign_keys = off; pragma synchronous = off; pragma temp_store = memory;
    pragma cache_size = -500000`);
  for (const { type, name } of saved) driver.exec(`drop ${type} ${name}`);
  writeRequests(driver, { ...made, requests, startMs, nowMs });
  say("indexes …");
  for (const { sql } of saved.filter(({ type }) => type === "index")) driver.exec(sql);
  writeSums(driver);
  writeAlerts(driver, { nowMs, ...made });
  for (const { sql } of saved.filter(({ type }) => type === "trigger")) driver.exec(sql);
  const idOf = (where: string) =>
    (driver.prepare(
      `select request_id as id from usage_records where account_id = ? and ${where}
        order by started_at_ms desc limit 1`,
    ).all([made.big.id])[0] as { id: string }).id;
  const ids = {
    requestId: idOf("ending = 'complete'"),
    failedId: idOf("ending = 'upstream_failed'"),
  };
  driver.exec("pragma wal_checkpoint(truncate)");
  driver.close();
  await setBudgets(file, { ...made, nowMs });
  return {
    nowMs,
    requests,
    emails: made.emails,
    accountIds: { big: made.big.id, member: made.member.id },
    keyId: made.keys.find(({ accountId }) => accountId === made.big.id)!.id,
    teamId: made.teamIds[0]!,
    model: MODELS[1]!,
    ...ids,
  };
}

/** Accounts with credits, invitations, keys and teams, made before the first request. */
async function makeAccounts({ gateway: parts }: TestGateway, startMs: number) {
  const { accounts, database, registration, keys, teams, members, teamKeys, sales } = parts;
  const inviter = await registration.register({ email: "big@example.com", name: "Big" });
  const inviteCode = await accounts.inviteCode(inviter);
  const all = [inviter];
  const names = ["operator", "finance", "lead", "member", "ten"];
  for (let at = 1; at < ACCOUNTS; at++) {
    const name = names[at - 1] ?? `someone${at}`;
    all.push(
      await registration.register({
        email: `${name}@example.com`,
        name: `Account ${at}`,
        ...(at % 2 === 0 ? { inviteCode } : {}),
      }),
    );
  }
  const [big, operator, finance, lead, member, ten] = all;
  await accounts.setRole(operator!.email, "operator");
  await accounts.setRole(finance!.email, "finance");
  const found: Key[] = [];
  const add = (key: { id: string; accountId: string }, weight: number, isService: boolean) =>
    found.push({ id: key.id, accountId: key.accountId, weight, isService });
  const teamIds: string[] = [];
  const payers = [parts.owner, ...all];
  for (let at = 0; at < TEAMS; at++) {
    const team = await teams.create({ name: `Team ${at}`, pool: true });
    teamIds.push(team.id);
    payers.push((await accounts.byId(team.poolId!))!);
    const own = at === 0 ? [lead!, member!] : [];
    own.push(...all.slice(6 + at * MEMBERS, 6 + (at + 1) * MEMBERS - own.length));
    for (const one of own) {
      await members.add(team, one, one === lead ? "lead" : "member");
      add(await teamKeys.issue(team, one, { name: `${one.name} in team ${at}` }), 1, false);
    }
  }
  for (let at = 0; at < BIG_KEYS; at++) {
    add(await keys.issue(big!, { name: `service ${at}` }), 0, true);
  }
  add(await keys.issue(ten!, { name: "laptop" }), 0, false);
  const others = all.filter((one) => one !== big && one !== ten);
  for (let at = 0; found.length < KEYS; at++) {
    const account = others[at % others.length]!;
    add(await keys.issue(account, { name: `laptop ${at}` }), 1 + at % 3, at % 5 === 0);
  }
  const lots = new Map<string, string>();
  for (const { id } of payers) {
    const lotId = newLotId();
    lots.set(id, lotId);
    const grant = { accountId: id, source: "grant", expiresAtMs: null } as const;
    await database.batch([
      ...grantStatements({ ...grant, lotId, credits: GRANTED, atMs: startMs - 2 * DAY_MS }),
      ...[20, 50, 80].flatMap((day) =>
        grantStatements({
          ...grant,
          lotId: newLotId(),
          credits: 1_000,
          note: "Thanks",
          atMs: startMs + day * DAY_MS,
        })
      ),
    ]);
  }
  for (const account of others) {
    await sales.sell(account, sales.package("starter"), { paid: true });
  }
  return {
    big: big!,
    member: member!,
    ten: ten!,
    keys: found,
    lots,
    teamIds,
    emails: {
      owner: parts.owner.email,
      ...Object.fromEntries([...names, "big"].map((name) => [name, `${name}@example.com`])),
    } as LargeDatabase["emails"],
  };
}

type Made = Awaited<ReturnType<typeof makeAccounts>>;

/** A key's requests for a model within an hour. */
type Cell = readonly [
  id: number,
  atMs: number,
  accountId: string,
  keyId: string,
  lotId: string,
  route: string,
  count: number,
];

/** Requests of the hours of a day, by key and model. */
function* daysOf(
  { keys, lots, big, ten, requests, startMs, nowMs }: Made & Filling,
): Generator<Cell[]> {
  const own = keys.filter(({ accountId }) => accountId === big.id);
  const rest = keys.filter(({ weight }) => weight > 0);
  const tensKey = keys.find(({ accountId }) => accountId === ten.id)!;
  const hours = (nowMs - startMs) / HOUR_MS;
  const isBusy = (hour: number) => {
    const at = new Date(startMs + hour * HOUR_MS);
    return at.getUTCDay() % 6 !== 0 && at.getUTCHours() >= 8 && at.getUTCHours() < 17;
  };
  const sum = (busy: boolean) =>
    rest.reduce((all, key) => all + (busy || key.isService ? key.weight : 0), 0);
  const [busySum, quietSum] = [sum(true), sum(false)];
  let weights = 0;
  for (let hour = 0; hour < hours; hour++) weights += isBusy(hour) ? busySum : quietSum;
  const perWeight = requests * 0.9 / weights;
  let cells: Cell[] = [];
  let [id, owed] = [0, 0];
  const add = (key: Key, hour: number, share: number) => {
    owed += share;
    const count = Math.floor(owed);
    owed -= count;
    if (count === 0) return;
    const day = Math.floor(hour / 24);
    const place = keys.indexOf(key);
    const [first, second] = [place * 7 % 13, (place + day) % MODELS.length];
    const isSplit = count > 3 && first !== second && (place + hour) % 3 === 0;
    const rare = isSplit ? Math.floor(count * 0.3) : 0;
    for (const [at, n] of [[first, count - rare], [second, rare]] as const) {
      if (n === 0) continue;
      cells.push([
        id++,
        startMs + hour * HOUR_MS,
        key.accountId,
        key.id,
        lots.get(key.accountId)!,
        MODELS[at]!,
        n,
      ]);
    }
  };
  for (let hour = 0; hour < hours; hour++) {
    const busy = isBusy(hour);
    for (const key of own) add(key, hour, requests * 0.1 / hours / own.length);
    for (const key of rest) {
      if (busy || key.isService) add(key, hour, perWeight * key.weight);
    }
    if (hour % Math.floor(hours / 10) === 5) add(tensKey, hour, 1);
    if ((startMs + (hour + 1) * HOUR_MS) % DAY_MS === 0 || hour === hours - 1) {
      yield cells;
      cells = [];
    }
  }
}

interface Filling {
  readonly requests: number;
  readonly startMs: number;
  readonly nowMs: number;
}

/** A day's requests, of which the rest is made. */
const CHUNK = `create temp table chunk as
  with drawn as (
    select cells.*, i, hour_at_ms + (r * 3599) % ${HOUR_MS - 200_000} as started_at_ms, r,
      case when r % 50 <> 0 then 0 else 1 + r / 50 % 4 end as fault
    from (
      select cells.*, i, ((id * 4096 + i + 1) * 48271) % 2147483647 as r
      from cells join seq on i < n
    ) as cells
  ), counted as (
    select *,
      iif(fault in (1, 2, 3), 0, 400 + r / 7 % 40000) as input_tokens,
      iif(fault in (1, 2, 3), 0, 50 + r / 13 % 2000) as output_tokens
    from drawn
  ), priced as (
    select *, input_tokens * (r / 11 % 4) / 5 as cached_tokens from counted
  ), charged as (
    select *, iif(fault in (1, 2, 3), 0, max(1, ((input_tokens - cached_tokens) * ${PRICES.input}
      + cached_tokens * ${PRICES.cached} + output_tokens * ${PRICES.output} + 999999) / 1000000)
    ) as price_credits from priced
  )
  select 'req_' || printf('%012x%010x%06x', started_at_ms, id * 4096 + i, r % 16777216)
      as request_id,
    account_id, key_id, lot_id,
    case id % 4 when 0 then 'messages' when 1 then 'responses' else 'chat' end as dialect,
    route, iif(fault = 3, null, 'moonshot') as upstream,
    iif(fault = 3, null, 'kimi-k3') as upstream_model,
    case when fault in (1, 2) then 2 when fault = 3 then 0 else 1 end as attempts,
    case fault when 0 then 200 when 4 then 200 when 3 then 429 else 503 end as status,
    case fault when 0 then 'complete' when 4 then 'client_left' when 3 then 'refused'
      else 'upstream_failed' end as ending,
    id % 3 > 0 as streamed, iif(fault in (1, 2, 3), null, 'upstream') as usage_source,
    input_tokens, cached_tokens, output_tokens, output_tokens / 4 as reasoning_tokens,
    started_at_ms, iif(fault in (1, 2, 3) or id % 3 = 0, null, 200 + r % 700) as first_token_ms,
    iif(fault = 3, 1, 900 + r / 17 % 60000) as duration_ms, price_credits,
    iif(price_credits > 1 and r % 5000 = 7, price_credits / 2, price_credits) as charged_credits,
    iif(id % 9 = 0, 'top_k, thinking', '') as ignored,
    iif(fault in (1, 2, 3), null, ${PRICES.input}) as input_price,
    iif(fault in (1, 2, 3), null, ${PRICES.cached}) as cached_price,
    iif(fault in (1, 2, 3), null, ${PRICES.output}) as output_price,
    iif(fault in (1, 2, 3), null, 1) as minimum_credits,
    started_at_ms as admitted_at_ms,
    started_at_ms + iif(fault = 3, 1, 900 + r / 17 % 60000) as settled_at_ms,
    case fault when 0 then null when 4 then null when 3 then 'rate_exceeded'
      else 'upstream_unavailable' end as reason,
    iif(fault in (1, 2), 'No upstream is available for this model. Try again later.',
      iif(fault = 3, 'Too many requests: the limit is 500 a minute.', null)) as message,
    iif(fault in (1, 2), '[{"upstream":"moonshot","model":"kimi-k3","key":"key 1",' ||
      '"outcome":"status 503","ms":22},{"upstream":"moonshot","model":"kimi-k3","key":"key 2",' ||
      '"outcome":"timed out","ms":31}]', null) as attempt_list,
    iif(id % 5 > 2, null, json_object('project', 'project-' || (id % 40), 'tool', 'claude-code',
      'session', 'ses-' || (id / 8))) as tags
  from charged order by 1`;

const RECORD = `request_id, account_id, key_id, dialect, route, upstream, upstream_model, attempts,
  status, ending, streamed, usage_source, input_tokens, cached_tokens, output_tokens,
  reasoning_tokens, started_at_ms, first_token_ms, duration_ms, price_credits, charged_credits,
  ignored, input_price, cached_price, output_price, minimum_credits, admitted_at_ms, settled_at_ms,
  reason, message, attempt_list, tags`;

/** Records, entries, roll-ups and windows. */
function writeRequests(driver: Connection, given: Made & Filling): void {
  const { nowMs, requests } = given;
  const windowsFromMs = Math.floor(nowMs / DAY_MS) * DAY_MS - 7 * DAY_MS;
  driver.exec(`create temp table cells (id, hour_at_ms, account_id, key_id, lot_id, route, n);
    create temp table seq (i integer primary key);
    insert into seq with recursive up(i) as (select 0 union all select i + 1 from up where i < 4095)
      select i from up;
    create temp table running (account_id text primary key, balance integer) without rowid;
    insert into running select account_id, balance from balances;
    update pruned_windows set before_ms = ${windowsFromMs}`);
  const cellsOf = driver.prepare(`insert into cells select value ->> 0, value ->> 1, value ->> 2,
    value ->> 3, value ->> 4, value ->> 5, value ->> 6 from json_each(?)`);
  const rows = rolledUp("charged_credits", "chunk");
  let done = 0;
  for (const cells of daysOf(given)) {
    driver.exec("begin; delete from cells; drop table if exists chunk");
    cellsOf.run([JSON.stringify(cells)]);
    driver.exec(CHUNK);
    driver.exec(`insert into usage_records (${RECORD}, balance_credits, over_budget_credits)
      select ${RECORD.replaceAll("account_id", "chunk.account_id")},
        balance - sum(charged_credits) over (partition by chunk.account_id order by request_id),
        price_credits - charged_credits
      from chunk join running on running.account_id = chunk.account_id order by request_id`);
    driver.exec(`update running set balance = balance - spent.credits from (
        select account_id, sum(charged_credits) as credits from chunk group by 1
      ) as spent where spent.account_id = running.account_id`);
    driver.exec(`insert into entries (account_id, cause_id, lot_id, kind, credits, at_ms)
      select account_id, request_id, lot_id, 'charge', -charged_credits, settled_at_ms
      from chunk where charged_credits > 0 order by request_id`);
    const counted = cells.at(-1)![1] >= windowsFromMs ? countRequests("chunk where true") : [];
    for (const sql of [...addToHours(rows), ...addToTags(rows), ...counted]) driver.exec(sql);
    driver.exec("commit; pragma wal_checkpoint(truncate)");
    const before = done;
    done = cells.reduce((sum, cell) => sum + cell[6], done);
    if (Math.floor(done / requests * 10) > Math.floor(before / requests * 10)) {
      say(`${done} requests written`);
    }
  }
}

/** What is left of lots, sums of accounts, uses of keys. */
function writeSums(driver: Connection): void {
  driver.exec(`begin;
    update lots set remaining = remaining + charged.credits from (
      select lot_id, sum(credits) as credits from entries where kind = 'charge' group by 1
    ) as charged where charged.lot_id = lots.id;
    update balances set balance = balance - used.credits, consumed = used.credits,
      requests = used.n, input_tokens = used.input, output_tokens = used.output
    from (
      select account_id, sum(credits) as credits, sum(requests) as n, sum(input_tokens) as input,
        sum(output_tokens) as output from usage_days group by 1
    ) as used where used.account_id = balances.account_id;
    insert into key_uses select key_id, max(hour_at_ms) + 1000 from usage_hours group by 1;
    commit`);
}

/** Alerts of accounts and of the gateway, most of them read, and the log of operations. */
function writeAlerts(
  driver: Connection,
  { nowMs, big, member, teamIds }: Made & { nowMs: number },
) {
  const startMs = nowMs - DAYS * DAY_MS;
  const alerts = (count: number, own: string, prefix: string) =>
    `insert into alerts (id, mark, kind, account_id, team_id, title, text, data, created_at_ms,
        read_at_ms, account_read_at_ms)
      with recursive up(i) as (select 0 union all select i + 1 from up where i + 1 < ${count})
      select printf('alert_${prefix}%012d', i), 'bench:${prefix}:' || i,
        iif(i % 3 = 0, 'circuit_opened', 'lot_expiring'), ${own},
        iif(i % 100 = 1 and ${own} is null, '${teamIds[0]}', null), 'Credits expire soon',
        '1,200 credits expire on 30 November 2026.', '{}',
        ${startMs} + i * ${DAYS * DAY_MS} / ${count}, iif(i < ${count} - 20, ${nowMs}, null),
        iif(i < ${count} - 20, ${nowMs}, null)
      from up`;
  driver.exec(`begin;
    ${alerts(ALERTS, "null", "g")};
    ${alerts(BIG_ALERTS, `'${big.id}'`, "b")};
    ${alerts(50, `'${member.id}'`, "m")};
    insert into alert_deliveries (alert_id, receiver, state, attempts, created_at_ms, due_at_ms,
      status, delivered_at_ms)
    select id, 'hook', iif(rowid % 50 = 0, 'given_up', 'delivered'), 1, created_at_ms,
      created_at_ms, 200, created_at_ms + 100 from alerts;
    insert into operation_log (id, at_ms, operation, door, address, actor, actor_id, account_id,
      object_id, before, after, outcome)
    with recursive up(i) as (select 0 union all select i + 1 from up where i + 1 < ${OPERATIONS})
    select printf('op_%016d', i), ${startMs} + i * ${DAYS * DAY_MS} / ${OPERATIONS}, 'key.update',
      'console', '127.0.0.1', 'operator@example.com', '${member.id}',
      iif(i % 1000 = 0, '${big.id}', null), 'key_' || i, '{"name":"old"}', '{"name":"new"}', 'done'
    from up;
    commit`);
}

/** Budgets of keys, members, teams and accounts, with what was spent of them. */
async function setBudgets(
  file: string,
  { keys, teamIds, big, member, nowMs }: Made & { nowMs: number },
): Promise<void> {
  const database = await openDatabase({
    file,
    durability: "normal",
    rules: RULES,
    now: () => nowMs,
  });
  const set = (
    owner: "key" | "member" | "team" | "account",
    ownerId: string,
    period: "day" | "month",
  ) => setBudget(database, { owner, ownerId, period, credits: 1e9 }, { nowMs });
  for (const key of keys.filter((_, at) => at % 20 === 0)) await set("key", key.id, "month");
  for (const teamId of teamIds) await set("team", teamId, "month");
  await set("member", `${teamIds[0]}:${member.id}`, "month");
  await set("account", big.id, "day");
  await database.close();
}
