/**
 * Does a report of ten million requests answer in under 300 ms?
 *
 * Writes the roll-ups that three months of ten million requests each leave behind: 1,000 keys of 200 accounts, of which 200
 * are busy around the clock and 800 in office hours, several models, two tags, 2 % failures. Then it makes a report of the
 * last month by each grouping, and prints its median and its first time on a new connection with a file that is not
 * in the page cache. Records are not written: no report but that by session reads them.
 *
 * `deno run -A bench/usage.ts [--keys 1000] [--rounds 5] [--data DIR]`
 */

import Driver from "libsql";
import { parseArgs } from "node:util";
import { Accounts, Teams } from "../src/people/accounts/mod.ts";
import { openDatabase } from "../src/ground/database/mod.ts";
import { RULES } from "../src/money/ledger/mod.ts";
import { SILENT } from "../src/ground/telemetry/mod.ts";
import { DayTotals, reportUsage, usageQuery } from "../src/money/usage/mod.ts";
import { median, say } from "./harness.ts";

const { values: { keys: keysText, rounds: roundsText, data } } = parseArgs({
  args: Deno.args,
  options: {
    keys: { type: "string", default: "1000" },
    rounds: { type: "string", default: "5" },
    data: { type: "string" },
  },
});
const [KEYS, ROUNDS] = [Number(keysText), Number(roundsText)];
const REQUESTS = 10_000_000;
const [HOUR, DAY] = [3_600_000, 86_400_000];
const START = Date.UTC(2026, 8, 1);
const MONTHS = ["2026-09", "2026-10", "2026-11"];
const DAYS = 91;
const SUMS =
  "requests, errors, input_tokens, cached_tokens, output_tokens, duration_ms, credits, " +
  "saved_millionths";

const directory = data ?? await Deno.makeTempDir();
const file = `${directory}/sluice.db`;
const open = () =>
  openDatabase({ file, durability: "normal", rules: RULES, now: () => START + DAYS * DAY });

