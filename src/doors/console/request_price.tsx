import type { Route } from "../../settings/catalog/mod.ts";
import { outcomeOf, type RequestRecord } from "../../money/usage/mod.ts";
import { Table } from "./components.tsx";
import { smallDollars } from "./dollars.ts";
import { count, number } from "./format.ts";

/** A line of a price: tokens at a rate, or a step from their sum to what was charged. */
export interface PriceLine {
  readonly what: string;
  readonly tokens?: number;
  readonly rate?: number;
  /** In millionths of a credit. */
  readonly millionths: bigint;
  readonly isSum?: boolean;
}

interface Prices {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly minimum: number;
}

const MILLION = 1_000_000n;

/** The lines that add up to what a request was charged, at its prices. */
export function priceLines(
  record: Pick<
    RequestRecord,
    | "inputTokens"
    | "cachedTokens"
    | "outputTokens"
    | "priceCredits"
    | "extraCredits"
    | "chargedCredits"
  >,
  prices: Prices,
): readonly PriceLine[] {
  const parts = [
    { what: "input", tokens: record.inputTokens - record.cachedTokens, rate: prices.input },
    { what: "cached input", tokens: record.cachedTokens, rate: prices.cached },
    { what: "output", tokens: record.outputTokens, rate: prices.output },
  ].map((line) => ({ ...line, millionths: BigInt(line.tokens) * BigInt(line.rate) }));
  const lines: PriceLine[] = [...parts];
  let sum = parts.reduce((all, { millionths }) => all + millionths, 0n);
  const add = (what: string, millionths: bigint) => {
    if (millionths !== 0n) lines.push({ what, millionths });
    sum += millionths;
  };
  add("rounded up to whole credits", (MILLION - sum % MILLION) % MILLION);
  const minimum = BigInt(prices.minimum) * MILLION;
  if (minimum > sum) add(`up to the minimum of ${number(prices.minimum)}`, minimum - sum);
  add("other kinds of tokens and calls", BigInt(record.extraCredits) * MILLION);
  add("not explained by the prices", BigInt(record.priceCredits) * MILLION - sum);
  add(
    "beyond the balance or a budget, not collected",
    BigInt(record.chargedCredits - record.priceCredits) * MILLION,
  );
  return [...lines, { what: "charged", millionths: sum, isSum: true }];
}

/** Formats millionths of a credit exactly, without zeros at the end: `3.4567`. */
export function exactCredits(millionths: bigint): string {
  const isNegative = millionths < 0n;
  const size = isNegative ? -millionths : millionths;
  const whole = (size / MILLION).toLocaleString("en-US");
  const rest = String(size % MILLION).padStart(6, "0").replace(/0+$/, "");
  return `${isNegative ? "−" : ""}${whole}${rest === "" ? "" : `.${rest}`}`;
}

const THOUSANDTH = 1_000n;

/**
 * Formats the lines of a price with up to three decimals, so that they still add up to the last one.
 *
 * @param lines Lines as of {@linkcode priceLines}.
 * @returns A text for each.
 */
export function roundedCredits(lines: readonly PriceLine[]): readonly string[] {
  const parts = lines.slice(0, -1).map(({ millionths }, at) => {
    const over = (millionths % THOUSANDTH + THOUSANDTH) % THOUSANDTH;
    return { at, low: millionths - over, over };
  });
  // what rounding down took goes to those that lost most
  let missing = parts.reduce((all, { over }) => all + over, 0n) / THOUSANDTH;
  const rounded = lines.map(({ millionths }) => millionths);
  for (const { at, low } of parts.toSorted((a, b) => Number(b.over - a.over))) {
    rounded[at] = missing-- > 0n ? low + THOUSANDTH : low; // fewer than there are that lost something
  }
  return rounded.map((millionths, at) =>
    millionths === 0n && lines[at]!.millionths !== 0n ? "<0.001" : exactCredits(millionths)
  );
}

