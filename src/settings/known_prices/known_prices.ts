import { TABLE, TABLE_DATE } from "./table.ts";
import type { PriceUnit } from "./units.ts";

/** US dollars per million tokens or thousand calls: one price, or the first one, then amounts of input and the price above each. */
export type UsdPrice = number | readonly [number, ...number[]];

/** Prices, and when they are effective. */
export interface KnownRow {
  /** From a day on (`2026-07-01`), or daily between two times of UTC (`00:30:00Z`); 0 for always. */
  readonly when: 0 | string | readonly [string, string];
  readonly usd: Readonly<Partial<Record<PriceUnit, UsdPrice>>>;
}

/** What a model costs at a provider. */
export interface KnownPrices {
  readonly provider: string;
  readonly id: string;
  /** Of those that are effective, the last counts. */
  readonly rows: readonly KnownRow[];
}

/** Which names are a model's, as `@pydantic/genai-prices` writes it. */
type Match =
  | { readonly or: readonly Match[] }
  | { readonly and: readonly Match[] }
  | Readonly<
    Partial<Record<"equals" | "starts_with" | "ends_with" | "contains" | "regex", string>>
  >;

interface Model {
  readonly id: string;
  readonly match: Match;
  readonly rows: readonly KnownRow[];
}

/** IDs of the table by those of models.dev. */
const SAME: Readonly<Record<string, string>> = {
  "fireworks-ai": "fireworks",
  togetherai: "together",
  xai: "x-ai",
};

/** The ID of a provider in the table, by that of models.dev. */
export function priceIdOf(provider: string): string {
  return SAME[provider] ?? provider;
}

/** Addresses of providers that the table has under another one. */
const OTHER_ADDRESSES: Readonly<Record<string, RegExp>> = {
  aws: /^https:\/\/bedrock-mantle\.[a-z0-9-]+\.api\.aws\//,
};

let all: readonly Provider[] | undefined;

/**
 * Finds what a model costs: at its upstream, or else at its maker.
 *
 * @param name Name of the model at the upstream.
 * @param of Base URL of the upstream, and the ID of the maker if that is known.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { findKnownPrices } from "./mod.ts";
 *
 * const found = findKnownPrices("claude-sonnet-4-5", { url: "", maker: "anthropic" });
 * assertEquals(found?.rows[0]?.usd.output, [15, 200_000, 22.5]);
 * ```
 */
export function findKnownPrices(
  name: string,
  { url, maker }: { readonly url: string; readonly maker?: string | undefined },
): KnownPrices | undefined {
  all ??= providersOf(TABLE);
  const host = all.find(({ id, address }) => address.test(url) || OTHER_ADDRESSES[id]?.test(url));
  for (const provider of [host, all.find(({ id }) => id === priceIdOf(maker ?? ""))]) {
    if (provider === undefined) continue;
    const ids = [provider.id, ...provider.others];
    for (const id of ids) {
      const model = all.find((one) => one.id === id)?.find(name.toLowerCase());
      if (model !== undefined) return { provider: id, id: model.id, rows: model.rows };
    }
  }
  return undefined;
}

/**
 * The prices that are effective at a time.
 *
 * @param rows As of a model.
 * @param atMs Milliseconds since the epoch.
 */
export function pricesAt<Row extends Pick<KnownRow, "when">>(
  rows: readonly Row[],
  atMs: number,
): Row {
  return rows.findLast(({ when }) => isEffective(when, atMs)) ?? rows[0]!;
}

/** The prices to show where no time is meant: those of when the table was made; of times of the day, the dearest. */
export function staticPrices(rows: readonly KnownRow[]): KnownRow {
  const atMs = Date.parse(TABLE_DATE);
  const isDaily = ({ when }: KnownRow) => Array.isArray(when);
  const dated = rows.filter((row) => !isDaily(row) && isEffective(row.when, atMs)).at(-1) ??
    rows[0]!;
  const costly = ({ usd: { input, output } }: KnownRow) => [output ?? input ?? 0].flat()[0]!;
  return rows.filter(isDaily).reduce(
    (one, other) => costly(other) > costly(one) ? other : one,
    dated,
  );
}

function isEffective(when: KnownRow["when"], atMs: number): boolean {
  if (when === 0) return true;
  if (typeof when === "string") return atMs >= Date.parse(when);
  const [from, until] = when.map((time) => Date.parse(`1970-01-01T${time}`)) as [number, number];
  const ofDay = atMs % 86_400_000;
  return until < from ? ofDay >= from || ofDay < until : ofDay >= from && ofDay < until;
}

function matches(match: Match, name: string): boolean {
  if ("or" in match) return match.or.some((one) => matches(one, name));
  if ("and" in match) return match.and.every((one) => matches(one, name));
  const { equals, starts_with: start, ends_with: end, contains, regex } = match as Exclude<
    Match,
    { or: unknown } | { and: unknown }
  >;
  return equals?.toLowerCase() === name ||
    start !== undefined && name.startsWith(start.toLowerCase()) ||
    end !== undefined && name.endsWith(end.toLowerCase()) ||
    contains !== undefined && name.includes(contains.toLowerCase()) ||
    regex !== undefined && new RegExp(regex).test(name);
}

/** Models are parsed when they are looked for: most gateways need those of few providers. */
class Provider {
  readonly id: string;
  readonly address: RegExp;
  /** Providers whose models it also has, at their prices. */
  readonly others: readonly string[];
  readonly #lines: string[] = [];
  #models: readonly Model[] | undefined;

  constructor([id, pattern, others]: readonly [string, string, readonly string[]]) {
    this.id = id;
    this.address = new RegExp(`^(?:${pattern})`);
    this.others = others;
  }

  addLine(line: string): void {
    this.#lines.push(line);
  }

  /** Names differ between hosts: with the maker before them, and with a date after them. */
  find(name: string): Model | undefined {
    this.#models ??= this.#lines.splice(0).map((line) => {
      const [id, match, rows] = JSON.parse(line);
      return {
        id,
        match,
        rows: rows.map(([when, usd]: [KnownRow["when"], KnownRow["usd"]]) => ({ when, usd })),
      };
    });
    const plain = name.slice(name.lastIndexOf("/") + 1);
    const dashed = plain.replace(/-(20\d\d)(\d\d)(\d\d)(?=-|:|@|$)/, "-$1-$2-$3");
    for (const one of [name, plain, dashed, dashed.replace(/-20\d\d-\d\d-\d\d$/, "")]) {
      const found = this.#models.find(({ match }) => matches(match, one));
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

/** Reads the table, or one that is about to be written. */
export function providersOf(table: string): readonly Provider[] {
  const providers: Provider[] = [];
  for (const line of table.trim().split("\n")) {
    // a provider's line has no prices
    if (line.endsWith("]]]")) providers.at(-1)!.addLine(line);
    else providers.push(new Provider(JSON.parse(line)));
  }
  return providers;
}
