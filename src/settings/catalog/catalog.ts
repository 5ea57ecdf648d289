import { ConfigError, type Settings } from "../config/mod.ts";
import { invalid, Refusal } from "../../ground/refusal.ts";
import { closestString, levenshteinDistance } from "../../ground/std/mod.ts";
import { EMBEDDINGS_PATH } from "../../wire/embeddings/mod.ts";
import { DIALECTS } from "../../wire/dialects/mod.ts";
import { checkEmbeddingsTargets } from "./embeddings_routes.ts";
import { type Listings, NO_LISTINGS } from "./listings.ts";
import { claudeName } from "./model_names.ts";
import { ownValue } from "./own_value.ts";
import type { Route, RouteKind } from "./route.ts";
import { routesOf } from "./collect_routes.ts";

const ALL_OFF = "no models are served: all routes are switched off (routes.ID.enabled)";
const NO_ROUTES =
  "no models are configured: with several upstreams, add `targets` to at least one route " +
  "(routes.ID.targets)";

/** Another name of a route. */
export interface Alias {
  readonly name: string;
  readonly route: Route;
}

/** Routes and their names. */
export class Catalog {
  /** Problems that an operator should know about, such as routes without targets. */
  readonly warnings: readonly string[];

  /** Available routes, in the order they are listed: those for embeddings last. */
  readonly routes: readonly Route[];
  /** Routes that the settings have switched off: nothing resolves to them. */
  readonly off: readonly Route[];
  /** Aliases that are exact names, in the order they are listed. */
  readonly aliases: readonly Alias[];
  /** Aliases that are the beginnings of names, such as `gpt-4*`. */
  readonly patterns: readonly Alias[];
  readonly #byName = new Map<string, Route>();
  readonly #byPrefix: { prefix: string; route: Route }[] = [];

  /**
   * @throws {ConfigError} If a target names an unknown upstream, an alias an unknown route, or a limit exceeds the
   *   context. An alias of a route that is not there is a warning if an upstream may list it later.
   */
  constructor(settings: Settings, listings: Listings = NO_LISTINGS) {
    const faults: string[] = [];
    const warnings: string[] = [];
    const all = routesOf(settings, listings, faults);
    const isOff = (id: string) => ownValue(settings.routes, id)?.enabled === false;
    const routes = all.filter(({ id }) => !isOff(id));
    this.off = all.filter(({ id }) => isOff(id));
    this.routes = [
      ...routes.filter(({ kind }) => kind === "generation"),
      ...routes.filter(({ kind }) => kind === "embeddings"),
    ];
    const whyNone = this.off.length === 0 ? NO_ROUTES : ALL_OFF;
    if (this.routes.length === 0) warnings.push(whyNone);
    checkEmbeddingsTargets(this.routes, settings, { faults, warnings });
    const mayBeListed = discovers(settings);
    for (const id of Object.keys(settings.routes)) {
      if (isOff(id) || this.routes.some((route) => route.id === id)) continue;
      warnings.push(
        `routes.${id}: not served: it has no targets${
          mayBeListed ? ", and no upstream lists it" : ""
        }`,
      );
    }
    for (const route of this.routes) this.#byName.set(route.id, route);
    const aliases: Alias[] = [];
    for (const [name, id] of Object.entries(settings.aliases)) {
      const route = this.#byName.get(id);
      if (route === undefined && isOff(id)) {
        warnings.push(`aliases.${name}: not served: the route '${id}' is switched off`);
      } else if (route === undefined) {
        const known = this.routes.map((one) => one.id);
        (mayBeListed ? warnings : faults).push(
          `aliases.${name}: unknown route '${id}'; ` +
            (known.length === 0 ? whyNone : `did you mean '${closestString(id, known)}'?`),
        );
      } else if (this.#byName.has(name)) {
        faults.push(`aliases.${name}: a route with this name already exists`);
      } else if (name.endsWith("*")) {
        this.#byPrefix.push({ prefix: name.slice(0, -1), route });
      } else {
        aliases.push({ name, route });
      }
    }
    for (const route of this.routes) {
      // tools that choose models by these names send conversations to them
      const name = claudeName(route.id);
      if (route.kind === "embeddings" || name === route.id) continue;
      const taken = this.#byName.has(name) || Object.hasOwn(settings.aliases, name);
      if (!taken) aliases.push({ name, route });
    }
    for (const { name, route } of aliases) this.#byName.set(name, route);
    this.#byPrefix.sort((a, b) => b.prefix.length - a.prefix.length);
    this.aliases = aliases;
    this.patterns = this.#byPrefix.map(({ prefix, route }) => ({ name: `${prefix}*`, route }));
    this.warnings = warnings;
    if (faults.length > 0) throw new ConfigError(faults);
  }

