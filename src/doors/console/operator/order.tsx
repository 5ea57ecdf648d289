import type { Session } from "../../../people/accounts/mod.ts";
import { moneyText } from "../../../settings/config/mod.ts";
import {
  mayOperate,
  ORDER_DISMISS,
  ORDER_RECONCILE,
  ORDER_REFUND,
} from "../../../operating/operations/mod.ts";
import {
  creditsOfOrder,
  eventsOfOrder,
  type Order,
  orderById,
  type OrderCredits,
  type OrderEvent,
} from "../../../money/payments/mod.ts";
import { Badge, Facts, Field, Form, FormId, Table, Time } from "../components.tsx";
import { number, teamTitle } from "../format.ts";
import { pageWithForms } from "../forms.ts";
import type { GuardedApp } from "../guard.ts";
import { Layout } from "../layout.tsx";
import { OrderBadge, OrderLink, type OrderOwner, OwnerLink } from "../pages/orders.tsx";
import { type ConsoleParts, page, pageOf, type PageRequest } from "../request.tsx";

/** Whose credits something is, by account ID: people, services, and the pools of teams. @param accountIds Those that are shown. */
export async function ownersOf(
  { accounts, teams }: Pick<ConsoleParts, "accounts" | "teams">,
  accountIds: readonly string[],
): Promise<ReadonlyMap<string, OrderOwner>> {
  const [people, all] = await Promise.all([accounts.byIds(accountIds), teams.list()]);
  return new Map<string, OrderOwner>([
    ...[...people.values()].map(({ id, email }) =>
      [id, { name: email, href: `/console/operator/accounts/${id}` }] as const
    ),
    ...all.map(({ id, name, poolId }) =>
      [poolId ?? "", { name: teamTitle(name), href: `/console/teams/${id}/credits` }] as const
    ),
  ]);
}

/** One order: its history, and what an operator can do about it. */
export function orderRoutes(app: GuardedApp, parts: ConsoleParts): void {
  const { database } = parts;
  const post = pageWithForms(app, parts, "/orders/:id", {
    action: "payments.read",
    async find(c) {
      const order = await orderById(database, c.req.param("id") ?? "");
      return order === undefined ? undefined : { order };
    },
    async show(c, session, { order }, { error }) {
      // what failed may have changed it
      const now = error === undefined ? order : await orderById(database, order.id) ?? order;
      return await orderPage(c, parts, session, { order: now, error });
    },
  });
  post("/refund", ORDER_REFUND, {
    input: (form, { order }) => ({
      reference: form.reference,
      amount: form.money("amount", "Amount", order.currency),
    }),
    done: "refunded",
  });
  post("/reconcile", ORDER_RECONCILE, {
    done: ({ state }, { about: { order } }) => state === order.state ? "asked" : "reconciled",
  });
  post("/dismiss", ORDER_DISMISS, { done: "dismissed" });
}

async function orderPage(
  c: PageRequest,
  parts: ConsoleParts,
  session: Session,
  { order, error }: { readonly order: Order; readonly error: string | undefined },
): Promise<Response> {
  const context = pageOf(c, error);
  const [events, credits] = await Promise.all([
    eventsOfOrder(parts.database, order.id),
    creditsOfOrder(parts.database, order.id),
  ]);
  const moved = credits.map(({ accountId }) => accountId);
  const owners = await ownersOf(parts, [order.accountId, ...moved]);
  const money = (amount: number | null) => moneyText(amount, order.currency);
  return await page(
    c,
    <Layout
      page={context}
      title={`${order.packageName}: ${number(order.credits)} credits`}
    >
      <p>
        <OrderBadge order={order} /> {order.livemode ? null : <Badge tone="warn">test</Badge>}
      </p>
      {order.needsLook === "" ? null : <p class="notice bad">{order.needsLook}</p>}
      <Facts
        rows={[
          ["Order", order.id],
          ["Buyer", <OwnerLink accountId={order.accountId} owners={owners} />],
          ["Note", order.note],
          ["Price", money(order.amount)],
          ["Paid", order.paidAtMs === null ? "no" : money(order.paidAmount)],
          ["Refunded or disputed", money(order.goneAmount)],
          ["Payment", order.paymentId ?? "–"],
        ]}
      />
      {order.receipt === null ? null : (
        <p>
          <OrderLink order={order} />
        </p>
      )}
      {mayOperate(session, ORDER_REFUND) ? <OrderForms order={order} csrf={context.csrf} /> : null}
      <h2>What happened</h2>
      <Table<OrderEvent>
        caption="What happened to the order, oldest first"
        rows={events}
        empty="Nothing yet."
        columns={[
          { name: "time", bare: true, role: "secondary", cell: ({ atMs }) => <Time ms={atMs} /> },
          {
            name: "what",
            role: "primary",
            cell: ({ kind, detail }) => (
              <>
                {happened(kind)}
                {detail === "" ? null : <span class="below quiet regular breaks">{detail}</span>}
              </>
            ),
          },
          {
            name: "amount",
            role: "figure",
            cell: ({ amount }) => amount === null ? "–" : money(amount),
          },
          { name: "cause", cell: ({ causeId }) => causeId },
        ]}
      />
      <h2>Credits</h2>
      <Table<OrderCredits>
        caption="Credits that the order moved, oldest first"
        rows={credits}
        empty="None yet."
        columns={[
          { name: "time", bare: true, role: "secondary", cell: ({ atMs }) => <Time ms={atMs} /> },
          {
            name: "what",
            role: "primary",
            cell: ({ kind, role }) => role === "bonus" ? `bonus ${kind}` : kind,
          },
          { name: "credits", role: "figure", cell: (one) => number(one.credits) },
          {
            name: "account",
            cell: ({ accountId }) => <OwnerLink accountId={accountId} owners={owners} />,
          },
        ]}
      />
    </Layout>,
  );
}

/** An event of an order in words. */
function happened(kind: OrderEvent["kind"]): string {
  return kind === "session" ? "checkout opened" : kind.replaceAll("_", " ");
}

/** What can be done about an order as it is. */
export function OrderForms({ order, csrf }: { order: Order; csrf: string }) {
  const { id, state, provider, paidAmount, goneAmount, paidAtMs, needsLook } = order;
  const base = `/console/operator/orders/${id}`;
  const isRefundable = paidAtMs !== null && (paidAmount ?? 0) > goneAmount &&
    state !== "disputed" && state !== "charged_back" &&
    (provider === "stripe" || provider === "manual");
  return (
    <>
      {!isRefundable ? null : (
        <Form action={`${base}/refund`} csrf={csrf} class="card narrow">
          <h2>Refund</h2>
          <FormId />
          <Field
            label={`Amount (${order.currency.toUpperCase()})`}
            name="amount"
            autocomplete="off"
            hint="Such as 2.50. Empty: all that is left."
          />
          <p class="quiet">
            {provider === "manual"
              ? "This only records the refund: pay the money back yourself."
              : "Stripe pays the money back."} The credits are taken in proportion.
          </p>
          <button type="submit" class="danger">Refund</button>
        </Form>
      )}
      <div class="actions">
        {provider !== "stripe" || paidAtMs !== null
          ? null
          : (
            <Form action={`${base}/reconcile`} csrf={csrf}>
              <button type="submit" class="plain">Ask Stripe about it</button>
            </Form>
          )}
        {needsLook === "" ? null : (
          <Form action={`${base}/dismiss`} csrf={csrf}>
            <button type="submit" class="plain">I have looked at it</button>
          </Form>
        )}
      </div>
    </>
  );
}
