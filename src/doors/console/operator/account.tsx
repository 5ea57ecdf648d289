import type { CreditPackage } from "../../../money/payments/mod.ts";
import { type Account, type Key, labelOf, newKeyId, ROLES } from "../../../people/accounts/mod.ts";
import {
  ACCOUNT_DISABLE,
  ACCOUNT_ROLE,
  BUDGET_SET,
  CREDITS_GRANT,
  CREDITS_TAKE_BACK,
  KEY_REVOKE,
  type Subject,
  type WriteOperation,
} from "../../../operating/operations/mod.ts";
import type { Budget, Credits, Entry } from "../../../money/ledger/mod.ts";
import { Budgets, TimeZones } from "../budgets.tsx";
import {
  Chart,
  type ChartProps,
  Copyable,
  Field,
  Form,
  FormId,
  Name,
  Select,
  Stat,
} from "../components.tsx";
import { Layout, type PageContext } from "../layout.tsx";
import { EntryTable } from "../pages/credit_entries.tsx";
import { type MadeKey, NewKey } from "../pages/key_forms.tsx";
import { type KeysView, KeyTable } from "../pages/key_table.tsx";
import { LotTable } from "./account_lots.tsx";
import { AccountTeams, type Membership } from "./account_teams.tsx";
import { AccountState } from "./accounts.tsx";

/** Where the account's usage, requests and entries are in full. */
function UsageLinks({ account: { email, kind } }: { account: Account }) {
  if (kind === "pool") return null; // reports name it by its team
  const query = (more: Readonly<Record<string, string>>) =>
    new URLSearchParams({ account: email, since: "30d", ...more });
  return (
    <p>
      Usage by <a href={`/console/usage?${query({ by: "day" })}`}>day</a>,{" "}
      <a href={`/console/usage?${query({ by: "model" })}`}>model</a>,{" "}
      <a href={`/console/usage?${query({ by: "key" })}`}>key</a>,{" "}
      <a href={`/console/usage?${query({ by: "reason" })}`}>reason of failures</a>. Download its
      {" "}
      <a href={`/console/usage/requests.csv?${query({})}`}>requests</a> or{" "}
      <a href={`/console/usage/entries.csv?${query({})}`}>entries</a> of 30 days.
    </p>
  );
}

