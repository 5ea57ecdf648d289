import { moneyText } from "../../../settings/config/mod.ts";
import { receiptNumber, type StatementLine } from "../../../money/payments/mod.ts";
import { type CsvColumns, csvText } from "../../../money/usage/mod.ts";
import { Table, UtcDay } from "../components.tsx";
import { month as monthText } from "../format.ts";
import { Layout, type PageContext } from "../layout.tsx";

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
          { name: "date", cell: ({ atMs }) => <UtcDay ms={atMs} /> },
          {
            name: "description",
            cell: ({ kind, packageName }) => `${LINES[kind]}: ${packageName}`,
          },
          {
            name: "receipt",
            cell: ({ receipt }) => receipt === null ? "" : receiptNumber(receipt),
          },
          { name: "amount", role: "figure", cell: (line) => amountText(line) },
        ]}
      />
      {sumsOf(lines).map(([currency, sum]) => (
        <p>
          <strong>Total: {signedText(sum, currency).replace("-", "−")}</strong>
          {lines.some(({ livemode }) => !livemode) ? ", without tests" : ""}
        </p>
      ))}
      <p class="no-print">
        <a href={path.replace(/statement$/, "credits")}>Credits</a>
        {" · "}
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

const CELLS: CsvColumns<StatementLine> = {
  time: ({ atMs }) => new Date(atMs).toISOString(),
  kind: ({ kind }) => kind,
  order: ({ orderId }) => orderId,
  receipt: ({ receipt }) => receipt === null ? null : receiptNumber(receipt),
  package: ({ packageName }) => packageName,
  credits: ({ credits }) => credits,
  amount: ({ amount }) => amount === null ? null : signedText(amount, "xxx").replace(/ XXX$/, ""),
  currency: ({ currency }) => currency,
  mode: ({ livemode }) => livemode ? "live" : "test",
};

/** The same as CSV. */
export function statementCsv(lines: readonly StatementLine[]): string {
  return csvText(CELLS, lines);
}
