import { ConfigError, type RouteSettings, type Settings } from "../config/mod.ts";
import { Refusal } from "../refusal.ts";
import { type Effort, nearestEffort, type RouteReasoning } from "../dialects/mod.ts";
import { closestString } from "../std/mod.ts";
import { BUILTIN_ROUTES } from "./builtin.ts";
import type { Route, Target } from "./route.ts";

/** Name of the upstream that `upstream.url` (`SLUICE_UPSTREAM_URL`) configures. */
export const DEFAULT_UPSTREAM = "default";
/** Name of the built-in upstream. */
export const SIMULATOR = "simulator";

const NO_ROUTES =
  "no models are configured: with several upstreams, add `targets` to at least one route " +
  "(routes.ID.targets)";

const NEW_ROUTE = {
  context: 128_000,
  maxOutput: 128_000,
  minimum: 1,
  prices: { input: 100, cached: 25, output: 400 },
  images: "none",
  reasoning: "none",
} as const;

/** Another name of a route. */
export interface Alias {
  readonly name: string;
  readonly route: Route;
}

/** Routes and their names. */
export class Catalog {
  /** Problems that an operator should know about, such as routes without targets. */
  get warnings(): readonly string[] {
    return this.routes.length === 0 ? [NO_ROUTES] : [];
  }

  /** Available routes, in the order they are listed. */
  readonly routes: readonly Route[];
  /** Aliases that are exact names, in the order they are listed. */
  readonly aliases: readonly Alias[];
  readonly #byName = new Map<string, Route>();
  readonly #byPrefix: { prefix: string; route: Route }[] = [];

  /**
   * @param settings The settings.
   * @throws {ConfigError} If a target names an unknown upstream, an alias an unknown route, or a limit exceeds the
   *   context.
   */
  constructor(settings: Settings) {
    const faults: string[] = [];
    this.routes = routesOf(settings, faults);
    for (const route of this.routes) this.#byName.set(route.id, route);
    const aliases: Alias[] = [];
    for (const [name, id] of Object.entries(settings.aliases)) {
      const route = this.#byName.get(id);
      if (route === undefined) {
        const known = this.routes.map((one) => one.id);
        faults.push(
          `aliases.${name}: unknown route '${id}'; ` +
            (known.length === 0 ? NO_ROUTES : `did you mean '${closestString(id, known)}'?`),
        );
      } else if (this.routes.some((known) => known.id === name)) {
        faults.push(`aliases.${name}: a route with this name already exists`);
      } else if (name.endsWith("*")) {
        this.#byPrefix.push({ prefix: name.slice(0, -1), route });
      } else {
        aliases.push({ name, route });
      }
    }
    for (const route of this.routes) {
      const name = `claude-${route.id}`;
      const taken = this.#byName.has(name) || Object.hasOwn(settings.aliases, name);
      if (!taken) aliases.push({ name, route });
    }
    for (const { name, route } of aliases) this.#byName.set(name, route);
    this.#byPrefix.sort((a, b) => b.prefix.length - a.prefix.length);
    this.aliases = aliases;
    if (faults.length > 0) throw new ConfigError(faults);
  }

