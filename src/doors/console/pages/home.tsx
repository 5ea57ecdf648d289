import type { Budget, Credits, Lot, Span, WindowState } from "../../../money/ledger/mod.ts";
import { toldApart } from "../../../ground/platform/mod.ts";
import type { Key } from "../../../people/accounts/mod.ts";
import type { UsageSum } from "../../../money/usage/mod.ts";
import { BudgetBar } from "../budgets.tsx";
import type { BurnRate } from "../burn_rate.ts";
import { Chart, levelsOf, Name, RelativeTime, Stat, Table, Term, Time } from "../components.tsx";
import { dollars } from "../dollars.ts";
import { count, day, number } from "../format.ts";
import { Layout, type PageContext } from "../layout.tsx";
import { BalanceStat, InFlightStat, TodayStat } from "../live_stats.tsx";
import { requestsChart } from "../usage_chart.ts";
import { EmptyPools, Pools, type TeamPool } from "./home_pools.tsx";

/** Lots and keys that expire within this many days are pointed out. */
const LOT_DAYS = 30;
const KEY_DAYS = 14;
const DAY_MS = 86_400_000;

/** What is known of a month and the same part of the month before. */
export interface MonthFigures {
  readonly credits: number;
  readonly requests: number;
  /** Credits in that part of the month before; undefined if the account did not exist when it began. */
  readonly before: number | undefined;
  readonly beforeSinceMs: number;
  readonly beforeUntilMs: number;
}

/** A rate limit of which something is used. */
export interface UsedLimit {
  /** The key; undefined for the limit of all keys together. */
  readonly key: Key | undefined;
  readonly window: WindowState;
}

/** What the first page shows. */
export interface HomeProps {
  readonly page: PageContext;
  readonly credits: Credits;
  /** Credits for one US dollar, if the operator has set them. */
  readonly perUsd: number | undefined;
  /** Undefined for an account without a full day. */
  readonly rate: BurnRate | undefined;
  readonly today: { readonly credits: number; readonly requests: number };
  readonly month: MonthFigures;
  readonly inFlight: number;
  /** Credits that are owed, since a payment was taken back. */
  readonly debt: number;
  /** Usage by UTC day of the last 60 days. */
  readonly points: readonly UsageSum<"day">[];
  /** Of each key the limit that is nearest, if any of it is used. */
  readonly limits: readonly UsedLimit[];
  /** Limits of each key that nothing is used of, from the shortest. */
  readonly tier: readonly WindowState[];
  /** Budgets that apply to the account's active keys, with the names of their owners. */
  readonly budgets: readonly { readonly budget: Budget; readonly of: string }[];
  /** Active keys. */
  readonly keys: readonly Key[];
  /** Pools of the visitor's active teams, those whose keys were used last first. */
  readonly pools: readonly TeamPool[];
  /** Number of models that are served. */
  readonly models: number;
  readonly nowMs: number;
}

/** Overview of an account. */
export function HomePage(props: HomeProps) {
  const { page, credits, perUsd, rate, today, month, inFlight, points, pools, nowMs } = props;
  const isNew = credits.requests === 0;
  const hasSpent = !isNew || pools.some(({ usedAtMs }) => usedAtMs > 0);
  return (
    <Layout page={page} title="Home">
      <Lacking {...props} />
      <dl class="stats">
        <Stat live="balance" {...BalanceStat({ ...credits, perUsd })} />
        {isNew ? <NewStats {...props} /> : (
          <>
            <Stat name="Lasts for" {...lasting(rate, credits.balance)} />
            <Stat live="today" {...TodayStat({ ...today, perUsd })} />
            <Stat name="This month" {...monthWords(month, perUsd)} />
            <Stat live="in-flight" {...InFlightStat(inFlight)} />
            <Stat
              name="Total spent"
              value={credits.consumed}
              note={count(credits.requests, "request")}
            />
          </>
        )}
      </dl>
      <Pools {...props} />
      {hasSpent ? null : <FirstSteps {...props} />}
      <Expiring {...props} />
      {isNew ? null : (
        <Chart
          {...requestsChart(points, {
            title: "Requests by UTC day, 30 days",
            days: 30,
            nowMs,
          })}
        />
      )}
      <Budgets {...props} />
      <div class="grid even">
        <Lots {...props} />
        <Limits {...props} />
      </div>
      <p class="quiet">
        Days and months are those of UTC; the next day begins on{" "}
        <Time ms={nowMs - nowMs % DAY_MS + DAY_MS} />.
      </p>
    </Layout>
  );
}

