import {
  type Database,
  isDecision,
  type Lock,
  migrate,
  type Rule,
  type RuleObject,
  type RuleSet,
} from "../../src/ground/database/mod.ts";
import { RULES } from "../../src/money/ledger/mod.ts";

/** Tables that hold credits, whose column names what has to be locked, and the table of that lock. */
const GUARDED = {
  balances: ["account_id", "balances"],
  bound_holds: ["(select account_id from lots where id = ROW.lot_id)", "balances"],
  budget_periods: ["budget_id", "budgets"],
  entries: ["account_id", "balances"],
  holds: ["account_id", "balances"],
  loans: ["account_id", "balances"],
  lots: ["account_id", "balances"],
  order_credits: ["account_id", "balances"],
  orders: ["account_id", "balances"],
  payment_facts: ["'keys'", "revisions"],
  take_backs: ["account_id", "balances"],
  usage_records: ["account_id", "balances"],
} as const;

const IN_DECISION = "(select depth from decisions_deep) > 0";

/** A condition: a lock is held. */
const isHeld = (table: string, key: string) =>
  `exists (select 1 from locks_held where name = '${table}' and id = ${key})`;

/** Notes a row that a decision writes without having locked it. */
function watch(
  table: string,
  event: "insert" | "update" | "delete",
  [column, lock]: readonly [string, string],
): RuleObject {
  const row = event === "delete" ? "old" : "new";
  const key = /^\w+$/.test(column) ? `${row}.${column}` : column.replace("ROW", row);
  return {
    trigger: `watch_${table}_${event}`,
    event: `after ${event}`,
    on: table,
    when: `${IN_DECISION} and not ${isHeld(lock, key)}`,
    statements: [`insert into unlocked values ('${event} of ${table} ' || ${key})`],
  };
}

/** Notes what is not locked within a decision whose locks are to be enough. */
function note(trigger: string, { table, key, rows }: Lock, isWithin: string): string {
  return `insert into unlocked select '${trigger} within another one: ${table} ' || ${key}
      from ${table} where ${key} in (${rows}) and ${isWithin}
        and not ${isHeld(table, `${table}.${key}`)}`;
}

/** Takes a lock as an engine would: before anything else. A decision within another one needs no more than that has locked. */
function take(trigger: string, lock: Lock): string[] {
  const { table, key, rows } = lock;
  return [
    note(trigger, lock, "(select depth from decisions_deep) > 1"),
    `insert or ignore into locks_held select '${table}', ${key} from ${table}
      where ${key} in (${rows}) and (select depth from decisions_deep) = 1`,
  ];
}

function watched(object: RuleObject): RuleObject {
  if (!("locks" in object) || object.locks === undefined) return object;
  const { trigger, locks, statements } = object;
  // what other triggers do outside of decisions is not watched
  if (!isDecision(object)) {
    return {
      ...object,
      statements: [...locks.map((lock) => note(trigger, lock, IN_DECISION)), ...statements],
    };
  }
  return {
    ...object,
    statements: [
      "update decisions_deep set depth = depth + 1",
      ...locks.flatMap((lock) => take(trigger, lock)),
      ...statements,
      "update decisions_deep set depth = depth - 1",
      "delete from locks_held where (select depth from decisions_deep) = 0",
    ],
  };
}

const WATCHED: RuleSet = {
  ...RULES,
  revision: RULES.revision + 1,
  rules: [
    ...RULES.rules.map((rule): Rule => ({ ...rule, objects: rule.objects.map(watched) })),
    {
      name: "watch",
      objects: Object.entries(GUARDED).flatMap(([table, lock]) =>
        (["insert", "update", "delete"] as const).map((event) => watch(table, event, lock))
      ),
    },
  ],
};

/** From now on notes what decisions write without having locked it: the rules of the ledger are the same, and look after themselves. */
export async function watchLocks(database: Database): Promise<void> {
  await database.batch([
    { sql: "create table decisions_deep (depth integer not null)" },
    { sql: "insert into decisions_deep values (0)" },
    { sql: "create table locks_held (name text, id text, primary key (name, id))" },
    { sql: "create table unlocked (what text not null)" },
  ]);
  await migrate(database, { now: () => 1, rules: WATCHED });
}

/** What decisions wrote without having locked it. */
export async function unlockedWrites(database: Database): Promise<string[]> {
  const rows = await database.all("select distinct what from unlocked limit 20");
  return rows.map(({ what }) => String(what));
}

/** Keys of what is locked. */
const KEYS = { balances: "account_id", budgets: "id" } as const;

/**
 * From now on notes each row that a PostgreSQL changes before its transaction has locked what it belongs to, whether a decision does so
 * or not: another transaction may have the lock, and wait for the row.
 */
export async function watchRowLocks(database: Database): Promise<void> {
  const statements = (["budget_periods", "holds", "loans"] as const).flatMap((table) => {
    const [column, lock] = GUARDED[table];
    return [
      `create function watch_${table}() returns trigger language plpgsql as $$ begin
        if not exists (
          select 1 from ${lock} where ${KEYS[lock]} = old.${column}
            and pg_current_xact_id()::xid in (xmin, xmax)
        ) then
          insert into unlocked values (tg_op || ' of ${table} by ' || current_query());
        end if;
        if tg_op = 'DELETE' then return old; end if;
        return new;
      end $$`,
      `create trigger before_all_watch before update or delete on ${table}
        for each row execute function watch_${table}()`,
    ];
  });
  await database.batch(
    ["create table unlocked (what text not null)", ...statements].map((sql) => ({ sql })),
  );
}
