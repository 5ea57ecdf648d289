import { isObject } from "../../../wire/dialects/mod.ts";
import { baseUrl, slug, whyNotImported } from "../names.ts";
import type { Notices, PlannedRoute, PlannedTarget, PlannedUpstream } from "../plan.ts";
import { limitsOf } from "../route_limits.ts";
import { type ChannelType, channelType, channelUrl } from "./channel_types.ts";
import { cloudReader } from "./clouds.ts";
import type { Ratios } from "./ratios.ts";
import {
  type Flavour,
  json,
  listOf,
  numberOf,
  type SourceDatabase,
  type SourceRow,
  textOf,
} from "./source_database.ts";

/** A model that a channel serves. */
interface ChannelModel {
  /** What clients call it. */
  readonly id: string;
  readonly upstream: PlannedUpstream;
  readonly model: string;
  readonly priority: number;
  readonly weight: number;
}

/** What channels are read with. */
export interface ChannelOptions {
  readonly ratios: Ratios;
  readonly group: string;
  readonly creditsPerUsd: number;
  readonly notices: Notices;
}

/** Columns that change what a channel does, and have no counterpart. */
const NOT_IMPORTED: Readonly<Record<string, string>> = {
  openai_organization: "set it in `headers` of the upstream (OpenAI-Organization)",
  param_override: "requests are not changed",
  header_override: "set `headers` of the upstream",
  status_code_mapping: "status codes of upstreams are not changed",
  system_prompt: "no system prompt is added to requests",
};
const MAX_WEIGHT = 1_000_000;

/** Reads the channels of a group: upstreams, and a route for each model. */
export function readChannels(
  source: SourceDatabase,
  options: ChannelOptions,
): { readonly upstreams: readonly PlannedUpstream[]; readonly routes: readonly PlannedRoute[] } {
  const { notices, ratios, creditsPerUsd } = options;
  const models = source.rows("channels").flatMap((row) => modelsOf(row, source.flavour, options));
  const upstreams = new Map(models.map(({ upstream }) => [upstream.ref, upstream]));
  const routes = [...Map.groupBy(models, ({ id }) => id)].flatMap(([id, all]): PlannedRoute[] => {
    const why = whyNotImported(id);
    if (why !== undefined) {
      notices.notImported(`model ${id}`, why);
      return [];
    }
    const { prices, perRequestCredits } = ratios.pricesOf(id);
    const { settings, pricesFrom, checks } = limitsOf(
      all.map(({ model, upstream: { url } }) => ({ id: model, url, prices })),
      creditsPerUsd,
    );
    const route = { id, targets: targetsOf(all, source.flavour) };
    if (perRequestCredits !== undefined) {
      const free = { input: 0, cached: 0, output: 0 };
      return [{
        ...route,
        settings: { ...settings, prices: free, minimum: perRequestCredits },
        pricesFrom: "source",
      }];
    }
    for (const text of checks) notices.check(`model ${id}`, text);
    return [{ ...route, settings, pricesFrom }];
  });
  const used = new Set(routes.flatMap(({ targets }) => targets.map(({ upstream }) => upstream)));
  return { upstreams: [...upstreams.values()].filter(({ ref }) => used.has(ref)), routes };
}

