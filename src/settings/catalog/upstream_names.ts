import type { Settings } from "../config/mod.ts";
import { closestString } from "../../ground/std/mod.ts";
import { BUILTIN_ROUTES } from "./builtin.ts";
import { findKnownProvider } from "../known_providers/mod.ts";
import type { Listings } from "./listings.ts";
import { ownValue } from "./own_value.ts";

/** Name of the upstream that `upstream.url` (`SLUICE_UPSTREAM_URL`) configures. */
export const DEFAULT_UPSTREAM = "default";
/** Name of the built-in upstream. */
export const SIMULATOR = "simulator";

/** Base URL of an upstream of the settings; undefined for the simulator. */
export function urlOf(
  upstream: string,
  { upstream: byDefault, upstreams }: Settings,
): string | undefined {
  return upstream === DEFAULT_UPSTREAM ? byDefault.url : ownValue(upstreams, upstream)?.url;
}

/**
 * The base URL by which an upstream's models and prices are known: that of the provider which it names, whatever is on the way to it.
 * Undefined for the simulator.
 */
export function knownUrlOf(upstream: string, settings: Settings): string | undefined {
  const { provider } = ownValue(settings.upstreams, upstream) ?? {};
  const known = provider === undefined ? undefined : findKnownProvider(provider);
  return known?.url.replaceAll(/\{\w+\}/g, "x") ?? urlOf(upstream, settings);
}

/** Names of upstreams that targets may have. */
function upstreamNames({ upstream, upstreams }: Settings): string[] {
  return [
    SIMULATOR,
    ...Object.keys(upstreams),
    ...(upstream.url === undefined ? [] : [DEFAULT_UPSTREAM]),
  ];
}

export function checkUpstreams(settings: Settings, faults: string[]): void {
  const { upstream, upstreams, routes } = settings;
  if (Object.hasOwn(upstreams, SIMULATOR)) {
    faults.push(
      `upstreams.${SIMULATOR}: this name is reserved for the built-in upstream; choose another name`,
    );
  }
  if (upstream.url !== undefined && Object.hasOwn(upstreams, DEFAULT_UPSTREAM)) {
    faults.push(
      `upstreams.${DEFAULT_UPSTREAM}: this name is used by upstream.url (SLUICE_UPSTREAM_URL); choose another name`,
    );
  }
  const known = upstreamNames(settings);
  for (const [id, { targets = [] }] of Object.entries(routes)) {
    targets.forEach((target, index) => {
      if (known.includes(target.upstream)) return;
      faults.push(
        `routes.${id}.targets[${index}].upstream: unknown upstream '${target.upstream}'; ` +
          `did you mean '${closestString(target.upstream, known)}'?`,
      );
    });
  }
}

/**
 * Returns the upstream for routes without targets: the simulator if no upstream is configured, else the only one unless
 * it lists its models, under whose names they are served. With several upstreams, such routes are not available:
 * guessing would send prompts to a provider that the operator did not choose.
 */
export function fallbackUpstream(settings: Settings, listings: Listings): string | undefined {
  const [only = SIMULATOR, ...others] = upstreamNames(settings).slice(1);
  if (others.length > 0 || listings.has(only)) return undefined;
  return only;
}

/** The upstream's models behind built-in routes, by `upstream.model` (`SLUICE_UPSTREAM_MODEL`). */
export function mappedModels(
  { upstream: { url, model } }: Settings,
  faults: string[],
): (id: string) => string | undefined {
  if (model === undefined) return () => undefined;
  if (url === undefined) {
    faults.push("upstream.model: needs upstream.url (SLUICE_UPSTREAM_URL)");
    return () => undefined;
  }
  const builtin = Object.keys(BUILTIN_ROUTES);
  if (!model.includes("=")) return (id) => builtin.includes(id) ? model : undefined;
  const pairs = new Map<string, string>();
  for (const pair of model.split(",").map((one) => one.trim()).filter((one) => one !== "")) {
    const [id = "", name = ""] = splitOnce(pair, "=");
    if (!builtin.includes(id)) {
      faults.push(
        `upstream.model: '${id}' is not a built-in route; did you mean '${
          closestString(id, builtin)
        }'?`,
      );
    } else if (name === "") {
      faults.push(`upstream.model: '${pair}' must be a pair such as ${id}=model-name`);
    } else pairs.set(id, name);
  }
  return (id) => pairs.get(id);
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at).trim(), text.slice(at + separator.length).trim()];
}
