import type { BackName } from "../../wire/dialects/mod.ts";
import { type CloudName, OWN, OWN_TABLE, type OwnRow } from "./own.ts";
import type { QuirkName } from "./quirk_names.ts";
import { TABLE } from "./table.ts";

/** Parts of a provider's URL that the settings fill in. */
export const HOLES = ["resource", "project", "region"] as const;
/** A part of a provider's URL that the settings fill in. */
export type Hole = typeof HOLES[number];

/** A provider as the tables have it. */
interface TableRow {
  readonly id: string;
  readonly title: string;
  /** The first is what it is spoken to in; the others it speaks as well. */
  readonly dialects: readonly [BackName, ...BackName[]];
  /** Base URL, with `{resource}`, `{project}` and `{region}` for what the settings fill in. */
  readonly url: string;
  readonly variables: readonly string[];
  /** Where it is documented. */
  readonly source: string;
}

/** A service that serves models, as the settings name it. */
export interface KnownProvider
  extends
    Omit<TableRow, "dialects" | "variables">,
    Required<Pick<OwnRow, "aliases" | "regionUrls" | "otherHosts">> {
  readonly dialect: BackName;
  /** Other dialects that it speaks with the same quirks. */
  readonly otherDialects: readonly BackName[];
  readonly quirks: QuirkName | undefined;
  /** Kind of credentials where no key is set; `undefined` for a key. */
  readonly credentials: CloudName | undefined;
  /** What its tokens are asked for; `undefined` for what its kind of credentials asks for. */
  readonly scope: string | undefined;
  /** Environment variables that its own tools read the key from, the usual one first. */
  readonly keyVariables: readonly string[];
  /** Environment variables that its own tools read the parts of the URL from. */
  readonly holes: Readonly<Partial<Record<Hole, string>>>;
  /** Whether it is offered when its variable is set. */
  readonly isOffered: boolean;
}

let all: readonly KnownProvider[] | undefined;

/** Lists all providers: those that are offered first in that order, then the others by ID. */
export function knownProviders(): readonly KnownProvider[] {
  if (all !== undefined) return all;
  const lines = [TABLE, OWN_TABLE].flatMap((table) => table.trim().split("\n"));
  const rows = new Map(lines.map(rowOf).map((row) => [row.id, row]));
  const first = OWN.map((own) => {
    const known = [own.id, ...own.aliases ?? []].map((id) => rows.get(id)).find(Boolean);
    for (const id of [own.id, ...own.aliases ?? []]) rows.delete(id);
    return providerOf({ ...known!, ...own });
  });
  return all = [...first, ...[...rows.values()].map(providerOf)];
}

/**
 * Finds a provider by its ID or another of its names.
 *
 * @returns The provider, or `undefined`.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { findKnownProvider } from "./mod.ts";
 *
 * assertEquals(findKnownProvider("groq")?.url, "https://api.groq.com/openai/v1");
 * ```
 */
export function findKnownProvider(id: string): KnownProvider | undefined {
  return knownProviders().find((one) => one.id === id || one.aliases.includes(id));
}

/**
 * Fills in the parts of a provider's URL.
 *
 * @param values What to fill in.
 * @returns The URL, and the parts that there is no value for.
 */
export function fillUrl(
  { url, regionUrls }: Pick<KnownProvider, "url" | "regionUrls">,
  values: Readonly<Partial<Record<Hole, string>>>,
): { readonly url: string; readonly missing: readonly Hole[] } {
  const missing: Hole[] = [];
  const pattern = regionUrls[values.region ?? ""] ?? url;
  const filled = pattern.replaceAll(/\{(resource|project|region)\}/g, (whole, hole: Hole) => {
    const value = values[hole];
    if (value === undefined) missing.push(hole);
    return value === undefined ? whole : urlPartOf(value);
  });
  return { url: filled, missing: [...new Set(missing)] };
}

/** A part of a URL as it is written there: a variable may have a host with its scheme. */
export function urlPartOf(value: string): string {
  return value.replace(/^https?:\/\//, "").replace(/\/+$/, "");
}

/**
 * Lists the providers whose own tools would find a key in the environment. Of several that read the same variable it is the first: a
 * provider's service for another country or another plan has to be named.
 */
export function providersIn(
  env: Readonly<Record<string, string>>,
): { readonly provider: KnownProvider; readonly keyVariable: string }[] {
  const taken = new Set<string>();
  return inOrderOfOffer().flatMap((provider) => {
    const keyVariable = provider.keyVariables.find((name) => env[name]);
    const hasParts = Object.values(provider.holes).every((name) => env[name]);
    if (keyVariable === undefined || !hasParts || taken.has(keyVariable)) return [];
    taken.add(keyVariable);
    return [{ provider, keyVariable }];
  });
}

/** Providers that are offered, the shorter ID first of those that read the same variable. */
function inOrderOfOffer(): readonly KnownProvider[] {
  const [first, others] = [
    knownProviders().slice(0, OWN.length),
    knownProviders().slice(OWN.length),
  ];
  const byLength = others.toSorted((one, other) => one.id.length - other.id.length);
  return [...first, ...byLength].filter(({ isOffered }) => isOffered);
}

function rowOf(line: string): TableRow {
  const [id = "", title = "", dialects = "", url = "", variables = "", source = ""] = line.split(
    "|",
  );
  const [dialect, ...others] = dialects.split(",") as [BackName, ...BackName[]];
  return {
    id,
    title,
    dialects: [dialect, ...others],
    url,
    variables: variables.split(","),
    source,
  };
}

function providerOf(row: TableRow & OwnRow): KnownProvider {
  const { id, title, url, dialects: [dialect, ...otherDialects], variables, source } = row;
  const holes = variables.filter((name) => name.includes("=")).map((name) => name.split("="));
  return {
    id,
    title,
    aliases: row.aliases ?? [],
    url,
    otherHosts: row.otherHosts ?? [],
    dialect,
    otherDialects,
    quirks: row.quirks,
    credentials: row.credentials,
    scope: row.scope,
    regionUrls: row.regionUrls ?? {},
    keyVariables: variables.filter((name) => !name.includes("=")),
    holes: Object.fromEntries(holes),
    isOffered: row.isUnasked !== true,
    source,
  };
}