/** One account, and what an operator can do for it. */
export function AccountDetailPage(
  {
    page,
    seesKeys,
    mayOperate,
    mayRevoke,
    account,
    credits,
    debt,
    teams,
    entries,
    view,
    ownBudgets,
    chart,
    packages,
    link,
    made,
    address,
  }: {
    page: PageContext;
    /** Whether the visitor may see its keys. */
    seesKeys: boolean;
    /** Whether the visitor may do a write of this account. */
    mayOperate: (operation: WriteOperation, more?: Subject) => boolean;
    mayRevoke: (key: Key) => boolean;
    account: Account;
    credits: Credits;
    /** Credits that it owes from refunds and disputes. */
    debt: number;
    /** The teams that it is a member of; of a pool, the team that it is of. */
    teams: readonly Membership[];
    /** The latest ones. */
    entries: readonly Entry[];
    view: KeysView;
    /** Budgets of the account. */
    ownBudgets: readonly Budget[];
    /** Its credits by day and model; undefined without any. */
    chart: ChartProps | undefined;
    packages: readonly CreditPackage[];
    /** A sign-in link that was made just now. */
    link?: string | undefined;
    made?: MadeKey | undefined;
    address: string;
  },
) {
  const base = `/console/operator/accounts/${account.id}`;
  const isPool = account.kind === "pool";
  const name = isPool && account.name !== "" ? account.name : account.email;
  return (
    <Layout page={page} title={name}>
      {link === undefined ? null : (
        <section class="card">
          <h2>Sign-in link</h2>
          <p>It works once, within a day. Send it to {account.email} over a channel you trust.</p>
          <Copyable text={link} label="the sign-in link" />
        </section>
      )}
      {made === undefined ? null : <NewKey {...made} address={address} />}
      <p>
        {isPool
          ? teams.map(({ teamId, teamName }) => (
            <>
              {/^team\b/i.test(teamName) ? "" : "Team "}
              <Name text={teamName} href={`/console/teams/${teamId}`} />
            </>
          ))
          : account.name} <AccountState account={account} />
      </p>
      <dl class="stats">
        <Stat name="Balance" value={credits.balance} note="credits" />
        {debt !== 0 && (
          <Stat name="Debt" value={debt} note="credits, paid off by the next purchases" />
        )}
        <Stat name="Spent" value={credits.consumed} note="credits" />
        <Stat name="Requests" value={credits.requests} />
        <Stat name="Tokens" value={credits.inputTokens + credits.outputTokens} />
      </dl>
      {chart === undefined ? null : <Chart {...chart} />}
      <UsageLinks account={account} />
      <h2>Budgets</h2>
      <section class="card">
        {ownBudgets.length === 0 && (
          <p class="quiet">
            No budgets: all of the balance may be spent.
          </p>
        )}
        <Budgets
          budgets={ownBudgets}
          of={name}
          csrf={page.csrf}
          path={mayOperate(BUDGET_SET) ? base : undefined}
        />
      </section>
      <TimeZones />
      <h2>Remaining credits</h2>
      <LotTable
        lots={credits.lots}
        csrf={page.csrf}
        nowMs={view.nowMs}
        action={mayOperate(CREDITS_TAKE_BACK) ? `${base}/take-back` : undefined}
      />
      <div class="grid">
        {!mayOperate(CREDITS_GRANT) ? null : (
          <>
            <section>
              <h2>Grant credits</h2>
              <Form action={`${base}/grant`} csrf={page.csrf} class="card">
                <FormId />
                <Field label="Credits" name="credits" min={1} required />
                <Field
                  label="Expires after (days)"
                  name="days"
                  min={1}
                  hint="Leave empty for no expiry."
                />
                <Field label="Note" name="note" maxlength={500} />
                <button type="submit">Grant</button>
              </Form>
            </section>
            <section>
              <h2>Record a package</h2>
              <Form action={`${base}/package`} csrf={page.csrf} class="card">
                <FormId />
                <Select
                  label="Package"
                  name="package"
                  options={packages.filter(({ credits }) => credits !== null)
                    .map(({ id, name }) => [id, name])}
                />
                <p>
                  <label>
                    <input type="checkbox" name="paid" value="yes" />
                    Paid
                  </label>
                </p>
                <button type="submit">Record</button>
              </Form>
            </section>
          </>
        )}
        {!mayOperate(ACCOUNT_DISABLE) || account.kind === "pool" ? null : (
          <section>
            <h2>Access</h2>
            <div class="card">
              {account.disabledAtMs !== null
                ? (
                  <Form action={`${base}/enable`} csrf={page.csrf}>
                    <button type="submit">Enable account</button>
                  </Form>
                )
                : (
                  <>
                    {account.kind === "person" && (
                      <Form action={`${base}/link`} csrf={page.csrf}>
                        <button type="submit" class="plain">Create sign-in link</button>
                      </Form>
                    )}
                    <Form action={`${base}/keys`} csrf={page.csrf}>
                      <input type="hidden" name="id" value={newKeyId()} />
                      <button type="submit" class="plain">Create key</button>
                    </Form>
                  </>
                )}
              {account.disabledAtMs !== null ? null : (
                <Form
                  action={`${base}/disable`}
                  csrf={page.csrf}
                  confirm={`Disable ${labelOf(account)}? Its keys stop working within a second.`}
                >
                  <button type="submit" class="danger">Disable account</button>
                </Form>
              )}
            </div>
          </section>
        )}
        {!mayOperate(ACCOUNT_ROLE) || account.kind === "pool" ? null : (
          <section>
            <h2>Role</h2>
            <Form action={`${base}/role`} csrf={page.csrf} class="card">
              <Select
                label="Role"
                name="role"
                options={ROLES.filter((role) => mayOperate(ACCOUNT_ROLE, { role }))}
                value={account.role}
                hint="owner: everything; operator: everything but owners and settings; finance: reads usage and credits."
              />
              <button type="submit">Save role</button>
            </Form>
          </section>
        )}
      </div>
      {isPool ? null : <AccountTeams teams={teams} />}
      {!seesKeys ? null : (
        <>
          <h2>Keys</h2>
          <KeyTable
            {...view}
            csrf={page.csrf}
            mayChange={(key, operation) => operation === KEY_REVOKE && !isPool && mayRevoke(key)}
            action={`${base}/keys`}
          />
        </>
      )}
      <h2>Latest entries</h2>
      <EntryTable entries={entries} />
    </Layout>
  );
}
