import { CREDITS } from "../../settings/config/mod.ts";
import { csvReply } from "./csv_reply.ts";
import { teamTitle } from "./format.ts";
import {
  type Account,
  AccountError,
  can,
  type Session,
  type Team,
} from "../../people/accounts/mod.ts";
import { creditsOf } from "../../money/ledger/mod.ts";
import {
  CODE_REDEEM,
  type Json,
  mayOperate,
  ORDER_CREATE,
  PURCHASES,
  TOP_UP_OFF,
  TOP_UP_ON,
} from "../../operating/operations/mod.ts";
import { type Order, orderById, statementOf } from "../../money/payments/mod.ts";
import { creditsPage } from "./account_pages.tsx";
import { Stat } from "./components.tsx";
import { pageWithForms } from "./forms.ts";
import { type GuardedApp, may } from "./guard.ts";
import { Layout } from "./layout.tsx";
import { OrderPage, type OrderView, ReceiptPage } from "./pages/orders.tsx";
import { Debt, Packages } from "./pages/packages.tsx";
import { statementCsv, StatementPage } from "./pages/payment_statement.tsx";
import { TeamState } from "./pages/teams.tsx";
import {
  type ConsoleParts,
  type FormFields,
  notFound,
  operate,
  page,
  pageOf,
  type PageRequest,
  seeOther,
} from "./request.tsx";
import { contactOf, shopOf } from "./shop.ts";

/** Buying packages, orders, receipts, statements, codes and automatic purchases. */
export function paymentRoutes(app: GuardedApp, parts: ConsoleParts): void {
  const { accounts, payments, database, now, teams } = parts;

  /** Reads the order of a package. */
  const orderIn = (form: FormFields) => ({
    package: form.text("package"),
    reference: form.reference,
  });
  /** Leads on to where an order is paid by a page of its own, as forms lead to this console only. */
  const toPay = ({ id }: Json) => `/console/orders/${id}/pay`;
  /** An order that the visitor may see; others are not there. */
  const about = (handler: (c: PageRequest, view: OrderView) => Promise<Response>) =>
    may("self.use", async (c, session) => {
      const order = await orderById(database, c.req.param("id") ?? "");
      const view = order === undefined ? undefined : await viewOf(parts, session, order);
      return view === undefined ? await notFound(c) : await handler(c, view);
    });
  /** The team in the path, if it has a pool. */
  const pooled = async (c: PageRequest) => {
    const team = await teams.byId(c.req.param("team") ?? "");
    const account = await accounts.byId(team?.poolId ?? "");
    return team === undefined || account === undefined ? undefined : { team, account };
  };
  /** A page about a team with a pool. */
  const ofTeam = (
    handler: (c: PageRequest, session: Session, team: PooledTeam) => Promise<Response>,
  ) =>
    may("team.orders", async (c, session) => {
      const found = await pooled(c);
      return found === undefined ? await notFound(c) : await handler(c, session, found);
    });
  const teamCredits = async (
    c: PageRequest,
    session: Session,
    { team, account }: PooledTeam,
    error?: string,
  ) => {
    const { balance } = await creditsOf(database, account.id, now());
    const shop = await shopOf(parts, session, { account, team });
    return await page(
      c,
      <Layout page={pageOf(c, error)} title={`Credits of ${team.name}`}>
        <p>
          <TeamState team={team} />{" "}
          <a href={`/console/teams/${team.id}`}>Members, keys and usage</a>
        </p>
        <Debt shop={shop} />
        <dl class="stats">
          <Stat name="Pool" value={balance} note="credits of the whole team" />
        </dl>
        <h2 id="buy">Packages</h2>
        <Packages packages={parts.sales.packages} shop={shop} />
      </Layout>,
    );
  };
  pageWithForms(app, parts, "/console/teams/:team", {
    action: "team.orders",
    at: "/credits",
    find: pooled,
    show: (c, session, of, { error }) => teamCredits(c, session, of, error),
  })("/checkout", ORDER_CREATE, {
    input: (form) => ({ account: undefined, ...orderIn(form) }),
    done: toPay,
  });
  const post = pageWithForms(app, parts, "/console", {
    action: "self.use",
    at: "/credits",
    show: (c, session, _page, { error }) => creditsPage(c, parts, session, error),
  });
  post("/checkout", ORDER_CREATE, { input: orderIn, done: toPay });
  post("/redeem", CODE_REDEEM, {
    input: (form) => ({ code: form.text("code").slice(0, 200) }),
    done: "redeemed",
  });
  app.post(
    "/console/top-up",
    may("self.use", async (c, session) => {
      try {
        const { form } = c.var;
        if (form.text("turn") === "off") {
          await operate(c, parts, session, [TOP_UP_OFF, {}]);
          return seeOther(c, "/console/credits?done=top-up-off");
        }
        const { reference, ...order } = orderIn(form);
        const topUp = await operate(c, parts, session, [TOP_UP_ON, {
          below_credits: form.amount("below", "Balance", CREDITS),
          package: form.text("package").slice(0, 200),
          max_per_month: form.amount("max", "Purchases per month", PURCHASES),
        }]);
        if (topUp.has_method === true) return seeOther(c, "/console/credits?done=top-up");
        const made = await operate(c, parts, session, [ORDER_CREATE, {
          ...order,
          account: session.account.id,
          reference: `${reference} top-up`,
          saves_method: true,
        }]);
        return seeOther(c, toPay(made));
      } catch (error) {
        if (!(error instanceof AccountError)) throw error;
        return await creditsPage(c, parts, session, `${error.message}.`);
      }
    }),
  );
  app.get(
    "/console/orders/:id",
    about(async (c, view) => {
      const session = c.req.query("session");
      const { order } = view;
      if (view.isOthers) return seeOther(c, `/console/operator/orders/${order.id}`);
      // the link of a session that is another order's shows nothing
      if (session !== undefined && order.sessionId !== null && session !== order.sessionId) {
        return await notFound(c);
      }
      return await page(
        c,
        <OrderPage
          page={pageOf(c)}
          view={{ ...view, order: await payments.refresh(order) }}
          isCancelled={c.req.query("cancelled") !== undefined}
        />,
      );
    }),
  );
  app.get(
    "/console/orders/:id/pay",
    about(async (c, view) => {
      const { id, state, sessionUrl } = view.order;
      if (state !== "open" || sessionUrl === null || !view.mayPay) {
        return seeOther(c, `/console/orders/${id}`);
      }
      return await page(
        c,
        <OrderPage page={pageOf(c)} view={view} isCancelled={false} leavesTo={sessionUrl} />,
      );
    }),
  );
  app.get(
    "/console/orders/:id/receipt",
    about(async (c, view) =>
      view.order.receipt === null
        ? await notFound(c)
        : await page(c, <ReceiptPage page={pageOf(c)} view={view} seller={contactOf(parts)} />)
    ),
  );
  const statementIn = async (c: PageRequest, account: Pick<Account, "id">) => {
    const current = new Date(now()).toISOString().slice(0, 7);
    const asked = c.req.query("month") ?? "";
    const month = /^20\d\d-(0[1-9]|1[0-2])$/.test(asked) ? asked : current;
    const [fromMs, untilMs] = [monthAt(month, 0), monthAt(month, 1)];
    const lines = await statementOf(database, account.id, { fromMs, untilMs });
    return { month, current, lines };
  };
  const statement = async (c: PageRequest, account: Account, buyer: string) => {
    const { month, current, lines } = await statementIn(c, account);
    const other = (by: number) => new Date(monthAt(month, by)).toISOString().slice(0, 7);
    return await page(
      c,
      <StatementPage
        page={pageOf(c)}
        buyer={buyer}
        path={c.req.path}
        month={month}
        lines={lines}
        earlier={other(-1)}
        later={month >= current ? undefined : other(1)}
      />,
    );
  };
  const csv = async (c: PageRequest, account: Account) => {
    const { month, lines } = await statementIn(c, account);
    return csvReply(`statement-${month}.csv`, statementCsv(lines));
  };
  app.get(
    "/console/statement",
    may("self.use", (c, { account }) => statement(c, account, account.email)),
  );
  app.get("/console/statement.csv", may("self.use", (c, { account }) => csv(c, account)));
  app.get(
    "/console/teams/:team/statement",
    ofTeam((c, _session, { team, account }) => statement(c, account, teamTitle(team.name))),
  );
  app.get(
    "/console/teams/:team/statement.csv",
    ofTeam((c, _session, { account }) => csv(c, account)),
  );
}