/** Roll-ups as settlements would have left them. */
async function write(): Promise<void> {
  await (await open()).close();
  const driver = new Driver(file) as unknown as {
    exec(sql: string): void;
    prepare(sql: string): { run(args: unknown[]): void };
  } & { close(): void };
  driver.exec("pragma foreign_keys = off; pragma synchronous = off; begin");
  const id = (kind: string, n: number) => `${kind}_${n.toString(16).padStart(16, "0")}`;
  const accounts = KEYS / 5;
  for (let n = 0; n < accounts; n++) {
    driver.exec(`insert into accounts (id, email, name, created_at_ms)
      values ('${id("acc", n)}', 'a${n}@example.com', '', 0)`);
  }
  driver.exec("insert into teams (id, name, created_at_ms) values ('team_1', 'Platform', 0)");
  const hours = driver.prepare(
    `insert into usage_hours (account_id, hour_at_ms, key_id, route, ${SUMS})
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const tags = driver.prepare(
    `insert into usage_tags (account_id, at_ms, key_id, route, ${SUMS}, name, value, span_ms)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ${HOUR})`,
  );
  // about as many rows in a month for each key that is busy around the clock, and for each of the others
  const perRow = Math.round(REQUESTS / (KEYS * (0.2 * 720 * 1.2 + 0.8 * 198 * 1.5)));
  for (let key = 0; key < KEYS; key++) {
    const [account, keyId] = [id("acc", key % accounts), id("key", key)];
    driver.exec(
      `insert into keys (id, account_id, name, digest, hint, source, created_at_ms, team_id,
        member_id) values ('${keyId}', '${account}', 'key ${key}',
        '${key.toString(16).padStart(64, "0")}', '', 'issued', 0,
        ${key % 2 === 0 ? `'team_1', '${account}'` : "null, null"})`,
    );
    const isService = key < KEYS / 5;
    for (let hour = 0; hour < DAYS * 24; hour++) {
      const [ofDay, day] = [hour % 24, Math.floor(hour / 24)];
      if (!isService && (ofDay < 8 || ofDay > 16 || day % 7 > 4)) continue;
      for (const [at, route] of ["svc-k2", "svc-k3"].entries()) {
        if (at === 1 && (key + hour) % (isService ? 5 : 2) > 0) continue;
        const errors = (key + hour) % 5 === 0 ? 2 : 0;
        const row = [account, START + hour * HOUR, keyId, route];
        const sums = [perRow, errors, 30_000, 12_000, 9_000, 40_000, 300, 1_234_567];
        hours.run([...row, ...sums]);
        tags.run([...row, ...sums, "project", `project-${key % 40}`]);
        tags.run([...row, ...sums, "tool", "claude-code"]);
        if (errors > 0) {
          tags.run([
            ...row,
            errors,
            errors,
            0,
            0,
            0,
            4_000,
            0,
            0,
            ":reason",
            "upstream_unavailable",
          ]);
        }
      }
    }
  }
  const added = SUMS.split(", ").map((name) => `sum(${name})`).join(", ");
  driver.exec(`insert into usage_days (day_at_ms, account_id, key_id, route, ${SUMS})
    select hour_at_ms / ${DAY} * ${DAY}, account_id, key_id, route, ${added}
    from usage_hours group by 1, 2, 3, 4`);
  driver.exec(
    `insert into usage_tags (name, span_ms, at_ms, account_id, key_id, route, value, ${SUMS})
    select name, ${DAY}, at_ms / ${DAY} * ${DAY}, account_id, key_id, route, value, ${added}
    from usage_tags group by 1, 3, 4, 5, 6, 7`,
  );
  driver.exec(`insert into usage_totals (hour_at_ms, route, ${SUMS})
    select hour_at_ms, route, ${added} from usage_hours group by 1, 2`);
  driver.exec("commit; pragma wal_checkpoint(truncate)");
  driver.close();
}

/** Processor time of all threads in milliseconds, which others on the machine do not change; in steps of 10. */
async function processorMs(): Promise<number> {
  const stat = (await Deno.readTextFile("/proc/self/stat")).split(") ")[1]!.split(" ");
  return 10 * (Number(stat[11]) + Number(stat[12]));
}

/** Drops the file from the page cache. */
async function forget(): Promise<void> {
  await new Deno.Command("dd", {
    args: [`of=${file}`, "oflag=nocache", "conv=notrunc,fdatasync", "count=0"],
    stderr: "null",
  }).output();
}

const isWritten = await Deno.stat(file).then(() => true, () => false);
if (!isWritten) await write();
{
  const database = await open();
  await new DayTotals({ database, log: SILENT, now: () => START + DAYS * DAY }).addUp();
  await database.close();
}
const QUERIES: Readonly<Record<string, Record<string, string>>> = {
  "day": {},
  "day of Berlin": { zone: "Europe/Berlin" },
  "day of Los Angeles": { zone: "America/Los_Angeles" },
  "hour": {},
  "month": {},
  "model": {},
  "key": {},
  "account": {},
  "member": {},
  "team": {},
  "reason": {},
  "tag:project": {},
  "day,model": {},
  "day,account": {},
  "key,model": {},
  "key,day top": { top: "10" },
  "tag:project,day": {},
  "model compared": { compare: "true" },
  "day of an account": { account: "a7@example.com" },
  "tag:project of an account": { account: "a7@example.com" },
  "hour of a team": { team: "Platform" },
};
const [since, until] = ["2026-11-01", "2026-12-01"];
{
  const database = await open();
  const counts = await database.one(`select
    (select sum(requests) from usage_hours where hour_at_ms >= ${Date.parse(since)}) as requests,
    (select count(*) from usage_hours where hour_at_ms >= ${Date.parse(since)}) as hours,
    (select count(*) from usage_days where day_at_ms >= ${Date.parse(since)}) as days,
    (select count(*) from usage_tags where at_ms >= ${Date.parse(since)}) as tags`);
  say(
    `a month of ${MONTHS.length}: ${JSON.stringify(counts)}; file ${
      ((await Deno.stat(file)).size / 1e6).toFixed(0)
    } MB`,
  );
  await database.close();
}
let slowest = 0;
for (const [name, more] of Object.entries(QUERIES)) {
  const by = name.split(" ")[0]!;
  const query = usageQuery.parse({ by, since, until, ...more });
  const measured = async (database: Awaited<ReturnType<typeof open>>) => {
    const parts = {
      database,
      accounts: new Accounts(database, () => START),
      teams: new Teams(database, () => START),
      now: () => START + DAYS * DAY,
    };
    const beganMs = await processorMs();
    const began = performance.now();
    const { rows } = await reportUsage(parts, query);
    const ms = performance.now() - began;
    return { ms, processorMs: await processorMs() - beganMs, rows: rows.length };
  };
  await forget();
  const database = await open();
  const cold = await measured(database);
  const rounds = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(await measured(database));
  await database.close();
  const warmMs = median(rounds.map(({ ms }) => ms));
  const processor = median(rounds.map((one) => one.processorMs));
  slowest = Math.max(slowest, warmMs);
  say(
    `${name.padEnd(28)} ${
      warmMs.toFixed(0).padStart(5)
    } ms (${processor} ms of a processor), cold ${
      cold.ms.toFixed(0).padStart(5)
    } ms (${cold.processorMs}), ${cold.rows} rows`,
  );
}
say(`slowest median: ${slowest.toFixed(0)} ms`);
if (data === undefined) await Deno.remove(directory, { recursive: true });
