import type { Child } from "@hono/hono/jsx";
import type { CreditLine, CreditStatement } from "../../../money/usage/mod.ts";
import { Name, Select, Stat, Table, Term, Time, UtcDay } from "../components.tsx";
import { count, date, month as monthText, number, signed } from "../format.ts";
import { EntryText, KINDS } from "./credit_entries.tsx";

/** A month's statement, and the months that there are others of. */
export interface StatementView {
  readonly statement: CreditStatement;
  /** Starts of the months that can be chosen, newest first. */
  readonly months: readonly number[];
}

/** What moved the balance in a month, newest first, with the balance after each line. */
export function CreditStatementSection({ statement, months }: StatementView) {
  const { month, fromMs, opening, closing, granted, charged, expired, takenBack } = statement;
  const at = months.indexOf(fromMs);
  const [later, earlier] = [months[at - 1], at === -1 ? undefined : months[at + 1]];
  return (
    <section aria-labelledby="statement">
      <h2 id="statement">Statement of {monthText(fromMs)}</h2>
      <form method="get" action="/console/credits" class="row">
        <Select
          label="Month"
          name="month"
          options={(at === -1 ? [fromMs, ...months] : months)
            .map((ms) => [monthOf(ms), monthText(ms)])}
          value={monthOf(fromMs)}
        />
        <button type="submit" class="plain">Show</button>
        <MonthLink ms={earlier} words="Earlier" />
        <MonthLink ms={later} words="Later" />
        <a class="button plain" href={`/console/credits.csv?month=${month}`}>CSV</a>
      </form>
      <dl class="stats">
        <Stat name="Opening balance" value={opening} note={date(fromMs)} />
        <Stat name="Granted" value={signed(granted)} note="grants and purchases" />
        <Stat name="Charged" value={signed(-charged)} note="requests" />
        <Stat
          name="Expired, taken back"
          value={signed(-expired - takenBack)}
          note={takenBack === 0 ? "" : `${number(takenBack)} taken back`}
        />
        <Stat name={fromMs === months[0] ? "Balance now" : "Closing balance"} value={closing} />
      </dl>
      <Table<CreditLine>
        caption={`What moved the balance in ${monthText(fromMs)}, newest first`}
        rows={statement.lines.toReversed()}
        empty={`Nothing moved the balance in ${monthText(fromMs)}.`}
        columns={[
          {
            name: "date",
            bare: true,
            cell: ({ atMs, isDay }) => isDay ? <UtcDay ms={atMs} /> : <Time ms={atMs} />,
          },
          { name: "description", role: "primary", cell: (line) => <What line={line} /> },
          { name: "credits", role: "figure", cell: ({ credits }) => signed(credits) },
          { name: "balance", numeric: true, cell: ({ balance }) => number(balance) },
        ]}
      />
      <p class="quiet">
        Months and days are in UTC. <Term word="charge">Charges</Term>{" "}
        of a day are those of requests that began in it. They take from the <Term word="lot" />{" "}
        that expires first; balances include what requests in flight <Term word="hold" />.
      </p>
    </section>
  );
}

function MonthLink({ ms, words }: { ms: number | undefined; words: string }) {
  return ms === undefined
    ? null
    : <a class="button plain" href={`/console/credits?month=${monthOf(ms)}#statement`}>{words}</a>;
}

function What({ line }: { line: CreditLine }): Child {
  if (line.kind !== "charges") {
    return "entry" in line
      ? <EntryText entry={line.entry} />
      : <>{`${KINDS[line.kind]}: ${number(line.entries)} entries`}</>;
  }
  const { models } = line;
  return (
    <>
      <a href={`/console/requests?${requestsOf(line.atMs)}`}>{count(line.requests, "request")}</a>
      {models.length === 1
        ? (
          <>
            {" for "}
            <Name text={models[0]!.model} />
          </>
        )
        : (
          <details class="more">
            <summary>{count(models.length, "model")}</summary>
            <ul class="plain-list">
              {models.map(({ model, requests, credits }) => (
                <li>
                  <Name text={model} />{" "}
                  <a href={`/console/requests?${requestsOf(line.atMs, model)}`}>
                    {count(requests, "request")}
                  </a>{" "}
                  {number(-credits)}
                </li>
              ))}
            </ul>
          </details>
        )}
    </>
  );
}

/** The query of the page with the requests of a UTC day. */
function requestsOf(dayAtMs: number, model?: string): string {
  const day = new Date(dayAtMs).toISOString().slice(0, 10);
  return new URLSearchParams({
    from: day,
    to: day,
    zone: "UTC",
    ...(model === undefined ? {} : { model }),
  }).toString();
}

function monthOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 7);
}
