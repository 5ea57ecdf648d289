import { DAY_MS } from "../../../ground/time.ts";
import { Chart, Stat, Time } from "../components.tsx";
import { count } from "../format.ts";
import { Layout } from "../layout.tsx";
import { BalanceStat, InFlightStat, TodayStat } from "../live_stats.tsx";
import { requestsChart } from "../usage_chart.ts";
import { Expiring, Lots } from "./home_credits.tsx";
import { Budgets, Limits } from "./home_limits.tsx";
import { EmptyPools, Pools } from "./home_pools.tsx";
import type { HomeProps } from "./home_props.ts";
import { lasting, monthWords, SPAN_WORDS } from "./home_words.ts";

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
