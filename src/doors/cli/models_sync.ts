import type { Command } from "commander";
import {
  Catalog,
  embeddingsSettings,
  knownUrlOf,
  type ListedModel,
  type Listings,
  settingsOfModel,
  SIMULATOR,
  whyNotServed,
} from "../../settings/catalog/mod.ts";
import {
  type Config,
  routeId,
  type Settings,
  type UpstreamSettings,
} from "../../settings/config/mod.ts";
import { disputedPrices } from "../../settings/known_models/mod.ts";
import { displayed } from "../../ground/platform/mod.ts";
import { configuredUpstreams, type Probe, probeUpstream } from "../../requests/upstreams/mod.ts";
import type { CommandContext } from "./context.ts";
import { defineCommand, option } from "./define_command.ts";
import { table } from "./format.ts";
import { editSettings, writeSettings } from "./settings_edit.ts";

/** A model that an upstream lists or a route needs, and whether it is served. */
interface SyncRow {
  readonly upstream: string;
  readonly model: string | null;
  /** IDs of the routes that it serves. */
  readonly served_as: readonly string[];
  /** Why it is not served, or what is wrong with how it is. */
  readonly note: string | null;
  /** The route that `--write` adds for it. */
  readonly adds: string | null;
}

/** What an upstream lists. */
interface Asked {
  readonly name: string;
  readonly settings: UpstreamSettings;
  readonly probe: Probe;
}

const PATIENCE_MS = 10_000;

/** `sluice models sync` */
export function modelsSyncCommand(models: Command, context: CommandContext): void {
  defineCommand<{ write?: boolean }>(models, context, {
    name: "sync",
    description: "compare what upstreams list with what is served",
    options: [
      option("--write", "add a route to the settings file for each model that is not served"),
    ],
    help:
      "\nModels of upstreams with `discover` are served without a route. Limits and prices of new routes come\n" +
      "from the upstream's list and the catalogue of known models; check them before you reload.\n" +
      "\nExample:\n  sluice models sync --write && sluice reload",
    opens: "settings",
    async run({ options: { write = false }, config, print }) {
      const asked = await askAll(config.settings, context);
      const rows = compare(config.settings, asked);
      const file = write ? await addRoutes(context, config, asked, rows) : undefined;
      print(
        rows.map(({ adds, ...row }) => ({ ...row, ...(write ? { added: adds } : { adds }) })),
        () =>
          asked.length === 0
            ? "No upstreams are configured. To find some: sluice init\n"
            : table(rows.map(forPeople)) + summary(rows, write, file),
      );
    },
  });
}

async function askAll(settings: Settings, { now }: CommandContext): Promise<Asked[]> {
  const upstreams = Object.entries(configuredUpstreams(settings));
  return await Promise.all(upstreams.map(async ([name, own]) => ({
    name,
    settings: own,
    probe: await probeUpstream(name, own, { now, patienceMs: PATIENCE_MS }),
  })));
}

function compare(settings: Settings, asked: readonly Asked[]): SyncRow[] {
  const listings: Listings = new Map(
    asked.filter(({ settings: { discover }, probe: { lists } }) => discover && lists)
      .map(({ name, probe: { models } }) => [name, models]),
  );
  const catalog = new Catalog(settings, listings);
  const taken = new Set([
    ...catalog.routes.map(({ id }) => id),
    ...Object.keys(settings.routes),
    ...Object.keys(settings.aliases),
  ]);
  const listedBy = Map.groupBy(
    asked.filter(({ settings: { discover } }) => !discover)
      .flatMap(({ name, probe: { models } }) => models.map(({ id }) => ({ name, id }))),
    ({ id }) => id,
  );
  const servedAs = (upstream: string, model: string) =>
    catalog.routes.filter(({ targets }) =>
      targets.some((target) => target.upstream === upstream && target.model === model)
    ).map(({ id }) => id);
  const rows = asked.flatMap(({ name, settings: own, probe }): SyncRow[] => {
    const { discover, dialect } = own;
    const url = knownUrlOf(name, settings) ?? own.url;
    if (!probe.lists) {
      return [{ upstream: name, model: null, served_as: [], note: whyNoList(probe), adds: null }];
    }
    return unique(probe.models).map(({ id }) => {
      const routes = servedAs(name, id);
      const row = { upstream: name, model: id, served_as: routes, adds: null };
      if (routes.length > 0) return { ...row, note: disputeOf(id, url) };
      const why = whyNotServed(id, dialect);
      if (why !== undefined) return { ...row, note: why };
      if (discover) return { ...row, note: "an alias or a route has this name" };
      const several = new Set(listedBy.get(id)?.map((one) => one.name)).size > 1;
      const route = (several ? [] : [id]).concat(`${name}/${id}`)
        .find((one) => routeId.safeParse(one).success && !taken.has(one));
      if (route === undefined) return { ...row, note: "no free route ID can be made of its name" };
      taken.add(route);
      const dispute = disputeOf(id, url);
      const note = `no route has it as target${dispute === null ? "" : `; ${dispute}`}`;
      return { ...row, note, adds: route };
    });
  });
  return [...rows, ...missing(catalog, asked)];
}

