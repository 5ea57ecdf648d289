import type { Condition, Database } from "../../ground/database/mod.ts";
import { type Account, readAccount } from "./account.ts";

/** Accounts that came with an account's invite code, oldest first. */
export async function invitedBy(database: Database, account: Account): Promise<Account[]> {
  const rows = await database.all(
    "select * from accounts where invited_by = ? order by created_at_ms, id",
    [account.id],
  );
  return rows.map(readAccount);
}

/** Holds for an account that exists and is not disabled. */
export function isActive(accountId: string): Condition {
  return {
    sql: "exists (select 1 from accounts where id = ? and disabled_at_ms is null)",
    args: [accountId],
  };
}
