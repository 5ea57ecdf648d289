import type { Key } from "../../../people/accounts/mod.ts";
import type { Budget } from "../../../money/ledger/mod.ts";
import { TimeZones } from "../budgets.tsx";
import { Layout, type PageContext } from "../layout.tsx";
import { NewKey, NewKeyForm } from "./key_forms.tsx";
import { KeyTable, type MayChange } from "./key_table.tsx";

/** With this many keys, the form for another one is far below. */
const MANY_KEYS = 5;

/** An account's keys, and a form to create one. */
export function KeysPage(
  {
    page,
    keys,
    budgets,
    lastUse,
    spent,
    teams,
    mayChange,
    models,
    made,
    address,
    nowMs,
  }: {
    page: PageContext;
    keys: readonly Key[];
    budgets: ReadonlyMap<string, readonly Budget[]>;
    lastUse: ReadonlyMap<string, number>;
    /** Credits by key ID. */
    spent: ReadonlyMap<string, number>;
    /** Names of teams by ID; `undefined` if no key is a team's. */
    teams: ReadonlyMap<string, string> | undefined;
    mayChange: MayChange;
    models: readonly string[];
    /** Secret of the key that was just created. */
    made?: string | undefined;
    address: string;
    nowMs: number;
  },
) {
  return (
    <Layout page={page} title="Keys">
      {made === undefined ? null : <NewKey secret={made} address={address} models={models} />}
      {keys.length < MANY_KEYS ? null : (
        <p>
          <a class="button" href="#create">Create a key</a>
        </p>
      )}
      <KeyTable
        keys={keys}
        budgets={budgets}
        lastUse={lastUse}
        spent={spent}
        teams={teams}
        csrf={page.csrf}
        nowMs={nowMs}
        action="/console/keys"
        mayChange={mayChange}
        models={models}
      />
      <TimeZones />
      <h2 id="create">Create a key</h2>
      <NewKeyForm
        path="/console/keys"
        csrf={page.csrf}
        models={models}
        hint="Helps you tell keys apart."
      />
    </Layout>
  );
}
