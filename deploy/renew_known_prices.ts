/**
 * Generates the table of `src/settings/known_prices/` again, from the version of `@pydantic/genai-prices` that `deno.json` names.
 *
 *     deno run --lock=tests/deno.lock --allow-read --allow-write deploy/renew_known_prices.ts YYYY-MM-DD
 *
 * The date is that of the data. `sluice models sync` then says which prices differ from those of models.dev: a person decides.
 *
 * @module
 */

import { type ConditionalPrice, type ModelPrice, waitForUpdate } from "@pydantic/genai-prices";
import tests from "../deno.json" with { type: "json" };
import { providersOf } from "../src/settings/known_prices/known_prices.ts";

/** Providers that upstreams can be of, and that price by tokens. */
const PROVIDERS = new Set(
  ("anthropic arcee avian aws azure baseten cerebras cloudflare cohere deepseek fireworks google groq minimax mistral moonshotai " +
    "novita openai openrouter ovhcloud perplexity together voyageai x-ai zai zhipuai").split(" "),
);

/** Names of units: theirs, and ours. Prices of others, such as pages of documents, are of what is not served here. */
const UNITS: Readonly<Record<string, string>> = {
  input_mtok: "input",
  cache_read_mtok: "cached",
  output_mtok: "output",
  cache_write_mtok: "written",
  cache_write_1h_mtok: "writtenHour",
  input_audio_mtok: "audioInput",
  cache_audio_read_mtok: "audioCached",
  output_audio_mtok: "audioOutput",
  input_image_mtok: "imageInput",
  cache_image_read_mtok: "imageCached",
  output_image_mtok: "imageOutput",
  output_reasoning_mtok: "reasoning",
  web_searches_kcount: "webSearches",
  storage_searches_kcount: "fileSearches",
  requests_kcount: "requests",
};

const [date = ""] = Deno.args;
if (!/^\d{4}-\d\d-\d\d$/.test(date)) throw new TypeError("the date of the data is missing");
const version = tests.scopes["./tests/"]["@pydantic/genai-prices"].split("@").at(-1);
const providers = (await waitForUpdate() ?? []).filter(({ id }) => PROVIDERS.has(id));
const lines = providers.flatMap(({ id, api_pattern, fallback_model_providers: others, models }) => {
  const head = JSON.stringify([id, api_pattern, others ?? []]);
  const all = models.flatMap((model) => {
    const rows = rowsOf(model.prices);
    return rows.length === 0 ? [] : [JSON.stringify([model.id, model.match, rows])];
  });
  return [head, ...withoutRepeated(head, all)];
});
await Deno.writeTextFile(
  new URL("../src/settings/known_prices/table.ts", import.meta.url),
  `// Written by deploy/renew_known_prices.ts; do not edit.
// Source: @pydantic/genai-prices ${version} (MIT)

/** When the data was taken. */
export const TABLE_DATE = "${date}";

/**
 * A line of each provider, with the pattern of its addresses and whose models it also has at their makers' prices, and then one of each
 * of its models: ID, which names match, and rows of prices, of which the last counts whose condition holds. US dollars per million
 * tokens, or per thousand calls; a list is the first price, and amounts of input with the price above each.
 */
export const TABLE = String.raw\`
${lines.join("\n").replaceAll("`", "")}
\`;
`,
);

/** Leaves out models whose names are all found under another model of the provider, with the same prices: with the maker in the name, and without. */
function withoutRepeated(head: string, lines: readonly string[]): readonly string[] {
  let kept = lines;
  for (const line of lines) {
    const [, match, rows] = JSON.parse(line);
    const names = namesOf(match);
    if (names === undefined) continue;
    const rest = kept.filter((one) => one !== line);
    const [provider] = providersOf([head, ...rest].join("\n"));
    const isRepeated = names.every((name) =>
      JSON.stringify(provider!.find(name)?.rows.map(({ when, usd }) => [when, usd])) ===
        JSON.stringify(rows)
    );
    if (isRepeated) kept = rest;
  }
  return kept;
}

/** All names of a model, in lower case; `undefined` where they are not listed. */
function namesOf(match: { readonly or?: readonly object[]; readonly equals?: string }) {
  const all = (match.or ?? [match]).map((one) => (one as typeof match).equals?.toLowerCase());
  return all.every((name) => name !== undefined) ? all : undefined;
}

function rowsOf(prices: ModelPrice | ConditionalPrice[]): unknown[] {
  const rows = Array.isArray(prices) ? prices : [{ prices }];
  return rows.flatMap((row) => {
    const when = "constraint" in row ? row.constraint : undefined;
    const units = Object.entries(row.prices as ModelPrice).flatMap(
      ([key, price]): [string, unknown][] => {
        const unit = UNITS[key];
        if (unit === undefined || price === undefined) return [];
        if (typeof price === "number") return [[unit, price]];
        return [[unit, [
          price.base,
          ...price.tiers.flatMap(({ start, price: above }) => [start, above]),
        ]]];
      },
    );
    const { input, output }: Record<string, unknown> = Object.fromEntries(units);
    // an unknown price is never 0
    if (input === undefined || input === 0 && (output ?? 0) === 0) return [];
    const condition = when === undefined
      ? 0
      : when.type === "start_date"
      ? when.start_date
      : [when.start_time, when.end_time];
    return [[condition, Object.fromEntries(units)]];
  });
}