  /**
   * Resolves the `model` of a request.
   *
   * @param model A route ID, alias, or name that matches a prefix pattern.
   * @param kind What the request's endpoint is for; undefined for any.
   * @throws {Refusal} `model_unknown` if the name is unknown; `request_invalid` if the route is of another kind.
   */
  resolve(model: string, kind?: RouteKind): Route {
    const route = this.find(model);
    const shown = model.slice(0, MAX_SHOWN_CHARS);
    if (route === undefined) {
      throw new Refusal("model_unknown", `Unknown model '${shown}'. ${this.#advice(shown, kind)}`, {
        param: "model",
      });
    }
    if (kind === undefined || route.kind === kind) return route;
    const served = route.kind === "embeddings"
      ? `The model '${shown}' only makes embeddings`
      : `The model '${shown}' does not make embeddings`;
    throw invalid(
      "model",
      `${served}: send it to ${ENDPOINTS[route.kind]}. ${this.#available(kind)}`,
    );
  }

  #advice(model: string, kind: RouteKind | undefined): string {
    if (this.routes.length === 0) {
      return this.off.length === 0
        ? "No models are configured: add `targets` to at least one route."
        : "No models are available.";
    }
    const names = [...this.#byName].filter(([, route]) => isOf(kind, route)).map(([name]) => name);
    const near = names.length === 0 ? undefined : closestString(model, names);
    const guess = near !== undefined && isLike(model, near) ? `Did you mean '${near}'? ` : "";
    return `${guess}${this.#available(kind)}`;
  }

  /** The models that an endpoint has. */
  #available(kind: RouteKind | undefined): string {
    const ids = this.routes.filter((route) => isOf(kind, route)).map(({ id }) => id);
    if (ids.length === 0) {
      return kind === "embeddings"
        ? 'No models for embeddings are configured: add a route with `"kind": "embeddings"`.'
        : "No models for replies are available.";
    }
    const some = ids.slice(0, MAX_LISTED).join(", ");
    const rest = ids.length > MAX_LISTED ? `, and ${ids.length - MAX_LISTED} more` : "";
    const what = kind === "embeddings" ? "Available models for embeddings" : "Available models";
    return `${what}: ${some}${rest} (GET /v1/models).`;
  }

  /**
   * Picks a model for an example of a conversation.
   *
   * @param preferred Route IDs in order of preference.
   * @returns The first that is available, otherwise any route's ID, or `undefined` if there are no routes.
   */
  example(...preferred: readonly string[]): string | undefined {
    return preferred.find((id) => this.#byName.has(id)) ??
      this.routes.find(({ kind }) => kind === "generation")?.id;
  }

  /** Finds the route of a name: by ID, then alias, then the longest matching prefix pattern. */
  find(model: string): Route | undefined {
    return this.#byName.get(model) ??
      this.#byPrefix.find(({ prefix }) => model.startsWith(prefix))?.route;
  }
}

/** Where models of each kind are served. */
const ENDPOINTS: Readonly<Record<RouteKind, string>> = {
  generation: Object.values(DIALECTS).map(({ front: { path } }) => `POST ${path}`).join(" or "),
  embeddings: `POST ${EMBEDDINGS_PATH}`,
};

function isOf(kind: RouteKind | undefined, route: Route): boolean {
  return kind === undefined || route.kind === kind;
}

/** Max characters of an unknown name in its error, and max names of models beside it. */
const MAX_SHOWN_CHARS = 100;
const MAX_LISTED = 6;

/** Whether a name is so near to another that one may be meant by the other: at most a third is different. */
function isLike(name: string, other: string): boolean {
  if (name.length >= 3 && other.toLowerCase().startsWith(name.toLowerCase())) return true;
  const longer = Math.max(name.length, other.length);
  return levenshteinDistance(name.toLowerCase(), other.toLowerCase()) <= longer / 3;
}

/** Whether the models of an upstream are served by their own names. */
function discovers({ upstream, upstreams }: Settings): boolean {
  return (upstream.url !== undefined && upstream.discover) ||
    Object.values(upstreams).some(({ discover }) => discover);
}