/** Targets that the upstream does not list: renamed or retired models, or misspelt ones. */
function missing(catalog: Catalog, asked: readonly Asked[]): SyncRow[] {
  const lists = new Map(
    asked.filter(({ probe: { lists } }) => lists)
      .map(({ name, probe: { models } }) => [name, new Set(models.map(({ id }) => id))]),
  );
  const unlisted = catalog.routes.flatMap(({ id, targets }) =>
    targets.filter(({ upstream, model }) =>
      upstream !== SIMULATOR && lists.get(upstream)?.has(model) === false
    ).map(({ upstream, model }) => ({ upstream, model, id }))
  );
  const byTarget = Map.groupBy(
    unlisted,
    ({ upstream, model }) => JSON.stringify([upstream, model]),
  );
  return [...byTarget.values()].map((all) => ({
    upstream: all[0]!.upstream,
    model: all[0]!.model,
    served_as: all.map(({ id }) => id),
    note: "the upstream does not list it",
    adds: null,
  }));
}

/** Prices on which the sources do not agree; null for none. */
function disputeOf(model: string, url: string): string | null {
  const all = disputedPrices(model, url);
  if (all.length === 0) return null;
  const words = all.map(({ what, charged, other }) =>
    `${what} $${charged}, models.dev says $${other}`
  );
  return `check the price: ${words.join("; ")}`;
}

function unique(models: readonly ListedModel[]): ListedModel[] {
  return [...new Map(models.map((one) => [one.id, one])).values()];
}

function whyNoList({ status, fault, isPage }: Probe): string {
  if (fault !== undefined) return `not reached: ${fault.message}`;
  if (isPage) return "replies with a web page: check its url";
  if (status === 401 || status === 403) return `rejects the key (status ${status})`;
  return `does not list its models (status ${status})`;
}

/** Adds the routes; returns the file, or `undefined` if there is nothing to add. */
async function addRoutes(
  context: CommandContext,
  config: Config,
  asked: readonly Asked[],
  rows: readonly SyncRow[],
): Promise<string | undefined> {
  const adding = rows.filter(({ adds }) => adds !== null);
  if (adding.length === 0) return undefined;
  const editor = await editSettings(config);
  for (const { upstream, model, adds } of adding) {
    const { settings: own, probe: { models } } = asked.find(({ name }) => name === upstream)!;
    const listed = models.find(({ id }) => id === model)!;
    const url = knownUrlOf(upstream, config.settings) ?? own.url;
    const of = { url, creditsPerUsd: config.settings.credits.perUsd };
    const limits = embeddingsSettings(listed, of) ?? settingsOfModel(listed, of).settings;
    editor.add(["routes", adds!], { targets: [{ upstream, model }], ...limits });
  }
  await writeSettings(context, editor);
  return editor.path;
}

function forPeople({ upstream, model, served_as, note, adds }: SyncRow) {
  return {
    upstream,
    model: model === null ? null : displayed(model),
    "served as": served_as.length === 0 ? null : served_as,
    note: adds === null ? note : `${note}; new route: ${adds}`,
  };
}

function summary(rows: readonly SyncRow[], write: boolean, file: string | undefined): string {
  const count = rows.filter(({ adds }) => adds !== null).length;
  if (count === 0) return "\nNo routes to add.\n";
  const routes = `${count} ${count === 1 ? "route" : "routes"}`;
  return write
    ? `\nAdded ${routes} to ${file}. Check their limits and prices, then apply with: sluice reload\n`
    : `\nTo add ${routes} to the settings file: sluice models sync --write\n`;
}
