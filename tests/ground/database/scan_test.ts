import {
  type Database,
  openDatabase,
  type Row,
  type Scan,
  scanRows,
} from "../../../src/ground/database/mod.ts";
import { notices } from "../../../src/operating/alerts/mod.ts";
import { RULES } from "../../../src/money/ledger/mod.ts";
import { logEntries } from "../../../src/people/operation_log/mod.ts";
import { latestRecords } from "../../../src/money/usage/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { sized } from "../../tier.ts";
import { tempDir } from "../../fake/temp.ts";

const ROWS = sized(10_000, 20_000);
/** Rows that a scan checks at once. */
const PAGE_ROWS = 5_000;
/** Reads of a scan that finds nothing; the last page is empty. */
const READS = ROWS / PAGE_ROWS + 1;

/** Counts what a database is asked to read. */
class Watched {
  readonly database: Database;
  reads = 0;
  mostAtOnce = 0;
  #atOnce = 0;

  constructor(database: Database) {
    this.database = new Proxy(database, {
      get: (target, name) => {
        if (name !== "all") {
          const value = Reflect.get(target, name);
          return typeof value === "function" ? value.bind(target) : value;
        }
        return async (...args: Parameters<Database["all"]>) => {
          this.reads++;
          this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#atOnce);
          try {
            return await target.all(...args);
          } finally {
            this.#atOnce--;
          }
        };
      },
    });
  }
}

/** A database with that many rows in the log, alerts and records, several of each millisecond. */
async function filled(path: string): Promise<Database> {
  const file = `${path}/sluice.db`;
  const database = await openDatabase({ file, durability: "full", rules: RULES, now: Date.now });
  const numbers = `with recursive n (i) as (select 0 union all select i + 1 from n where i < ?)`;
  const run = (sql: string) => database.batch([{ sql, args: [ROWS - 1] }]);
  await database.batch([
    {
      sql: `insert into accounts (id, email, name, created_at_ms, invite_code)
        values ('acc_a', 'a@example.com', '', 0, 'a')`,
      args: [],
    },
    {
      sql: `insert into keys (id, account_id, name, digest, hint, created_at_ms, source)
        values ('key_a', 'acc_a', '', ?, '', 0, 'issued')`,
      args: ["0".repeat(64)],
    },
  ]);
  await run(`${numbers} insert into operation_log
    (id, at_ms, operation, door, actor, outcome) select printf('op_%05d', i * 7919 % ${ROWS}),
      i / 3, 'op.' || (i % 100), 'api', 'a@example.com', 'done' from n`);
  await run(
    `${numbers} insert into alerts
      (id, mark, kind, account_id, title, text, data, created_at_ms, read_at_ms)
    select printf('alert_%05d', i * 7919 % ${ROWS}), 'm' || i, 'low_credits', 'acc_a', '', '', '{}',
      i / 3, 1 from n`,
  );
  await run(`${numbers} insert into usage_records
    (request_id, account_id, key_id, dialect, route, attempts, status, ending, streamed,
      input_tokens, cached_tokens, output_tokens, reasoning_tokens, started_at_ms, duration_ms)
    select printf('req_%05d', i * 7919 % ${ROWS}), 'acc_a', 'key_a', 'chat', 'r', 1, 200, 'complete',
      0, 0, 0, 0, 0, i / 3, 0 from n`);
  return database;
}

Deno.test("a list whose filter matches nothing, or little, holds up no other use of the database", async (t) => {
  await using dir = await tempDir();
  const database = await filled(dir.path);
  const watched = new Watched(database);
  const seen = watched.database;
  try {
    const lists: Record<string, () => Promise<unknown[]>> = {
      log: () => logEntries(seen, { by: "nobody", limit: 10 }),
      "log by object": () => logEntries(seen, { about: "nothing", limit: 10 }),
      "log by operation": () => logEntries(seen, { operation: "x", outcome: "failed", limit: 9 }),
      "requests that failed": () => latestRecords(seen, { failed: true, limit: 10 }),
      "failed requests of an account": () =>
        latestRecords(seen, { accountId: "acc_a", failed: true, limit: 10 }),
      "unread alerts of an account": () =>
        notices(seen, { accountId: "acc_a", isUnread: true, limit: 10 }),
    };
    for (const [name, list] of Object.entries(lists)) {
      await t.step(name, async () => {
        watched.reads = 0;
        assertEquals(await list(), []);
        assertEquals(watched.reads, READS);
      });
    }
    await t.step("many at once take turns", async () => {
      watched.mostAtOnce = 0;
      let isOver = false;
      const all = Promise.all(Array.from({ length: 20 }, () => lists.log!()))
        .finally(() => isOver = true);
      let between = 0;
      while (!isOver) {
        await database.one("select 1 as one");
        between++;
      }
      await all;
      assertEquals(watched.mostAtOnce, 1);
      assert(between >= 12 * READS, String(between));
    });
  } finally {
    await database.close();
  }
});

Deno.test("scanRows() finds what one statement finds, in its order, page by page", async () => {
  await using dir = await tempDir();
  const database = await filled(dir.path);
  const seed = testSeed();
  const random = new Random(seed);
  try {
    for (let round = 0; round < sized(12, 500); round++) {
      const number = random.integer(0, 120);
      const [from, to] = [random.integer(0, ROWS / 3), random.integer(0, ROWS / 3)].toSorted(
        (a, b) => a - b,
      );
      const isBounded = random.next() < 0.5;
      const limit = random.pick([1, 7, 150, 30_000]);
      const scan: Scan = {
        from: "from operation_log",
        columns: "at_ms, id, operation",
        order: ["at_ms", "id"],
        within: isBounded ? [{ sql: "at_ms between ? and ?", args: [from!, to!] }] : [],
        filter: random.next() < 0.2 ? [] : [
          { sql: "operation = ? or operation = ?", args: [`op.${number}`, "op.1"] },
        ],
        limit,
      };
      const all: Row[] = [];
      while (true) {
        const last = all.at(-1);
        const page = await scanRows(database, {
          ...scan,
          after: last && { sql: "?, ?", args: [last.at_ms!, last.id!] },
        });
        all.push(...page);
        if (page.length < limit || all.length > 2_000) break;
      }
      const conditions = [...scan.within!, ...scan.filter];
      const expected = await database.all(
        `select at_ms, id, operation from operation_log
          where ${["true", ...conditions.map(({ sql }) => `(${sql})`)].join(" and ")}
          order by at_ms desc, id desc limit ?`,
        [...conditions.flatMap(({ args }) => args), all.length],
      );
      assertEquals(all, expected, `seed ${seed}`);
      if (all.length <= 2_000) {
        const [row] = await database.all(
          `select count(*) as number from operation_log
            where ${["true", ...conditions.map(({ sql }) => `(${sql})`)].join(" and ")}`,
          conditions.flatMap(({ args }) => args),
        );
        assertEquals(all.length, Number(row!.number), `seed ${seed}`);
      }
    }
    const unknown = { sql: "select at_ms, id from operation_log where id = 'none'", args: [] };
    const rows = { from: "from operation_log", columns: "*", order: ["at_ms", "id"], limit: 5 };
    assertEquals(await scanRows(database, { ...rows, filter: [], after: unknown }), []);
    // a scan that fails does not keep others waiting
    const broken = scanRows(database, { ...rows, filter: [{ sql: "nothing(1)", args: [] }] });
    assert(await broken.catch((error) => error) instanceof Error);
    const found = await scanRows(database, { ...rows, filter: [{ sql: "at_ms = 1", args: [] }] });
    assertEquals(found.length, 3);
  } finally {
    await database.close();
  }
});
