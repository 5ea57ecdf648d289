import { type Alias, type Catalog, claudeName, type Route } from "../../settings/catalog/mod.ts";

/** What models can do, for filters. */
export const ABILITIES = {
  tools: ({ tools }: Route) => tools === true,
  images: ({ images }: Route) => images !== "none",
  reasoning: ({ reasoning }: Route) => reasoning !== "none",
  caching: ({ kind, prices }: Route) => kind === "generation" && prices.cached < prices.input,
  embeddings: ({ kind }: Route) => kind === "embeddings",
} as const;

/** Something that a model can do. */
export type Ability = keyof typeof ABILITIES;

/** Orders of models, in the words of the page. */
export const ORDERS = {
  "": "as listed",
  name: "name",
  input: "cheapest input",
  output: "cheapest output",
  context: "longest context",
  "max-output": "longest output",
} as const;

/** How models can be ordered; empty for the order in which they are listed. */
export type ModelOrder = keyof typeof ORDERS;

/** Which models a page shows, as its address says it. */
export interface ModelSearch {
  readonly text: string;
  readonly abilities: readonly Ability[];
  readonly order: ModelOrder;
}

/** A model, with the names besides its ID that the settings give it. */
export interface NamedModel {
  readonly route: Route;
  readonly aliases: readonly string[];
}

const MAX_CHARS = 200;

/** Reads a search from the query of a page; what is unknown in it is dropped. */
export function modelSearch(query: URLSearchParams): ModelSearch {
  const order = query.get("sort") ?? "";
  return {
    text: (query.get("q") ?? "").trim().slice(0, MAX_CHARS),
    abilities: (Object.keys(ABILITIES) as Ability[])
      .filter((one) => query.getAll("can").includes(one)),
    order: Object.hasOwn(ORDERS, order) ? order as ModelOrder : "",
  };
}

const COMPARE: Readonly<Record<ModelOrder, (a: Route, b: Route) => number>> = {
  "": () => 0,
  name: (a, b) => a.id.localeCompare(b.id, "en", { numeric: true }),
  input: (a, b) => a.prices.input - b.prices.input,
  output: (a, b) => a.prices.output - b.prices.output,
  context: (a, b) => b.context - a.context,
  "max-output": (a, b) => b.maxOutput - a.maxOutput,
};

/**
 * Finds models.
 *
 * @param search Every word of its text is in a model's names, and it has every ability. A name that an alias with `*`
 *   stands for is found, too.
 * @returns The models in the order of the search; equal ones as they are listed.
 */
export function findModels(catalog: Catalog, search: ModelSearch): readonly NamedModel[] {
  const words = search.text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const byRoute = new Map<Route, string[]>();
  for (const { name, route } of [...catalog.aliases, ...catalog.patterns].filter(isChosen)) {
    byRoute.set(route, [...byRoute.get(route) ?? [], name]);
  }
  const resolved = words.length === 1 ? catalog.find(search.text) : undefined;
  return catalog.routes
    .map((route) => ({ route, aliases: byRoute.get(route) ?? [] }))
    .filter(({ route, aliases }) => {
      const names = [route.id, route.displayName, ...aliases].join("\n").toLowerCase();
      return (route === resolved || words.every((word) => names.includes(word))) &&
        search.abilities.every((ability) => ABILITIES[ability](route));
    })
    .toSorted((a, b) => COMPARE[search.order](a.route, b.route));
}

/** Whether the settings give an alias, rather than that every model has one. */
function isChosen({ name, route }: Alias): boolean {
  return name !== claudeName(route.id);
}
