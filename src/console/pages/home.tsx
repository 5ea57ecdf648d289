import type { AccountStatus, Budget, Credits, Lot } from "../../ledger/mod.ts";
import type { Key } from "../../accounts/mod.ts";
import type { ReportRow } from "../../usage/mod.ts";
import { BudgetBar } from "../budgets.tsx";
import { BarChart, Meter, Stat, Table, Time } from "../components.tsx";
import { count, number, relative } from "../format.ts";
import { Layout, type PageContext } from "../layout.tsx";
import { fillDays } from "./usage.tsx";

/** Overview of an account. */
export function HomePage(
  { page, credits, days, limits, budgets, keys, nowMs }: {
    page: PageContext;
    credits: Credits;
    /** Usage of the last 30 days. */
    days: readonly ReportRow[];
    limits: readonly { key: Key; accountStatus: AccountStatus }[];
    /** Budgets that apply to the account's active keys, with the names of their owners. */
    budgets: readonly { budget: Budget; of: string }[];
    keys: number;
    nowMs: number;
  },
) {
  const today = new Date(nowMs).toISOString().slice(0, 10);
  const sum = (rows: readonly ReportRow[]) => rows.reduce((all, { credits }) => all + credits, 0);
  const requests = (rows: readonly ReportRow[]) => rows.reduce((all, one) => all + one.requests, 0);
  const ofToday = days.filter(({ group }) => group === today);
  const ofMonth = days.filter(({ group }) => group.startsWith(today.slice(0, 7)));
  return (
    <Layout page={page} title="Home">
      <dl class="stats">
        <Stat
          name="Balance"
          value={credits.balance}
          note={credits.held > 0 ? `${number(credits.held)} held by in-flight requests` : "credits"}
        />
        <Stat name="Today" value={sum(ofToday)} note={count(requests(ofToday), "request")} />
        <Stat name="This month" value={sum(ofMonth)} note={count(requests(ofMonth), "request")} />
        <Stat
          name="Total spent"
          value={credits.consumed}
          note={count(credits.requests, "request")}
        />
      </dl>
      {credits.requests === 0 ? <FirstSteps keys={keys} balance={credits.balance} /> : (
        <BarChart
          title="Requests, 30 days"
          unit="requests"
          bars={fillDays(days, nowMs, 30).map(({ group, requests, errors }) => ({
            label: group,
            value: requests,
            bad: errors,
          }))}
        />
      )}
      <div class="grid">
        <section class="card">
          <h2>Balance by lot</h2>
          <Table<Lot>
            caption="Lots, in the order they are spent"
            rows={credits.lots}
            empty="No credits. Ask your operator for a grant, or buy a package."
            columns={[
              { name: "source", cell: ({ source, note }) => note || SOURCES[source] },
              { name: "remaining", numeric: true, cell: ({ remaining }) => number(remaining) },
              {
                name: "expires",
                cell: ({ expiresAtMs }) =>
                  expiresAtMs === null ? "never" : relative(expiresAtMs, nowMs),
              },
            ]}
          />
        </section>
        <section class="card">
          <h2>Rate limits</h2>
          {limits.length === 0
            ? (
              <p class="quiet">
                {credits.balance === 0
                  ? "Requests are rejected while the balance is 0."
                  : "Rate limits apply per key. You have no keys yet."}
              </p>
            )
            : limits.map(({ key, accountStatus }) => (
              <div>
                <p>
                  <strong>{key.name || key.hint}</strong>
                </p>
                {accountStatus.windows.filter((window) => window.of === "key").map(
                  ({ span, limit, used }) => <Meter label={span} used={used} limit={limit} />,
                )}
              </div>
            ))}
          {limits.length > 0 && (
            <div>
              <p>
                <strong>All keys of this account</strong>
              </p>
              {limits[0]!.accountStatus.windows.filter((window) => window.of === "account").map(
                ({ span, limit, used }) => <Meter label={span} used={used} limit={limit} />,
              )}
            </div>
          )}
        </section>
      </div>
      {budgets.length === 0 ? null : (
        <section class="card">
          <h2>Budgets of your keys</h2>
          {budgets.map(({ budget, of }) => <BudgetBar budget={budget} of={of} />)}
        </section>
      )}
      <p class="quiet">
        Days and rate windows are in UTC. It is now <Time ms={nowMs} />.
      </p>
    </Layout>
  );
}

/** Names of the sources of credits. */
export const SOURCES: Readonly<Record<Lot["source"], string>> = {
  signup: "Welcome",
  owner: "Owner's grant",
  invite_signup: "Invite used",
  invite_payment: "Invitee's first payment",
  package: "Package",
  grant: "Grant",
};

function FirstSteps({ keys, balance }: { keys: number; balance: number }) {
  return (
    <section class="card">
      <h2>Three steps to your first response</h2>
      <ol class="steps">
        <li>
          {balance > 0
            ? `You have ${count(balance, "credit")} to start with.`
            : "Ask your operator for credits."}
        </li>
        <li>
          {keys > 0 ? "You have a key. " : ""}
          <a href="/console/keys">Create a key</a>{" "}
          and copy a ready-made snippet for curl, an SDK or a coding tool.
        </li>
        <li>
          Or try a model right away in the <a href="/console/playground">playground</a>.
        </li>
      </ol>
    </section>
  );
}