  /**
   * Resolves the `model` of a request.
   *
   * @param model A route ID, alias, or name that matches a prefix pattern.
   * @returns The route.
   * @throws {Refusal} `model_unknown` if the name is unknown.
   */
  resolve(model: string): Route {
    const route = this.find(model);
    if (route !== undefined) return route;
    const names = [...this.#byName.keys()];
    const near = names.length === 0
      ? "No models are configured: add `targets` to at least one route."
      : `Did you mean '${
        closestString(model.slice(0, 100), names)
      }'? GET /v1/models lists the available models.`;
    throw new Refusal(
      "model_unknown",
      `Unknown model '${model.slice(0, 100)}'. ${near}`,
      { param: "model" },
    );
  }

  /**
   * Picks a model for an example.
   *
   * @param preferred Route IDs in order of preference.
   * @returns The first that is available, otherwise any route's ID, or `undefined` if there are no routes.
   */
  example(...preferred: readonly string[]): string | undefined {
    return preferred.find((id) => this.#byName.has(id)) ?? this.routes[0]?.id;
  }

  /**
   * Finds the route of a name: by ID, then alias, then the longest matching prefix pattern.
   *
   * @returns The route, or `undefined`.
   */
  find(model: string): Route | undefined {
    return this.#byName.get(model) ??
      this.#byPrefix.find(({ prefix }) => model.startsWith(prefix))?.route;
  }
}

function routesOf(settings: Settings, faults: string[]): Route[] {
  const fallback = fallbackUpstream(settings);
  const known = new Set([SIMULATOR, ...Object.keys(settings.upstreams)]);
  if (settings.upstream.url !== undefined) known.add(DEFAULT_UPSTREAM);
  if (Object.hasOwn(settings.upstreams, SIMULATOR)) {
    faults.push(
      `upstreams.${SIMULATOR}: this name is reserved for the built-in upstream; choose another name`,
    );
  }
  if (settings.upstream.url !== undefined && Object.hasOwn(settings.upstreams, DEFAULT_UPSTREAM)) {
    faults.push(
      `upstreams.${DEFAULT_UPSTREAM}: this name is used by upstream.url (SLUICE_UPSTREAM_URL); choose another name`,
    );
  }
  const ids = [...new Set([...Object.keys(BUILTIN_ROUTES), ...Object.keys(settings.routes)])];
  return ids.flatMap((id) => {
    const own = settings.routes[id];
    own?.targets?.forEach((target, index) => {
      if (known.has(target.upstream)) return;
      const near = closestString(target.upstream, [...known]);
      faults.push(
        `routes.${id}.targets[${index}].upstream: unknown upstream '${target.upstream}'; ` +
          `did you mean '${near}'?`,
      );
    });
    const targets = own?.targets ??
      (fallback === undefined ? undefined : [{ upstream: fallback, model: id }]);
    return targets === undefined ? [] : [routeOf(id, own, targets, faults)];
  });
}

function routeOf(
  id: string,
  own: RouteSettings | undefined,
  targets: readonly Target[],
  faults: string[],
): Route {
  const base = BUILTIN_ROUTES[id];
  const context = own?.context ?? base?.context ?? NEW_ROUTE.context;
  const maxOutput = own?.maxOutput ?? Math.min(base?.maxOutput ?? NEW_ROUTE.maxOutput, context);
  const maxInput = own?.maxInput ?? Math.min(base?.maxInput ?? context, context);
  if (maxOutput > context) {
    faults.push(
      `routes.${id}.maxOutput: must not exceed the context of ${context} tokens: got ${maxOutput}`,
    );
  }
  if (maxInput > context) {
    faults.push(
      `routes.${id}.maxInput: must not exceed the context of ${context} tokens: got ${maxInput}`,
    );
  }
  return {
    id,
    displayName: own?.displayName ?? base?.displayName ?? id,
    context,
    maxInput,
    maxOutput,
    minimum: own?.minimum ?? base?.minimum ?? NEW_ROUTE.minimum,
    prices: own?.prices ?? base?.prices ?? NEW_ROUTE.prices,
    images: own?.images ?? base?.images ?? NEW_ROUTE.images,
    ...reasoningOf(id, own, faults),
    targets,
  };
}

/** Efforts of routes that do not say theirs: every provider with efforts knows these. */
const COMMON_EFFORTS: readonly Effort[] = ["low", "medium", "high"];

/** How a route reasons, by its settings and the built-in route. */
function reasoningOf(
  id: string,
  own: RouteSettings | undefined,
  faults: string[],
): RouteReasoning {
  const base = BUILTIN_ROUTES[id];
  const reasoning = own?.reasoning ?? base?.reasoning ?? NEW_ROUTE.reasoning;
  if (reasoning !== "effort") {
    if (own?.efforts !== undefined) {
      faults.push(`routes.${id}.efforts: requires \`reasoning: "effort"\`: got "${reasoning}"`);
    }
    return { reasoning, efforts: [] };
  }
  const known = base?.reasoning === "effort" ? base : undefined;
  const efforts = own?.efforts ?? known?.efforts ?? COMMON_EFFORTS;
  const byDefault = known?.defaultEffort;
  return {
    reasoning,
    efforts,
    defaultEffort: byDefault && nearestEffort(byDefault, efforts),
    rejectsThinking: known?.rejectsThinking,
  };
}

/**
 * Returns the upstream for routes without targets: the only one, or the simulator if there is none. With several
 * upstreams, such routes are not available: guessing would send prompts to a provider that the operator did not choose.
 */
function fallbackUpstream(settings: Settings): string | undefined {
  if (settings.upstream.url !== undefined) return DEFAULT_UPSTREAM;
  const names = Object.keys(settings.upstreams);
  if (names.length === 0) return SIMULATOR;
  return names.length === 1 ? names[0] : undefined;
}
