import type { Team } from "../../../people/accounts/mod.ts";
import { moneyText } from "../../../settings/config/mod.ts";
import type { CreditPackage, Order, TopUp } from "../../../money/payments/mod.ts";
import { Badge, Field, Form, FormId, Select } from "../components.tsx";
import { count, date, number } from "../format.ts";
import { OrderTable } from "./orders.tsx";

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

/** What the account or the team owes, if anything. */
export function Debt({ shop: { debtCredits, team } }: { shop: Shop }) {
  return debtCredits === 0 ? null : (
    <p class="notice bad" role="status">
      {team === undefined ? "You owe" : "This team owes"} {count(debtCredits, "credit")}{" "}
      since a payment was refunded or disputed. The next purchases pay them off first.
    </p>
  );
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
      {isDisputed && (
        <p class="notice bad" role="status">
          A payment of {team === undefined ? "yours" : "this team"}{" "}
          is being disputed. No packages can be bought until that is decided.
        </p>
      )}
      <div class="grid even">
        {packages.map(({ id, name, credits, priceUsd, validDays, models }) => {
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
                {models === undefined ? "" : `, for ${models.join(", ")}`}
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

/** Automatic purchases: off unless somebody turns them on. */
function TopUpForm({ packages, shop: { csrf, topUp, prices } }: {
  packages: readonly CreditPackage[];
  shop: Shop;
}) {
  const sold = packages.filter(({ id }) => (prices.get(id) ?? null) !== null);
  if (sold.length === 0) return null;
  return (
    <>
      <h2>Automatic top-up</h2>
      <p>
        {topUp?.isOn !== true
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
          min={1}
          required
          value={String(topUp?.belowCredits ?? 100)}
        />
        <Select
          label="Buy"
          name="package"
          options={sold.map(({ id, name }) => [id, name])}
          value={topUp?.packageId}
        />
        <Field
          label="Purchases per month, at most"
          name="max"
          min={1}
          required
          value={String(topUp?.maxPerMonth ?? 3)}
        />
        <button type="submit" name="turn" value="on">
          {topUp?.hasMethod === true ? "Save" : "Buy now and turn on"}
        </button>
        {topUp?.isOn && (
          <button type="submit" name="turn" value="off" class="plain">Turn off</button>
        )}
      </Form>
    </>
  );
}
