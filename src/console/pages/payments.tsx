import type { Child } from "@hono/hono/jsx";
import type { Team } from "../../accounts/mod.ts";
import type { CreditPackage } from "../../billing/mod.ts";
import { moneyText } from "../../config/mod.ts";
import {
  type Order,
  type OrderState,
  receiptNumber,
  type StatementLine,
  type TopUp,
} from "../../payments/mod.ts";
import { Badge, Field, Form, FormId, Table, Time } from "../components.tsx";
import { date, month as monthText, number } from "../format.ts";
import { Layout, type PageContext } from "../layout.tsx";

/** What the page of credits shows of buying. */
export interface Shop {
  readonly csrf: string;
  /** Whether packages are sold online. */
  readonly isOnline: boolean;
  /** Whether payments are tests. */
  readonly isTest: boolean;
  /** Prices online by package, in minor units; null if a package is not sold online. */
  readonly prices: ReadonlyMap<string, number | null>;
  readonly currency: string;
  /** Whom to ask about buying credits. */
  readonly contact: string;
  readonly debtCredits: number;
  readonly isDisputed: boolean;
  /** The latest ones. */
  readonly orders: readonly Order[];
  /** `undefined` also for a team. */
  readonly topUp: TopUp | undefined;
  /** The team whose pool is bought for; else it is the visitor's own account. */
  readonly team?: Team | undefined;
  readonly mayBuy: boolean;
  /** For whom the visitor can buy, if there is a choice. */
  readonly payers: readonly Payer[];
}

/** For whom packages are bought. */
export interface Payer {
  readonly name: string;
  readonly href: string;
  readonly isCurrent: boolean;
}

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

/** Packages, each with a button where it is sold online. */
export function Packages({ packages, shop }: { packages: readonly CreditPackage[]; shop: Shop }) {
  const { csrf, isDisputed, prices, currency, team, mayBuy, payers } = shop;
  const base = team === undefined ? "/console" : `/console/teams/${team.id}`;
  return (
    <>
      {payers.length < 2 ? null : (
        <nav class="tabs" aria-label="Buy for">
          {payers.map(({ name, href, isCurrent }) => (
            <a href={href} aria-current={isCurrent ? "page" : undefined}>{name}</a>
          ))}
        </nav>
      )}
      {shop.debtCredits === 0 ? null : (
        <p class="notice bad" role="status">
          {team === undefined ? "You owe" : "This team owes"} {number(shop.debtCredits)}{" "}
          credits since a payment was refunded or disputed. The next purchases pay them off first.
        </p>
      )}
      {isDisputed
        ? (
          <p class="notice bad" role="status">
            A payment of {team === undefined ? "yours" : "this team"}{" "}
            is being disputed. No packages can be bought until that is decided.
          </p>
        )
        : null}
      <div class="grid even">
        {packages.map(({ id, name, credits, priceUsd, validDays }) => {
          const price = prices.get(id) ?? null;
          return (
            <section class="card">
              <h2>{name}</h2>
              <p>
                <strong>{credits === null ? "By agreement" : `${number(credits)} credits`}</strong>
              </p>
              <p class="quiet">
                {price !== null
                  ? moneyText(price, currency)
                  : priceUsd === null
                  ? "Price by agreement"
                  : `${priceUsd.toFixed(2)} USD`},{" "}
                {validDays === null ? "never expires" : `valid for ${validDays} days`}
              </p>
              {price === null || isDisputed || !mayBuy
                ? null
                : (
                  <Form action={`${base}/checkout`} csrf={csrf}>
                    <FormId />
                    <input type="hidden" name="package" value={id} />
                    <button type="submit">Buy {name}</button>
                  </Form>
                )}
            </section>
          );
        })}
      </div>
      <p>
        {shop.isOnline
          ? <>You pay at Stripe. {shop.isTest ? "Payments are tests: no money moves. " : ""}</>
          : "Online payment is not available. "}
        {shop.isOnline ? "For anything else, contact " : "To buy a package, contact "}
        <Contact contact={shop.contact} />.
      </p>
      {team === undefined ? <OwnWays packages={packages} shop={shop} /> : null}
      <h2>Orders</h2>
      <OrderTable orders={shop.orders} />
      <p>
        <a href={`${base}/statement`}>Payments by month</a>
      </p>
    </>
  );
}

