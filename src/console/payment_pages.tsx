import type { Hono } from "@hono/hono";
import { type Account, AccountError, type Session } from "../accounts/mod.ts";
import { buyerStatus, listOrders, type Order, orderById, statementOf } from "../payments/mod.ts";
import { STATUS_CODE } from "../std/mod.ts";
import type { AccountPages } from "./account_pages.tsx";
import { contentPolicy } from "./content_policy.ts";
import {
  OrderPage,
  ReceiptPage,
  type Shop,
  statementCsv,
  StatementPage,
} from "./pages/payments.tsx";
import {
  addressOf,
  type ConsoleParts,
  type Env,
  notFound,
  page,
  pageOf,
  type PageRequest,
  seeOther,
} from "./request.tsx";

type Own = (
  handler: (c: PageRequest, session: Session) => Response | Promise<Response>,
) => (c: PageRequest) => Response | Promise<Response>;

const ORDERS_SHOWN = 20;

/** Buying packages, orders, receipts, statements, codes and automatic purchases. */
export function paymentRoutes(
  app: Hono<Env>,
  own: Own,
  parts: ConsoleParts,
  pages: AccountPages,
): void {
  const { payments, codes, database, config, now } = parts;

  /** A write; errors are shown on the page of credits. */
  const write = (work: (c: PageRequest, session: Session) => Promise<Response>) =>
    own(async (c, session) => {
      try {
        return await work(c, session);
      } catch (error) {
        if (!(error instanceof AccountError)) throw error;
        return await pages.credits(c, session, { tone: "bad", text: `${error.message}.` });
      }
    });
  /** A checkout that a form leads to. */
  const checkout = async (c: PageRequest, account: Account, savesMethod: boolean) => {
    const { form } = c.var;
    const { reference } = form;
    if (reference === "") throw new AccountError("Reload the page, and try again");
    const { url } = await payments.checkout(account, form.text("package"), {
      origin: "console",
      reference: savesMethod ? `${reference} top-up` : reference,
      returnTo: addressOf(c, config),
      savesMethod,
    });
    return seeOther(c, url);
  };
  /** An order of one's own; others' are not there. */
  const about = (handler: (c: PageRequest, order: Order, session: Session) => Promise<Response>) =>
    own(async (c, session) => {
      const order = await orderById(database, c.req.param("id") ?? "");
      return order === undefined || order.accountId !== session.account.id
        ? await notFound(c)
        : await handler(c, order, session);
    });

  app.post("/console/checkout", write((c, { account }) => checkout(c, account, false)));
  app.post(
    "/console/redeem",
    write(async (c, { account }) => {
      await codes.redeem(account, c.var.form.text("code"), c.env.visitor.address);
      return seeOther(c, "/console/credits?done=redeemed");
    }),
  );
  app.post(
    "/console/top-up",
    write(async (c, { account }) => {
      const { form } = c.var;
      if (form.text("turn") === "off") {
        await payments.turnOffTopUp(account);
        return seeOther(c, "/console/credits?done=top-up-off");
      }
      const topUp = await payments.turnOnTopUp(account, {
        belowCredits: form.count("below") ?? 0,
        packageId: form.text("package"),
        maxPerMonth: form.count("max") ?? 0,
      });
      if (topUp?.hasMethod === true) return seeOther(c, "/console/credits?done=top-up");
      return await checkout(c, account, true);
    }),
  );
  app.get(
    "/console/orders/:id",
    about(async (c, order) => {
      const session = c.req.query("session");
      // the link of a session that is another order's shows nothing
      if (session !== undefined && order.sessionId !== null && session !== order.sessionId) {
        return await notFound(c);
      }
      return await page(
        c,
        <OrderPage
          page={pageOf(c)}
          order={await payments.refresh(order)}
          isCancelled={c.req.query("cancelled") !== undefined}
        />,
      );
    }),
  );
  app.get(
    "/console/orders/:id/receipt",
    about(async (c, order, { account }) => {
      if (order.receipt === null) return await notFound(c);
      return await page(
        c,
        <ReceiptPage
          page={pageOf(c)}
          order={order}
          email={account.email}
          seller={contactOf(parts)}
        />,
      );
    }),
  );
  const statement = async (c: PageRequest, account: Account) => {
    const current = new Date(now()).toISOString().slice(0, 7);
    const asked = c.req.query("month") ?? "";
    const month = /^20\d\d-(0[1-9]|1[0-2])$/.test(asked) ? asked : current;
    const [fromMs, untilMs] = [monthAt(month, 0), monthAt(month, 1)];
    const lines = await statementOf(database, account.id, { fromMs, untilMs });
    return { month, current, lines };
  };
  app.get(
    "/console/statement",
    own(async (c, { account }) => {
      const { month, current, lines } = await statement(c, account);
      const other = (by: number) => new Date(monthAt(month, by)).toISOString().slice(0, 7);
      return await page(
        c,
        <StatementPage
          page={pageOf(c)}
          email={account.email}
          month={month}
          lines={lines}
          earlier={other(-1)}
          later={month >= current ? undefined : other(1)}
        />,
      );
    }),
  );
  app.get(
    "/console/statement.csv",
    own(async (c, { account }) => {
      const { month, lines } = await statement(c, account);
      return c.body(statementCsv(lines), STATUS_CODE.OK, {
        "content-type": "text/csv; charset=utf-8",
        "content-disposition": `attachment; filename="statement-${month}.csv"`,
      });
    }),
  );
}

/** The start of a month in UTC, moved by a number of months. */
function monthAt(month: string, later: number): number {
  const [year, number] = month.split("-").map(Number) as [number, number];
  return Date.UTC(year, number - 1 + later, 1);
}

/** Lets the forms of this page lead to other origins, where their responses redirect to. */
export function mayLeaveTo(c: PageRequest, origins: readonly string[]): void {
  if (origins.length > 0) c.header("content-security-policy", contentPolicy(origins));
}

/** What the page of credits shows of buying. */
export async function shopOf(parts: ConsoleParts, session: Session): Promise<Shop> {
  const { payments, sales, database } = parts;
  const { account } = session;
  const [status, orders, topUp] = await Promise.all([
    buyerStatus(database, account.id),
    listOrders(database, { accountId: account.id, limit: ORDERS_SHOWN }),
    payments.topUp(account),
  ]);
  return {
    csrf: session.csrfToken,
    isOnline: payments.isOnline,
    isTest: payments.isOnline && !payments.livemode,
    prices: new Map(sales.packages.map((one) => [one.id, payments.priceOf(one)])),
    currency: payments.currency,
    contact: contactOf(parts),
    ...status,
    orders,
    topUp,
  };
}

/** Whom to ask about buying credits. */
function contactOf({ payments, config }: ConsoleParts): string {
  const { email } = config.settings.owner;
  return payments.contact ??
    (email.includes("@localhost") ? "the operator of this gateway" : email);
}
