import type { Database } from "../database/mod.ts";
import type { WindowState } from "./admit.ts";
import { ACCOUNT_LIMITS, SPANS, WINDOWS } from "./rules/admit.ts";
import type { TierList } from "./tiers.ts";

/** Where an account and a key stand. */
export interface AccountStatus {
  readonly balance: number;
  /** The key's, then the account's. None when the balance is 0, which no tier allows anything. */
  readonly windows: readonly WindowState[];
}

const ARGUMENTS = { account: "?1", key: "?2" } as const;
const SPAN_NAMES = Object.keys(SPANS);

const STANDING = `
  select available as balance, minute, hour, day, ${ACCOUNT_LIMITS.join(", ")},
    ${
  WINDOWS.map(({ of, table, span, name }) =>
    `(select used from ${table} where ${of}_id = ${ARGUMENTS[of]} and span_ms = ${SPANS[span]}
      and at_ms = ?${4 + SPAN_NAMES.indexOf(span)}) as ${name}_used`
  ).join(",\n    ")
}
  from (
    select balance - min(balance - held, coalesce((
      select sum(remaining) from lots
      where account_id = ?1 and remaining > 0 and expires_at_ms <= ?7
    ), 0)) as available
    from balances where account_id = ?1
  ) left join tiers on list_id = ?3 and above = (
    select max(above) from tiers where list_id = ?3 and above < available
  )`;

/** Where an account and a key stand, without counting anything. What has expired is left out of the balance. */
export async function accountStatusOf(
  database: Database,
  { accountId, keyId }: { readonly accountId: string; readonly keyId: string },
  tierList: TierList,
  nowMs: number,
): Promise<AccountStatus> {
  const starts = Object.values(SPANS).map((spanMs) => Math.floor(nowMs / spanMs) * spanMs);
  const row = await database.one(STANDING, [accountId, keyId, tierList.id, ...starts, nowMs]);
  if (row === undefined || row.minute === null) {
    return { balance: Number(row?.balance ?? 0), windows: [] };
  }
  const windows = WINDOWS.map(({ of, span, name }): WindowState => ({
    of,
    span,
    limit: Number(row[name]),
    used: Number(row[`${name}_used`] ?? 0),
  }));
  return { balance: Number(row.balance), windows };
}
