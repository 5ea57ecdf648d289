import type { Account, Key } from "../../people/accounts/mod.ts";
import { budgetsOfKeys } from "../../money/ledger/mod.ts";
import { SpentByKey } from "../../money/usage/mod.ts";
import type { KeysView } from "./pages/key_table.tsx";
import type { ConsoleParts } from "./request.tsx";

/** What a table shows of keys of an account, newest first. */
export async function keysView(
  { keys, catalog, database, now }: ConsoleParts,
  account: Account,
  own: readonly Key[],
): Promise<KeysView> {
  return {
    keys: own.toReversed(),
    budgets: await budgetsOfKeys(database, own.map(({ id }) => id), now()),
    lastUse: await keys.lastUse(account),
    spent: await new SpentByKey(database).of(own.map(({ accountId }) => accountId)),
    models: catalog().routes.map(({ id }) => id),
    nowMs: now(),
  };
}
