import { debtors, listOrders, type Order } from "../../payments/mod.ts";
import { Table } from "../components.tsx";
import { number } from "../format.ts";
import { Layout, type PageContext } from "../layout.tsx";
import { OrderTable } from "../pages/payments.tsx";
import { type ConsoleParts, page, pageOf } from "../request.tsx";
import { type GuardedApp, may } from "../guard.ts";

const ORDERS_SHOWN = 100;
const DEBTORS_SHOWN = 100;

/** Orders of all accounts, and who owes credits. */
export function paymentsRoutes(app: GuardedApp, { database, accounts, payments }: ConsoleParts) {
  app.get(
    "/payments",
    may("payments.read", async (c) => {
      const [orders, look, debts, all] = await Promise.all([
        listOrders(database, { limit: ORDERS_SHOWN }),
        listOrders(database, { needsLook: true, limit: ORDERS_SHOWN }),
        debtors(database, DEBTORS_SHOWN),
        accounts.list(),
      ]);
      return await page(
        c,
        <PaymentsPage
          page={pageOf(c)}
          orders={orders}
          look={look}
          debts={debts}
          emails={new Map(all.map(({ id, email }) => [id, email]))}
          mode={!payments.isOnline ? "off" : payments.livemode ? "live" : "test"}
        />,
      );
    }),
  );
}

const MODES = {
  off:
    "Packages are not sold online: set payments.stripe. Payments that you record by hand are listed here too.",
  test: "Stripe is in test mode: no money moves.",
  live: "Stripe is in live mode.",
} as const;

function PaymentsPage({ page, orders, look, debts, emails, mode }: {
  page: PageContext;
  orders: readonly Order[];
  /** Orders whose payment differs from them. */
  look: readonly Order[];
  debts: readonly { readonly accountId: string; readonly credits: number }[];
  emails: ReadonlyMap<string, string>;
  mode: keyof typeof MODES;
}) {
  return (
    <Layout page={page} title="Payments">
      <p>{MODES[mode]}</p>
      {look.length === 0 ? null : (
        <>
          <h2>Needs a look</h2>
          <p>These payments differ from their orders. They gave no credits.</p>
          <OrderTable orders={look} emails={emails} />
        </>
      )}
      <h2>Orders</h2>
      <OrderTable orders={orders} emails={emails} />
      <h2>Debts</h2>
      <p>Credits that were spent before their payment was refunded or disputed.</p>
      <Table<typeof debts[number]>
        caption="Accounts that owe credits"
        rows={debts}
        empty="Nobody owes credits."
        columns={[
          {
            name: "account",
            cell: ({ accountId }) => (
              <a href={`/console/operator/accounts/${accountId}`}>
                {emails.get(accountId) ?? accountId}
              </a>
            ),
          },
          { name: "credits", numeric: true, cell: ({ credits }) => number(credits) },
        ]}
      />
    </Layout>
  );
}
