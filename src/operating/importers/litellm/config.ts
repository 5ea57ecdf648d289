import { ROUTE_ID, ROUTE_ID_CHARS } from "../../../settings/config/mod.ts";
import { isObject, items, type JsonObject, text } from "../../../wire/dialects/mod.ts";
import type { ImportPlan, Notices, PlannedRoute, PlannedTarget, PlannedUpstream } from "../plan.ts";
import { limitsOf } from "../route_limits.ts";
import { credentialsOf, type Deployment, deploymentOf } from "./deployment.ts";
import { why } from "./reasons.ts";

/** What a configuration is read with. */
export interface ConfigOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly creditsPerUsd: number;
  readonly notices: Notices;
}

/** The part of a plan that the configuration makes. */
export type ConfigPlan = Pick<ImportPlan, "upstreams" | "routes" | "aliases">;

/** The largest weight of a target. */
const MAX_WEIGHT = 1_000_000;

/**
 * Reads LiteLLM's `config.yaml`.
 *
 * @param source Text of the file.
 * @param options Environment for `os.environ/NAME` in addresses, the value of a credit, and who takes notices.
 * @throws {Error} If it is not YAML, or has no `model_list`.
 */
export async function readConfig(source: string, options: ConfigOptions): Promise<ConfigPlan> {
  const { notices } = options;
  const config = await parseYaml(source);
  if (!isObject(config) || !Array.isArray(config.model_list)) {
    throw new Error("This is no configuration of LiteLLM: it has no model_list");
  }
  const credentials = credentialsOf(config.credential_list);
  const deployments = config.model_list.flatMap((entry, index) =>
    deploymentOf(entry, index, { ...options, credentials }) ?? []
  );
  const sections = {
    litellm_settings: section(config.litellm_settings),
    router_settings: section(config.router_settings),
    general_settings: section(config.general_settings),
    environment_variables: section(config.environment_variables),
  };
  nameTheRest(config, sections, notices);

  const groups = Map.groupBy(
    deployments.filter(({ upstream }) => !upstream.discover),
    ({ group }) => group,
  );
  for (const { group, upstream } of deployments.filter((one) => one.upstream.discover)) {
    notices.check(
      group,
      `all models that ${upstream.name} lists are served, by the names that it lists (discover)`,
    );
  }
  const aliases = aliasesOf(sections.router_settings.model_group_alias, groups, notices);
  const fallbacks = fallbacksOf(sections, notices);
  const routes = [...groups].flatMap(([id, group]): PlannedRoute[] => {
    if (!ROUTE_ID.test(id)) {
      notices.notImported(id, `a route's ID has up to 128 ${ROUTE_ID_CHARS}`);
      return [];
    }
    const named = fallbacks.get(id) ?? fallbacks.get("*") ?? [];
    const others = named.flatMap((name) => {
      const found = groups.get(aliases.get(name) ?? name);
      if (found === undefined && name !== id) {
        notices.notImported(`fallbacks: ${id} → ${name}`, "there is no such model");
      }
      return name === id ? [] : found ?? [];
    });
    const { settings, pricesFrom, checks } = limitsOf(
      group.map(({ limits }) => limits),
      options.creditsPerUsd,
    );
    for (const text of checks) notices.check(id, text);
    if (others.length > 0) {
      notices.check(id, "replies of its fallbacks are charged at its own prices");
    }
    return [{ id, targets: targetsOf(group, others), settings, pricesFrom }];
  });
  const upstreams = new Map<string, PlannedUpstream>();
  for (const { upstream } of deployments) {
    const known = upstreams.get(upstream.ref);
    upstreams.set(upstream.ref, {
      ...upstream,
      discover: upstream.discover || (known?.discover ?? false),
    });
  }
  return { upstreams: [...upstreams.values()], routes, aliases };
}

/** Errors name the line and never quote it: it may hold a key. */
async function parseYaml(source: string): Promise<unknown> {
  const { LineCounter, parseDocument } = await import("./yaml.ts"); // 0.7 MB that nothing else needs
  const lineCounter = new LineCounter();
  const document = parseDocument(source.replace(/^\uFEFF/, ""), {
    version: "1.1", // as LiteLLM reads it
    prettyErrors: false,
    logLevel: "silent",
    uniqueKeys: false,
    lineCounter,
  });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line } = lineCounter.linePos(error.pos[0]);
    throw new Error(`The configuration is not valid YAML: line ${line} (${error.code})`);
  }
  try {
    return document.toJS({ maxAliasCount: 1_000 });
  } catch {
    throw new Error("The configuration is not valid YAML: its anchors and aliases do not resolve");
  }
}

