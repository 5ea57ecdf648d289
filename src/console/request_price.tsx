import type { Route } from "../catalog/mod.ts";
import { outcomeOf, type RequestRecord } from "../usage/mod.ts";
import { Table } from "./components.tsx";
import { dollars } from "./dollars.ts";
import { number } from "./format.ts";

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
    "inputTokens" | "cachedTokens" | "outputTokens" | "priceCredits" | "chargedCredits"
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
  add("not explained by the prices", BigInt(record.priceCredits) * MILLION - sum);
  add(
    "beyond the balance, not collected",
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
  return (
    <>
      <Table<PriceLine>
        caption="Price, from tokens to what was charged"
        rows={priceLines(record, prices)}
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
            numeric: true,
            cell: ({ millionths }) => exactCredits(millionths),
          },
        ]}
      />
      <p class="quiet">
        {perUsd === undefined
          ? ""
          : `${number(record.chargedCredits)} credits are ${
            dollars(record.chargedCredits, perUsd)
          }. `}
        Tokens were{" "}
        {record.usageSource === "upstream" ? "reported by the upstream" : "counted by the gateway"}.
        {record.reasoningTokens > 0
          ? ` ${number(record.reasoningTokens)} of the output tokens were reasoning.`
          : ""}
        {record.prices === undefined
          ? " The prices of this charge were not stored; current prices are shown."
          : " Prices are those at the time of the request."}
      </p>
    </>
  );
}
