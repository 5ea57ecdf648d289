import { type Account, labelOf, type Session } from "../../../people/accounts/mod.ts";
import { balancesOf } from "../../../money/ledger/mod.ts";
import { Badge, Field, Form, Name, Table, Time } from "../components.tsx";
import { number } from "../format.ts";
import { Layout, type PageContext } from "../layout.tsx";
import { ACCOUNT_CREATE, mayOperate } from "../../../operating/operations/mod.ts";
import { pageWithForms } from "../forms.ts";
import { type ConsoleParts, page, pageOf, type PageRequest } from "../request.tsx";
import type { GuardedApp } from "../guard.ts";

const ACCOUNTS_SHOWN = 100;

/** Finding accounts, and making one. */
export function accountsRoutes(
  app: GuardedApp,
  parts: ConsoleParts,
): void {
  const { accounts, database } = parts;
  const list = async (c: PageRequest, session: Session, error?: string) => {
    const query = (c.req.query("q") ?? "").slice(0, 200);
    const after = c.req.query("after")?.slice(0, 200) || undefined;
    const upTo = await accounts.page({
      search: query,
      kind: "any",
      limit: ACCOUNTS_SHOWN + 1,
      after,
    });
    const found = upTo.slice(0, ACCOUNTS_SHOWN);
    const balances = await balancesOf(database, found.map(({ id }) => id));
    const rows = found.map((account) => ({
      account,
      ...(balances.get(account.id) ?? { balance: 0, consumed: 0, requests: 0 }),
    }));
    return await page(
      c,
      <AccountsPage
        page={pageOf(c, error)}
        rows={rows}
        query={query}
        mayCreate={mayOperate(session, ACCOUNT_CREATE)}
        next={upTo.length > found.length ? found.at(-1)!.id : undefined}
        isFirst={after === undefined}
      />,
    );
  };

  pageWithForms(app, parts, "/accounts", {
    action: "account.read",
    show: (c, session, _page, { error }) => list(c, session, error),
  })("", ACCOUNT_CREATE, {
    input: (form) => ({ email: form.text("email"), name: form.text("name") }),
    done: ({ id }) => `/console/operator/accounts/${id}`,
  });
}

/** An account with what it has. */
interface AccountRow {
  readonly account: Account;
  readonly balance: number;
  readonly consumed: number;
  readonly requests: number;
}

function pathOf(asked: Readonly<Record<string, string>>): string {
  const given = Object.entries(asked).filter(([, value]) => value !== "");
  return `/console/operator/accounts?${new URLSearchParams(given)}`;
}

/** Every account, or those that a text finds, in pages. */
function AccountsPage(
  { page, rows, query, mayCreate, next, isFirst }: {
    page: PageContext;
    rows: readonly AccountRow[];
    query: string;
    mayCreate: boolean;
    /** ID of the last account, if there are more. */
    next: string | undefined;
    isFirst: boolean;
  },
) {
  return (
    <Layout
      page={page}
      title="Accounts"
    >
      <form method="get" action="/console/operator/accounts" class="row" role="search">
        <Field label="Email or name" name="q" type="search" value={query} />
        <button type="submit" class="plain">Search</button>
      </form>
      <Table<AccountRow>
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
      {!mayCreate ? null : (
        <>
          <h2>Create an account</h2>
          <Form action="/console/operator/accounts" csrf={page.csrf} class="card narrow">
            <Field label="Email" name="email" type="email" required autocomplete="off" />
            <Field label="Name" name="name" maxlength={200} autocomplete="off" />
            <button type="submit">Create account</button>
          </Form>
        </>
      )}
    </Layout>
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
