import type { SignedInTool } from "../../../people/accounts/mod.ts";
import { TimeZones } from "../budgets.tsx";
import { Layout, type PageContext } from "../layout.tsx";
import { type MadeKey, NewKey, NewKeyForm } from "./key_forms.tsx";
import { type KeysView, KeyTable, type MayChange } from "./key_table.tsx";
import { ToolTable } from "./tools.tsx";

/** With this many keys, the form for another one is far below. */
const MANY_KEYS = 5;

/** An account's keys, and a form to create one. */
export function KeysPage(
  { page, view, teams, mayChange, made, address, tools }: {
    page: PageContext;
    view: KeysView;
    /** Names of teams by ID; `undefined` if no key is a team's. */
    teams: ReadonlyMap<string, string> | undefined;
    mayChange: MayChange;
    made?: MadeKey | undefined;
    address: string;
    tools: readonly SignedInTool[];
  },
) {
  const { keys, models } = view;
  return (
    <Layout page={page} title="Keys">
      {made === undefined ? null : <NewKey {...made} address={address} />}
      {keys.length < MANY_KEYS ? null : (
        <p>
          <a class="button" href="#create">Create a key</a>
        </p>
      )}
      <KeyTable
        {...view}
        teams={teams}
        csrf={page.csrf}
        action="/console/keys"
        mayChange={mayChange}
      />
      <TimeZones />
      <ToolTable tools={tools} csrf={page.csrf} nowMs={view.nowMs} />
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