/** Gives a text with decimals three of them, so that their points are below each other. */
function aligned(text: string): string {
  const [whole, decimals] = text.split(".");
  return decimals === undefined ? text : `${whole}.${decimals.padEnd(3, "0")}`;
}

const OWN_KEYS: Readonly<Record<NonNullable<RequestRecord["ownKey"]>, string>> = {
  account: "The reply came with the account's own key of the upstream, at that part of the price.",
  team: "The reply came with the team's own key of the upstream, at that part of the price.",
  request: "The reply came with the key that the request brought, at that part of the price.",
};

/** Kinds of tokens and calls that have a price of their own. */
const EXTRAS: Readonly<Record<string, string>> = {
  written: "tokens written to a cache",
  writtenHour: "tokens written to a cache for an hour",
  audioInput: "tokens of audio",
  audioCached: "tokens of cached audio",
  audioOutput: "output tokens of audio",
  imageInput: "tokens of images",
  imageCached: "tokens of cached images",
  imageOutput: "output tokens of images",
  reasoning: "output tokens of reasoning",
};

function extraWords({ extras = {} }: RequestRecord["details"]): string {
  const parts = Object.entries(extras).map(([name, [amount, price]]) =>
    `${number(amount)} ${EXTRAS[name] ?? `× ${name}`} at ${number(price)} per ${
      Object.hasOwn(EXTRAS, name) ? "million" : "thousand"
    }`
  );
  return parts.length === 0 ? "" : ` Other kinds: ${parts.join("; ")}.`;
}

/** How a request's charge came about. */
export function Price(
  { record, route, perUsd }: {
    record: RequestRecord;
    /** The current route; `undefined` if it no longer exists. */
    route: Route | undefined;
    perUsd: number | undefined;
  },
) {
  if (record.usageSource === null) {
    return <p class="empty">Requests that end this way are not charged ({outcomeOf(record)}).</p>;
  }
  // older records have no prices: use the route's current ones
  const prices = record.prices ?? (route && { ...route.prices, minimum: route.minimum });
  if (prices === undefined) {
    return (
      <p class="empty">
        Charged {number(record.chargedCredits)}; the model is no longer available.
      </p>
    );
  }
  const lines = priceLines(record, prices);
  const texts = roundedCredits(lines);
  return (
    <>
      <Table<PriceLine>
        caption="Price, from tokens to what was charged"
        rows={lines}
        empty=""
        columns={[
          { name: "part", cell: ({ what, isSum }) => isSum ? <b>{what}</b> : what },
          {
            name: "tokens",
            numeric: true,
            cell: ({ tokens }) => tokens === undefined ? "" : number(tokens),
          },
          {
            name: "credits per million",
            numeric: true,
            cell: ({ rate }) => rate === undefined ? "" : number(rate),
          },
          {
            name: "credits",
            role: "figure",
            cell: (line) => (
              <span title={exactCredits(line.millionths)}>
                {aligned(texts[lines.indexOf(line)]!)}
              </span>
            ),
          },
        ]}
      />
      <p class="quiet">
        {perUsd === undefined || record.chargedCredits === 0
          ? ""
          : `${count(record.chargedCredits, "credit")} ${
            record.chargedCredits === 1 ? "is" : "are"
          } ${smallDollars(record.chargedCredits, perUsd)}. `}
        Tokens were{" "}
        {record.usageSource === "upstream" ? "reported by the upstream" : "counted by the gateway"}.
        {record.reasoningTokens > 0
          ? ` ${number(record.reasoningTokens)} of the output tokens were reasoning.`
          : ""}
        {record.ownKey === null ? "" : ` ${OWN_KEYS[record.ownKey]}`}
        {extraWords(record.details)}
        {record.prices === undefined
          ? " The prices of this charge were not stored; current prices are shown."
          : ` Prices are those at the time of the request${
            record.details.row === undefined ? "" : ` (${record.details.row})`
          }.`}
      </p>
    </>
  );
}