/** A team with the account of its pool. */
interface PooledTeam {
  readonly team: Team;
  readonly account: Account;
}

/** What an order shows to a visitor; `undefined` if they may not see it. */
async function viewOf(
  { accounts, teams }: ConsoleParts,
  session: Session,
  order: Order,
): Promise<OrderView | undefined> {
  const { accountId } = order;
  if (accountId === session.account.id) {
    const buyer = session.account.email;
    return {
      order,
      buyer,
      isTeam: false,
      credits: "/console/credits",
      mayPay: true,
      isOthers: false,
    };
  }
  const team = await teams.ofPool(accountId);
  if (team !== undefined) {
    if (!can(session, "team.orders", { teamId: team.id })) return undefined;
    return {
      order,
      buyer: teamTitle(team.name),
      isTeam: true,
      credits: `/console/teams/${team.id}/credits`,
      mayPay: mayOperate(session, ORDER_CREATE, { team }),
      isOthers: false,
    };
  }
  if (!can(session, "payments.read")) return undefined;
  const buyer = (await accounts.byId(accountId))?.email ?? accountId;
  return {
    order,
    buyer,
    isTeam: false,
    credits: "/console/operator/payments",
    mayPay: false,
    isOthers: true,
  };
}

/** The start of a month in UTC, moved by a number of months. */
function monthAt(month: string, later: number): number {
  const [year, number] = month.split("-").map(Number) as [number, number];
  return Date.UTC(year, number - 1 + later, 1);
}