function modelsOf(
  row: SourceRow,
  flavour: Flavour,
  { group, notices }: ChannelOptions,
): ChannelModel[] {
  const id = textOf(row, "id") ?? "?";
  const name = textOf(row, "name");
  const subject = `channel ${id}${name === undefined ? "" : ` (${name})`}`;
  const reject = (why: string) => {
    notices.notImported(subject, why);
    return [];
  };
  if (numberOf(row, "status") !== 1) return reject("it is disabled");
  const groups = listOf(row, "group");
  if (groups.length > 0 && !groups.includes(group)) {
    return reject(
      `it is for the group ${groups.join(", ")}, and here every account may use every model: to ` +
        "import that group instead, pass --group",
    );
  }
  for (const other of groups.filter((one) => one !== group)) {
    notices.notImported(`${subject} group ${other}`, "models and prices are the same for everyone");
  }
  const number = numberOf(row, "type");
  const type = channelType(flavour, number);
  const readCloud = cloudReader(flavour, number);
  if (type === undefined && readCloud === undefined) {
    return reject(
      `its type (${number}) speaks a protocol of its own: use its OpenAI-compatible endpoint, if it has one`,
    );
  }
  const keys = keysOf(row);
  const cloud = readCloud?.({ row, name: slug(name ?? "cloud", "cloud"), keys });
  if (typeof cloud === "string") return reject(cloud);
  const given = textOf(row, "base_url")?.trim();
  const own = given === undefined || given === "" ? undefined : baseUrl(given);
  if (given && own === undefined) return reject("its address must begin with http:// or https://");
  if (own?.includes("{model}")) return reject("the name of the model is in its address");
  const url = type && channelUrl(type, own);
  if (type !== undefined && url === undefined) return reject("it has no address");
  if (cloud !== undefined && own !== undefined) {
    notices.notImported(`${subject} base_url`, "set `url` of the upstream");
  }
  for (const text of cloud?.checks ?? []) notices.check(subject, text);
  if (type?.name === "azure") {
    notices.check(
      subject,
      "it is called by Azure's v1 API (/openai/v1), which needs no version: try it with sluice doctor",
    );
  }
  for (const [column, why] of Object.entries(NOT_IMPORTED)) {
    const value = textOf(row, column);
    if (value !== undefined && value !== "{}") notices.notImported(`${subject} ${column}`, why);
  }
  const upstream = type && plainUpstream(type, { url: url!, name, keys });
  const mapping = mappingOf(row, () => notices.notImported(`${subject} model_mapping`, "not JSON"));
  return [...new Set(listOf(row, "models"))].flatMap((one): ChannelModel[] => {
    const model = mapped(one, mapping);
    const reached = upstream === undefined ? cloud?.reach(model) : { upstream, model };
    if (reached === undefined) {
      notices.notImported(`${subject} model ${one}`, "of Bedrock's models only Claude is imported");
      return [];
    }
    const [priority, weight] = [numberOf(row, "priority"), numberOf(row, "weight")];
    return [{ id: one, ...reached, priority, weight }];
  });
}

function plainUpstream(
  { name: typeName, dialect = "chat" }: ChannelType,
  { url, name, keys }: {
    readonly url: string;
    readonly name: string | undefined;
    readonly keys: readonly string[];
  },
): PlannedUpstream {
  return {
    ref: JSON.stringify([url, dialect, keys]),
    name: slug(name ?? typeName, typeName),
    url,
    dialect,
    keys,
    headers: {},
    discover: false,
  };
}

/** Several keys are written one a line. Those that are switched off stay behind. */
function keysOf(row: SourceRow): string[] {
  const all = (textOf(row, "key") ?? "").split("\n").map((one) => one.trim());
  const info = json(textOf(row, "channel_info"));
  const status = isObject(info) && isObject(info.multi_key_status_list)
    ? info.multi_key_status_list
    : {};
  return [...new Set(all.filter((key, at) => key !== "" && (status[at] ?? 1) === 1))];
}

function mappingOf(row: SourceRow, invalid: () => void): Map<string, string> {
  const written = textOf(row, "model_mapping")?.trim();
  if (written === undefined || written === "") return new Map();
  const mapping = json(written);
  if (!isObject(mapping)) {
    invalid();
    return new Map();
  }
  return new Map(
    Object.entries(mapping).flatMap(([from, to]) =>
      typeof to === "string" && to !== "" ? [[from, to]] : []
    ),
  );
}

/** A mapping may lead to another one. */
function mapped(model: string, mapping: ReadonlyMap<string, string>): string {
  const seen = new Set<string>();
  let at = model;
  while (mapping.has(at) && !seen.has(at)) {
    seen.add(at);
    at = mapping.get(at)!;
  }
  return at;
}

/** Channels of the highest priority share the requests out, the others are the failover. */
function targetsOf(models: readonly ChannelModel[], flavour: Flavour): PlannedTarget[] {
  const ordered = models.toSorted((a, b) => b.priority - a.priority);
  const highest = ordered[0]!.priority;
  const sharing = ordered.filter(({ priority }) => priority === highest);
  // One-API has the column and does not use it
  const weightOf = ({ weight }: ChannelModel) =>
    flavour === "one-api" ? 1 : Math.min(Math.max(weight, 1), MAX_WEIGHT);
  const targets = new Map<string, PlannedTarget>();
  for (const one of ordered) {
    const { upstream: { ref }, model } = one;
    const key = JSON.stringify([ref, model]);
    if (targets.has(key)) continue;
    const isShared = sharing.length > 1 && one.priority === highest;
    targets.set(key, { upstream: ref, model, ...(isShared && { weight: weightOf(one) }) });
  }
  const all = [...targets.values()];
  return all.filter(({ weight }) => weight !== undefined).length > 1
    ? all
    : all.map(({ upstream, model }) => ({ upstream, model }));
}
