import type { Database, Row, Statement } from "../../ground/database/mod.ts";
import type { WindowState } from "./admit.ts";
import { type Budget, readBudget } from "./budgets.ts";
import { ACCOUNT_LIMITS, WINDOWS } from "./rules/admit.ts";
import { BUDGET_JSON, leftOfBudget, periodOf } from "./rules/sql/budgets.ts";
import { freeOf } from "./rules/sql/lots.ts";
import { SPANS } from "./rules/sql/windows.ts";
import type { TierList } from "./tiers.ts";
import { least, sumOf } from "../../ground/sql/mod.ts";

/** Where an account and a key stand. */
export interface AccountStatus {
  readonly balance: number;
  /** The key's, then the account's. None when the balance is 0, which no tier allows anything. */
  readonly windows: readonly WindowState[];
  /** Of the budgets that apply to the key, the one with the least left; undefined if it has none. */
  readonly budget?: Budget | undefined;
}

const ARGUMENTS = { account: "?1", key: "?2" } as const;
const SPAN_NAMES = Object.keys(SPANS);

/** What has expired and was not taken out yet. */
const EXPIRED = least(
  `${freeOf("expires_at_ms <= ?7")} + coalesce((
  select ${sumOf("credits")} from loans where account_id = ?1
), 0)`,
  `coalesce((
  select ${sumOf("remaining - reserved")} from lots
  where account_id = ?1 and remaining > 0 and expires_at_ms <= ?7
), 0)`,
);

const STANDING = `
  select available as balance, minute, hour, day, ${ACCOUNT_LIMITS.join(", ")},
    ${
  WINDOWS.map(({ of, table, span, name }) =>
    `(select used from ${table} where ${of}_id = ${ARGUMENTS[of]} and span_ms = ${SPANS[span]}
      and at_ms = ?${4 + SPAN_NAMES.indexOf(span)}) as ${name}_used`
  ).join(",\n    ")
},
    (
      select ${BUDGET_JSON}
      from budget_keys join budgets on budgets.id = budget_keys.budget_id
        join budget_periods on (${periodOf("budget_keys.budget_id", "?7")})
      where budget_keys.key_id = ?2 order by ${leftOfBudget("?7")} limit 1
    ) as budget, ?7 as at_ms
  from (
    select balance - ${EXPIRED} as available
    from balances where account_id = ?1
  ) as found left join tiers on list_id = ?3 and above = (
    select max(above) from tiers where list_id = ?3 and above < available
  )`;

/** Selects the row that {@linkcode readStatus} reads. */
export function statusStatement(
  { accountId, keyId }: { readonly accountId: string; readonly keyId: string },
  tierList: TierList,
  nowMs: number,
): Required<Pick<Statement, "sql" | "args">> {
  const starts = Object.values(SPANS).map((spanMs) => Math.floor(nowMs / spanMs) * spanMs);
  return { sql: STANDING, args: [accountId, keyId, tierList.id, ...starts, nowMs] };
}

/** Where an account and a key stand, without counting anything. What has expired is left out of the balance. */
export async function accountStatusOf(
  database: Database,
  caller: { readonly accountId: string; readonly keyId: string },
  tierList: TierList,
  nowMs: number,
): Promise<AccountStatus> {
  const { sql, args } = statusStatement(caller, tierList, nowMs);
  return readStatus(await database.one(sql, args));
}

/** Reads the row of a {@linkcode statusStatement}. */
export function readStatus(row: Row | undefined): AccountStatus {
  const budget = typeof row?.budget === "string"
    ? readBudget(JSON.parse(row.budget), Number(row.at_ms))
    : undefined;
  if (row === undefined || row.minute === null) {
    return { balance: Number(row?.balance ?? 0), windows: [], budget };
  }
  const windows = WINDOWS.map(({ of, span, name }): WindowState => ({
    of,
    span,
    limit: Number(row[name]),
    used: Number(row[`${name}_used`] ?? 0),
  }));
  return { balance: Number(row.balance), windows, budget };
}
