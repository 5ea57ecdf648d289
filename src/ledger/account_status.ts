import type { Database } from "../database/mod.ts";
import type { WindowState } from "./admit.ts";
import type { TierList } from "./tiers.ts";

/** Where an account and a key stand. */
export interface AccountStatus {
  readonly balance: number;
  /** The key's, then the account's. None when the balance is 0, which no tier allows anything. */
  readonly windows: readonly WindowState[];
}

const SPANS = [["minute", 60_000], ["hour", 3_600_000], ["day", 86_400_000]] as const;
const OWNERS = [["key", ""], ["account", "account_"]] as const;
/** As admissions have it where a tier has limits per key only. */
const MAX_LIMIT = Number.MAX_SAFE_INTEGER;

const STANDING = `
  select available as balance, minute, hour, day,
    ${
  SPANS.map(([span]) =>
    `coalesce(account_${span}, min(5 * ${span}, ${MAX_LIMIT})) as account_${span}`
  ).join(", ")
},
    ${
  OWNERS.flatMap(([owner, prefix], ownerAt) =>
    SPANS.map(([span, spanMs], spanAt) =>
      `(select used from ${prefix}windows where ${owner}_id = ?${2 - ownerAt}
      and span_ms = ${spanMs} and at_ms = ?${4 + spanAt}) as ${prefix}${span}_used`
    )
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
  const starts = SPANS.map(([, spanMs]) => Math.floor(nowMs / spanMs) * spanMs);
  const row = await database.one(STANDING, [accountId, keyId, tierList.id, ...starts, nowMs]);
  if (row === undefined || row.minute === null) {
    return { balance: Number(row?.balance ?? 0), windows: [] };
  }
  const windows = OWNERS.flatMap(([of, prefix]) =>
    SPANS.map(([span]): WindowState => ({
      of,
      span,
      limit: Number(row[`${prefix}${span}`]),
      used: Number(row[`${prefix}${span}_used`] ?? 0),
    }))
  );
  return { balance: Number(row.balance), windows };
}