/** Says why requests are rejected, or will be, and what to do about it. */
function Lacking(props: HomeProps) {
  return (
    <>
      <LackingOwn {...props} />
      <EmptyPools pools={props.pools} />
    </>
  );
}

function LackingOwn({ credits: { balance, requests }, debt, pools }: HomeProps) {
  if (debt > 0) {
    return (
      <p class="notice bad" role="status">
        <span>
          You owe {count(debt, "credit")}, since a payment was refunded or disputed.{" "}
          <a href="/console/credits">Your next purchases</a> pay them off first.
        </span>
      </p>
    );
  }
  if (balance > 0 || requests === 0) return null;
  return (
    <p class="notice bad" role="status">
      <span>
        {pools.length === 0
          ? "No credits are left, so requests are rejected."
          : "None of your own credits are left, so requests with keys of your own are rejected."}
        {" "}
        <a href="/console/credits">Get credits</a>
      </span>
    </p>
  );
}

/** What an account has that was not used yet. */
function NewStats({ keys, models, tier: [shortest] }: HomeProps) {
  return (
    <>
      <Stat name="Active keys" value={keys.length} note={<a href="/console/keys">Keys</a>} />
      <Stat name="Models" value={models} note={<a href="/console/models">compare prices</a>} />
      {shortest === undefined ? null : (
        <Stat
          name="Rate limit"
          value={shortest.limit}
          note={`requests ${SPAN_WORDS[shortest.span]} for each key`}
        />
      )}
    </>
  );
}

/** Says how long the credits last. */
export function lasting(
  rate: BurnRate | undefined,
  balance: number,
): { readonly value: string; readonly note: string } {
  if (balance <= 0) return { value: "–", note: "no credits left" };
  if (rate === undefined) return { value: "–", note: "known after your first full day" };
  const { days, creditsPerDay, daysLeft, lastsLonger } = rate;
  const period = days === 1 ? "the last full day" : `the last ${days} full days`;
  if (daysLeft === undefined) return { value: "–", note: `nothing spent in ${period}` };
  const perDay = creditsPerDay < 10 ? creditsPerDay.toFixed(1) : number(Math.round(creditsPerDay));
  const value = lastsLonger
    ? "over a year"
    : daysLeft < 1
    ? "under a day"
    : count(Math.floor(daysLeft), "day");
  return { value, note: `at this rate: ${perDay} credits a day in ${period}` };
}

/** Says what a month cost, and how that compares with the same part of the month before. */
export function monthWords(
  { credits, requests, before, beforeSinceMs, beforeUntilMs }: MonthFigures,
  perUsd: number | undefined,
): { readonly value: number; readonly note: string } {
  const money = perUsd === undefined ? "" : `${dollars(credits, perUsd)}, `;
  const asMany = `${money}${count(requests, "request")}`;
  if (before === undefined) return { value: credits, note: asMany };
  const [first, last] = [day(beforeSinceMs), day(beforeUntilMs - 1)];
  const period = first === last ? first : `${first.split(" ")[0]}–${last}`;
  if (before === 0) return { value: credits, note: `${asMany}; nothing on ${period}` };
  const percentage = Math.round(100 * credits / before) - 100;
  const change = percentage === 0
    ? "as much as"
    : `${number(Math.abs(percentage))}\u00a0% ${percentage > 0 ? "more" : "less"} than`;
  return { value: credits, note: `${asMany}; ${change} on ${period} (${number(before)})` };
}