function section(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** Settings that are imported, or mean what Sluice does anyway. */
const TAKEN: Readonly<Record<string, readonly string[]>> = {
  litellm_settings: ["fallbacks", "default_fallbacks"],
  router_settings: ["fallbacks", "default_fallbacks", "model_group_alias"],
};

/** Names every setting that is not imported, without its value. */
function nameTheRest(
  config: JsonObject,
  sections: Readonly<Record<string, JsonObject>>,
  notices: Notices,
): void {
  for (const [name, values] of Object.entries(sections)) {
    for (const [key, value] of Object.entries(values)) {
      if (TAKEN[name]?.includes(key)) continue;
      if (key === "routing_strategy" && value === "simple-shuffle") continue;
      notices.notImported(
        `${name}.${key}`,
        name === "environment_variables"
          ? "set it in the environment of the gateway, if it still needs it"
          : why(key),
      );
    }
  }
  for (const key of Object.keys(config)) {
    if (["model_list", "credential_list", ...Object.keys(sections)].includes(key)) continue;
    notices.notImported(key, why(key));
  }
}

function aliasesOf(
  value: unknown,
  groups: ReadonlyMap<string, unknown>,
  notices: Notices,
): Map<string, string> {
  const aliases = new Map<string, string>();
  for (const [alias, to] of Object.entries(section(value))) {
    const id = text(to) ?? (isObject(to) ? text(to.model) : undefined);
    const subject = `model_group_alias.${alias}`;
    if (id === undefined || !groups.has(id)) {
      notices.notImported(subject, "the model that it stands for is not imported");
    } else if (groups.has(alias)) {
      notices.notImported(subject, "a model has this name");
    } else if (!/^[^*]+\*?$/.test(alias)) {
      notices.notImported(subject, "an alias is a name, or a prefix ending in *");
    } else aliases.set(alias, id);
  }
  return aliases;
}

/** Fallbacks by the model that they are for; those of every model under `*`. */
function fallbacksOf(
  { litellm_settings, router_settings }: Readonly<Record<string, JsonObject>>,
  notices: Notices,
): Map<string, string[]> {
  const all = new Map<string, string[]>();
  const add = (model: string, to: unknown) => {
    const names = items(to).flatMap((one) => {
      const name = text(one) ?? (isObject(one) ? text(one.model) : undefined);
      if (isObject(one) && Object.keys(one).length > 1) {
        notices.notImported(`fallbacks: ${model}`, "a fallback gets the request as it is");
      }
      return name === undefined ? [] : [name];
    });
    all.set(model, [...new Set([...all.get(model) ?? [], ...names])]);
  };
  for (const settings of [router_settings, litellm_settings]) {
    for (const one of items(settings?.fallbacks)) {
      for (const [model, to] of Object.entries(section(one))) add(model, to);
    }
    if (settings?.default_fallbacks !== undefined) add("*", settings.default_fallbacks);
  }
  return all;
}

/**
 * Orders the targets of a route: deployments of the lowest `order` share the requests out by their weights, those of
 * higher ones and the fallbacks are the failover.
 */
function targetsOf(
  group: readonly Deployment[],
  fallbacks: readonly Deployment[],
): PlannedTarget[] {
  const rank = ({ order }: Deployment) => order ?? Infinity;
  const lowest = Math.min(...group.map(rank));
  const sharing = group.filter((one) => rank(one) === lowest);
  const later = group.filter((one) => rank(one) !== lowest).toSorted((a, b) => rank(a) - rank(b));
  const targets = new Map<string, PlannedTarget>();
  const add = ({ upstream, model }: Deployment, weight?: number) => {
    const key = JSON.stringify([upstream.ref, model]);
    const known = targets.get(key);
    if (known === undefined) {
      targets.set(key, {
        upstream: upstream.ref,
        model,
        ...(weight !== undefined && { weight: Math.min(weight, MAX_WEIGHT) }),
      });
    } else if (known.weight !== undefined && weight !== undefined) {
      targets.set(key, { ...known, weight: Math.min(known.weight + weight, MAX_WEIGHT) });
    }
  };
  for (const one of sharing) add(one, sharing.length > 1 ? one.weight ?? 1 : undefined);
  for (const one of [...later, ...fallbacks]) add(one);
  const [only, ...others] = targets.values();
  // a single one is not shared out
  const isShared = others.some(({ weight }) => weight !== undefined);
  return isShared || only === undefined
    ? [...targets.values()]
    : [{ upstream: only.upstream, model: only.model }, ...others];
}
