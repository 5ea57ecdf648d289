import type { Told } from "../dialects/mod.ts";
import { type AllowedExtras, NO_EXTRAS, type UsedExtras } from "./allowed.ts";
import { PLAIN_VALUES } from "./request_fields.ts";

/** Fields that change the price of all tokens, where replies tell what was done. */
const TOLD = { service_tier: "tier", speed: "speed", inference_geo: "region" } as const;

/**
 * The factor of the prices of all tokens by what the reply says was done, as far as the route has a price for it. It is never more than
 * what was asked for, or than the plain price: who asked for less than that may have got the plain service.
 *
 * @param used What was asked for.
 * @param told What the reply says; undefined for nothing.
 * @param allow What the route allows, with the factors.
 */
export function toldFactor(
  { asked, factor }: UsedExtras,
  told: Told | undefined,
  allow: AllowedExtras = NO_EXTRAS,
): number {
  if (told === undefined || Object.keys(asked).length === 0) return factor;
  return Object.entries(asked).map(([field, own]) => {
    const name = told[TOLD[field as keyof typeof TOLD]];
    if (name === undefined) return own;
    const factors = field === "inference_geo" ? allow.regions : allow.tiers;
    const done = Object.hasOwn(factors, name)
      ? factors[name]!
      : PLAIN_VALUES[field]?.includes(name)
      ? 1
      : own;
    return Math.min(done, Math.max(1, own));
  }).reduce((all, one) => all * one, 1);
}
