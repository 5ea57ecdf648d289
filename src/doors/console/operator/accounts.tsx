import { type Account, labelOf, type Session } from "../../../people/accounts/mod.ts";
import { balancesOf } from "../../../money/ledger/mod.ts";
import { Badge, Field, Form, Name, Table, Time } from "../components.tsx";
import { number } from "../format.ts";
import { Layout } from "../layout.tsx";
import { ACCOUNT_CREATE, mayOperate } from "../../../operating/operations/mod.ts";
import { pageWithForms } from "../forms.ts";
import { type ConsoleParts, page, pageOf, type PageRequest } from "../request.tsx";
import type { GuardedApp } from "../guard.ts";

const ACCOUNTS_SHOWN = 100;

/** Finding accounts, and making one. */
export function accountsRoutes(app: GuardedApp, parts: ConsoleParts): void {
  pageWithForms(app, parts, "/accounts", {
    action: "account.read",
    show: (c, session, _page, { error }) => accountsPage(c, parts, session, error),
  })("", ACCOUNT_CREATE, {
    input: (form) => ({ email: form.text("email"), name: form.text("name") }),
    done: ({ id }) => `/console/operator/accounts/${id}`,
  });
}

function pathOf(asked: Readonly<Record<string, string>>): string {
  const given = Object.entries(asked).filter(([, value]) => value !== "");
  return `/console/operator/accounts?${new URLSearchParams(given)}`;
}

/** Every account, or those that a text finds, in pages. */
async function accountsPage(
  c: PageRequest,
  { accounts, database }: ConsoleParts,
  session: Session,
  error: string | undefined,
): Promise<Response> {
  const context = pageOf(c, error);
  const query = (c.req.query("q") ?? "").slice(0, 200);
  const after = c.req.query("after")?.slice(0, 200) || undefined;
  const isFirst = after === undefined;
  const upTo = await accounts.page({
    search: query,
    kind: "any",
    limit: ACCOUNTS_SHOWN + 1,
    after,
  });
  const found = upTo.slice(0, ACCOUNTS_SHOWN);
  const next = upTo.length > found.length ? found.at(-1)!.id : undefined;
  const balances = await balancesOf(database, found.map(({ id }) => id));
  const rows = found.map((account) => ({
    account,
    ...(balances.get(account.id) ?? { balance: 0, consumed: 0, requests: 0 }),
  }));
  return await page(
    c,
    <Layout page={context} title="Accounts">
      <form method="get" action="/console/operator/accounts" class="row" role="search">
        <Field label="Email or name" name="q" type="search" value={query} />
        <button type="submit" class="plain">Search</button>
      </form>
      <Table<typeof rows[number]>
        caption="Accounts"
        rows={rows}
        empty={`No accounts match “${query}”.`}
        columns={[
          {
            name: "email",
            cell: ({ account }) => (
              <Name
                href={`/console/operator/accounts/${account.id}`}
                text={labelOf(account)}
              />
            ),
          },
          {
            name: "name",
            bare: true,
            cell: ({ account }) => account.kind === "pool" ? "–" : account.name || "–",
          },
          { name: "state", bare: true, cell: ({ account }) => <AccountState account={account} /> },
          { name: "balance", role: "figure", cell: ({ balance }) => number(balance) },
          { name: "spent", numeric: true, cell: ({ consumed }) => number(consumed) },
          { name: "requests", numeric: true, cell: ({ requests }) => number(requests) },
          { name: "created", cell: ({ account }) => <Time ms={account.createdAtMs} dayOnly /> },
        ]}
      />
      {isFirst && next === undefined ? null : (
        <p class="pages">
          {next !== undefined && <a href={pathOf({ q: query, after: next })}>Newer accounts</a>}
          {isFirst ? null : <a href={pathOf({ q: query })}>Oldest accounts</a>}
        </p>
      )}
      {!mayOperate(session, ACCOUNT_CREATE) ? null : (
        <>
          <h2>Create an account</h2>
          <Form action="/console/operator/accounts" csrf={context.csrf} class="card narrow">
            <Field label="Email" name="email" type="email" required autocomplete="off" />
            <Field label="Name" name="name" maxlength={200} autocomplete="off" />
            <button type="submit">Create account</button>
          </Form>
        </>
      )}
    </Layout>,
  );
}

/** Whether an account is active or disabled, or else the role or kind that sets it apart. */
export function AccountState(
  { account: { kind, role, disabledAtMs } }: { account: Account },
) {
  if (disabledAtMs !== null) return <Badge tone="bad">disabled</Badge>;
  if (role !== "none") return <Badge tone="calm">{role}</Badge>;
  return kind === "person" ? <Badge tone="good">active</Badge> : <Badge tone="calm">{kind}</Badge>;
}