/** What expires soon, and what of it is not going to be used. */
function Expiring({ credits: { lots }, rate, keys, perUsd, nowMs }: HomeProps) {
  const isSoon = (expiresAtMs: number | null, days: number): expiresAtMs is number =>
    expiresAtMs !== null && expiresAtMs - nowMs <= days * DAY_MS;
  const soonLots = lots.filter(({ expiresAtMs }) => isSoon(expiresAtMs, LOT_DAYS));
  const soonKeys = keys.filter(({ expiresAtMs }) => isSoon(expiresAtMs, KEY_DAYS))
    .toSorted((a, b) => a.expiresAtMs! - b.expiresAtMs!);
  if (soonLots.length + soonKeys.length === 0) return null;
  return (
    <section class="card">
      <h2>Expires soon</h2>
      <ul class="lines">
        {soonLots.map(({ id, remaining, expiresAtMs }) => {
          const left = rate?.unspent.get(id);
          return (
            <li>
              <b>{count(remaining, "credit")}</b>
              {perUsd === undefined ? "" : ` (${dollars(remaining, perUsd)})`} expire{" "}
              <RelativeTime ms={expiresAtMs!} nowMs={nowMs} />
              {left === undefined ? "" : `; at this rate, ${number(left)} of them stay unused`}.
            </li>
          );
        })}
        {soonKeys.slice(0, 5).map(({ id, name, hint, expiresAtMs }) => (
          <li>
            Key <Name text={name || hint} href={`/console/keys#${id}`} /> expires{" "}
            <RelativeTime ms={expiresAtMs!} nowMs={nowMs} />.
          </li>
        ))}
        {soonKeys.length > 5
          ? (
            <li>
              <a href="/console/keys">{count(soonKeys.length - 5, "more key")}</a> expire within
              {" "}
              {KEY_DAYS} days.
            </li>
          )
          : null}
      </ul>
    </section>
  );
}

/** Budgets that are shown: those of which the largest part is used. */
const BUDGETS_SHOWN = 6;

function Budgets({ budgets }: HomeProps) {
  if (budgets.length === 0) return null;
  const part = ({ spent, held, left }: Budget) => (spent + held) / Math.max(1, spent + held + left);
  const shown = budgets.toSorted((a, b) => part(b.budget) - part(a.budget))
    .slice(0, BUDGETS_SHOWN);
  const others = budgets.length - shown.length;
  return (
    <section class="card">
      <h2>Budgets of your keys</h2>
      <ul class="bars">
        {shown.map(({ budget, of }) => (
          <li>
            <BudgetBar budget={budget} of={of} brief />
          </li>
        ))}
      </ul>
      {others === 0 ? null : (
        <p>
          <a href="/console/keys">{count(others, "more budget")}</a>, used no more than these.
        </p>
      )}
    </section>
  );
}

/** Lots that are listed: who has invited many has a lot for each. */
const LOTS_SHOWN = 12;

function Lots({ credits, perUsd, nowMs }: HomeProps) {
  const rest = credits.lots.slice(LOTS_SHOWN);
  const left = rest.reduce((sum, { remaining }) => sum + remaining, 0);
  return (
    <section class="card">
      <h2>Balance by lot</h2>
      <Table<Lot>
        caption="Lots, in the order they are spent"
        rows={credits.lots.slice(0, LOTS_SHOWN)}
        empty={
          <>
            No credits.{" "}
            <a href="/console/credits">Buy a package</a>, or ask your operator for a grant.
          </>
        }
        columns={[
          { name: "source", cell: ({ source, note }) => note || SOURCES[source] },
          {
            name: "remaining",
            role: "figure",
            numeric: true,
            cell: ({ remaining }) => number(remaining),
          },
          ...(perUsd === undefined ? [] : [{
            name: "in dollars",
            numeric: true,
            cell: ({ remaining }: Lot) => dollars(remaining, perUsd),
          }]),
          {
            name: "expires",
            cell: ({ expiresAtMs }) =>
              expiresAtMs === null ? "never" : <RelativeTime ms={expiresAtMs} nowMs={nowMs} />,
          },
        ]}
      />
      {rest.length === 0 ? null : (
        <p class="quiet">
          {`and ${count(rest.length, "lot")} more with ${count(left, "credit")}`}
        </p>
      )}
    </section>
  );
}

