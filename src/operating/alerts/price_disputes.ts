import type { DisputedRoute } from "../../settings/catalog/mod.ts";
import type { NewAlert } from "./alert.ts";

/** The alerts of routes that are charged by a published price which another source does not confirm: one for each such price. */
export function priceDisputes(routes: readonly DisputedRoute[]): NewAlert[] {
  return routes.map(({ id, upstream, model, prices }) => {
    const words = prices.map(({ what, charged, other }) => `${what} $${charged} or $${other}`);
    const marks = prices.map(({ what, charged, other }) => `${what}=${charged}/${other}`);
    return {
      mark: `price_disagrees:${id}:${upstream}/${model}:${marks.join()}`,
      kind: "price_disagrees",
      title: `${id}: published prices disagree`,
      text:
        `The sources of published prices do not agree on what ${model} of ${upstream} costs per million tokens: ${
          words.join("; ")
        }. Requests are charged by the first. Look up the price with the provider, and set routes.${id}.prices if it is another.`,
      data: { route: id, upstream, model, prices: prices.map((one) => ({ ...one })) },
    };
  });
}
