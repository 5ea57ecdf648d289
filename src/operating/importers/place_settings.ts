import type { SettingsEditor } from "../../settings/config/mod.ts";
import { isObject } from "../../wire/dialects/mod.ts";
import { shownUrl } from "./names.ts";
import type { ImportPlan, Notices, PlannedTarget, PlannedUpstream, PriceOrigin } from "./plan.ts";

/** Whether something is added, or is there already and stays as it is. */
export type State = "new" | "unchanged";

/** What becomes of an upstream. */
export interface PlacedUpstream {
  readonly name: string;
  /** Without password and query. */
  readonly url: string;
  readonly dialect: string;
  /** Where its keys are. */
  readonly keys: "environment" | "settings file" | "none";
  readonly state: State;
}

/** What becomes of a model. */
export interface PlacedRoute {
  readonly id: string;
  readonly targets: readonly PlannedTarget[];
  readonly prices: { readonly input: number; readonly cached: number; readonly output: number };
  readonly prices_from: PriceOrigin;
  readonly state: State;
}

/** What becomes of the settings. */
export interface PlacedSettings {
  readonly upstreams: readonly PlacedUpstream[];
  readonly routes: readonly PlacedRoute[];
  readonly aliases: readonly {
    readonly name: string;
    readonly route: string;
    readonly state: State;
  }[];
  /** Environment variables that the new upstreams need. */
  readonly variables: readonly string[];
}

/** Names that mean other upstreams. */
const RESERVED = ["default", "simulator"];
const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/**
 * Adds the upstreams, routes and aliases of a plan to the settings. What is there already stays as it is, so that
 * importing twice changes nothing and loses no change of the operator's.
 *
 * @param editor The settings file; it is not written.
 * @param notices Takes what is there already with other values.
 * @returns What is added and what is there.
 */
export function placeSettings(
  plan: ImportPlan,
  editor: SettingsEditor,
  notices: Notices,
): PlacedSettings {
  const names = new Map<string, string>();
  const variables = new Set<string>();
  const upstreams = plan.upstreams.map((upstream): PlacedUpstream => {
    const { name, state } = nameFor(upstream, new Set(names.values()), editor);
    names.set(upstream.ref, name);
    const { url, dialect, cloud, headers } = upstream;
    const secrets = secretsOf(upstream);
    const literal = secrets.filter((one) => one.replaceAll(VARIABLE, "") !== "");
    if (state === "new") {
      editor.add(["upstreams", name], settingsOf(upstream));
      const written = [
        ...secrets,
        ...Object.values({ ...headers, ...cloud, ...cloud?.credentials }),
      ];
      for (const value of written.filter((one) => typeof one === "string")) {
        for (const [, variable] of value.matchAll(VARIABLE)) variables.add(variable!);
      }
      if (literal.length > 0) {
        notices.check(
          `upstream ${name}`,
          "the settings file holds its key: move it to an environment variable, as ${NAME}",
        );
      }
    } else noticeDifferences(upstream, name, editor, notices);
    return {
      name,
      url: shownUrl(url),
      dialect,
      keys: secrets.length === 0 ? "none" : literal.length > 0 ? "settings file" : "environment",
      state,
    };
  });
  const routes = plan.routes.map((route): PlacedRoute => {
    const { id, settings, pricesFrom } = route;
    const targets = route.targets.map(({ upstream, ...rest }) => ({
      upstream: names.get(upstream)!,
      ...rest,
    }));
    const there = editor.get("routes", id);
    const state = there === undefined ? "new" : "unchanged";
    if (state === "new") editor.add(["routes", id], { targets, ...settings });
    else if (JSON.stringify(targetsIn(there)) !== JSON.stringify(targets)) {
      notices.check(`route ${id}`, "it is in the settings with other targets, and stays as it is");
    }
    return { id, targets, prices: settings.prices, prices_from: pricesFrom, state };
  });
  const aliases = [...plan.aliases].map(([name, route]) => {
    const there = editor.get("aliases", name);
    const state: State = there === undefined ? "new" : "unchanged";
    if (state === "new") editor.add(["aliases", name], route);
    else if (there !== route) {
      notices.check(`alias ${name}`, "it is in the settings for another route, and stays as it is");
    }
    return { name, route, state };
  });
  return { upstreams, routes, aliases, variables: [...variables] };
}

/** Its keys, and what is secret of its credentials. */
function secretsOf({ keys, cloud }: PlannedUpstream): string[] {
  const { accessKeyId, secretAccessKey, sessionToken } = cloud?.credentials ?? {};
  return [...keys, accessKeyId, secretAccessKey, sessionToken].filter((one) => one !== undefined);
}

/** The upstream's name, or the first one with a number behind it that no other address has. */
function nameFor(
  { name, url, dialect, cloud }: PlannedUpstream,
  taken: ReadonlySet<string>,
  editor: SettingsEditor,
): { readonly name: string; readonly state: State } {
  for (let number = 1;; number++) {
    const candidate = number === 1 ? name : `${name}-${number}`;
    if (taken.has(candidate) || RESERVED.includes(candidate)) continue;
    const there = editor.get("upstreams", candidate);
    if (there === undefined) return { name: candidate, state: "new" };
    if (!isObject(there)) continue;
    if (cloud !== undefined) {
      const isSame = (["provider", "region", "project", "url"] as const)
        .every((key) => there[key] === cloud[key]);
      if (isSame) return { name: candidate, state: "unchanged" };
      continue;
    }
    const sameUrl = String(there.url).replace(/\/+$/, "") === url;
    if (sameUrl && (there.dialect ?? "chat") === dialect) {
      return { name: candidate, state: "unchanged" };
    }
  }
}

function settingsOf({ url, dialect, keys, headers, discover, cloud }: PlannedUpstream) {
  return {
    ...(cloud ?? { url }),
    ...(keys.length === 1 && { key: keys[0] }),
    ...(keys.length > 1 && { keys }),
    ...(cloud === undefined && { dialect }),
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(discover && { discover }),
  };
}

function noticeDifferences(
  { keys, discover }: PlannedUpstream,
  name: string,
  editor: SettingsEditor,
  notices: Notices,
): void {
  const there = editor.get("upstreams", name);
  if (!isObject(there)) return;
  const own = Array.isArray(there.keys) ? there.keys : there.key === undefined ? [] : [there.key];
  if (JSON.stringify(own) !== JSON.stringify(keys)) {
    notices.check(`upstream ${name}`, "it is in the settings with another key, and keeps that one");
  }
  if (discover && there.discover !== true) {
    notices.check(`upstream ${name}`, "to serve all models that it lists, set `discover` to true");
  }
}

function targetsIn(route: unknown): unknown {
  return isObject(route) ? route.targets : undefined;
}
