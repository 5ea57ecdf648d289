import { moneyText } from "../../../settings/config/mod.ts";
import { type Order, type OrderState, receiptNumber } from "../../../money/payments/mod.ts";
import { Badge, Facts, Table, Time, UtcDay } from "../components.tsx";
import { number } from "../format.ts";
import { Layout, type PageContext } from "../layout.tsx";
import { Name } from "../name.tsx";

const STATES: Readonly<Record<OrderState, readonly [string, "good" | "bad" | "warn" | "calm"]>> = {
  open: ["awaiting payment", "calm"],
  paid: ["paid", "good"],
  expired: ["expired", "calm"],
  failed: ["failed", "bad"],
  partly_refunded: ["partly refunded", "warn"],
  refunded: ["refunded", "warn"],
  disputed: ["disputed", "bad"],
  charged_back: ["charged back", "bad"],
};

/** The state of an order. */
export function OrderBadge({ order: { state } }: { order: Order }) {
  const [words, tone] = STATES[state];
  return <Badge tone={tone}>{words}</Badge>;
}

/** Orders, newest first. */
export function OrderTable(
  { orders, caption = "Orders, newest first", owners }: {
    orders: readonly Order[];
    /** Differs between tables of one page. */
    caption?: string;
    /** Whose they are by account ID, where orders are of several. */
    owners?: ReadonlyMap<string, OrderOwner>;
  },
) {
  return (
    <Table<Order>
      caption={caption}
      rows={orders}
      empty="No orders yet."
      columns={[
        { name: "time", bare: true, cell: ({ createdAtMs }) => <Time ms={createdAtMs} /> },
        ...owners === undefined ? [] : [{
          name: "account",
          cell: ({ accountId }: Order) => <OwnerLink accountId={accountId} owners={owners} />,
        }],
        { name: "package", role: "primary", cell: ({ packageName }) => packageName },
        {
          name: "amount",
          role: "figure",
          cell: ({ amount, paidAmount, currency }) => moneyText(paidAmount ?? amount, currency),
        },
        { name: "state", bare: true, cell: (order) => <OrderBadge order={order} /> },
        {
          name: "details",
          bare: true,
          cell: (order) => (
            <>
              {owners === undefined || order.needsLook === ""
                ? null
                : <span class="breaks bad">{order.needsLook}</span>} {owners === undefined
                ? <OrderLink order={order} />
                : <a href={`/console/operator/orders/${order.id}`}>Details</a>}
            </>
          ),
        },
      ]}
    />
  );
}

/** Whose an order is: an account's, or a team's pool. */
export interface OrderOwner {
  readonly name: string;
  readonly href?: string;
}

/** Link to the account or team that the order belongs to. */
export function OwnerLink(
  { accountId, owners }: { accountId: string; owners: ReadonlyMap<string, OrderOwner> },
) {
  const { name, href } = owners.get(accountId) ?? { name: accountId };
  return <Name text={name} href={href} />;
}

/** Leads to the receipt, or to the order if it has none. */
export function OrderLink({ order }: { order: Order }) {
  return order.receipt === null
    ? <a href={`/console/orders/${order.id}`}>Details</a>
    : <a href={`/console/orders/${order.id}/receipt`}>Receipt {receiptNumber(order.receipt)}</a>;
}

const LANDING: Readonly<Record<OrderState, string>> = {
  open:
    "We are waiting for Stripe to confirm the payment. This page updates by itself. Some payment " +
    "methods take several days; you can close it at any time.",
  paid: "Thank you. The credits are in your balance.",
  expired: "This checkout has expired. Nothing was charged.",
  failed: "This payment failed. Nothing was charged.",
  partly_refunded: "A part of this payment was refunded.",
  refunded: "This payment was refunded.",
  disputed: "This payment is being disputed.",
  charged_back: "This payment was charged back.",
};

/** Where an order belongs. */
export interface OrderView {
  readonly order: Order;
  /** An email address, or the team. */
  readonly buyer: string;
  /** Whether it is a team's. */
  readonly isTeam: boolean;
  /** The page of its credits. */
  readonly credits: string;
  /** Whether the visitor may pay it. */
  readonly mayPay: boolean;
  /** Whether it is another person's, seen by an operator. */
  readonly isOthers: boolean;
}

/** Where a customer returns from Stripe, and leaves for it: the state of one order. */
export function OrderPage(
  { page, view, isCancelled, leavesTo }: {
    page: PageContext;
    view: OrderView;
    isCancelled: boolean;
    /** Where it is paid, if the page leads on to there. */
    leavesTo?: string | undefined;
  },
) {
  const { order, isTeam, credits, mayPay } = view;
  const isOpen = order.state === "open";
  return (
    <Layout
      page={page}
      title={`${order.packageName}: ${number(order.credits)} credits`}
      leavesTo={leavesTo}
      refreshSeconds={isOpen && !isCancelled && leavesTo === undefined ? 5 : undefined}
    >
      <p>
        <OrderBadge order={order} />
      </p>
      <p>
        {leavesTo !== undefined
          ? "You pay at Stripe. If the page does not open by itself, use the link."
          : isOpen && isCancelled
          ? "You came back without paying. Nothing was charged."
          : order.state === "paid" && isTeam
          ? "Thank you. The credits are in the team's pool."
          : LANDING[order.state]}
      </p>
      <OrderFacts view={view} />
      <p>
        {isOpen && mayPay && order.sessionUrl !== null && (
          <>
            <a class="button" href={order.sessionUrl}>Continue to payment</a>
            {" "}
          </>
        )}
        {order.receipt === null ? null : (
          <>
            <a href={`/console/orders/${order.id}/receipt`}>Receipt</a>
            {" · "}
          </>
        )}
        <a href={credits}>Credits</a>
      </p>
    </Layout>
  );
}

function OrderFacts({ view: { order, buyer, isTeam } }: { view: OrderView }) {
  const paid = moneyText(order.paidAmount ?? order.amount, order.currency);
  return (
    <Facts
      rows={[
        ["Order", order.id],
        ...isTeam ? [["Buyer", buyer] as const] : [],
        ["Amount", paid],
        ...order.goneAmount === 0
          ? []
          : [["Refunded", moneyText(order.goneAmount, order.currency)] as const],
      ]}
    />
  );
}

/** A receipt, to be printed. */
export function ReceiptPage(
  { page, view: { order, buyer, credits }, seller }: {
    page: PageContext;
    view: OrderView;
    /** Whom the money went to. */
    seller: string;
  },
) {
  return (
    <Layout page={page} title={`Receipt ${receiptNumber(order.receipt ?? 0)}`}>
      {order.livemode ? null : <p class="notice bad">This payment was a test. No money moved.</p>}
      <Facts
        rows={[
          ["Number", receiptNumber(order.receipt ?? 0)],
          ["Date", <UtcDay ms={order.paidAtMs ?? 0} />],
          ["Seller", seller],
          ["Buyer", buyer],
          ["Item", `${order.packageName}, ${number(order.credits)} credits`],
          ["Amount paid", moneyText(order.paidAmount, order.currency)],
          ...order.goneAmount === 0
            ? []
            : [["Refunded or disputed", moneyText(order.goneAmount, order.currency)] as const],
          ["Order", order.id],
          ["Payment", order.provider === "stripe" ? order.paymentId ?? "" : order.reference],
        ]}
      />
      <p class="no-print">
        <a href={credits}>Credits</a> · Print this page to keep it.
      </p>
    </Layout>
  );
}
