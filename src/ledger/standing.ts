import type { Database } from "../database/mod.ts";
import type { WindowState } from "./admit.ts";
import type { TierList } from "./tiers.ts";

/** Where an account and a key stand. */
export interface Standing {
  readonly balance: number;
  /** None when the balance is 0, which no tier allows anything. */
  readonly windows: readonly WindowState[];
}

const STANDING = `
  select available as balance, minute, hour, day,
    (select used from windows where key_id = ?2 and span_ms = 60000 and at_ms = ?4) as minute_used,
    (select used from windows where key_id = ?2 and span_ms = 3600000 and at_ms = ?5) as hour_used,
    (select used from windows where key_id = ?2 and span_ms = 86400000 and at_ms = ?6) as day_used
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
export async function standingOf(
  database: Database,
  { accountId, keyId }: { readonly accountId: string; readonly keyId: string },
  tierList: TierList,
  nowMs: number,
): Promise<Standing> {
  const starts = [60_000, 3_600_000, 86_400_000].map((span) => Math.floor(nowMs / span) * span);
  const row = await database.one(STANDING, [
    accountId,
    keyId,
    tierList.id,
    ...starts,
    nowMs,
  ]);
  if (row === undefined || row.minute === null) {
    return { balance: Number(row?.balance ?? 0), windows: [] };
  }
  const window = (span: WindowState["span"]): WindowState => ({
    span,
    limit: Number(row[span]),
    used: Number(row[`${span}_used`] ?? 0),
  });
  return {
    balance: Number(row.balance),
    windows: [window("minute"), window("hour"), window("day")],
  };
}
