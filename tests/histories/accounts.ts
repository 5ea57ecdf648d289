/** Whose requests histories have, and what limits those. */

import type { Random } from "../fake/random.ts";
import type { Windows } from "./model.ts";

const UNLIMITED = { minute: 1e9, hour: 1e9, day: 1e9 };
/** Accounts: with keys that may have few requests at once, with few credits, with narrow rate windows, a team's, and with nothing of that. */
export const KINDS = ["plain", "crowded", "poor", "limited", "team"] as const;
export const RICH = { plain: 10_000_000, crowded: 10_000_000, team: 10_000_000 };
/** Those of which most requests are charged. */
export const STEADY = ["plain", "poor"] as const;
/** A balance that grows into no tier with other limits, however much is granted in a history. */
export const LIMITED_CREDITS = 1_000_000;

/** Narrow rate windows for accounts with about `LIMITED_CREDITS`, and none for others. */
export function tiersOf({ key, account }: Windows) {
  return [
    { above: 0, ...UNLIMITED },
    { above: LIMITED_CREDITS / 2, ...UNLIMITED, ...key, account: { ...UNLIMITED, ...account } },
    { above: LIMITED_CREDITS * 2, ...UNLIMITED },
  ];
}

/** Windows that are used up: so narrow that the database decides on each request, or so wide that gateways are lent places. */
export function windowsOf(random: Random): Windows {
  const minute = random.next() < 0.5 ? random.integer(2, 12) : random.integer(40, 70);
  return {
    key: { minute, hour: random.integer(minute, 2 * minute) },
    account: {
      minute: random.integer(minute, 2 * minute),
      hour: random.integer(minute, 2 * minute),
    },
  };
}

/** One credit by the token of output, so that a charge says which answer it is for. */
export const ROUTES = {
  small: {
    targets: [{ upstream: "slow", model: "small" }],
    context: 10_000,
    maxOutput: 200,
    minimum: 1,
    prices: { input: 0, cached: 0, output: 1_000_000 },
  },
};
