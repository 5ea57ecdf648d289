import type { Database, Row } from "../../../src/ground/database/mod.ts";
import type { Plan, ReportedUsage } from "./plan.ts";
import type { Taken } from "./take_response.ts";

/** Credits for a thousand tokens. */
const PRICES = { input: 100, output: 400 };

/** The route that is robbed. */
export const ROUTE = {
  context: 100_000,
  maxOutput: 20_000,
  minimum: 1,
  images: "inline" as const,
  prices: {
    input: 1_000 * PRICES.input,
    cached: 1_000 * PRICES.input,
    output: 1_000 * PRICES.output,
  },
};

const priceOf = ({ input, output }: ReportedUsage) =>
  Math.max(1, Math.ceil((input * PRICES.input + output * PRICES.output) / 1_000));

/** All usage records, as much of them as is compared; a server answers with 10 MB at a time at most. */
export async function readRecords(database: Database): Promise<Row[]> {
  const records: Row[] = [];
  while (true) {
    const page = await database.all(
      `select request_id, account_id, ending, usage_source, price_credits, charged_credits
        from usage_records where request_id > ? order by request_id limit 5000`,
      [records.at(-1)?.request_id ?? ""],
    );
    if (page.length === 0) return records;
    records.push(...page);
  }
}

/** One account's sums, in credits. */
interface Account {
  readonly granted: number;
  /** What its requests cost by the contract. */
  prices: number;
  /** The highest price of them, by the contract or as recorded. */
  highest: number;
  charges: number;
  /** What is recorded as not collected. */
  uncollected: number;
}

/**
 * Books that are kept beside the gateway's: what each upstream received and each client got, and what that
 * costs by the contract.
 */
export class Books {
  readonly #accounts = new Map<string, Account>();
  readonly #requests = new Map<string, { readonly plan: Plan; readonly taken: Taken }>();

  /** Requests that were answered with success. */
  get responses(): number {
    return this.#requests.size;
  }

  /** Notes an account and the only credits that it ever gets. */
  open(accountId: string, granted: number): void {
    this.#accounts.set(accountId, { granted, prices: 0, highest: 0, charges: 0, uncollected: 0 });
  }

  /** Notes what became of a request. */
  note(plan: Plan, taken: Taken): void {
    const { requestId, status } = taken;
    if (requestId !== undefined && status === 200) this.#requests.set(requestId, { plan, taken });
  }

  /** Compares them with the gateway's usage records. @returns What does not agree. */
  compare(records: readonly Row[]): string[] {
    const faults = records.flatMap((record) => this.#compareRecord(record));
    const recorded = new Set(records.map(({ request_id }) => String(request_id)));
    for (const [requestId, { plan, taken }] of this.#requests) {
      if (!recorded.has(requestId)) {
        faults.push(`no record: ${describe(plan)}, ${taken.tokens} out`);
      }
    }
    for (const [accountId, account] of this.#accounts) {
      const { granted, prices, charges, highest, uncollected } = account;
      // counts may be off by their promised error, here of ordinary words
      const unpaid = Math.max(0.9 * prices - charges, uncollected);
      // what one request leaves unpaid is followed by one more, alone, that takes all there is
      if (charges > granted || unpaid > 2 * highest) {
        faults.push(`${accountId}: ${JSON.stringify(account)}`);
      }
    }
    return faults;
  }

  #compareRecord(record: Row): string[] {
    const account = this.#accounts.get(String(record.account_id))!;
    const charged = Number(record.charged_credits);
    const price = Number(record.price_credits);
    account.charges += charged;
    account.uncollected += price - charged;
    account.highest = Math.max(account.highest, price);
    const request = this.#requests.get(String(record.request_id));
    if (request === undefined) {
      account.prices += charged; // the client got nothing
      return [];
    }
    const { plan, taken } = request;
    const owed = owedFor(plan, taken, record);
    account.prices += owed.credits;
    account.highest = Math.max(account.highest, owed.credits);
    if (owed.isExact ? price >= owed.credits : price >= 0.6 * owed.credits - 2) return [];
    return [
      `${describe(plan)}: owed ${owed.credits} (${owed.why}), priced ${price}, ` +
      `${record.ending} ${record.usage_source}, ${inputOf(plan)} in, ${taken.tokens} out`,
    ];
  }
}

const describe = (
  { from, stream, overSocket, lie, manner, field, place, choices, documentTokens }: Plan,
) =>
  `${documentTokens === 0 ? "" : `a document of ${documentTokens} `}${from} ${
    overSocket ? "over a socket" : stream ? "streamed" : "whole"
  } ${lie}, ${manner}, in ${field}, out ${place}, n ${choices}`;

/** What a request costs by the contract's table, from what was really received and got. */
function owedFor(plan: Plan, taken: Taken, { ending, usage_source }: Row) {
  if (mayBreakOff(plan) && ending === "upstream_failed") {
    return { credits: 0, why: "broken off", isExact: false };
  }
  if (taken.isFailed || taken.tokens === 0 && !taken.isWhole) {
    return { credits: 0, why: "failed", isExact: false };
  }
  const reported = reportedFor(plan);
  // one that is recorded by its upstream's report, read to its end without a client or not, is believed if a report was made
  const isBelieved = /^(?:complete|client_left)$/.test(String(ending)) &&
    usage_source === "upstream";
  if (reported !== undefined && (isBelieved || taken.isWhole && !taken.isCutOff)) {
    return { credits: priceOf(reported), why: "reported", isExact: true };
  }
  // a further choice that is asked for when the client leaves has given it nothing, and is free
  const input = ending === "client_left" && plan.choices > 1
    ? Math.min(...plan.exchanges.map((one) => one.input))
    : inputOf(plan);
  // what goes beyond that is the upstream's doing, and not charged
  const most = exchangesOf(plan).reduce(
    (sum, { limit }) => sum + limit + Math.max(64, limit / 4),
    0,
  );
  const usage = { input, output: Math.min(taken.tokens, Math.ceil(most)) };
  return { credits: priceOf(usage), why: "counted", isExact: false };
}

/**
 * Whether the upstream may break off midway: also where it gives one choice of several and its end is not one,
 * since the others may have been on their way.
 */
const mayBreakOff = ({ lie, stream, choices }: Plan) =>
  lie === "breaking" || lie.endsWith("tail") && stream && choices > 1;

/** Exchanges that a response was made of: several choices may have been asked for one by one. */
const exchangesOf = ({ exchanges, choices }: Plan) => choices > 1 ? exchanges : exchanges.slice(-1);

const inputOf = (plan: Plan) => exchangesOf(plan).reduce((sum, { input }) => sum + input, 0);

/** The usage that the upstream reported in all of them. */
function reportedFor(plan: Plan): ReportedUsage | undefined {
  let [input, output] = [0, 0];
  for (const { reported } of exchangesOf(plan)) {
    if (reported === undefined) return undefined;
    input += reported.input;
    output += reported.output;
  }
  return { input, output };
}
