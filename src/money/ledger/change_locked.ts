import type { Condition, Database, Value } from "../../ground/database/mod.ts";
import { lockRows, textsOf } from "../../ground/sql/mod.ts";
import { locks } from "./rules/sql/locks.ts";

/** Takes what decisions take, in their order: accounts, then the budgets of keys. */
const LOCKS = locks({
  accounts: textsOf(),
  budgets: `select budget_id from budget_keys where key_id in ${textsOf()}`,
}).map(lockRows);

/**
 * Changes holds or loans outside of decisions. Their accounts and budgets are locked first, so that no two transactions wait for each
 * other in a circle; what comes to be meant in between, of other accounts or keys, stays as it is.
 *
 * @param where Which rows.
 * @param change The statement up to its condition, such as `delete from holds`.
 * @param args What the change takes.
 * @returns Whether there were any.
 */
export async function changeLocked(
  database: Database,
  table: "holds" | "loans",
  where: Condition,
  change: string,
  args: readonly Value[] = [],
): Promise<boolean> {
  const rows = await database.all(
    `select distinct account_id, key_id from ${table} where ${where.sql}`,
    where.args,
  );
  if (rows.length === 0) return false;
  const these = ["account_id", "key_id"].map((column) => ({
    sql: `${column} in ${textsOf()}`,
    args: [JSON.stringify(rows.map((row) => row[column] ?? null))],
  }));
  await database.batch([
    ...LOCKS.map((sql, at) => ({ sql, args: these[at]!.args })),
    {
      sql: [`${change} where ${where.sql}`, ...these.map(({ sql }) => sql)].join(" and "),
      args: [...args, ...where.args, ...these.flatMap((one) => one.args)],
    },
  ]);
  return true;
}