const SPAN_WORDS: Readonly<Record<Span, string>> = {
  minute: "a minute",
  hour: "an hour",
  day: "a day",
};

function Limits({ limits, tier, credits, pools }: HomeProps) {
  const labels = toldApart(limits.flatMap(({ key }) => key ?? []));
  const each = tier.map(({ span, limit }, at) =>
    `${number(limit)}${at === 0 ? " requests" : ""} ${SPAN_WORDS[span]}`
  );
  return (
    <section class="card">
      <h2>Rate limits</h2>
      {limits.length === 0 ? null : (
        <ul class="bars">
          {limits.map(({ key, window: { span, used, limit } }) => {
            const name = key === undefined ? "All keys of this account" : labels.get(key.id)!;
            const words = `${number(used)} of ${number(limit)} ${SPAN_WORDS[span]}`;
            return (
              <li class="limit">
                <Name text={name} />
                <span class="number">{words}</span>
                <meter
                  {...levelsOf(limit)}
                  value={Math.min(used, limit)}
                  aria-label={`${name}: ${words}`}
                />
              </li>
            );
          })}
        </ul>
      )}
      <p class="quiet">
        {tier.length === 0
          ? credits.balance > 0
            ? "No limits apply at this balance."
            : pools.length === 0
            ? "Requests are rejected while the balance is 0."
            : "Requests with keys of your own are rejected while your balance is 0."
          : (
            <>
              Each key may send up to {each.join(", ")}, counted in{" "}
              <Term word="window">windows</Term> of UTC. {limits.length === 0
                ? "Nothing was sent just now."
                : "Keys that sent nothing are left out."}
            </>
          )}
      </p>
    </section>
  );
}

/** Names of the sources of credits. */
export const SOURCES: Readonly<Record<Lot["source"], string>> = {
  signup: "Welcome",
  owner: "Owner's grant",
  invite_signup: "Invite used",
  invite_payment: "Invitee's first payment",
  package: "Package",
  grant: "Grant",
};

function FirstSteps({ keys, credits: { balance }, pools: [pool] }: HomeProps) {
  const isPaidByPool = balance <= 0 && pool !== undefined;
  return (
    <section class="card">
      <h2>To your first response</h2>
      <ol class="steps">
        <li>
          {isPaidByPool
            ? `The pool of ${pool.team.name} pays for your keys of the team.`
            : balance > 0
            ? `You have ${count(balance, "credit")} to start with.`
            : (
              <>
                <a href="/console/credits">Get credits</a>: requests are rejected while the balance
                is 0.
              </>
            )}
        </li>
        <li>
          {keys.length > 0 ? `You have ${count(keys.length, "key")}. ` : ""}
          <a href={isPaidByPool ? `/console/teams/${pool.team.id}` : "/console/keys"}>
            Create a key
          </a>{" "}
          and copy a ready-made snippet for curl, an SDK or a coding tool.
        </li>
        {isPaidByPool ? null : (
          <li>
            Or try <a href="/console/models">a model</a> right away in the{" "}
            <a href="/console/playground">playground</a>.
          </li>
        )}
        <li>
          Then see here what it cost{isPaidByPool ? "" : ", how long your credits last,"} and{" "}
          <a href="/console/requests">each request</a> in detail.
        </li>
      </ol>
    </section>
  );
}
