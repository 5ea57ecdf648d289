import { debtors, listOrders } from "../../../money/payments/mod.ts";
import { Table } from "../components.tsx";
import { number } from "../format.ts";
import { Layout } from "../layout.tsx";
import { OrderTable, OwnerLink } from "../pages/orders.tsx";
import { ownersOf } from "./order.tsx";
import { type ConsoleParts, page, pageOf, type PageRequest } from "../request.tsx";
import { type GuardedApp, may } from "../guard.ts";

const ORDERS_SHOWN = 100;
const DEBTORS_SHOWN = 100;

/** Orders of all accounts, and who owes credits. */
export function paymentsRoutes(app: GuardedApp, parts: ConsoleParts) {
  app.get("/payments", may("payments.read", (c) => paymentsPage(c, parts)));
}

const MODES = {
  off:
    "Packages are not sold online: set payments.stripe. Payments that you record by hand are listed here too.",
  test: "Stripe is in test mode: no money moves.",
  live: "Stripe is in live mode.",
} as const;

async function paymentsPage(c: PageRequest, parts: ConsoleParts): Promise<Response> {
  const { database, payments } = parts;
  const [orders, look, debts] = await Promise.all([
    listOrders(database, { limit: ORDERS_SHOWN }),
    listOrders(database, { needsLook: true, limit: ORDERS_SHOWN }),
    debtors(database, DEBTORS_SHOWN),
  ]);
  const shown = [...orders, ...look, ...debts].map(({ accountId }) => accountId);
  const owners = await ownersOf(parts, shown);
  const mode = !payments.isOnline ? "off" : payments.livemode ? "live" : "test";
  return await page(
    c,
    <Layout page={pageOf(c)} title="Payments">
      <p>{MODES[mode]}</p>
      <p>
        <a href="/console/operator/codes">Redemption codes</a>
      </p>
      {look.length === 0 ? null : (
        <>
          <h2>Needs a look</h2>
          <p>
            These payments, or refunds and disputes of them, differ from their orders. They moved no
            credits.
          </p>
          <OrderTable
            orders={look}
            caption="Orders that need a look, newest first"
            owners={owners}
          />
        </>
      )}
      <h2>Orders</h2>
      <OrderTable orders={orders} owners={owners} />
      <h2>Debts</h2>
      <p>Credits that were spent before their payment was refunded or disputed.</p>
      <Table<typeof debts[number]>
        caption="Accounts that owe credits"
        rows={debts}
        empty="Nobody owes credits."
        columns={[
          {
            name: "account",
            cell: ({ accountId }) => <OwnerLink accountId={accountId} owners={owners} />,
          },
          { name: "credits", role: "figure", cell: ({ credits }) => number(credits) },
        ]}
      />
    </Layout>,
  );
}