/** What there is for one's own account only: codes, and automatic purchases. */
function OwnWays({ packages, shop }: { packages: readonly CreditPackage[]; shop: Shop }) {
  return (
    <>
      <h2>Redeem a code</h2>
      <Form action="/console/redeem" csrf={shop.csrf} class="card narrow">
        <Field
          label="Code"
          name="code"
          required
          maxlength={40}
          autocomplete="off"
          placeholder="XXXX-XXXX-XXXX-XXXX"
        />
        <button type="submit">Redeem</button>
      </Form>
      {shop.isOnline ? <TopUpForm packages={packages} shop={shop} /> : null}
    </>
  );
}

/** An email address or a URL as a link, anything else as it is. */
function Contact({ contact }: { contact: string }) {
  if (/^https?:\/\//.test(contact)) return <a href={contact}>{contact}</a>;
  if (/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(contact)) {
    return <a href={`mailto:${contact}`}>{contact}</a>;
  }
  return <>{contact}</>;
}

/** Orders, newest first. */
export function OrderTable(
  { orders, owners }: {
    orders: readonly Order[];
    /** Whose they are by account ID, where orders are of several. */
    owners?: ReadonlyMap<string, OrderOwner>;
  },
) {
  return (
    <Table<Order>
      caption="Orders, newest first"
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
          numeric: true,
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
                : <Badge tone="bad">{order.needsLook}</Badge>} {owners === undefined
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
  readonly href: string;
}

/** Leads to whom an order is of. */
export function OwnerLink(
  { accountId, owners }: { accountId: string; owners: ReadonlyMap<string, OrderOwner> },
) {
  const { name, href } = owners.get(accountId) ?? { name: accountId, href: "" };
  return href === "" ? <>{name}</> : <a href={href}>{name}</a>;
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
  const leads = leavesTo === undefined ? {} : { leavesTo };
  return (
    <Layout
      page={page}
      title={`${order.packageName}: ${number(order.credits)} credits`}
      {...leads}
      {...isOpen && !isCancelled && leavesTo === undefined ? { refreshSeconds: 5 } : {}}
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
        {isOpen && mayPay && order.sessionUrl !== null
          ? (
            <>
              <a href={order.sessionUrl}>Continue to payment</a>
              {" · "}
            </>
          )
          : null}
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

function Facts({ rows }: { rows: readonly (readonly [string, Child])[] }) {
  return (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </>
      ))}
    </dl>
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
          ["Date", <Time ms={order.paidAtMs ?? 0} dayOnly />],
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

const LINES: Readonly<Record<StatementLine["kind"], string>> = {
  paid: "Paid",
  refunded: "Refund",
  refund_failed: "Refund failed",
  disputed: "Disputed",
  dispute_won: "Dispute won",
};

/** What an account paid and got back in a month, to be printed. */
export function StatementPage(
  { page, buyer, path, month, lines, earlier, later }: {
    page: PageContext;
    /** An email address, or the team. */
    buyer: string;
    /** Path of this page. */
    path: string;
    /** Such as `2026-11`. */
    month: string;
    lines: readonly StatementLine[];
    earlier: string;
    later: string | undefined;
  },
) {
  return (
    <Layout page={page} title={`Payments in ${monthText(Date.parse(`${month}-01`))}`}>
      <p>{buyer}</p>
      <Table<StatementLine>
        caption={`Payments of ${month} (UTC)`}
        rows={lines}
        empty="No payments in this month."
        columns={[
          { name: "date", cell: ({ atMs }) => <Time ms={atMs} dayOnly /> },
          {
            name: "description",
            cell: ({ kind, packageName }) => `${LINES[kind]}: ${packageName}`,
          },
          {
            name: "receipt",
            cell: ({ receipt }) => receipt === null ? "" : receiptNumber(receipt),
          },
          { name: "amount", role: "figure", numeric: true, cell: (line) => amountText(line) },
        ]}
      />
      {sumsOf(lines).map(([currency, sum]) => (
        <p>
          <strong>Total: {signedText(sum, currency).replace("-", "−")}</strong>
        </p>
      ))}
      <p class="no-print">
        <a href={`${path}?month=${earlier}`}>Earlier month</a>
        {later === undefined ? null : (
          <>
            {" · "}
            <a href={`${path}?month=${later}`}>Later month</a>
          </>
        )}
        {" · "}
        <a href={`${path}.csv?month=${month}`}>Download CSV</a>
      </p>
    </Layout>
  );
}

function amountText({ amount, currency, livemode }: StatementLine): string {
  const text = amount === null ? "not recorded" : signedText(amount, currency).replace("-", "−");
  return livemode ? text : `${text} (test)`;
}

function signedText(amount: number, currency: string): string {
  return amount < 0 ? `-${moneyText(-amount, currency)}` : moneyText(amount, currency);
}

/** Real money, by currency. */
function sumsOf(lines: readonly StatementLine[]): [string, number][] {
  const sums = new Map<string, number>();
  for (const { amount, currency, livemode } of lines) {
    if (amount !== null && livemode) sums.set(currency, (sums.get(currency) ?? 0) + amount);
  }
  return [...sums];
}

/** The same as CSV. */
export function statementCsv(lines: readonly StatementLine[]): string {
  const rows = lines.map((line) => [
    new Date(line.atMs).toISOString(),
    line.kind,
    line.orderId,
    line.receipt === null ? "" : receiptNumber(line.receipt),
    line.packageName,
    String(line.credits),
    line.amount === null ? "" : signedText(line.amount, "xxx").replace(/ XXX$/, ""),
    line.currency,
    line.livemode ? "live" : "test",
  ]);
  const head = [
    "time",
    "kind",
    "order",
    "receipt",
    "package",
    "credits",
    "amount",
    "currency",
    "mode",
  ];
  return [head, ...rows].map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";
}

/** Quoted; a text that a spreadsheet would take for a formula is one no more. */
function csvCell(text: string): string {
  const safe = /^[=+@\t\r]|^-(?!\d)/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Automatic purchases: off unless somebody turns them on. */
function TopUpForm({ packages, shop: { csrf, topUp, prices } }: {
  packages: readonly CreditPackage[];
  shop: Shop;
}) {
  const sold = packages.filter(({ id }) => (prices.get(id) ?? null) !== null);
  if (sold.length === 0) return null;
  const isOn = topUp?.isOn ?? false;
  return (
    <>
      <h2>Automatic top-up</h2>
      <p>
        {!isOn || topUp === undefined
          ? "Off. Turn it on to buy a package whenever your balance runs low."
          : topUp.stopped !== ""
          ? (
            <>
              <Badge tone="bad">stopped</Badge>{" "}
              {topUp.stopped}. Nothing is bought until you turn it on again
              {topUp.stoppedAtMs === null ? "" : ` (since ${date(topUp.stoppedAtMs)})`}.
            </>
          )
          : topUp.hasMethod
          ? <Badge tone="good">on</Badge>
          : <Badge tone="warn">on as soon as the first payment has been made</Badge>}
      </p>
      <Form action="/console/top-up" csrf={csrf} class="card narrow">
        <FormId />
        <Field
          label="When the balance is below (credits)"
          name="below"
          type="number"
          min={1}
          required
          value={String(topUp?.belowCredits ?? 100)}
        />
        <label class="field">
          <span>Buy</span>
          <select name="package">
            {sold.map(({ id, name }) => (
              <option value={id} selected={id === topUp?.packageId}>{name}</option>
            ))}
          </select>
        </label>
        <Field
          label="Purchases per month, at most"
          name="max"
          type="number"
          min={1}
          required
          value={String(topUp?.maxPerMonth ?? 3)}
        />
        <button type="submit" name="turn" value="on">
          {topUp?.hasMethod === true ? "Save" : "Buy now and turn on"}
        </button>
        {isOn
          ? <button type="submit" name="turn" value="off" class="plain">Turn off</button>
          : null}
      </Form>
    </>
  );
}
