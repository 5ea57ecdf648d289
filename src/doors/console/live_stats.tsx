import type { StatProps } from "./components.tsx";
import { dollars } from "./dollars.ts";
import { count, number } from "./format.ts";

/** The balance with what is held of it; dollars beside credits where a rate is set. */
export function BalanceStat(
  { balance, held, perUsd }: {
    readonly balance: number;
    readonly held: number;
    readonly perUsd: number | undefined;
  },
): StatProps {
  const money = perUsd === undefined ? "credits" : `credits, ${dollars(balance, perUsd)}`;
  return {
    name: "Balance",
    value: balance,
    note: held > 0 ? `${money}; ${number(held)} held by in-flight requests` : money,
  };
}

/** Credits and requests of the UTC day. */
export function TodayStat(
  { credits, requests, perUsd }: {
    readonly credits: number;
    readonly requests: number;
    readonly perUsd: number | undefined;
  },
): StatProps {
  const money = perUsd === undefined ? "" : `${dollars(credits, perUsd)}, `;
  return { name: "Today", value: credits, note: `${money}${count(requests, "request")}` };
}

/** Requests that are being answered. */
export function InFlightStat(requests: number): StatProps {
  return { name: "In flight now", value: requests, note: requests === 1 ? "request" : "requests" };
}
