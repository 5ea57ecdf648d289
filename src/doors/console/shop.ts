import type { Account, Session, Team } from "../../people/accounts/mod.ts";
import { mayOperate, ORDER_CREATE } from "../../operating/operations/mod.ts";
import { debtOf, isDisputed, listOrders } from "../../money/payments/mod.ts";
import { teamWords } from "./format.ts";
import type { Payer, Shop } from "./pages/packages.tsx";
import type { ConsoleParts } from "./request.tsx";

const ORDERS_SHOWN = 20;

/** What a page of credits shows of buying, for an account or a team's pool. */
export async function shopOf(
  parts: ConsoleParts,
  session: Session,
  { account, team }: { readonly account: Account; readonly team?: Team },
): Promise<Shop> {
  const { payments, sales, database } = parts;
  const [debtCredits, disputed, orders, topUp] = await Promise.all([
    debtOf(database, account.id),
    isDisputed(database, account.id),
    listOrders(database, { accountId: account.id, limit: ORDERS_SHOWN }),
    team === undefined ? payments.topUp(account) : undefined,
  ]);
  return {
    csrf: session.csrfToken,
    isOnline: payments.isOnline,
    isTest: payments.isOnline && !payments.livemode,
    prices: new Map(sales.packages.map((one) => [one.id, payments.priceOf(one)])),
    currency: payments.currency,
    contact: contactOf(parts),
    debtCredits,
    isDisputed: disputed,
    orders,
    topUp,
    team,
    mayBuy: team === undefined ||
      team.disabledAtMs === null && mayOperate(session, ORDER_CREATE, { team }),
    payers: await payersOf(parts, session, team),
  };
}

/** For whom a visitor can buy: themselves, and the pools of the teams that they lead. */
async function payersOf(
  { teams }: ConsoleParts,
  session: Session,
  current: Team | undefined,
): Promise<Payer[]> {
  const all = await Promise.all([...session.teams.keys()].map((id) => teams.byId(id)));
  const own = { name: "For me", href: "/console/credits#buy", isCurrent: current === undefined };
  return [
    own,
    ...all.filter((team) => team !== undefined).filter((team) =>
      team.poolId !== null && mayOperate(session, ORDER_CREATE, { team })
    ).map((team) => ({
      name: `For ${teamWords(team.name)}`,
      href: `/console/teams/${team.id}/credits`,
      isCurrent: team.id === current?.id,
    })).toSorted((a, b) => a.name < b.name ? -1 : 1),
  ];
}

/** Whom to ask about buying credits. */
export function contactOf({ payments, config }: ConsoleParts): string {
  const { email } = config.settings.owner;
  return payments.contact ??
    (email.includes("@localhost") ? "the operator of this gateway" : email);
}
