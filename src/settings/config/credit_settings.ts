import * as z from "zod";
import { wholeInput } from "../../ground/amounts/mod.ts";
import { DAYS } from "./amounts.ts";
import { count, credits, displayName, identifier } from "./values.ts";

const accountLimit = (span: string) =>
  z.int().positive().optional().describe(
    `Maximum requests per ${span} for all keys of an account. Default: five times the key's limit.`,
  );

/** Schema of the rate limits of a range of balances. */
export const tier = z.strictObject({
  above: count.describe("The tier applies to balances above this many credits."),
  minute: z.int().positive().describe("Maximum requests per minute (UTC) for one key."),
  hour: z.int().positive().describe("Maximum requests per hour for one key."),
  day: z.int().positive().describe("Maximum requests per day for one key."),
  account: z.strictObject({
    minute: accountLimit("minute"),
    hour: accountLimit("hour"),
    day: accountLimit("day"),
  }).optional(),
});

/** Schema of a package of credits. */
export const creditPackage = z.strictObject({
  id: identifier.describe("ID for `sluice credits grant --package`."),
  name: displayName.describe("Name shown in the console."),
  credits: credits.nullable().describe("Number of credits; null: by agreement."),
  priceUsd: z.number().nonnegative().nullable().describe(
    "Price shown, in US dollars; null: by agreement.",
  ),
  validDays: wholeInput(DAYS).nullable().describe(
    "Lifetime of the credits in days; null: never expires.",
  ),
  models: z.array(
    z.string().min(1).max(256).regex(/^[^*]*\*?$/, "must be a name, or a prefix ending in *"),
  )
    .min(1).max(100).optional().describe(
      "What the credits pay for: IDs of routes, and prefixes ending in *. Default: all models.",
    ),
  prices: z.record(z.string().regex(/^[a-z]{3}$/), z.number().nonnegative()).optional().describe(
    'Prices in other currencies, by their codes in lower case, such as `{ "eur": 4.59 }`.',
  ),
});
