import { inCredits } from "../../../settings/catalog/mod.ts";
import { isObject } from "../../../wire/dialects/mod.ts";
import type { Notices } from "../plan.ts";
import type { UsdPrices } from "../route_limits.ts";
import { json, type SourceDatabase, textOf } from "./source_database.ts";

/** What a model costs in the source. */
export interface SourcePrices {
  /** By tokens; `undefined` if the database has no ratio for it. */
  readonly prices: UsdPrices | undefined;
  /** By request, which counts more. */
  readonly perRequestCredits: number | undefined;
}

const IMPORTED = [
  "CacheRatio",
  "CompletionRatio",
  "GroupRatio",
  "ModelPrice",
  "ModelRatio",
  "QuotaPerUnit",
];
/** Quota for one US dollar, unless the option says otherwise. */
const QUOTA_PER_USD = 500_000;

/**
 * Prices as New-API and One-API have them: a token costs `model_ratio × group_ratio` of quota, an output token
 * `completion_ratio` times as much, a cached one `cache_ratio` times.
 */
export class Ratios {
  readonly #options: ReadonlyMap<string, string>;
  readonly #notices: Notices;
  readonly #creditsPerUsd: number;
  readonly #groupRatio: number;
  /** Quota for one US dollar. */
  readonly quotaPerUsd: number;

  constructor(
    source: SourceDatabase,
    { group, creditsPerUsd, notices }: {
      readonly group: string;
      readonly creditsPerUsd: number;
      readonly notices: Notices;
    },
  ) {
    this.#notices = notices;
    this.#creditsPerUsd = creditsPerUsd;
    this.#options = new Map(
      source.rows("options").map((row) => [textOf(row, "key") ?? "", textOf(row, "value") ?? ""]),
    );
    const perUnit = Number(this.#options.get("QuotaPerUnit") ?? QUOTA_PER_USD);
    this.quotaPerUsd = Number.isFinite(perUnit) && perUnit > 0 ? perUnit : QUOTA_PER_USD;
    this.#groupRatio = this.#ratio("GroupRatio", group) ?? 1;
    if (this.#groupRatio !== 1) {
      notices.check(`group ${group}`, `prices are multiplied by its ratio ${this.#groupRatio}`);
    }
    for (const name of this.#options.keys()) {
      if (!IMPORTED.includes(name)) {
        notices.notImported(`option ${name}`, "there is no counterpart");
      }
    }
  }

  /** Looks up the prices of a model, by the name that clients use. */
  pricesOf(model: string): SourcePrices {
    const perRequest = this.#ratio("ModelPrice", model);
    if (perRequest !== undefined) {
      const usd = perRequest * this.#groupRatio;
      this.#notices.check(`model ${model}`, "it is charged by request: its minimum is the price");
      return { prices: undefined, perRequestCredits: inCredits(this.#creditsPerUsd)(usd) };
    }
    const ratio = this.#ratio("ModelRatio", model);
    if (ratio === undefined) return { prices: undefined, perRequestCredits: undefined };
    const input = ratio * this.#groupRatio * 1e6 / this.quotaPerUsd;
    const completion = this.#ratio("CompletionRatio", model);
    const cache = this.#ratio("CacheRatio", model);
    return {
      prices: {
        input,
        cached: cache === undefined ? undefined : input * cache,
        output: completion === undefined ? undefined : input * completion,
      },
      perRequestCredits: undefined,
    };
  }

  #ratio(option: string, name: string): number | undefined {
    const all = json(this.#options.get(option));
    const value = isObject(all) && Object.hasOwn(all, name) ? all[name] : undefined;
    return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
  }
}
